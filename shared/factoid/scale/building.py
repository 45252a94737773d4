"""Build shards of a corpus: read, split, decompose, ground and encode its documents.

A shard that has its name is done. A build that was interrupted goes on with those that are missing;
each is made of the same documents as before, so the result does not depend on where the work was
done, or how often it was interrupted.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from factoid import errors
from factoid._optional import require
from factoid.encode import Encoder
from factoid.errors import FactoidError, InvalidInputError, StoreError
from factoid.files.atomic import remove_leftovers
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits
from factoid.files.lines import located, parse_object
from factoid.progress import Progress, progress_bar
from factoid.propositions import Propositionizer, Report
from factoid.propositions.decompose import Policy
from factoid.scale.folders import Folder
from factoid.scale.inputs import Part, Reading, describe_inputs, find_inputs, parts_of
from factoid.scale.on_ray import RayOptions, import_ray, run_on_ray
from factoid.scale.retries import notes_of
from factoid.scale.shards import SHARD, Failure, Manifest, read_manifest
from factoid.scale.worker import Batch, Making, ShardWorker
from factoid.split import WORDS
from factoid.store.recipe import component_name
from factoid.store.settings import DEFAULT_GRANULARITIES, GRANULARITIES
from factoid.units import Granularity, whole_number
from factoid.vectors import AUTO

SHARD_CHARACTERS = 1_000_000
"""Characters of the documents of a shard: about 3,000 passages."""

MOST_CHARACTERS = 10_000_000
"""Characters of the longest document that is built."""

_RECORD = "build.json"  # what the shards of a folder are made of, and how
_LOCK = ".build.lock"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a folder of shards holds when its build is done."""

    shards: int = 0
    new_shards: int = 0  # of them, by this call
    documents: int = 0
    replaced: int = 0  # documents whose id a later one of the same shard has
    units: Mapping[Granularity, int] = field(default_factory=dict)
    words: Mapping[Granularity, int] = field(default_factory=dict)  # of these units
    failures: Sequence[Failure] = ()
    decomposition: Report = field(default_factory=Report)
    seconds: float = 0.0  # of this call

    def statistics(self) -> dict[tuple[str, str], float]:
        """Return the number and mean length of units that there are (Dense X, Table 1)."""
        measured = {}
        for kind in GRANULARITIES:
            if units := self.units.get(kind, 0):
                measured[kind.title(), "# units"] = float(units)
                measured[kind.title(), "Avg. # words"] = self.words[kind] / units
        return measured


def build(
    inputs: Iterable[str | Path] | str | Path,
    folder: str | Path | Folder,
    *,
    encoder: Encoder | Callable[[], Encoder],
    granularities: Sequence[str] = DEFAULT_GRANULARITIES,
    propositionizer: Propositionizer | Callable[[], Propositionizer] | None = None,
    words: int = WORDS,
    min_words: int | None = None,
    join_paragraphs: bool = True,
    unsupported: Policy = "drop",
    embed_template: str | None = AUTO,
    embed_metadata: Sequence[str] | None = None,
    late_chunking: bool | None = None,
    cache: str | Path | None = None,
    shard_characters: int = SHARD_CHARACTERS,
    most_characters: int = MOST_CHARACTERS,
    limits: ReadLimits = DEFAULT_LIMITS,
    follow_links: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    ray: RayOptions | None = None,
    progress: bool | None = None,
) -> BuildReport:
    """Build the shards of a corpus, or go on with a build that was interrupted.

    A document that cannot be read, cut, decomposed or encoded is left out, and recorded with its
    error in the manifest of its shard and in the report.

    Args:
        inputs: Files and folders, or addresses that fsspec knows: text, Markdown and what else
            `factoid.files.readers` reads, JSON lines (also compressed), Parquet with a column
            `text`, dumps of MediaWiki and KILT's knowledge source.
        folder: Where the shards are written, by path or address.
        encoder: Makes the vectors: an object that can be pickled, or a function that returns it in
            each worker.
        granularities: Granularities that get vectors.
        propositionizer: As the encoder; None for `SyntaxPropositionizer`.
        words: Up to so many words sentences are packed into a passage.
        min_words: A paragraph's last passage with fewer words is merged into the one before; by
            default half of `words`, but at most 50.
        join_paragraphs: Whether short paragraphs of a section become one passage; False is the
            paper's splitting (Appendix A).
        unsupported: What to do with propositions that their passage does not support: "drop",
            "keep" or "sentence".
        embed_template: Template of the text that is embedded, as in `UnitStore`.
        embed_metadata: Keys of metadata whose values are embedded before the text.
        late_chunking: Embed sentences and propositions in one pass with their passage.
        cache: A file for the propositions of any propositionizer, which all workers can write.
        shard_characters: A shard ends with the document that brings it to so many characters.
        most_characters: A document with more is left out, and recorded.
        limits: Of what a file may ask for.
        follow_links: Follow symbolic links in folders.
        storage_options: What fsspec's file systems take, such as credentials.
        ray: Run on Ray Data; None runs in this process.
        progress: Show a progress bar; None where a person looks.

    Raises:
        InvalidInputError: An option is wrong, or the folder was built of other input or in another
            way.
        UnreadableFileError: There is nothing to read at an address.
        StoreError: The folder cannot be written to, or another process is building into it.
        MissingDependencyError: An extra is not installed: `parquet`, `remote` or `scale`.
    """
    started = time.monotonic()
    require("pyarrow", extra="parquet")
    if ray is not None:
        import_ray()
    options = dict(storage_options or {})
    if isinstance(inputs, str | Path):
        inputs = [inputs]
    if not isinstance(folder, Folder):
        folder = Folder(folder, options)
    folder = folder.absolute()
    making = Making(
        encoder=encoder,
        propositionizer=propositionizer,
        granularities=list(granularities),
        embed_template=embed_template,
        embed_metadata=embed_metadata,
        late_chunking=late_chunking,
        words=words,
        min_words=min_words,
        join_paragraphs=join_paragraphs,
        unsupported=unsupported,
        cache=None if cache is None else Path(cache).absolute(),
    )
    reading = Reading(
        shard_characters=whole_number("shard_characters", shard_characters),
        most_characters=whole_number("most_characters", most_characters),
        limits=limits,
        options=options,
    )
    files = find_inputs(inputs, options=options, follow_links=follow_links, without=folder.local)
    parts = parts_of(files, shard_characters)
    record = _described(making, reading) | {"input": describe_inputs(files)}
    folder.make()
    with _alone(folder):
        names = set(folder.names())
        _claim(folder, record, names)
        finished = _finished(folder, names)
        _tidy(folder, finished)
        build = _Build(folder, parts, finished, progress)
        return build.run(making, reading, ray, started)


