"""The knowledge source of KILT: Wikipedia of August 2019 as JSON Lines (Petroni et al., 2021)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from factoid.entities.articles.article import Article, Record
from factoid.entities.articles.sources import describe_files
from factoid.entities.importers.json_lines import (
    EXPECTED,
    Fields,
    is_json_lines,
    read_json_lines,
    text_field,
    texts_field,
)
from factoid.entities.importers.paths import Paths, list_files
from factoid.entities.importers.wikiextractor import link_target
from factoid.errors import InvalidInputError

_HEADING, _BULLET = "Section::::", "BULLET::::"


class KiltJsonl:
    """Lines such as `{"wikipedia_title": …, "text": ["Title", "First paragraph", …], "anchors": […], …}`.

    Headings are left out, since they are no sentences. Aliases are those of Wikidata. KILT holds no redirects: give them
    beside it with `RedirectLines`.

    Args:
        paths: `kilt_knowledgesource.json`, plain or compressed by gzip or bzip2; or several files or folders.
    """

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    @property
    def name(self) -> str:
        """What is read."""
        return describe_files("KiltJsonl", self._files())

    def read(self, skip: int = 0) -> Iterator[Record]:
        """Yield the articles from number `skip` on.

        Raises:
            UnreadableFileError: A file is missing or damaged, or a line holds something else.
        """
        return read_json_lines(self._files(), _article, skip=skip, one_each=True)

    def _files(self) -> list[Path]:
        accepted = (".json", ".json.gz", ".json.bz2")
        return list_files(
            self._paths,
            accept=lambda file: is_json_lines(file) or file.name.lower().endswith(accepted),
            expected=f"{EXPECTED} or .json",
        )


def _article(fields: Fields) -> Sequence[Record]:
    title = text_field(fields, "wikipedia_title")
    if not isinstance(fields.get("text"), list):
        message = f"expected a list of paragraphs in 'text', got {fields.get('text')!r:.60}"
        raise InvalidInputError(message)
    paragraphs = [text.strip() for text in texts_field(fields, "text")]
    if paragraphs and paragraphs[0] == title.strip():
        del paragraphs[0]
    text = "\n".join(_plain(paragraph) for paragraph in paragraphs if not paragraph.startswith(_HEADING))
    wikidata = fields.get("wikidata_info")
    wikidata = wikidata if isinstance(wikidata, dict) else {}
    metadata = {"id": fields.get("wikipedia_id"), "wikidata_id": wikidata.get("wikidata_id")}
    return [
        Article(
            title,
            text,
            _aliases(wikidata.get("aliases")),
            tuple(_links(fields.get("anchors"))),
            {name: value for name, value in metadata.items() if value},
        )
    ]


def _plain(paragraph: str) -> str:
    """Return a paragraph without the marks of lists."""
    if not paragraph.startswith(_BULLET):
        return paragraph
    return paragraph.removeprefix(_BULLET).lstrip("-*#:; ")


def _aliases(value: Any) -> tuple[str, ...]:
    """Return Wikidata's aliases, which KILT keeps as `{"alias": […]}`."""
    value = value.get("alias") if isinstance(value, dict) else value
    value = [value] if isinstance(value, str) else value
    return tuple(alias for alias in value if isinstance(alias, str)) if isinstance(value, list) else ()


def _links(anchors: Any) -> Iterator[tuple[str, str]]:
    for anchor in anchors if isinstance(anchors, list) else ():
        if isinstance(anchor, dict) and isinstance(anchor.get("text"), str) and isinstance(anchor.get("href"), str):
            target = link_target(anchor["href"])
            if target:
                yield anchor["text"], target
