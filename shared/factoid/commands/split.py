"""`factoid split`: files into units, as JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING

from tqdm.auto import tqdm

from factoid.commands.options import (
    add_granularity,
    add_paths,
    add_quiet,
    add_splitting,
    make_propositionizer,
    min_words,
    print_json,
    show_progress,
)
from factoid.files import read_documents
from factoid.propositions import Propositionizer, propositionize
from factoid.split import split_passages, split_sentences
from factoid.units import Granularity, Unit

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

SUMMARY = "print the passages, sentences or propositions of files as JSON lines with spans"

_BATCH = 64  # passages decomposed together: output starts early, and models still get full batches


def configure(parser: ArgumentParser) -> None:
    """Add the command's options."""
    add_paths(parser)
    add_granularity(parser, "the units to print")
    add_splitting(parser)
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
    bar = tqdm(passages, unit=" passages", disable=not show_progress(args))
    for unit in _propositions(bar, propositionizer) if propositionizer else _cut(bar, granularity):
        print_json(asdict(unit))


def _cut(passages: Iterable[Unit], granularity: Granularity) -> Iterator[Unit]:
    for passage in passages:
        yield from [passage] if granularity is Granularity.PASSAGE else split_sentences(passage)


def _propositions(passages: Iterable[Unit], propositionizer: Propositionizer) -> Iterator[Unit]:
    remaining = iter(passages)
    while batch := list(islice(remaining, _BATCH)):
        yield from propositionize(batch, propositionizer)
