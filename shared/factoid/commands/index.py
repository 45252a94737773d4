"""`factoid index`: files into a store."""

from __future__ import annotations

import time
from argparse import ArgumentTypeError
from dataclasses import asdict
from typing import TYPE_CHECKING

from factoid.commands.options import (
    GRANULARITIES,
    add_cache,
    add_encoder,
    add_paths,
    add_quiet,
    add_splitting,
    add_unsupported,
    forget_failures,
    make_encoder,
    make_propositionizer,
    min_words,
    print_json,
    show_progress,
)
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files import find_files, read_file
from factoid.index import Similarity
from factoid.store import UnitStore
from factoid.terminal import count
from factoid.units import Granularity

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from factoid.store import AddReport
    from factoid.units import Document

SUMMARY = "cut files into passages, sentences and propositions, and index them"


def configure(parser: ArgumentParser) -> None:
    """Add the command's options."""
    add_paths(parser)
    parser.add_argument("--store", required=True, metavar="DIR", help="the store; made if absent, added to otherwise")
    parser.add_argument(
        "--granularities",
        type=_granularities,
        default=GRANULARITIES,
        metavar="LIST",
        help="what can be searched, separated by commas (default: passage,sentence,proposition)",
    )
    parser.add_argument(
        "--index",
        action="append",
        metavar="KIND",
        help="the kind of index: auto, or a FAISS factory string such as Flat, HNSW32 or IVF1024,SQ8; "
        "GRANULARITY=KIND for one of them, may be repeated (default: what the store was told before, else auto); "
        "factoid tune helps to choose",
    )
    parser.add_argument(
        "--similarity",
        choices=[str(each) for each in Similarity],
        help="what a score is (default: what the store was told before, else inner_product)",
    )
    add_splitting(parser)
    add_unsupported(parser)
    add_cache(parser, "keep the propositions in a file that stores can share (default: those of models, in the store)")
    add_encoder(parser)
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    add_quiet(parser)


def run(args: Namespace) -> None:
    """Run the command. What can be read is indexed; what cannot is one error at the end."""
    started = time.perf_counter()
    unreadable: list[str] = []
    documents = _readable(find_files(args.paths), unreadable)
    propositionizer = make_propositionizer(args) if Granularity.PROPOSITION in args.granularities else None
    with UnitStore(
        args.store,
        encoder=make_encoder(args),
        granularities=args.granularities,
        index=args.index and _kinds(args.index),
        similarity=args.similarity,
    ) as store:
        if args.retry_failed:
            store.retry_failures()
            if args.cache:
                forget_failures(args.cache)
        report = store.add_documents(
            documents,
            propositionizer=propositionizer,
            words=args.words,
            min_words=min_words(args),
            unsupported=args.unsupported,
            cache=args.cache,
            show_progress=show_progress(args),
        )
        total = store.counts()
    if args.json:
        print_json({"store": args.store, "total": total, **asdict(report), "unreadable": unreadable})
    else:
        _print(args.store, report, total, time.perf_counter() - started)
    if unreadable:
        message = f"{count(len(unreadable), 'file')} left out, the others are indexed: {'; '.join(unreadable)}"
        raise UnreadableFileError(message)


def _readable(files: Iterable[Path], unreadable: list[str]) -> Iterator[Document]:
    """Yield the documents of files, and note why some could not be read (to their end)."""
    for file in files:
        try:
            yield from read_file(file)
        except UnreadableFileError as error:
            unreadable.append(str(error))


def _print(store: str, report: AddReport, total: Mapping[Granularity, int], seconds: float) -> None:
    print(f"{count(report.documents, 'document')} indexed in {seconds:.1f} s, {report.unchanged:,} unchanged")
    if report.decomposition.passages:
        print(report.decomposition)
    held = ", ".join(count(total[kind], kind) for kind in GRANULARITIES if kind in total)
    print(f"{store} now holds {held or 'nothing: there was no text to index'}")


def _kinds(values: Sequence[str]) -> dict[str, str]:
    """Return the kind of each granularity that the options name, later ones in place of earlier ones."""
    kinds: dict[str, str] = {}
    for value in values:
        name, named, kind = value.partition("=")
        kinds |= {Granularity(name): kind} if named else dict.fromkeys(GRANULARITIES, value)
    return kinds


def _granularities(value: str) -> tuple[Granularity, ...]:
    try:
        kinds = tuple(Granularity(name.strip()) for name in value.split(","))
    except InvalidInputError as error:
        raise ArgumentTypeError(str(error)) from error
    if Granularity.DOCUMENT in kinds:
        message = f"expected some of {','.join(GRANULARITIES)}, got {value!r}"
        raise ArgumentTypeError(message)
    return kinds
