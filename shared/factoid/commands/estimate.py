"""`factoid estimate`: what a chat model would cost. Nothing is sent."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from factoid.commands.options import add_paths, min_words, print_json
from factoid.errors import InvalidInputError
from factoid.files import read_documents
from factoid.propositions.caching.cache import PropositionCache
from factoid.propositions.prompting.chat import versioned_name
from factoid.propositions.prompting.cost import Prices, estimate
from factoid.split import split_passages

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

SUMMARY = "count the tokens and the price of decomposing files with a chat model, without sending anything"


def configure(parser: ArgumentParser) -> None:
    """Add the command's options."""
    add_paths(parser)
    parser.add_argument("--model", required=True, metavar="NAME", help="the chat model")
    parser.add_argument("--price-in", type=float, metavar="P", help="its price for a million tokens of prompts")
    parser.add_argument("--price-out", type=float, metavar="P", help="its price for a million tokens of answers")
    parser.add_argument(
        "--batch-discount",
        type=float,
        default=0.5,
        metavar="D",
        help="what the Batch API takes off, as a part of the price (default: 0.5)",
    )
    parser.add_argument("--cache", metavar="FILE", help="leave out passages whose propositions this file holds")
    parser.add_argument("--words", type=int, default=100, metavar="N", help="most words of a passage (default: 100)")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> None:
    """Run the command."""
    if (args.price_in is None) != (args.price_out is None):
        message = "--price-in and --price-out go together: prompts and answers have different prices"
        raise InvalidInputError(message)
    prices = None
    if args.price_in is not None:
        prices = Prices(args.price_in, args.price_out, batch_discount=args.batch_discount)
    passages = (
        passage
        for document in read_documents(args.paths)
        for passage in split_passages(document, words=args.words, min_words=min_words(args))
    )
    found = estimate(
        passages,
        prices,
        model=args.model,
        name=versioned_name(args.model),
        cache=PropositionCache(args.cache) if args.cache and Path(args.cache).exists() else None,
    )
    if args.json:
        print_json(asdict(found))
    else:
        print(found)