# -- The record of a folder --


def _described(making: Making, reading: Reading) -> dict[str, Any]:
    """Return the settings on which the content of shards depends."""
    with making.store() as store:
        recipe = making.recipe(store)
        identity = store.opened.known_identity
    propositionizer = None
    if recipe.propositionizer is not None:
        propositionizer = component_name(recipe.propositionizer)
    return {
        "format": _FORMAT,
        "factoid": version("factoid"),
        **identity,
        "granularities": list(recipe.granularities),
        "propositionizer": propositionizer,
        "words": recipe.words,
        "min_words": recipe.merge_threshold,
        "join_paragraphs": recipe.join_paragraphs,
        "unsupported": recipe.unsupported,
        "shard_characters": reading.shard_characters,
        "most_characters": reading.most_characters,
    }


def _claim(folder: Folder, record: Mapping[str, Any], names: set[str]) -> None:
    """Write the record of a new folder, or compare that of an old one.

    Raises:
        InvalidInputError: The folder holds something else.
    """
    if _RECORD not in names:
        if names:
            raise InvalidInputError(
                f"{folder.address} holds other files, such as {min(names)}: name a new folder"
            )
        folder.write(_RECORD, (json.dumps(record, indent=1, sort_keys=True) + "\n").encode())
        return
    place = folder.place(_RECORD)
    with located(place):
        earlier = parse_object(folder.read(_RECORD))
    differences = []
    for name in sorted({*earlier, *record}):
        if earlier.get(name) != record.get(name):
            differences.append(_difference(name, earlier.get(name), record.get(name)))
    if differences:
        raise InvalidInputError(
            f"{folder.address} was built in another way: {'; '.join(differences)}. Name a new "
            "folder, or build as before"
        )


def _difference(name: str, before: Any, now: Any) -> str:
    if name == "input" and isinstance(before, dict) and isinstance(now, dict):
        if (before.get("files"), before.get("bytes")) == (now["files"], now["bytes"]):
            return "a file of the input was changed"
        counts = []
        for given in (before, now):
            counts.append(f"{given.get('files')} files of {given.get('bytes')} bytes")
        return f"the input was {counts[0]}, and is {counts[1]}"
    return f"{name} was {json.dumps(before)}, and is {json.dumps(now)}"


