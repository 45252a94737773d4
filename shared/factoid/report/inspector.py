"""Pages of a store: one file without a search box, or served to this machine alone with one.

A store may come from a stranger, so all of its texts are escaped, and the pages' own policy forbids
any other script and any request to elsewhere.
"""

from __future__ import annotations

import base64
import io
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from factoid.documents.pdf import draw_regions
from factoid.documents.tables import Region
from factoid.errors import FactoidError, InvalidInputError
from factoid.files.atomic import write_file
from factoid.report.inspection import (
    AnswerView,
    DocumentView,
    Listed,
    Picture,
    listed,
    view_answer,
    view_document,
)
from factoid.report.templates import environment, own_parts
from factoid.store import UnitStore

LARGEST = 5_000_000
"""Bytes of the documents in a file, about: of more, the first ones are written."""

_LISTED = 200  # documents in a list
_WORDS = 100
_PASSAGES = 5
_MOST_WORDS = 2_000
_MOST_PASSAGES = 50
_DPI = 80  # of the pictures of pages
_LONGEST_PATH = 4_000  # characters of what a browser may ask for
_HOST = "127.0.0.1"
WAYS = {"default": "meaning and words", "vectors": "meaning", "words": "words"}
"""How units are compared with a question, by the name in the form."""

_LEXICAL: Mapping[str, float | None] = {"default": None, "vectors": 0.0, "words": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """What one page shows."""

    title: str
    served: bool
    message: str = ""
    question: str = ""
    words: int = _WORDS
    k: int = _PASSAGES
    by: str = "default"
    answer: AnswerView | None = None
    list: Sequence[tuple[Listed, str]] = ()
    range: str = ""
    earlier: str = ""
    later: str = ""
    documents: Sequence[DocumentView] = ()


class Inspector:
    """Shows what a store holds, and what it answers.

    Args:
        store: The store.
        name: What to call it.
        pdf: The PDF whose pages are shown beneath the boxes of documents that came from a layout;
            None for boxes alone.

    Raises:
        MissingDependencyError: Jinja is not installed.
    """

    def __init__(
        self, store: UnitStore, name: str, *, pdf: str | PathLike[str] | None = None
    ) -> None:
        self.store = store
        self.name = name
        self._pdf = pdf
        self._pages = environment()
        self._parts = own_parts(styles=("style.css", "inspect.css"), script="inspect.js")

    # -- One file --

    def to_html(self, document_ids: Sequence[str] | None = None) -> str:
        """Return a page of documents, without a search box.

        Args:
            document_ids: Which documents; None for all, oldest first, until there are `LARGEST`
                bytes of them.

        Raises:
            InvalidInputError: The store does not hold a document.
        """
        entries, total = listed(self.store, 0, _LISTED)
        ids = [entry.id for entry in entries]
        if document_ids is not None:
            ids = list(document_ids)
        views: list[DocumentView] = []
        size = 0
        for document_id in ids:
            view = self._view(document_id)
            if view is None:
                raise InvalidInputError(f"the store holds no document {document_id!r:.200}")
            size += len(self._rendered(documents=[view]))
            if views and document_ids is None and size > LARGEST:
                break
            views.append(view)
        shown = []
        for number, view in enumerate(views, start=1):
            shown.append((Listed(view.id, view.name), f"#d{number}"))
        message = ""
        if document_ids is None and len(views) < total:
            message = (
                f"Shown are the first {len(views):,} of {total:,} documents: name others with "
                "--document."
            )
        return self._rendered(
            list=shown, documents=views, message=message, range=_range(0, len(views), total)
        )

    def write(self, path: str | Path, document_ids: Sequence[str] | None = None) -> None:
        """Write the page of `to_html` to a file."""
        content = self.to_html(document_ids).encode()
        write_file(Path(path), lambda out: out.write(content))

    # -- Served pages --

    def document_page(self, document_id: str) -> str | None:
        """Return the page of a document, or None if there is no such document."""
        view = self._view(document_id)
        if view is None:
            return None
        return self._rendered(served=True, documents=[view], title=view.name)

    def list_page(self, start: int = 0) -> str:
        """Return the page with the list of documents from a number on."""
        entries, total = listed(self.store, start, _LISTED)
        targets = [(entry, f"document?id={quote(entry.id, safe='')}") for entry in entries]
        earlier = later = ""
        if start:
            earlier = f"./?from={max(start - _LISTED, 0)}"
        if start + len(entries) < total:
            later = f"./?from={start + len(entries)}"
        return self._rendered(
            served=True,
            list=targets,
            range=_range(start, len(entries), total),
            earlier=earlier,
            later=later,
        )

    def search_page(self, question: str, *, words: int, k: int, by: str) -> str:
        """Return the page of an answer; what is wrong with the question stands in it."""
        asked: dict[str, Any] = {"question": question, "words": words, "k": k, "by": by}
        asked |= {"served": True, "title": question or self.name}
        if not question.strip():
            return self._rendered(message="Ask a question.", **asked)
        try:
            answer = view_answer(self.store, question, k=k, words=words, lexical=_LEXICAL.get(by))
        except FactoidError as error:
            return self._rendered(message=str(error), **asked)
        return self._rendered(answer=answer, **asked)

    def message_page(self, message: str) -> str:
        """Return a page that says something."""
        return self._rendered(served=True, message=message)

    # -- Making them --

    def _view(self, document_id: str) -> DocumentView | None:
        view = view_document(self.store, document_id)
        if view is None or self._pdf is None or not view.pages:
            return view
        numbers = [page.number for page in view.pages]
        return view_document(self.store, document_id, pictures(self._pdf, numbers))

    def _rendered(self, **options: Any) -> str:
        page = _Page(**{"title": self.name, "served": False, **options})
        counts = []
        for kind, number in self.store.counts().items():
            counts.append(f"{number:,} {kind}s")
        values = {name: getattr(page, name) for name in _Page.__slots__}
        template = self._pages.get_template("inspect.html")
        return str(
            template.render(
                **values,
                ways=WAYS,
                store_counts=", ".join(counts) or "the store is empty",
                **self._parts,
            )
        )


def _range(start: int, count: int, total: int) -> str:
    if count == total:
        return f"{total:,} in all"
    return f"{start + 1:,} to {start + count:,} of {total:,}"


def pictures(pdf: str | PathLike[str], numbers: Sequence[int]) -> dict[int, Picture]:
    """Return pictures of some pages of a PDF by number, as data that a page can hold.

    Raises:
        MissingDependencyError: pypdfium2 or Pillow is not installed.
        UnreadableFileError: The file is missing, damaged or encrypted.
        InvalidInputError: The PDF has no such page.
    """
    drawn = draw_regions(pdf, [Region(number, ()) for number in numbers], dpi=_DPI)
    by_number = {}
    for number, image in drawn.items():
        content = io.BytesIO()
        image.save(content, "PNG", optimize=True)
        uri = f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"
        by_number[number] = Picture(image.width / _DPI, image.height / _DPI, uri)
    return by_number


# -- The server --


class InspectorServer(ThreadingHTTPServer):
    """Serves an inspector to the browsers of this machine.

    It listens on the loopback address alone, answers requests only under a secret path, and only
    those that name this machine as their host: no page of another site can read what it serves.

    Args:
        inspector: What is shown.
        port: Where to listen; 0 for any free port.

    Raises:
        OSError: The port is taken.
    """

    daemon_threads = True

    def __init__(self, inspector: Inspector, port: int = 0) -> None:
        self.inspector = inspector
        self.secret = secrets.token_urlsafe(16)
        super().__init__((_HOST, port), _Handler)

    @property
    def url(self) -> str:
        """The address to open."""
        return f"http://{_HOST}:{self.server_address[1]}/{self.secret}/"


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: InspectorServer
    server_version = "factoid"
    sys_version = ""

    def do_GET(self) -> None:
        port = self.server.server_address[1]
        hosts = {f"{_HOST}:{port}", f"localhost:{port}"}
        if self.headers.get("Host") not in hosts or len(self.path) > _LONGEST_PATH:
            self._send(HTTPStatus.FORBIDDEN, "This page is for this machine alone.", "text/plain")
            return
        address = urlsplit(self.path)
        _, secret, *rest = address.path.split("/")
        if not secrets.compare_digest(secret.encode(), self.server.secret.encode()) or not rest:
            message = "Open the whole address that factoid inspect printed."
            self._send(HTTPStatus.FORBIDDEN, message, "text/plain")
            return
        values = {name: texts[0] for name, texts in parse_qs(address.query).items()}
        page = self._page("/".join(rest), values)
        if page is None:
            message = self.server.inspector.message_page("There is no such document or page.")
            self._send(HTTPStatus.NOT_FOUND, message)
            return
        self._send(HTTPStatus.OK, page)

    def _page(self, name: str, values: Mapping[str, str]) -> str | None:
        inspector = self.server.inspector
        try:
            if name == "":
                return inspector.list_page(_number(values.get("from"), 0, 0, 10**9))
            if name == "document":
                return inspector.document_page(values.get("id", ""))
            if name == "search":
                return inspector.search_page(
                    values.get("q", ""),
                    words=_number(values.get("words"), _WORDS, 1, _MOST_WORDS),
                    k=_number(values.get("k"), _PASSAGES, 1, _MOST_PASSAGES),
                    by=values.get("by", "default"),
                )
        except FactoidError as error:
            return inspector.message_page(str(error))
        return None

    def _send(self, status: HTTPStatus, text: str, kind: str = "text/html") -> None:
        content = text.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class
        """Print nothing: the secret is part of each address."""


def _number(text: str | None, default: int, least: int, most: int) -> int:
    """Return a number of a form, within bounds; the default for anything else."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 9:
        return default
    return min(max(int(text), least), most)
