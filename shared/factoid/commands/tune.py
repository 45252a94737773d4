"""`factoid tune`: which kind of index to give a store."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from factoid.commands.options import (
    add_encoder,
    add_granularity,
    add_quiet,
    make_encoder,
    open_store,
    print_json,
    show_progress,
)
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.index import check_kind
from factoid.terminal import count

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from factoid.index.tune import TuneRow
    from factoid.store import TuneReport

SUMMARY = "measure kinds of index on a store's own vectors: recall against exact search, time and bytes"

_REFINE = 10  # of a search that is not told
_HEAD = ("kind", "search", "recall", "ms", "ms (95 %)", "bytes/vector", "build, s")


def configure(parser: ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("store", metavar="STORE", help="a store that factoid index made; it is not changed")
    add_granularity(parser, "whose vectors are searched")
    parser.add_argument(
        "--kinds",
        nargs="+",
        metavar="KIND",
        help="FAISS factory strings, separated by blanks (default: those worth a try for so many vectors)",
    )
    parser.add_argument(
        "-k", type=int, default=10, metavar="N", help="how many vectors a search is to find (default: 10)"
    )
    parser.add_argument(
        "--query-file",
        metavar="FILE",
        help="what users ask, one question per line (default: vectors of the store, taken at random and left out of what "
        "is searched; real questions are harder to answer, and their recall may be lower)",
    )
    parser.add_argument(
        "--queries", type=int, default=200, metavar="N", help="how many searches at most (default: 200)"
    )
    parser.add_argument(
        "--refine",
        type=int,
        default=10,
        metavar="N",
        help="for kinds that hold codes: candidates per result that are scored again with the exact vectors, 0 for none "
        "(default: 10, as in a search)",
    )
    parser.add_argument(
        "--recall",
        type=float,
        default=0.95,
        metavar="R",
        help="what the kinds that are proposed must reach (default: 0.95)",
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=100_000,
        metavar="N",
        help="measure on so many vectors, taken at random if there are more; memory is needed for them and for an index "
        "of them (default: 100000)",
    )
    add_encoder(parser)
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    add_quiet(parser)


def run(args: Namespace) -> None:
    """Run the command."""
    if not 0 <= args.recall <= 1:
        message = f"--recall must be from 0 to 1, got {args.recall}"
        raise InvalidInputError(message)
    questions = None if args.query_file is None else _questions(Path(args.query_file))
    encoder = None if questions is None else make_encoder(args)
    with open_store(args.store, encoder=encoder, read_only=True) as store:
        report = store.tune(
            granularity=args.granularity,
            kinds=args.kinds,
            questions=questions,
            queries=args.queries,
            k=args.k,
            refine=args.refine,
            limit=args.limit,
            show_progress=show_progress(args),
        )
    if args.json:
        fastest, smallest = report.fastest(args.recall), report.smallest(args.recall)
        print_json({"store": args.store, **asdict(report), "fastest": _dict(fastest), "smallest": _dict(smallest)})
    else:
        print("\n\n".join(["\n".join(_told(report)), _table(report), *_proposals(args.store, report, args.recall)]))


def _questions(file: Path) -> list[str]:
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8-sig").splitlines()]
    except UnicodeDecodeError as error:
        message = f"{file} is not UTF-8: {error.reason} at byte {error.start}"
        raise UnreadableFileError(message) from error
    questions = [line for line in lines if line]
    if not questions:
        message = f"{file} holds no question: expected one per line"
        raise InvalidInputError(message)
    return questions


def _told(report: TuneReport) -> Iterator[str]:
    """Yield what was measured, and what to know about it."""
    measured = f"{count(report.vectors, f'{report.granularity} vector')} of {report.dim} dimensions"
    asked = count(report.queries, "further vector" if report.held_out else "question")
    source = " of the store, which stand for questions" if report.held_out else ""
    similarity = str(report.similarity).replace("_", " ")
    yield f"The {report.k} best of {measured}, by {similarity}, for each of {asked}{source}."
    if report.vectors + report.queries * report.held_out < report.total:
        yield (
            f"A sample of the {report.total:,} in the store (--limit): searches of all take longer, and inverted lists (IVF) "
            "should be more."
        )
    if report.refine:
        yield (
            f"Kinds that hold codes find {report.refine} candidates per result, which are scored again with exact vectors in "
            "memory; a store reads those from its database, which takes longer."
        )
    for kind, least in report.left_out.items():
        yield f"{kind} is left out: it needs {least:,} vectors to be trained, and there are {report.vectors:,}."


def _table(report: TuneReport) -> str:
    rows = [
        (
            row.kind,
            ", ".join(f"{name} {value}" for name, value in row.parameters.items()),
            f"{row.recall:.3f}",
            f"{row.median_ms:.3f}",
            f"{row.p95_ms:.3f}",
            f"{row.bytes_per_vector:,.0f}",
            f"{row.build_s:.2f}",
        )
        for row in report.rows
    ]
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    return "\n".join(_aligned(row, widths) for row in (_HEAD, *rows))


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    texts = 2  # columns of text, to the left; numbers to the right
    aligned = [
        cell.ljust(width) if at < texts else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(aligned).rstrip()


def _proposals(store: str, report: TuneReport, recall: float) -> Iterator[str]:
    """Yield the lines to copy, for the fastest and for the smallest index that finds enough."""
    fastest, smallest = report.fastest(recall), report.smallest(recall)
    if fastest is None or smallest is None:
        yield f"No kind reaches a recall of {recall:g}: raise --refine, or name other --kinds."
        return
    if fastest == smallest:
        yield _proposal("Fastest and smallest", fastest, store, report, recall)
        return
    yield _proposal("Fastest", fastest, store, report, recall)
    yield _proposal("Smallest", smallest, store, report, recall)


def _proposal(what: str, row: TuneRow, store: str, report: TuneReport, recall: float) -> str:
    lines = [
        f"{what} with a recall of {recall:g} or more:",
        f"  UnitStore({store!r}, encoder=…, index={{{str(report.granularity)!r}: {row.kind!r}}})",
        f"  factoid index FILE… --store {shlex.quote(store)} --index {report.granularity}={row.kind}",
    ]
    told, options = [], []
    if row.parameters:
        told.append(f"parameters={dict(row.parameters)!r}")
        options.append(f"--parameters {shlex.quote(json.dumps(row.parameters))}")
    if report.refine not in (0, _REFINE) and check_kind(row.kind, report.dim).lossy:
        told.append(f"refine={report.refine}")
        options.append(f"--refine {report.refine}")
    if told:
        kind = str(report.granularity)
        lines += [
            f"  store.search(…, granularity={kind!r}, {', '.join(told)})",
            f"  factoid search {shlex.quote(store)} QUESTION --granularity {kind} {' '.join(options)}",
        ]
    return "\n".join(lines)


def _dict(row: TuneRow | None) -> dict[str, object] | None:
    return None if row is None else asdict(row)
