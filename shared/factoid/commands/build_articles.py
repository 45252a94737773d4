"""`factoid build-articles`: dumps, datasets and your own articles into an article store."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from factoid.commands.options import add_quiet, print_json, show_progress
from factoid.entities.articles.build import build_articles
from factoid.entities.articles.duplicates import Duplicates
from factoid.entities.importers.detect import DUMP, IMPORTERS, make_sources
from factoid.errors import InvalidInputError
from factoid.terminal import count, plain

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from factoid.entities.articles.report import BuildReport

SUMMARY = "make an article store of a Wikipedia dump, a dataset or your own articles, to find entities in"


def configure(parser: ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("path", metavar="PATH", help="the file to make; it is replaced when the new one is whole")
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="files and folders: a MediaWiki XML dump (.bz2), the output of wikiextractor --json, KILT's knowledge source, "
        'the Parquet files of wikimedia/wikipedia, JSON lines of {"title", "text", "aliases", "redirects", "metadata"} or '
        "of {title: text}, and redirects as lines of a name, a tab and a target",
    )
    parser.add_argument(
        "--format",
        choices=("auto", DUMP, *IMPORTERS),
        default="auto",
        help="what the sources are (default: auto, by the name and the first bytes of each)",
    )
    parser.add_argument(
        "--redirects", action="append", default=[], metavar="FILE", help="a file of redirects; may be repeated"
    )
    parser.add_argument(
        "--words", type=int, default=1000, metavar="N", help="first words of each article to keep (default: 1000)"
    )
    parser.add_argument(
        "--duplicates",
        choices=get_args(Duplicates),
        default="first",
        help="which of several articles of one title to keep; join joins their texts (default: first)",
    )
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes that read a MediaWiki dump (default: 1)"
    )
    parser.add_argument(
        "--restart", action="store_true", help="start over, and do not go on with a build that was interrupted"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    add_quiet(parser)


def run(args: Namespace) -> None:
    """Run the command."""
    for name in ("workers", "words"):
        if getattr(args, name) < 1:
            message = f"--{name} must be at least 1, got {getattr(args, name)}"
            raise InvalidInputError(message)
    paths = [Path(source) for source in args.sources]
    sources = make_sources(paths, args.format, workers=args.workers, words=args.words)
    sources += make_sources([Path(source) for source in args.redirects], "redirects")
    report = build_articles(
        args.path,
        sources,
        words=args.words,
        duplicates=args.duplicates,
        resume=not args.restart,
        show_progress=show_progress(args),
    )
    if args.json:
        print_json({"path": args.path, **asdict(report)})
    else:
        print("\n".join(_lines(args, report)))


def _lines(args: Namespace, report: BuildReport) -> list[str]:
    size = f"{report.bytes / 1e6:,.1f} MB" if report.bytes < 1e9 else f"{report.bytes / 1e9:,.2f} GB"
    lines = [
        f"{args.path}: {count(report.articles, 'article')}, {count(report.names, 'name')}, {size}, "
        f"in {report.seconds:,.1f} s",
        f"{count(report.redirects, 'redirect')}, {report.aliases:,} aliases, {count(report.links, 'link')}",
    ]
    kept = {"first": "the first was kept", "last": "the last was kept", "join": "their texts were joined"}
    for number, what, examples in (
        (
            report.duplicates,
            f"with a title that another article had before; {kept.get(args.duplicates, '')}",
            report.duplicate_examples,
        ),
        (report.empty, "left out that had no text", report.empty_examples),
        (report.dangling, "left out that led to no article", report.dangling_examples),
        (report.circular, "left out that led round in a circle", report.circular_examples),
    ):
        if number:
            noun = "redirect" if " led " in what else "article"
            lines.append(f"{count(number, noun)} {what}: {_some(examples, number)}")
    return lines


def _some(examples: Sequence[str], number: int) -> str:
    return "; ".join(map(plain, examples)) + (" …" if number > len(examples) else "")
