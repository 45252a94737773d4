"""`factoid build-articles`, `articles` and `verify-articles`.

Make, inspect and check article stores.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from factoid.cli import options as opts
from factoid.cli.options import argument, option
from factoid.errors import InvalidInputError, StoreError, UnreadableFileError
from factoid.files.lines import filled_lines, located, parse_object
from factoid.terminal import count, plain, wrap
from factoid.units import whole_number

if TYPE_CHECKING:
    from factoid.entities.articles.article import Record
    from factoid.files.limits import ReadLimits


def build_articles(
    path: Annotated[
        str,
        argument(
            "PATH", "The file to make; an existing one is replaced when the new one is complete."
        ),
    ],
    sources: Annotated[
        list[str],
        argument(
            "SOURCE",
            "Files: a MediaWiki XML dump (.xml, .bz2), KILT's knowledge source (.json), Parquet "
            "files of wikimedia/wikipedia, or your own documents: JSON lines (.jsonl) or tables "
            "(.csv, .tsv) with fields title, text, aliases and id.",
        ),
    ],
    title_key: Annotated[
        str, option("NAME", "Field or column of your own documents that holds the title.")
    ] = "title",
    words: Annotated[int, option("N", "Keep the first N words of each article.")] = 1000,
    duplicates: Annotated[
        Literal["first", "join", "keep"],
        option(
            None, "What to keep of articles with one title: the first, their texts joined, or all."
        ),
    ] = "first",
    workers: Annotated[int, option("N", "Number of processes that read a MediaWiki dump.")] = 1,
    limit: opts.Limit = None,
    *,
    output: opts.Output,
) -> None:
    """Make an article store, for entity retrieval.

    It is made of a Wikipedia dump, a dataset or your own articles. Call it again to go on after an
    interruption.
    """
    from factoid.entities.articles.build import build_articles as build

    files = list(map(Path, sources))
    if missing := [file for file in files if not file.is_file()]:
        raise UnreadableFileError(f"{missing[0]} is not a file")
    stamps = []
    for file in files:
        stamps.append((str(file.absolute()), file.stat().st_size, file.stat().st_mtime_ns))
    report = build(
        path,
        *read_articles(
            files, title_key=title_key, workers=workers, words=words, limits=opts.read_limits(limit)
        ),
        words=words,
        duplicates=duplicates,
        resume=f"{title_key} in {stamps}",
        progress=output.progress,
    )
    rows = asdict(report)
    output.print(
        {"path": path, **rows},
        "\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in rows.items()),
    )


def read_articles(
    files: Iterable[Path],
    *,
    title_key: str = "title",
    workers: int = 1,
    words: int,
    limits: ReadLimits,
) -> list[Iterable[Record]]:
    """Return the sources of articles for some files.

    They go by the endings, and by the first record of those in JSON.
    """
    from factoid.entities.articles.own_documents import OwnDocuments
    from factoid.entities.importers import MediaWikiDump, read_kilt, read_parquet
    from factoid.files.readers import JSONL_ENDING, TABLE_ENDINGS, read_documents

    sources: list[Iterable[Record]] = []
    dumps = []
    documents = []
    for file in files:
        ending = file.suffix.lower()
        if ending == ".parquet":
            sources.append(read_parquet(file, limits=limits))
        elif ending not in {".json", JSONL_ENDING, *TABLE_ENDINGS}:
            dumps.append(file)
        elif ending in TABLE_ENDINGS or not _is_kilt(file, limits):
            documents.append(file)
        else:
            sources.append(read_kilt(file, limits=limits))
    if dumps:
        sources.append(MediaWikiDump(dumps, workers=workers, words=words, limits=limits))
    if documents:
        sources.append(OwnDocuments(read_documents(documents, limits=limits), title_key=title_key))
    return sources


def _is_kilt(file: Path, limits: ReadLimits) -> bool:
    number, line = next(filled_lines(file, limits), (0, b"{}"))
    with located(f"{file}:{number}"):
        return "wikipedia_title" in parse_object(line)


def articles(
    path: Annotated[str, argument("PATH", "The article store.")],
    title: Annotated[
        str | None,
        typer.Argument(
            metavar="TITLE",
            help="A title, redirect or alias to look up.",
            show_default="show counts",
        ),
    ] = None,
    words: Annotated[int, option("N", "Show the first N words.")] = 100,
) -> None:
    """Show what an article store holds, or look up a name in it."""
    from factoid.entities.articles.names import name_key
    from factoid.entities.articles.store import ArticleStore
    from factoid.words import cut_words

    whole_number("--words", words)
    with ArticleStore(path) as store:
        if title is None:
            print(
                "\n".join(f"{name}: {plain(str(value))}" for name, value in store.stats().items())
            )
            return
        names = store.names([name_key(title)]).get(name_key(title), [])
        article = store.get(title)
    if not names:
        raise InvalidInputError(f"{path} does not know the name {title!r}")
    if article is not None:
        text = " ".join(cut_words(article.text, words).split())
        print(plain(article.title), wrap(plain(text)), sep="\n\n", end="\n\n")
    for name in names:
        print(
            f"{plain(name.form)} → {plain(name.title)} ({name.kind.name.lower().replace('_', ' ')})"
        )


def verify_articles(
    path: Annotated[str, argument("PATH", "The article store.")], *, output: opts.Output
) -> None:
    """Check that an article store is intact; exit with 1 if it is not."""
    from factoid.entities.articles.store import ArticleStore

    with ArticleStore(path) as store:
        problems = store.verify()
    output.print({"problems": problems}, "\n".join(problems) or "all is well")
    if problems:
        raise StoreError(f"the article store {path} has {count(len(problems), 'problem')}")
