"""What a benchmark prints, also into a page."""

from __future__ import annotations

import io
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from benchmarks.store.report import fill


def add_into(parser: ArgumentParser) -> None:
    """Add the option that names the page."""
    parser.add_argument(
        "--into",
        type=Path,
        metavar="PAGE",
        help="write what is printed between the markers of this page",
    )


@contextmanager
def into(page: Path | None, name: str, *, plain: bool = False) -> Iterator[None]:
    """Print as ever, and in the end put it between the page's comments "table: name" and "end".

    Args:
        page: The page; None to print only.
        name: Of the markers.
        plain: It is no Markdown.
    """
    kept = _Both()
    with redirect_stdout(kept):
        yield
    if page is not None:
        text = kept.getvalue().strip()
        fill(page, name, f"```text\n{text}\n```" if plain else text)


class _Both(io.StringIO):
    """Keeps what is written, and shows it on what was standard output before."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = sys.stdout

    def write(self, text: str) -> int:
        self._shown.write(text)
        self._shown.flush()
        return super().write(text)
