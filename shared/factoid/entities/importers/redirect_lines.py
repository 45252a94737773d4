"""Redirects from a file of their own, to go with articles of formats that hold none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from factoid.entities.articles.article import Redirect
from factoid.entities.articles.sources import describe_files
from factoid.entities.importers.paths import Paths, list_files, numbered_lines
from factoid.errors import InvalidInputError, UnreadableFileError

_ENDINGS = (".tsv", ".tsv.gz", ".tsv.bz2", ".jsonl", ".jsonl.gz", ".jsonl.bz2")


class RedirectLines:
    """Lines of a name, a tab, and the article or redirect that it leads to; or `{"name": …, "target": …}` or `[…, …]`.

    Args:
        paths: Files, plain or compressed by gzip or bzip2, or folders of files that end in .tsv or .jsonl.
    """

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    @property
    def name(self) -> str:
        """What is read."""
        return describe_files("RedirectLines", self._files())

    def read(self, skip: int = 0) -> Iterator[Redirect]:
        """Yield the redirects from number `skip` on.

        Raises:
            UnreadableFileError: A file is missing or damaged, or a line holds something else.
        """
        lines = ((file, number, line) for file in self._files() for number, line in numbered_lines(file))
        for file, number, line in islice(lines, skip, None):
            yield _redirect(line, f"{file}:{number}")

    def _files(self) -> list[Path]:
        expected = f"files that end in {', '.join(_ENDINGS)}"
        return list_files(self._paths, accept=lambda file: file.name.lower().endswith(_ENDINGS), expected=expected)


def _redirect(line: bytes, place: str) -> Redirect:
    try:
        text = line.decode("utf-8-sig").strip("\r\n")
        if text.lstrip()[:1] in ("{", "[") and "\t" not in text:
            value = json.loads(text)
            pair = [value.get("name"), value.get("target")] if isinstance(value, dict) else value
        else:
            pair = text.split("\t")
        if len(pair) == 2 and all(isinstance(each, str) and each.strip() for each in pair):
            return Redirect(*pair)
    except (ValueError, RecursionError, InvalidInputError) as error:
        message = f"{place}: no redirect: {error}"
        raise UnreadableFileError(message) from error
    message = f"{place}: expected a name, a tab and a target, or the same as JSON, got {text!r:.80}"
    raise UnreadableFileError(message)