@contextmanager
def _alone(folder: Folder) -> Iterator[None]:
    """Keep others from building into a folder on this machine's disks during the block.

    Elsewhere nothing does; two equal builds write the same shards there, each of them whole.
    """
    if folder.local is None:
        yield
        return
    lock = FileLock(folder.local / _LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise StoreError(
            f"another process is building into {folder.address}: wait for it, or name another "
            "folder"
        ) from error
    try:
        yield
    finally:
        lock.release()


def _finished(folder: Folder, names: set[str]) -> dict[str, Manifest]:
    """Return the manifests of the finished shards by name."""
    finished = {}
    for file in names:
        name = file.removesuffix(SHARD)
        if name != file:
            finished[name] = read_manifest(folder, name)
    return finished


def _tidy(folder: Folder, finished: Collection[str]) -> None:
    """Remove what an interrupt left beside finished shards: notes of attempts, and locks."""
    for name in finished:
        notes = notes_of(name)
        folder.remove(notes)
        if folder.local is not None:
            remove_leftovers(folder.local / notes)
            remove_leftovers(folder.local / f"{name}{SHARD}")


# -- The work --


class _Build:
    """A build that is under way.

    Args:
        folder: Where the shards go.
        parts: The parts of the input.
        manifests: Those of finished shards by name; more are added.
        progress: As in `build`.
    """

    def __init__(
        self,
        folder: Folder,
        parts: Sequence[Part],
        manifests: dict[str, Manifest],
        progress: bool | None,
    ) -> None:
        self._folder = folder
        self._parts = parts
        self._manifests = manifests
        self._progress = progress
        self._read: Counter[int] = Counter()  # characters of each part that are done
        for manifest in manifests.values():
            self._note(manifest)

    def run(
        self, making: Making, reading: Reading, ray: RayOptions | None, started: float
    ) -> BuildReport:
        """Make the shards that are missing."""
        before = len(self._manifests)
        missing = []
        for part in self._parts:
            if not self._is_complete(part):
                missing.append(part)
        done = frozenset(self._manifests)
        total = math.ceil(sum(part.size for part in self._parts) / 1000)
        with progress_bar(
            show=self._progress,
            unit=" kB",
            total=total,
            desc="building",
            initial=self._kilobytes(),
        ) as bar:
            if ray is None:
                results = _run_here(missing, reading, done, ShardWorker(making, self._folder))
            else:
                results = run_on_ray(missing, reading, done, (making, self._folder), ray)
            tally = _Tally(bar, started)
            with closing(results):  # ends Ray's work where an error ends this
                for manifest in chain.from_iterable(map(_manifests_of, results)):
                    self._manifests[manifest.name] = manifest
                    self._note(manifest)
                    tally.add(manifest, self._kilobytes())
        self._check()
        return self._report(before, time.monotonic() - started)

    def _note(self, manifest: Manifest) -> None:
        """Note how far a shard has brought its part."""
        number = int(manifest.name.split("-")[1])
        if number < len(self._parts):
            size = self._parts[number].size
            characters = self._read[number] + manifest.details["characters"]
            self._read[number] = min(size, characters)
            if manifest.details["last"]:
                self._read[number] = size

    def _kilobytes(self) -> int:
        return math.ceil(self._read.total() / 1000)

    def _is_complete(self, part: Part) -> bool:
        """Return whether all shards of a part are there: those up to its last one."""
        number = 0
        while (name := part.shard(number)) in self._manifests:
            if self._manifests[name].details["last"]:
                return True
            number += 1
        return False

    def _check(self) -> None:
        """Refuse to call a build done that is not.

        Raises:
            StoreError: A shard is missing.
        """
        for part in self._parts:
            if not self._is_complete(part):
                raise StoreError(
                    f"shards of {part.files[0].address} are missing in {self._folder.address}: "
                    "run the same command again"
                )

    def _report(self, before: int, seconds: float) -> BuildReport:
        units: Counter[Granularity] = Counter()
        words: Counter[Granularity] = Counter()
        failures: list[Failure] = []
        decomposition = Report()
        documents = replaced = 0
        for _, manifest in sorted(self._manifests.items()):
            units.update(manifest.units)
            words.update(manifest.words)
            failures += manifest.failures
            decomposition += Report(**manifest.details["decomposition"])
            documents += manifest.documents
            replaced += manifest.details["replaced"]
        return BuildReport(
            shards=len(self._manifests),
            new_shards=len(self._manifests) - before,
            documents=documents,
            replaced=replaced,
            units=dict(units),
            words=dict(words),
            failures=failures,
            decomposition=decomposition,
            seconds=seconds,
        )


class _Tally:
    """What one call has done so far, for its progress bar."""

    def __init__(self, bar: Progress, started: float) -> None:
        self._bar = bar
        self._started = started
        self._passages = 0
        self._failures = 0

    def add(self, manifest: Manifest, kilobytes: int) -> None:
        """Add a shard."""
        self._passages += manifest.units.get(Granularity.PASSAGE, 0)
        self._failures += len(manifest.failures)
        rate = self._passages / max(time.monotonic() - self._started, 1e-9)
        note = f"{self._passages:,} passages, {rate:,.0f} a second, {self._failures:,} failed"
        self._bar.reach(kilobytes, note)


def _run_here(
    parts: Iterable[Part], reading: Reading, done: frozenset[str], worker: ShardWorker
) -> Generator[Batch, None, None]:
    """Yield what the worker returns for the missing shards of some parts."""
    for part in parts:
        for portion in reading.portions(part, done):
            yield worker({"portion": [portion.to_json()]})


def _manifests_of(batch: Batch) -> Iterator[Manifest]:
    """Yield the manifests that a worker returned, or raise its error."""
    for content, error in zip(batch["manifest"], batch["error"], strict=True):
        if error:
            raise _error_of(error)
        yield Manifest.from_json(content.encode(), "a worker's manifest")


def _error_of(text: str) -> FactoidError:
    """Return an error that a worker named."""
    name, _, message = text.partition(": ")
    kind = getattr(errors, name, StoreError)
    error: FactoidError = kind(message)
    return error
