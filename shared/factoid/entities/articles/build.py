"""Building an article store: reading its sources batch by batch, then writing the store, also after an interruption."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from filelock import FileLock, Timeout

from factoid.entities.articles.article import Source
from factoid.entities.articles.file import APPLICATION_ID, identify
from factoid.entities.articles.finish import Duplicates, write_store
from factoid.entities.articles.staging import Staging
from factoid.errors import InvalidInputError, StoreError, StoreFormatError
from factoid.progress import progress_bar
from factoid.units import whole_number

_log = logging.getLogger(__name__)
_SETTLED = {"first": "; the first was kept", "last": "; the last was kept", "join": "; their texts were joined"}


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What an article store was built from, and what was left out.

    The examples are some titles of articles, and some redirects as "name → target". `left_out` counts by reason what the
    sources left out: pages of a dump that are no articles, such as disambiguation pages.
    """

    articles: int  # in the store
    redirects: int  # that lead to one of them, straight or through others
    dangling: int  # redirects that lead to nothing; they name no article (see `ArticleStore.title_of`)
    circular: int  # redirects that lead round in a circle; they are left out
    aliases: int  # that articles brought along
    links: int  # of all articles read, whether or not their targets are in the store
    names: int  # under which articles are found
    duplicates: int  # articles whose title another one had before
    empty: int  # articles without text; they are left out
    dangling_examples: tuple[str, ...]
    circular_examples: tuple[str, ...]
    duplicate_examples: tuple[str, ...]
    empty_examples: tuple[str, ...]
    seconds: float  # that this run took; not those of runs that it went on with
    bytes: int  # size of the store
    left_out: Mapping[str, int] = field(default_factory=dict, hash=False)


def describe_faults(report: BuildReport, duplicates: str) -> list[str]:
    """Return what a build could not keep, as lines of a count, what it is, and examples."""
    settled = f"with a title that another article had before{_SETTLED.get(duplicates, '')}"
    faults = (
        (report.duplicates, "article", settled, report.duplicate_examples),
        (report.empty, "article", "left out that had no text", report.empty_examples),
        (report.dangling, "redirect", "left out that led to no article", report.dangling_examples),
        (report.circular, "redirect", "left out that led round in a circle", report.circular_examples),
    )
    return [
        f"{count:,} {noun}{'s' * (count > 1)} {what}: {'; '.join(examples)}{' …' * (count > len(examples))}"
        for count, noun, what, examples in faults
        if count
    ]


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

    Memory stays bounded whatever the number of articles. Until the store is whole, `path` keeps what it has and the build lies
    beside it in `.building`; SQLite sorts in its folder for temporary files (SQLITE_TMPDIR, else TMPDIR, else /var/tmp). An
    interrupted build goes on when it is called again. A small `.lock` file stays beside the store.

    Args:
        path: The file to make.
        sources: What to read, in this order.
        words: How many words to keep of each article, from its first on.
        duplicates: Which of several articles of one title to keep: the first, the last, all texts joined, each as an article
            ("keep", for those of several tenants), or none: an error at the end of reading. Links of all of them count.
            Aliases are those of what is kept.
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
    path, several = Path(path), list(sources) if isinstance(sources, Iterable) else [sources]
    if not several or not all(hasattr(source, "read") and hasattr(source, "name") for source in several):
        raise InvalidInputError(f"expected a source of articles, such as ArticleJsonl(file), got {sources!r:.200}")
    words = whole_number("words", words)
    if duplicates not in get_args(Duplicates):
        raise InvalidInputError(f"duplicates must be one of {', '.join(get_args(Duplicates))}, got {duplicates!r}")
    _check_replaceable(path)
    with builder_lock(path), Staging(path, [source.name for source in several], words, resume=resume) as staging:
        _read(staging, several, show_progress=show_progress)
        keys = filter(None, (getattr(source, "keys", None) for source in several))
        outcome = write_store(staging, duplicates, next(keys, {}), show_progress=show_progress)
    report = BuildReport(
        **outcome,
        **{name: getattr(staging.state, name) for name in ("aliases", "links", "empty", "left_out")},
        empty_examples=tuple(staging.state.empty_examples),
        seconds=time.perf_counter() - started,
        bytes=path.stat().st_size,
    )
    if warn and (faults := describe_faults(report, duplicates)):
        _log.warning("%s was built, but: %s", path, ". ".join(faults))
    return report


@contextmanager
def builder_lock(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Lock a store for one builder or writer of all processes and threads; with `wait` as soon as it is free."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(f"{path}.lock").acquire(timeout=-1 if wait else 0)
    except Timeout as error:
        raise StoreError(f"{path} is being built by another process: wait for it, or build another file") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be built there: {error.strerror or error}") from error
    with lock:
        yield


def _check_replaceable(path: Path) -> None:
    """Refuse to replace what is no article store."""
    if path.is_dir():
        raise StoreFormatError(f"{path} is a folder: name a file in it, such as {path / 'articles.sqlite'}")
    if path.exists() and identify(path).application_id != APPLICATION_ID:
        raise StoreFormatError(f"{path} is no article store, and is not replaced: move it, or build another file")


def _read(staging: Staging, sources: Sequence[Source], *, show_progress: bool) -> None:
    """Read what is not read yet."""
    state = staging.state
    with progress_bar(show=show_progress, unit=" records", desc="reading", initial=state.records) as bar:
        while state.source < len(sources):
            source = sources[state.source]
            for record in source.read(state.records):
                try:
                    staging.add(record)
                except InvalidInputError as error:
                    number, place = state.records + staging.records, source.name or "the documents"
                    raise InvalidInputError(f"record {number} of {place}: {error}") from error
                if staging.full:
                    bar.update(staging.commit(last=False))
            for reason, count in getattr(source, "left_out", {}).items():
                state.left_out[reason] = state.left_out.get(reason, 0) + count
            bar.update(staging.commit(last=True))
