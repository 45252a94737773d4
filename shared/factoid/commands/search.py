"""`factoid search`: a question to a store."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from factoid.commands.options import (
    add_encoder,
    add_filter,
    add_granularity,
    check_question,
    make_encoder,
    open_store,
    print_json,
    read_filter,
    read_object,
)
from factoid.context import pack_context
from factoid.errors import StoreError
from factoid.store.options import MIXED
from factoid.terminal import count, show_hit, wants_color

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from factoid.store import UnitStore

SUMMARY = "find the passages that answer a question, and the facts in them"


def configure(parser: ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("store", metavar="STORE", help="a store that factoid index made")
    parser.add_argument("question", metavar="QUESTION", help="what to search for")
    parser.add_argument("-k", type=int, default=5, metavar="N", help="how many passages (default: 5)")
    add_granularity(parser, "the units that are compared with the question; mixed for all, ranked together", MIXED)
    add_filter(parser, "only units whose metadata pass a filter")
    parser.add_argument("--min-score", type=float, metavar="S", help="only what has a unit of at least this score")
    parser.add_argument(
        "--mmr",
        type=float,
        metavar="WEIGHT",
        help="results that are unlike each other: weight of the question from 0 (only unlike counts) to 1 (it does not)",
    )
    parser.add_argument(
        "--expand", type=int, default=0, metavar="N", help="show so many sentences before and after each fact"
    )
    parser.add_argument(
        "--parameters",
        metavar="JSON",
        help="how wide an approximate index searches, as in '{\"nprobe\": 32}' or '{\"efSearch\": 128}'",
    )
    parser.add_argument(
        "--refine",
        type=int,
        metavar="N",
        help="for compressed indexes: candidates per result that are scored again with the exact vectors (default: 10)",
    )
    parser.add_argument(
        "--words", type=int, metavar="N", help="print the first N words of the best units instead: a reader's context"
    )
    add_encoder(parser)
    parser.add_argument("--json", action="store_true", help="print hits with all their fields as JSON")


def run(args: Namespace) -> None:
    """Run the command."""
    check_question(args.question)
    options: dict[str, Any] = {
        "granularity": args.granularity,
        "filter": read_filter(args.filter),
        "min_score": args.min_score,
        "mmr": args.mmr,
        "parameters": read_object("--parameters", args.parameters, holding="names and numbers"),
        "refine": args.refine,
    }
    with _open(args) as store:
        hits = store.search(args.question, args.k, expand=args.expand, **options)
        context = None
        if args.words is not None:
            # Every unit has a word at least, so this many fill the budget.
            units = store.search(args.question, max(args.words, 1), parents=False, **options)
            context = pack_context(units, words=args.words)
    if args.json:
        found = {"question": args.question, "granularity": args.granularity, "hits": [asdict(hit) for hit in hits]}
        print_json(found if context is None else {**found, "context": context})
    elif context is not None:
        print(context)
    else:
        color = wants_color(sys.stdout)
        print("\n\n".join(show_hit(rank, hit, color=color) for rank, hit in enumerate(hits, start=1)))


def _open(args: Namespace) -> UnitStore:
    """Open a store that is there and has what is asked for."""
    store = open_store(args.store, encoder=make_encoder(args))
    counts = store.counts()
    if not (any(counts.values()) if args.granularity == MIXED else counts.get(args.granularity)):
        store.close()
        held = ", ".join(count(number, kind) for kind, number in counts.items()) or "nothing"
        wanted = "units" if args.granularity == MIXED else f"{args.granularity}s"
        message = f"the store at {args.store} holds no {wanted}. It holds {held}"
        raise StoreError(message)
    return store
