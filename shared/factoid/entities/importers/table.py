"""Articles as tables: CSV as spreadsheets save it, and Hugging Face's `wikimedia/wikipedia` as Parquet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from factoid._optional import require
from factoid.entities.articles.article import Article, Record, Redirect
from factoid.entities.importers.source_files import KEYS_HINT, FileSource, Paths
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.lines import located
from factoid.files.tables import find_column, read_table

TABLES = ("*.csv", "*.tsv")
_BETWEEN_NAMES = re.compile(r"[|;\n]")
_BATCH = 1000  # rows of Parquet in memory at a time
_COLUMNS, _METADATA = ("title", "text"), ("id", "url")  # of Parquet


class ArticleCsv(FileSource):
    """Tables with a head: a column of titles, one of texts, and if you like `aliases`, `redirects` and `id`.

    Several names in one cell are separated by "|", ";" or line breaks. The id becomes that of what a retriever returns, what
    other columns hold its metadata. `title_key` and `text_key` are the heads of their columns, in any case.
    """

    patterns = TABLES

    def __init__(self, paths: Paths, *, title_key: str = "title", text_key: str = "text") -> None:
        super().__init__(paths, title_key=title_key, text_key=text_key)
        self._columns = {"title": title_key, "text": text_key} | {name: name for name in ("aliases", "redirects", "id")}

    def read(self, skip: int = 0) -> Iterator[Record]:
        """Yield the records from number `skip` on: of each row the article, then its redirects."""
        return islice(chain.from_iterable(map(self._records, self._files())), skip, None)

    def _records(self, file: Path) -> Iterator[Record]:
        names, rows = read_table(file, self._columns["title"], self._columns["text"])
        columns = {role: find_column(names, name) for role, name in self._columns.items()}
        if columns["title"] is None or columns["text"] is None:
            raise UnreadableFileError(
                f"{file}: expected one column {self._columns['title']!r} and one {self._columns['text']!r}, got "
                f"{', '.join(map(repr, names[:8])) or 'an empty file'}{KEYS_HINT}"
            )
        for line, cells in rows:
            values = {role: cells.get(column or "", "") for role, column in columns.items()}
            title = values["title"].strip()
            aliases, redirects = (_split_names(values[role]) for role in ("aliases", "redirects"))
            metadata = {name: cell for name, cell in cells.items() if cell.strip() and name not in columns.values()}
            with located(f"{file}:{line}"):
                if not title:
                    raise InvalidInputError("a row without a title")
                yield Article(title, values["text"], aliases, metadata=metadata, document_id=values["id"].strip())
            yield from (Redirect(name, title) for name in redirects)


def _split_names(cell: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(str.strip, _BETWEEN_NAMES.split(cell)))))


class WikipediaParquet(FileSource):
    """Files with the columns title and text, and id and url if there are such, which become metadata.

    The dataset holds no redirects: give them beside it with `RedirectLines`.
    """

    patterns = ("*.parquet",)

    def read(self, skip: int = 0) -> Iterator[Article]:
        """Yield the articles from number `skip` on; groups of rows before it are not read."""
        pa, parquet = require("pyarrow", extra="parquet"), require("pyarrow.parquet", extra="parquet")
        for path in self._files():
            try:
                with parquet.ParquetFile(path) as file:
                    for number, row in _parquet_rows(file, path, skip):
                        with located(f"{path}, row {number}"):
                            metadata = {key: row[key] for key in _METADATA if row.get(key)}
                            article = Article(row["title"], row["text"], metadata=metadata)
                        yield article
                    skip = max(0, skip - file.metadata.num_rows)
            except UnreadableFileError:
                raise
            except (pa.ArrowException, OSError) as error:
                reason = getattr(error, "strerror", None) or " ".join(str(error).split())
                again = "Copy or download it again"
                raise UnreadableFileError(f"{path} cannot be read as Parquet: {reason}. {again}") from error


def _parquet_rows(file: Any, path: Path, skip: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of an open file after the first `skip`, with their numbers from 1 on."""
    names = file.schema_arrow.names
    if missing := [name for name in _COLUMNS if name not in names]:
        fault = f"expected the columns {' and '.join(_COLUMNS)}, got {', '.join(names)}"
        raise UnreadableFileError(f"{path}: {fault}: no {missing[0]}")
    columns = [name for name in (*_COLUMNS, *_METADATA) if name in names]
    number = 0
    for group in range(file.num_row_groups):
        size = file.metadata.row_group(group).num_rows
        batches = file.iter_batches(_BATCH, row_groups=[group], columns=columns) if number + size > skip else ()
        rows = enumerate((row for batch in batches for row in batch.to_pylist()), start=number + 1)
        yield from islice(rows, max(0, skip - number), None)
        number += size
