"""`factoid split`: files into units, as JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from factoid.commands.options import (
    add_cache,
    add_granularity,
    add_paths,
    add_quiet,
    add_splitting,
    add_unsupported,
    forget_failures,
    make_propositionizer,
    min_words,
    print_json,
    show_progress,
)
from factoid.errors import InvalidInputError
from factoid.files import read_documents
from factoid.propositions import Decomposition, Propositionizer, Report, decompose
from factoid.propositions.caching.choose import caching
from factoid.split import split_passages, split_sentences
from factoid.units import Granularity, Unit

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

SUMMARY = "print the passages, sentences or propositions of files as JSON lines with spans"

_BATCH = 64  # passages decomposed together: output starts early, and models still get full batches
_WINDOW = 4096  # with a cache: several processes divide as many among them


def configure(parser: ArgumentParser) -> None:
    """Add the command's options."""
    add_paths(parser)
    add_granularity(parser, "the units to print")
    add_splitting(parser)
    add_unsupported(parser)
    add_cache(
        parser, "keep the propositions in this file: the command can be killed and run again, or run several times"
    )
    add_quiet(parser)


def run(args: Namespace) -> None:
    """Run the command."""
    granularity = Granularity(args.granularity)
    propositionizer = make_propositionizer(args) if granularity is Granularity.PROPOSITION else None
    passages = (
        passage
        for document in read_documents(args.paths)
        for passage in split_passages(document, words=args.words, min_words=min_words(args))
    )
    progress = show_progress(args)
    if propositionizer is None:
        for unit in _cut(tqdm(passages, unit=" passages", disable=not progress), granularity):
            print_json(_fields(unit))
        return
    if args.retry_failed:
        if not args.cache:
            message = "--retry-failed needs --cache, where failures are kept"
            raise InvalidInputError(message)
        forget_failures(args.cache)
    report = Report()
    with caching(propositionizer, args.cache, batch_size=_BATCH, show_progress=progress) as cached:
        bar = tqdm(passages, unit=" passages", disable=not progress or args.cache is not None)  # the cache has its own
        for decomposition in _propositions(bar, cached, args):
            report += decomposition.report
            for unit in decomposition.units:
                print_json(_fields(unit))
    if not args.quiet:
        print(report, file=sys.stderr)


def _fields(unit: Unit) -> dict[str, Any]:
    """Return what a unit that was just cut holds: a payload comes only from those who store units."""
    fields = asdict(unit)
    del fields["payload"]
    return fields


def _cut(passages: Iterable[Unit], granularity: Granularity) -> Iterator[Unit]:
    for passage in passages:
        yield from [passage] if granularity is Granularity.PASSAGE else split_sentences(passage)


def _propositions(
    passages: Iterable[Unit], propositionizer: Propositionizer, args: Namespace
) -> Iterator[Decomposition]:
    remaining = iter(passages)
    while batch := list(islice(remaining, _WINDOW if args.cache else _BATCH)):
        yield decompose(batch, propositionizer, unsupported=args.unsupported)
