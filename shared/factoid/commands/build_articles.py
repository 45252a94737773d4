"""`factoid build-articles`: dumps, datasets and your own articles into an article store."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from factoid.commands.options import add_quiet, print_json, show_progress
from factoid.entities.articles.build import build_articles
from factoid.entities.articles.duplicates import Duplicates
from factoid.entities.articles.report import describe_faults
from factoid.entities.importers.detect import DUMP, IMPORTERS, make_sources
from factoid.errors import InvalidInputError
from factoid.terminal import count, plain

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

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
        "of {title: text}, CSV with columns title, text, aliases, redirects and id, and redirects as lines of a name, a tab and "
        "a target",
    )
    parser.add_argument(
        "--format",
        choices=("auto", DUMP, *IMPORTERS),
        default="auto",
        help="what the sources are (default: auto, by the name and the first bytes of each)",
    )
    parser.add_argument(
        "--title-key",
        default="title",
        metavar="NAME",
        help="field of JSON lines or column of CSV that holds the title (default: title)",
    )
    parser.add_argument(
        "--text-key",
        default="text",
        metavar="NAME",
        help="field of JSON lines or column of CSV that holds the text (default: text)",
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
        "--allow-truncated",
        action="store_true",
        help="read a MediaWiki dump that is cut off or damaged up to there; else it is an error",
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
    sources = make_sources(
        paths,
        args.format,
        workers=args.workers,
        words=args.words,
        title_key=args.title_key,
        text_key=args.text_key,
        allow_truncated=args.allow_truncated,
    )
    sources += make_sources([Path(source) for source in args.redirects], "redirects")
    report = build_articles(
        args.path,
        sources,
        words=args.words,
        duplicates=args.duplicates,
        resume=not args.restart,
        show_progress=show_progress(args),
        warn=False,  # the report says it
    )
    if args.json:
        print_json({"path": args.path, **asdict(report)})
    else:
        print("\n".join(_lines(args, report)))


def _lines(args: Namespace, report: BuildReport) -> list[str]:
    aliases = "1 alias" if report.aliases == 1 else f"{report.aliases:,} aliases"
    lines = [
        f"{args.path}: {count(report.articles, 'article')}, {count(report.names, 'name')}, {_size(report.bytes)}, "
        f"in {report.seconds:,.1f} s",
        f"{count(report.redirects, 'redirect')}, {aliases}, {count(report.links, 'link')}",
        *map(plain, describe_faults(report, args.duplicates)),
    ]
    if report.left_out:
        reasons = sorted(report.left_out.items(), key=lambda item: -item[1])
        lines.append(f"left out of the sources: {'; '.join(f'{reason}: {number:,}' for reason, number in reasons)}")
    return lines


def _size(size: int) -> str:
    if size < 1e6:
        return f"{size / 1e3:,.1f} kB"
    return f"{size / 1e6:,.1f} MB" if size < 1e9 else f"{size / 1e9:,.2f} GB"
