"""`factoid index`: index files into a store, keep it in step with them, and estimate the units beforehand."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from factoid.cli import options as opts
from factoid.cli.options import option
from factoid.errors import MissingDependencyError, UnreadableFileError
from factoid.split import split_passages, split_sentences
from factoid.terminal import count
from factoid.units import Document, Granularity

if TYPE_CHECKING:
    from factoid.propositions import Propositionizer
    from factoid.store import UnitStore

_LARGE = 1_000_000  # bytes of text that take minutes to index
_SAMPLED_FILES, _SAMPLED_DOCUMENTS, _SAMPLED_CHARS = 20, 30, 2_500  # of a large corpus, to estimate its units from
_CHUNK = 10_000  # units read at a time


def index(
    paths: opts.Paths,
    store: Annotated[str, option("DIR", "The store; created if absent, added to otherwise.")],
    granularities: Annotated[
        str,
        option(
            "LIST",
            "Granularities to embed and search. Each costs time and space: there are three to four times as many sentences "
            "as passages, and more propositions.",
        ),
    ] = "passage,sentence,proposition",
    kinds: Annotated[
        list[str] | None,
        option(
            "KIND",
            "Kind of index: auto, or a FAISS factory string such as HNSW32; GRANULARITY=KIND for one granularity; may be "
            "repeated. factoid tune helps to choose.",
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
            "Template of the text to embed, with metadata keys as further fields; {text} embeds a unit's text alone.",
            default="the store's, else {title} — {section}: {text}",
        ),
    ] = "auto",
    sync: Annotated[
        bool,
        option(
            None,
            "Remove documents indexed earlier from these paths whose file or record was deleted or renamed. Run it from the "
            "same folder as before.",
            "--sync",
        ),
    ] = False,
    *,
    splitting: opts.Splitting,
    unsupported: opts.Unsupported = "drop",
    cache: opts.CacheFile = None,
    retry_failed: opts.RetryFailed = False,
    encoder: opts.EncoderName = None,
    output: opts.Output,
) -> None:
    """Split files into passages, sentences and propositions, and index them."""
    from factoid.files.sqlite import FILE
    from factoid.propositions import PropositionCache
    from factoid.store import UnitStore

    started = time.perf_counter()
    names = [name.strip() for name in granularities.split(",")]
    if not {*names} <= {*get_args(opts.Kind)}:
        raise typer.BadParameter(f"expected some of passage,sentence,proposition, got {granularities!r}")
    searched = [Granularity(name) for name in names]
    least = opts.min_words(splitting.words)
    propositionizer = opts.make_propositionizer(splitting) if Granularity.PROPOSITION in searched else None
    exists = (Path(store) / FILE).exists()
    # Before the store is opened: a missing path must not create one.
    reading = _Reading(_find_files(paths, store, sync=sync and exists))
    if not output.quiet:
        _print_estimate(reading.files, searched, propositionizer, splitting.words)
    former = None
    if similarity and exists:
        with opts.open_store(store) as opened:
            former = opened.similarity if len(opened) else None
    with UnitStore(
        store,
        encoder=opts.make_encoder(encoder),
        granularities=searched,
        index=_kinds(kinds) if kinds else None,
        similarity=similarity,
        embed_template=embed_template,
    ) as opened:
        if former not in (None, similarity):
            print(
                f"factoid: {store} compares vectors by {similarity} from now on, no longer by {former}", file=sys.stderr
            )
        if retry_failed:
            opened.retry_failures()
            if cache:
                PropositionCache(cache).forget(failures=True)
        report = opened.add_documents(
            reading.documents(),
            propositionizer=propositionizer,
            words=splitting.words,
            min_words=least,
            unsupported=unsupported,
            cache=cache,
            show_progress=output.show_progress,
        )
        removed = []
        if sync:
            with opts.waiting("looking for deleted documents", quiet=output.quiet):
                removed = _stale_documents(opened, paths, reading)
                if removed:
                    opened.delete(removed)
        total = opened.counts()
    if output.as_json:
        result = {"store": store, "total": total, **asdict(report), "unreadable": reading.errors}
        opts.print_json({**result, "removed": removed} if sync else result)
    else:
        seconds = time.perf_counter() - started
        without_text = f", {reading.without_text:,} of them without text" if reading.without_text else ""
        counts = f"{count(report.documents, 'document')} indexed in {seconds:.1f} s, {report.unchanged:,} unchanged"
        print(f"{counts}{without_text}")
        if report.decomposition.passages:
            print(report.decomposition)
        if embedded := opts.listed(report.units, searched):
            print(f"embedded {embedded}")
        nothing = "nothing" if removed else "nothing: there was no text to index"
        print(f"{store} now holds {opts.listed(total) or nothing}")
        if sync:
            print(f"{count(len(removed), 'document')} removed that are no longer in the files")
    if reading.errors:
        files = count(len(reading.errors), "file")
        raise UnreadableFileError(f"{files} left out; the others are indexed: {'; '.join(reading.errors)}")


def _find_files(paths: Sequence[str], store: str, *, sync: bool) -> list[Path]:
    """Return the files to read; with `sync` a folder may hold none, as all that it held may have been deleted."""
    from factoid.files.readers import STDIN, find_files

    for path in map(Path, paths):
        if sync and str(path) != STDIN and not path.exists():
            condition = shlex.quote(json.dumps({"source": path.as_posix()}))
            raise UnreadableFileError(
                f"{path} does not exist, so nothing was removed. If it was deleted, its documents are removed thus: for a "
                "folder, make an empty one of that name and repeat this command; for a file, run: "
                f"factoid store delete {shlex.quote(store)} --filter {condition}"
            )
    return find_files(paths, allow_empty=sync)


@dataclass(slots=True)
class _Reading:
    """Files, and the outcome of reading them."""

    files: Sequence[Path]
    document_ids: set[str] = field(default_factory=set)
    complete: set[Path] = field(default_factory=set)  # read to their end, as absolute paths
    errors: list[str] = field(default_factory=list)  # why other files were not read
    without_text: int = 0  # documents without text, which replace their earlier versions in the store

    def documents(self) -> Iterator[Document]:
        """Yield the documents of all files that can be read."""
        from factoid.files.readers import read_file

        for file in self.files:
            try:
                for document in read_file(file):
                    self.document_ids.add(document.id)
                    self.without_text += not document.text.strip()
                    yield document
            except (UnreadableFileError, MissingDependencyError) as error:
                self.errors.append(str(error))
            else:
                self.complete.add(file.resolve())


def _stale_documents(store: UnitStore, paths: Iterable[str], reading: _Reading) -> list[str]:
    """Return the ids of documents that came from these paths and are no longer in their files."""
    roots = [Path(path).resolve() for path in paths]
    ids = store.ids({"source": {"$exists": True}})
    sources: dict[str, str] = {}
    for start in range(0, len(ids), _CHUNK):
        chunk = store.get(ids[start : start + _CHUNK])
        sources |= {unit.document_id: str(unit.metadata["source"]) for unit in chunk}
    stale = []
    for document_id in sources.keys() - reading.document_ids:
        file = Path(sources[document_id]).resolve()
        # A file that exists but was not read to its end (damaged, or of a kind left out) loses nothing.
        if any(file.is_relative_to(root) for root in roots) and (file in reading.complete or not file.exists()):
            stale.append(document_id)
    return sorted(stale)


def _print_estimate(
    files: Sequence[Path], searched: Sequence[Granularity], propositionizer: Propositionizer | None, words: int
) -> None:
    """Estimate on stderr how many units a large corpus has, before they are embedded."""
    from factoid.files.readers import CONVERTED_ENDINGS, STDIN
    from factoid.propositions import decompose

    texts = [file for file in files if str(file) != STDIN and file.suffix.lower() not in CONVERTED_ENDINGS]
    size = sum(file.stat().st_size for file in texts)
    if size < _LARGE:
        return
    sample = _Reading(texts[:: -(-len(texts) // _SAMPLED_FILES)]).documents()
    cuts = [document.text[:_SAMPLED_CHARS] for document in islice(sample, _SAMPLED_DOCUMENTS)]
    least = opts.min_words(words)
    passages = [part for cut in cuts for part in split_passages(Document(cut), words=words, min_words=least)]
    sentences = sum(len(split_sentences(passage)) for passage in passages)
    units = {Granularity.PASSAGE: len(passages), Granularity.SENTENCE: sentences}
    if propositionizer is not None and not getattr(propositionizer, "costly", False):
        units[Granularity.PROPOSITION] = decompose(passages, propositionizer).report.propositions
    scale = size / max(1, sum(len(cut.encode()) for cut in cuts))
    numbers = [count(round(units[kind] * scale), kind) for kind in searched if kind in units]
    if len(numbers) < len(searched):
        numbers.append("the propositions of the model")
    print(
        f"factoid: {size / 1e6:,.1f} MB of text, about {', '.join(numbers)} to embed, minus those already in the store; "
        "--granularities chooses among them",
        file=sys.stderr,
    )


def _kinds(values: Sequence[str]) -> dict[str, str]:
    """Return the kind of index for each granularity that the options name; later options win."""
    kinds: dict[str, str] = {}
    for value in values:
        name, separator, kind = value.rpartition("=")
        kinds |= dict.fromkeys([Granularity(name)] if separator else list(Granularity)[1:], kind)
    return kinds
