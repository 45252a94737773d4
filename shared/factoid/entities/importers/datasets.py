"""Articles from published datasets.

KILT's knowledge source (Petroni et al., 2021) and Hugging Face's `wikimedia/wikipedia`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from factoid._optional import require
from factoid.entities.articles.article import Article
from factoid.entities.articles.names import canonical_title
from factoid.errors import UnreadableFileError
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits
from factoid.files.lines import located, read_records

_ROWS = 20  # read at a time; few, since one stored text may stand in all of them
_HEADING = "Section::::"
_BULLET = re.compile(r"\ABULLET::::[-*#:; ]*")


def read_kilt(file: str | Path, *, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[Article]:
    """Yield KILT's articles without headings.

    They have the links of its anchors and Wikidata's aliases.
    """
    return read_records(Path(file), _kilt_article, expected="an article of KILT", limits=limits)


def _kilt_article(fields: dict[str, Any]) -> Article:
    title = fields["wikipedia_title"]
    (_, *paragraphs) = fields["text"]
    text = "\n".join(
        _BULLET.sub("", line.strip()) for line in paragraphs if not line.startswith(_HEADING)
    )
    links = []
    for anchor in fields.get("anchors") or ():
        name = anchor["text"]
        target, _, _ = unquote(anchor["href"]).partition("#")
        if name and target and "://" not in target:
            links.append((name, canonical_title(target)))
    wikidata = fields.get("wikidata_info") or {}
    aliases = (wikidata.get("aliases") or {}).get("alias") or ()
    ids = {"id": fields.get("wikipedia_id"), "wikidata_id": wikidata.get("wikidata_id")}
    return Article(
        title,
        text,
        tuple(aliases),
        tuple(links),
        {name: value for name, value in ids.items() if value},
    )


def read_parquet(file: str | Path, *, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[Article]:
    """Yield the articles of a Parquet file with the columns title and text.

    Id and url become metadata.

    Raises:
        UnreadableFileError: The file is damaged or lacks a column, or a text is longer than the
            limit of unpacked bytes.
        MissingDependencyError: pyarrow is not installed.
    """
    pa = require("pyarrow", extra="parquet")
    parquet = require("pyarrow.parquet", extra="parquet")
    try:
        with parquet.ParquetFile(file) as table:
            names = table.schema_arrow.names
            if not {"title", "text"} <= {*names}:
                raise UnreadableFileError(
                    f"{file}: expected the columns title and text, got {', '.join(names)}"
                )
            columns = []
            for name in ("title", "text", "id", "url"):
                if name in names:
                    columns.append(name)
            batches = table.iter_batches(_ROWS, columns=columns)
            rows = chain.from_iterable(batch.to_pylist() for batch in batches)
            for number, row in enumerate(rows, start=1):
                if len(row["text"] or "") > limits.unpacked_bytes:
                    limits.refuse(
                        f"{file}, row {number}: the text has", "unpacked_bytes", "characters"
                    )
                with located(f"{file}, row {number}"):
                    yield Article(row.pop("title"), row.pop("text"), metadata=row)
    except UnreadableFileError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFileError(
            f"{file} cannot be read as Parquet: {error}. Copy or download it again"
        ) from error
