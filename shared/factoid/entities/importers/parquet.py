"""Hugging Face's `wikimedia/wikipedia`: articles as Parquet, read through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from factoid._optional import require
from factoid.entities.articles.article import Article
from factoid.entities.importers.source_files import FileSource
from factoid.errors import UnreadableFileError
from factoid.files.lines import located

_BATCH = 1000  # rows in memory at a time
_COLUMNS, _METADATA = ("title", "text"), ("id", "url")


class WikipediaParquet(FileSource):
    """Files with the columns title and text, and id and url if there are such, which become metadata.

    The dataset holds no redirects: give them beside it with `RedirectLines`.

    Args:
        paths: Files, or folders of files that end in .parquet.
    """

    patterns = ("*.parquet",)

    def read(self, skip: int = 0) -> Iterator[Article]:
        """Yield the articles from number `skip` on; groups of rows before it are not read.

        Raises:
            UnreadableFileError: A file is missing, damaged, or has other columns.
        """
        pa, parquet = require("pyarrow", extra="parquet"), require("pyarrow.parquet", extra="parquet")
        for path in self._files():
            try:
                with parquet.ParquetFile(path) as file:
                    for number, row in _rows(file, path, skip):
                        with located(f"{path}, row {number}"):
                            metadata = {key: row[key] for key in _METADATA if row.get(key)}
                            article = Article(row["title"], row["text"], metadata=metadata)
                        yield article
                    skip = max(0, skip - file.metadata.num_rows)
            except UnreadableFileError:
                raise
            except (pa.ArrowException, OSError) as error:
                reason = getattr(error, "strerror", None) or " ".join(str(error).split())
                message = f"{path} cannot be read as Parquet: {reason}. Copy or download it again"
                raise UnreadableFileError(message) from error


def _rows(file: Any, path: Path, skip: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of an open file after the first `skip`, with their numbers from 1 on."""
    names = file.schema_arrow.names
    if missing := [name for name in _COLUMNS if name not in names]:
        message = f"{path}: expected the columns {' and '.join(_COLUMNS)}, got {', '.join(names)}: no {missing[0]}"
        raise UnreadableFileError(message)
    columns = [name for name in (*_COLUMNS, *_METADATA) if name in names]
    number = 0
    for group in range(file.num_row_groups):
        size = file.metadata.row_group(group).num_rows
        batches = file.iter_batches(_BATCH, row_groups=[group], columns=columns) if number + size > skip else ()
        rows = enumerate((row for batch in batches for row in batch.to_pylist()), start=number + 1)
        yield from islice(rows, max(0, skip - number), None)
        number += size
