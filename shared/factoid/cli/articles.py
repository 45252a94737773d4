"""`factoid build-articles` and `articles`: make and inspect article stores."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from factoid.cli import options as opts
from factoid.cli.options import argument, option
from factoid.errors import InvalidInputError
from factoid.terminal import count, plain, wrap
from factoid.units import whole_number

_MOST = 20  # most names that a list shows
_SOURCES_HELP = (
    "Files and folders: a MediaWiki XML dump (.bz2), the output of wikiextractor --json, KILT's knowledge source, the Parquet "
    'files of wikimedia/wikipedia, JSON lines of {"title", "text", "aliases", "redirects", "metadata"}, CSV with columns title, '
    "text, aliases, redirects and id; with --format titles, JSON lines of {title: text}."
)


def build_articles(
    path: Annotated[
        str, argument("PATH", "The file to make; an existing one is replaced when the new one is complete.")
    ],
    sources: Annotated[list[str], argument("SOURCE", _SOURCES_HELP)],
    source_format: Annotated[
        Literal["auto", "dump", "wikiextractor", "kilt", "parquet", "titles", "jsonl", "csv"],
        option(None, "Format of the sources; auto goes by the name and first bytes of each.", "--format"),
    ] = "auto",
    title_key: Annotated[str, option("NAME", "Field of JSON lines or column of CSV that holds the title.")] = "title",
    text_key: Annotated[str, option("NAME", "Field of JSON lines or column of CSV that holds the text.")] = "text",
    redirects: Annotated[
        list[str] | None, option("FILE", "Lines of a name, a tab and the title it leads to; may be repeated.")
    ] = None,
    words: Annotated[int, option("N", "Keep the first N words of each article.")] = 1000,
    duplicates: Annotated[
        Literal["first", "last", "join", "error"],
        option(None, "Which of several articles with one title to keep; join joins their texts, error stops."),
    ] = "first",
    workers: Annotated[int, option("N", "Number of processes that read a MediaWiki dump.")] = 1,
    allow_truncated: Annotated[
        bool, option(None, "Read a damaged MediaWiki dump up to the damage instead of failing.", "--allow-truncated")
    ] = False,
    restart: Annotated[bool, option(None, "Start over instead of resuming an interrupted build.", "--restart")] = False,
    *,
    output: opts.Output,
) -> None:
    """Make an article store from a Wikipedia dump, a dataset or your own articles, for entity retrieval."""
    from rich.filesize import decimal

    from factoid.entities.articles.build import build_articles as build
    from factoid.entities.articles.build import describe_faults
    from factoid.entities.importers import RedirectLines
    from factoid.entities.importers.detect import make_sources

    readers = make_sources(
        [Path(source) for source in sources],
        source_format,
        title_key=title_key,
        text_key=text_key,
        workers=workers,
        words=words,
        allow_truncated=allow_truncated,
    )
    if redirects:
        readers.append(RedirectLines(redirects))
    report = build(
        path,
        readers,
        words=words,
        duplicates=duplicates,
        resume=not restart,
        show_progress=output.show_progress,
        warn=False,  # the report says so
    )
    built = f"{count(report.articles, 'article')}, {count(report.names, 'name')}, {decimal(report.bytes)}"
    aliases = f"{report.aliases:,} {'alias' if report.aliases == 1 else 'aliases'}"
    lines = [
        f"{path}: {built}, in {report.seconds:,.1f} s",
        f"{count(report.redirects, 'redirect')}, {aliases}, {count(report.links, 'link')}",
        *map(plain, describe_faults(report, duplicates)),
    ]
    if report.left_out:
        reasons = sorted(report.left_out.items(), key=lambda item: -item[1])
        lines.append(f"left out of the sources: {'; '.join(f'{reason}: {number:,}' for reason, number in reasons)}")
    output.print({"path": path, **asdict(report)}, "\n".join(lines))


def articles(
    path: Annotated[str, argument("PATH", "The article store.")],
    title: Annotated[
        str | None,
        typer.Argument(metavar="TITLE", help="A title, redirect or alias to look up.", show_default="show counts"),
    ] = None,
    words: Annotated[int, option("N", "Show the first N words.")] = 100,
    as_json: opts.AsJson = False,
) -> None:
    """Show what an article store holds, or look up a name in it."""
    from factoid.entities.articles import ArticleStore, name_key
    from factoid.words import cut_words

    whole_number("--words", words)
    with ArticleStore(path) as store:
        if title is None:
            stats = store.stats()
            rows = {
                "articles": stats.articles,
                **{f"names: {kind}": number for kind, number in stats.names.items()},
                "redirects elsewhere": stats.outside,
                "links read": stats.links,
                "words kept": stats.words,
                "bytes": stats.bytes,
            }
            lines = [f"{name:<20}{number:>16,}" for name, number in rows.items()]
            lines += [f"built from {plain(source)}" for source in stats.sources]
            opts.Output(as_json=as_json).print(stats, "\n".join(lines))
            return
        names, article, target = store.names([name_key(title)]), store.get(title), store.title_of(title)
    if not names:
        if target is not None:
            raise InvalidInputError(f"{title!r} redirects to {target!r}, which is not in {path}")
        raise InvalidInputError(f"{path} does not know the name {title!r}")
    listed = [(name, name.kind.name.lower()) for name in names[name_key(title)]]
    text = " ".join(cut_words(article.text, words).split()) if article else ""
    if as_json:
        shown = article and {"title": article.title, "text": text, "metadata": dict(article.metadata)}
        opts.print_json({"article": shown, "names": [{**asdict(name), "kind": kind} for name, kind in listed]})
        return
    if article is not None:
        print(plain(article.title), wrap(plain(text)), sep="\n\n", end="\n\n")
    print(f"{plain(title)!r} names:")
    for name, kind in listed[:_MOST]:
        links = f", {count(name.count, 'link')}" if name.count else ""
        print(f"  {plain(name.title)} ({kind.replace('_', ' ')}{links})")
    if len(listed) > _MOST:
        print(f"  and {count(len(listed) - _MOST, 'other')}")
