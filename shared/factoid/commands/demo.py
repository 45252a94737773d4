"""`factoid demo`: what the three granularities find, on an encyclopedia of our own or on your files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from factoid.commands.options import add_encoder, add_quiet, check_question, make_encoder, show_progress
from factoid.terminal import wants_color

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

SUMMARY = "show what each granularity finds, on a small encyclopedia or on your own files"


def configure(parser: ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "questions", nargs="*", metavar="QUESTION", help="questions to ask instead of the prepared ones"
    )
    parser.add_argument("--docs", metavar="DIR", help="your own folder or file, instead of the encyclopedia")
    add_encoder(parser)
    add_quiet(parser)


def run(args: Namespace) -> None:
    """Run the command."""
    from factoid.demo import run_demo

    for question in args.questions:
        check_question(question)
    run_demo(
        args.docs,
        args.questions,
        encoder=make_encoder(args),
        color=wants_color(sys.stdout),
        show_progress=show_progress(args),
    )
