"""`factoid index`: index files into a store, and keep it in step with them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from factoid.cli import options as opts
from factoid.cli.options import option
from factoid.errors import MissingDependencyError, UnreadableFileError
from factoid.terminal import count
from factoid.units import Document, Granularity, whole_number

if TYPE_CHECKING:
    from factoid.files.limits import ReadLimits
    from factoid.store import AddReport, UnitStore

_CHUNK = 10_000  # units read at a time


def index(
    paths: opts.Paths,
    store: Annotated[str, option("DIR", "The store; created if absent, added to otherwise.")],
    granularities: Annotated[
        str | None,
        option(
            "LIST",
            "Granularities to embed and search. Each costs time and space: there are three to "
            "four times as many sentences as passages, and more propositions.",
            default="the store's, else passage,proposition",
        ),
    ] = None,
    kind: Annotated[
        str | None,
        option(
            "KIND",
            "Kind of index: auto, or a FAISS factory string such as HNSW32. factoid tune helps to "
            "choose.",
            "--index",
            default="the store's, else auto",
        ),
    ] = None,
    similarity: Annotated[
        Literal["inner_product", "cosine"] | None,
        option(None, "How vectors are compared.", default="the store's, else inner_product"),
    ] = None,
    embed_template: Annotated[
        str,
        option(
            "TEXT",
            "Template of the text to embed, with metadata keys as further fields; {text} embeds a "
            "unit's text alone.",
            default="the store's, else {title} — {section}: {text}",
        ),
    ] = "auto",
    embed_metadata: Annotated[
        str | None,
        option(
            "LIST",
            "Metadata keys whose values are embedded before the text and searched by words, "
            "separated by commas.",
            default="the store's, else none",
        ),
    ] = None,
    late_chunking: Annotated[
        bool | None,
        option(
            None,
            "Embed sentences and propositions in one pass with their passage, in three fifths of "
            "the time.",
            "--late-chunking",
            default="as the store was filled",
        ),
    ] = None,
    sync: Annotated[
        bool,
        option(
            None,
            "Remove documents indexed earlier from these paths whose file or record was deleted "
            "or renamed. Run it from the same folder as before.",
            "--sync",
        ),
    ] = False,
    *,
    reading: opts.Reading,
    splitting: opts.Splitting,
    unsupported: opts.Unsupported = "drop",
    cache: opts.CacheFile = None,
    retry_failed: opts.RetryFailed = False,
    encoder: opts.EncoderName = None,
    output: opts.Output,
) -> None:
    """Split files into passages, sentences and propositions, and index them."""
    from factoid.files.readers import find_files
    from factoid.files.sqlite import FILE
    from factoid.store import UnitStore

    started = time.perf_counter()
    encoded = read_granularities(granularities)
    propositionizer = None
    if encoded is None or Granularity.PROPOSITION in encoded:
        propositionizer = opts.make_propositionizer(splitting)
    exists = (Path(store) / FILE).exists()
    # Before the store is opened: a missing path must not create one.
    # With --sync a folder may be empty, as all that it held may have been deleted.
    input_files = find_files(paths, allow_empty=sync and exists, follow_links=reading.follow_links)
    outcome = _Reading(input_files, limits=reading.limits)
    with UnitStore(
        store,
        encoder=opts.make_encoder(encoder),
        granularities=encoded,
        index=kind,
        similarity=similarity,
        embed_metadata=read_keys(embed_metadata),
        embed_template=embed_template,
        late_chunking=late_chunking,
    ) as opened:
        if retry_failed:
            _forget_failures(opened, cache)
        report = opened.add_documents(
            outcome.documents(),
            propositionizer=propositionizer,
            words=whole_number("--words", splitting.words),
            unsupported=unsupported,
            cache=cache,
            progress=output.progress,
        )
        removed = []
        if sync:
            removed = _delete_stale(opened, paths, outcome)
        total = opened.counts()
    if output.as_json:
        result = {"store": store, "total": total, **asdict(report), "unreadable": outcome.errors}
        if sync:
            result["removed"] = removed
        opts.print_json(result)
    else:
        _print_report(report, time.perf_counter() - started)
        nothing = "nothing: there was no text to index"
        if removed:
            nothing = "nothing"
        print(f"{store} now holds {opts.listed(total) or nothing}")
        if sync:
            print(f"{count(len(removed), 'document')} removed that are no longer in the files")
    if outcome.errors:
        files = count(len(outcome.errors), "file")
        raise UnreadableFileError(
            f"{files} left out; the others are indexed: {'; '.join(outcome.errors)}"
        )


def read_keys(text: str | None) -> list[str] | None:
    """Return the keys of metadata that an option lists; None if they are up to the store."""
    if text is None:
        return None
    return list(filter(None, map(str.strip, text.split(","))))


def read_granularities(text: str | None) -> list[Granularity] | None:
    """Return the granularities that an option lists; None if they are up to the store."""
    if text is None:
        return None
    names = list(map(str.strip, text.split(",")))
    if not {*names} <= {*get_args(opts.GranularityName)}:
        raise typer.BadParameter(f"expected some of passage,sentence,proposition, got {text!r}")
    return list(map(Granularity, names))


def _forget_failures(store: UnitStore, cache: str | None) -> None:
    """Let passages that failed be decomposed again."""
    from factoid.propositions import PropositionCache

    store.retry_failures()
    if cache:
        PropositionCache(cache).forget(failures=True)


def _print_report(report: AddReport, seconds: float) -> None:
    """Print what was added, and how long it took."""
    documents = count(report.documents, "document")
    print(f"{documents} indexed in {seconds:.1f} s, {report.unchanged:,} unchanged")
    if report.decomposition.passages:
        print(report.decomposition)
    if embedded := opts.listed(report.units):
        print(f"embedded {embedded}")


@dataclass(slots=True)
class _Reading:
    """Files, and the outcome of reading them."""

    files: Sequence[Path]
    limits: ReadLimits
    document_ids: set[str] = field(default_factory=set)
    complete: set[Path] = field(default_factory=set)  # read to their end, as absolute paths
    errors: list[str] = field(default_factory=list)  # why other files were not read

    def documents(self) -> Iterator[Document]:
        """Yield the documents of all files that can be read."""
        from factoid.files.readers import read_file

        for file in self.files:
            try:
                for document in read_file(file, limits=self.limits):
                    self.document_ids.add(document.id)
                    yield document
            except (UnreadableFileError, MissingDependencyError) as error:
                self.errors.append(str(error))
            else:
                self.complete.add(file.resolve())


def _delete_stale(store: UnitStore, paths: Iterable[str], reading: _Reading) -> list[str]:
    """Delete documents that came from these paths and are no longer in their files.

    Return their ids.
    """
    roots = set()
    for path in paths:
        roots.update(_places(Path(path)))
    ids = store.ids({"source": {"$exists": True}})
    sources: dict[str, str] = {}
    for start in range(0, len(ids), _CHUNK):
        chunk = store.get(ids[start : start + _CHUNK])
        for unit in chunk:
            sources[unit.document_id] = str(unit.metadata["source"])
    stale = []
    for document_id in sources.keys() - reading.document_ids:
        file = Path(sources[document_id])
        places = _places(file)
        is_below = any(_is_below(place, roots) for place in places)
        # A file that exists but was not read to its end (damaged, or of a kind left out) loses
        # nothing.
        if is_below and (not reading.complete.isdisjoint(places) or not file.exists()):
            stale.append(document_id)
    if stale:
        store.delete(document_ids=stale)
    return sorted(stale)


def _is_below(place: Path, roots: Iterable[Path]) -> bool:
    return any(map(place.is_relative_to, roots))


def _places(path: Path) -> set[Path]:
    """Return a path as an absolute one, as it is written and without links."""
    return {path.absolute(), path.resolve()}
