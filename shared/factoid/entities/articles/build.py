"""Building an article store: reading its sources, then making the names, in steps that can be interrupted."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import get_args

from factoid.entities.articles.batch import Batch
from factoid.entities.articles.duplicates import Duplicates
from factoid.entities.articles.finish import finish
from factoid.entities.articles.lock import only_builder
from factoid.entities.articles.report import BuildReport, describe_faults
from factoid.entities.articles.schema import check_format
from factoid.entities.articles.sources import Source
from factoid.entities.articles.state import State
from factoid.entities.articles.unfinished import Unfinished, building_path, remove_unfinished, spill_path
from factoid.errors import InvalidInputError, StoreFormatError, UnreadableFileError
from factoid.progress import progress_bar

_log = logging.getLogger(__name__)


def build_articles(
    path: str | Path,
    sources: Source | Iterable[Source],
    *,
    words: int = 1000,
    duplicates: Duplicates = "first",
    resume: bool = True,
    show_progress: bool = False,
    warn: bool = True,
) -> BuildReport:
    """Build an article store (Entity Retrieval, Appendix A.3), in the place of an earlier one if there is one.

    Memory stays bounded whatever the number of articles. Until the store is whole, `path` keeps what it has; beside it
    lie `.building`, `.spill` and `.lock`, and what SQLite sorts lies in its folder for temporary files (SQLITE_TMPDIR,
    else TMPDIR, else /var/tmp). A build that was interrupted goes on where it was when it is called again.

    Args:
        path: The file to make.
        sources: What to read, in this order.
        words: How many words to keep of each article, from its first on.
        duplicates: Which of several articles of one title to keep: the first, the last, all texts joined, or none: an
            error at the end of reading. Links of all of them count. Aliases are those of what is kept.
        resume: Go on with an unfinished build of this path; else start over.
        show_progress: Show a progress bar on stderr.
        warn: Log a warning of what the report counts as not kept as it was: articles of one title or without text, and
            redirects that lead nowhere.

    Raises:
        InvalidInputError: A bad argument or record, no articles, duplicates that are an error, or an unfinished build of
            other sources or options, which `resume=False` discards.
        UnreadableFileError: A source is missing or damaged.
        StoreFormatError: At the path is something else than an article store.
        StoreError: Another process builds this path, the disk is full or cannot be written.
    """
    started = time.perf_counter()
    path = Path(path)
    read = _sources(sources)
    if type(words) is not int or words < 1:
        message = f"words must be a whole number from 1 on, got {words!r}"
        raise InvalidInputError(message)
    if duplicates not in get_args(Duplicates):
        message = f"duplicates must be one of {', '.join(get_args(Duplicates))}, got {duplicates!r}"
        raise InvalidInputError(message)
    _check_replaceable(path)
    with only_builder(path):
        _check_replaceable(path)
        if not resume:
            remove_unfinished(path)
        unfinished = Unfinished(path, [source.name for source in read], words)
        try:
            with unfinished:
                _read(unfinished, read, show_progress=show_progress)
                names = finish(unfinished, duplicates, show_progress=show_progress)
        except (InvalidInputError, UnreadableFileError) as error:
            _clear_up(unfinished, error)
            raise
        state = unfinished.state
        _move(path)
    report = _report(state, names, path, time.perf_counter() - started)
    if warn and (faults := describe_faults(report, duplicates)):
        _log.warning("%s was built, but: %s", path, ". ".join(faults))
    return report


def _sources(sources: Source | Iterable[Source]) -> list[Source]:
    several: list[Source] = list(sources) if isinstance(sources, Iterable) else [sources]
    if not several or not all(hasattr(source, "read") and hasattr(source, "name") for source in several):
        message = f"expected a source of articles, such as ArticleJsonl(file), or several, got {sources!r:.200}"
        raise InvalidInputError(message)
    return several


def _clear_up(unfinished: Unfinished, error: InvalidInputError | UnreadableFileError) -> None:
    """Remove what a build that failed for its sources left, if a later one cannot go on with it; else say that it stays.

    Raises:
        InvalidInputError, UnreadableFileError: What was read stays; the error says so, and what to do about it.
    """
    path, state = unfinished.path, unfinished.state
    if not state.read_articles or not all(state.sources):
        remove_unfinished(path)
        return
    message = (
        f"{error}. What was read before stays in {building_path(path)} and {spill_path(path)}: the same sources go on from "
        "there; with others, or changed ones, start over with resume=False, on the command line with --restart"
    )
    kind = InvalidInputError if isinstance(error, InvalidInputError) else UnreadableFileError
    raise kind(message) from error


def _check_replaceable(path: Path) -> None:
    """Refuse to replace what is no article store.

    Raises:
        StoreFormatError: The path is a folder, or another program's file.
    """
    if path.is_dir():
        message = f"{path} is a folder: name a file in it, such as {path / 'articles.sqlite'}"
        raise StoreFormatError(message)
    if path.exists():
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            try:
                check_format(connection, path, any_version=True)
            except StoreFormatError as error:
                message = f"{path} is not replaced: {error}. Move it, or build another file"
                raise StoreFormatError(message) from error


def _read(unfinished: Unfinished, sources: Sequence[Source], *, show_progress: bool) -> None:
    """Read what is not read yet."""
    state = unfinished.state
    with (
        ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as executor,
        progress_bar(show=show_progress, unit=" records", desc="reading", initial=state.records) as bar,
    ):
        while state.source < len(sources):
            batch = Batch(state.words, state.read_articles + 1, executor)
            for record in sources[state.source].read(state.records):
                try:
                    batch.add(record)
                except InvalidInputError as error:
                    place = sources[state.source].name or "the documents"
                    message = f"record {state.records + batch.records + 1} of {place}: {error}"
                    raise InvalidInputError(message) from error
                if batch.full:
                    unfinished.write(batch, last=False)
                    bar.update(batch.records)
                    batch = Batch(state.words, state.read_articles + 1, executor)
            for reason, number in getattr(sources[state.source], "left_out", {}).items():
                state.left_out[reason] = state.left_out.get(reason, 0) + number
            unfinished.write(batch, last=True)
            bar.update(batch.records)


def _move(path: Path) -> None:
    """Put the finished file into its place, and remove what else the build needed."""
    building_path(path).replace(path)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with suppress(OSError):  # some file systems sync no folders
                os.fsync(folder)
        finally:
            os.close(folder)
    remove_unfinished(path)


def _report(state: State, names: int, path: Path, seconds: float) -> BuildReport:
    return BuildReport(
        articles=state.read_articles - state.duplicates,
        redirects=state.redirects,
        dangling=state.dangling,
        circular=state.circular,
        aliases=state.aliases,
        links=state.links,
        names=names,
        duplicates=state.duplicates,
        empty=state.empty,
        dangling_examples=tuple(state.dangling_examples),
        circular_examples=tuple(state.circular_examples),
        duplicate_examples=tuple(state.duplicate_examples),
        empty_examples=tuple(state.empty_examples),
        seconds=seconds,
        bytes=path.stat().st_size,
        left_out=dict(state.left_out),
    )
