"""The command `factoid`: index, search and split your own files, and a demonstration.

Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 an error (told in one line), 2 wrong usage, 130
interrupted. One module of `factoid.commands` per verb; this one holds what they share.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from types import ModuleType

from factoid.commands import articles, batch, build_articles, demo, estimate, index, search, split, store, train, tune
from factoid.errors import FactoidError

COMMANDS: dict[str, ModuleType] = {
    "index": index,
    "search": search,
    "store": store,
    "tune": tune,
    "split": split,
    "estimate": estimate,
    "batch": batch,
    "train-propositionizer": train,
    "build-articles": build_articles,
    "articles": articles,
    "demo": demo,
}

_SIGPIPE = 141  # what a shell reports of a program whose reader has left


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Args:
        argv: The arguments; None for those of the process.

    Raises:
        SystemExit: With code 2 on wrong usage, with 0 after --help and --version.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a character that a terminal lacks is no reason to fail
    args = build_parser().parse_args(argv)
    warnings = logging.StreamHandler()
    warnings.setFormatter(logging.Formatter("factoid: %(message)s"))
    logger = logging.getLogger("factoid")
    logger.addHandler(warnings)
    try:
        args.run(args)
        sys.stdout.flush()  # now, so that a reader who has left is noticed here
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains when it flushes at exit
        return _SIGPIPE
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except (FactoidError, OSError) as error:
        return _fail(f"error: {' '.join(str(error).split())}", 1)
    finally:
        logger.removeHandler(warnings)
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="factoid",
        description="Retrieval at the right granularity: passages, sentences and propositions.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"factoid {version('factoid')}")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for verb, command in COMMANDS.items():
        summary = str(command.SUMMARY)
        own = verbs.add_parser(
            verb, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", allow_abbrev=False
        )
        command.configure(own)
        own.set_defaults(run=command.run)
    return parser


def _fail(message: str, code: int) -> int:
    print("factoid:", message, file=sys.stderr)
    return code
