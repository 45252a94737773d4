"""Articles from tables: CSV as spreadsheets save it, and Hugging Face's `wikimedia/wikipedia` as Parquet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

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
    """Tables with a header: a column of titles, one of texts, and optionally `aliases`, `redirects` and `id`.

    Several names in one cell are separated by "|", ";" or line breaks. The id becomes that of a retriever's hit, other columns
    become its metadata. `title_key` and `text_key` are the names of their columns, in any case.
    """

    patterns = TABLES

    def __init__(self, paths: Paths, *, title_key: str = "title", text_key: str = "text") -> None:
        super().__init__(paths, title_key=title_key, text_key=text_key)
        self._columns = {"title": title_key, "text": text_key} | {name: name for name in ("aliases", "redirects", "id")}

    def _records(self, file: Path) -> Iterator[Record]:
        names, rows = read_table(file, self._columns["title"], self._columns["text"])
        columns = {role: find_column(names, name) for role, name in self._columns.items()}
        if columns["title"] is None or columns["text"] is None:
            raise UnreadableFileError(
                f"{file}: expected one column {self._columns['title']!r} and one {self._columns['text']!r}, got "
                f"{', '.join(map(repr, names[:8])) or 'an empty file'}{KEYS_HINT}. A file of redirects goes with --redirects"
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
    """Parquet files with the columns title and text, and optionally id and url, which become metadata.

    The dataset has no redirects: add them with `RedirectLines`.
    """

    patterns = ("*.parquet",)

    def _records(self, file: Path) -> Iterator[Article]:
        pa, parquet = require("pyarrow", extra="parquet"), require("pyarrow.parquet", extra="parquet")
        try:
            with parquet.ParquetFile(file) as table:
                names = table.schema_arrow.names
                if missing := [name for name in _COLUMNS if name not in names]:
                    fault = f"expected the columns {' and '.join(_COLUMNS)}, got {', '.join(names)}"
                    raise UnreadableFileError(f"{file}: {fault}: no {missing[0]}")
                columns = [name for name in (*_COLUMNS, *_METADATA) if name in names]
                rows = (row for batch in table.iter_batches(_BATCH, columns=columns) for row in batch.to_pylist())
                for number, row in enumerate(rows, start=1):
                    metadata = {key: row[key] for key in _METADATA if row.get(key)}
                    with located(f"{file}, row {number}"):
                        yield Article(row["title"], row["text"], metadata=metadata)
        except UnreadableFileError:
            raise
        except (pa.ArrowException, OSError) as error:
            reason = getattr(error, "strerror", None) or " ".join(str(error).split())
            raise UnreadableFileError(
                f"{file} cannot be read as Parquet: {reason}. Copy or download it again"
            ) from error
