"""Hugging Face's `wikimedia/wikipedia`: articles as Parquet, read through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from factoid._optional import require
from factoid.entities.articles.article import Article
from factoid.entities.articles.sources import describe_files
from factoid.entities.importers.paths import Paths, list_files
from factoid.errors import InvalidInputError, UnreadableFileError

_ROWS = 1000  # in memory at a time
_COLUMNS = ("title", "text")
_KEPT = ("id", "url")


class WikipediaParquet:
    """Files with the columns title and text, and id and url if there are such, which become metadata.

    The dataset holds no redirects: give them beside it with `RedirectLines`.

    Args:
        paths: Files, or folders of files that end in .parquet.
    """

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    @property
    def name(self) -> str:
        """What is read."""
        return describe_files("WikipediaParquet", self._files())

    def read(self, skip: int = 0) -> Iterator[Article]:
        """Yield the articles from number `skip` on; groups of rows before it are not read.

        Raises:
            UnreadableFileError: A file is missing, damaged, or has other columns.
            MissingDependencyError: pyarrow is not installed.
        """
        for file in self._files():
            number = 0
            for number, article in _read(file, skip):  # noqa: B007  # how many rows the file has, in the end
                if article is not None:
                    yield article
            skip = max(0, skip - number)

    def _files(self) -> list[Path]:
        return list_files(
            self._paths,
            accept=lambda file: file.name.lower().endswith(".parquet"),
            expected="files that end in .parquet",
        )


def _read(path: Path, skip: int) -> Iterator[tuple[int, Article | None]]:
    """Yield the number of each row from 1 on and its article; None for the last row of what is skipped."""
    pa, parquet = require("pyarrow", extra="parquet"), require("pyarrow.parquet", extra="parquet")
    try:
        with parquet.ParquetFile(path) as file:
            columns = _columns(file.schema_arrow.names, path)
            number = 0
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if number + rows <= skip:
                    number += rows
                    yield number, None
                    continue
                for batch in file.iter_batches(batch_size=_ROWS, row_groups=[group], columns=columns):
                    for row in batch.to_pylist():
                        number += 1
                        yield number, _article(row, f"{path}, row {number}") if number > skip else None
    except UnreadableFileError:
        raise
    except (pa.ArrowException, OSError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        message = f"{path} cannot be read as Parquet: {reason}. Copy or download it again"
        raise UnreadableFileError(message) from error


def _columns(names: list[str], path: Path) -> list[str]:
    if missing := [name for name in _COLUMNS if name not in names]:
        message = f"{path}: expected the columns {' and '.join(_COLUMNS)}, got {', '.join(names)}: no {missing[0]}"
        raise UnreadableFileError(message)
    return [name for name in (*_COLUMNS, *_KEPT) if name in names]


def _article(row: dict[str, Any], place: str) -> Article:
    try:
        metadata = {name: row[name] for name in _KEPT if row.get(name)}
        return Article(row["title"], row["text"], metadata=metadata)
    except InvalidInputError as error:
        message = f"{place}: {error}"
        raise UnreadableFileError(message) from error
