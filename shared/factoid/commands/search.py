"""`factoid search`: a question to a store."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from factoid.commands.options import (
    add_encoder,
    add_filter,
    add_granularity,
    check_question,
    make_encoder,
    print_json,
    read_filter,
)
from factoid.context import pack_context
from factoid.errors import EncoderMismatchError, StoreError
from factoid.store import UnitStore
from factoid.terminal import count, show_hit, wants_color

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

SUMMARY = "find the passages that answer a question, and the facts in them"


def configure(parser: ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("store", metavar="STORE", help="a store that factoid index made")
    parser.add_argument("question", metavar="QUESTION", help="what to search for")
    parser.add_argument("-k", type=int, default=5, metavar="N", help="how many passages (default: 5)")
    add_granularity(parser, "the units that are compared with the question")
    add_filter(parser, "only units whose metadata pass a filter")
    parser.add_argument(
        "--words", type=int, metavar="N", help="print the first N words of the best units instead: a reader's context"
    )
    add_encoder(parser)
    parser.add_argument("--json", action="store_true", help="print hits with all their fields as JSON")


def run(args: Namespace) -> None:
    """Run the command."""
    check_question(args.question)
    condition = read_filter(args.filter)
    with _open(args) as store:
        hits = store.search(args.question, args.k, granularity=args.granularity, filter=condition)
        context = None
        if args.words is not None:
            # Every unit has a word at least, so this many fill the budget.
            wanted = max(args.words, 1)
            units = store.search(args.question, wanted, granularity=args.granularity, parents=False, filter=condition)
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
    path = Path(args.store)
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):  # UnitStore would make one
        message = f"there is no store at {path}. Make one with: factoid index FILE… --store {path}"
        raise StoreError(message)
    try:
        store = UnitStore(path, encoder=make_encoder(args))
    except EncoderMismatchError as error:
        message = f"{error}. Name the first one with --encoder"
        raise EncoderMismatchError(message) from error
    counts = store.counts()
    if not counts.get(args.granularity):
        store.close()
        held = ", ".join(count(number, kind) for kind, number in counts.items()) or "nothing"
        message = f"the store at {path} holds no {args.granularity}s. It holds {held}"
        raise StoreError(message)
    return store
