"""Load shards into a store of ours, or into a vector store of any make.

Nothing is encoded again. A document that is there as it is in the shards is skipped, and one that
was written in part is written again: a load that was killed goes on where it stopped when it is
repeated, and nothing is there twice.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn, Protocol

from factoid.encode import Vectors, bare_name
from factoid.errors import EncoderMismatchError, InvalidInputError, UnreadableFileError
from factoid.existing import ExistingStore
from factoid.existing.collection import run
from factoid.existing.write import Writer, known_documents, put_documents
from factoid.heading_template import EMBED_TEMPLATE, with_metadata
from factoid.progress import Progress, progress_bar
from factoid.scale.folders import Folder
from factoid.scale.shards import Identity, Shard, read_shards
from factoid.store.database.snapshot import INCOMPLETE, NO_DIGEST, StoredUnit, metadata_keys
from factoid.store.database.transaction import Selection, check_units
from factoid.store.language import set_language
from factoid.store.settings import GRANULARITIES, check_identity
from factoid.store.unit_store import UnitStore
from factoid.units import Document, Granularity, Unit, content_id

_BATCH = 2_000  # units that are written together, at least

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What a load did."""

    shards: int = 0
    documents: int = 0  # that were written
    unchanged: int = 0  # that were there as they are in the shards
    units: int = 0  # that were written
    failures: int = 0  # documents that the shards lack, since they could not be made


@dataclass(frozen=True, slots=True)
class LoadedDocuments:
    """Documents that are written together, with their units."""

    documents: Mapping[str, Document]
    digests: Mapping[str, str]  # by document
    units: Sequence[StoredUnit]  # parents before their children

    def only(self, ids: set[str]) -> LoadedDocuments:
        """Return the part of some documents."""
        units = [stored for stored in self.units if stored.unit.document_id in ids]
        documents = {name: self.documents[name] for name in self.documents if name in ids}
        return LoadedDocuments(documents, self.digests, units)


class Target(Protocol):
    """Where shards are loaded."""

    def check(self, identity: Identity, dim: int) -> None:
        """Refuse vectors that cannot be compared with those that are there.

        Raises:
            EncoderMismatchError: They cannot.
        """

    def digests(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the digests of the documents that are there, by id."""

    def write(self, batch: LoadedDocuments) -> None:
        """Write documents; those with an id that is there are replaced."""

    def finish(self) -> None:
        """Do what is left when all is written."""


def load_shards(
    shards: Sequence[Shard] | Folder | str | Path,
    store: UnitStore | ExistingStore,
    *,
    progress: bool | None = None,
) -> LoadReport:
    """Load documents from shards into a store, with the units and vectors that they have.

    Args:
        shards: Finished shards, or their folder: a path or any address of fsspec.
        store: A store of ours, or one over a vector store.
        progress: Show a progress bar.

    Raises:
        EncoderMismatchError: The shards, or the store, have vectors of another encoder or
            dimension.
        InvalidInputError: There are no shards.
        UnreadableFileError: A shard is missing or damaged. What the shards before it hold is
            loaded.
    """
    if isinstance(shards, Folder | str | Path):
        shards = finished_shards(shards)
    identity, dim = what_made(shards)
    target = target_of(store, identity, dim, progress=progress)
    target.check(identity, dim)
    counts: Counter[str] = Counter()
    total = sum(shard.manifest.documents for shard in shards)
    with progress_bar(show=progress, unit=" documents", total=total, desc="loading") as bar:
        for shard in shards:
            _load(shard, target, counts, bar)
            counts["failures"] += len(shard.manifest.failures)
        target.finish()
    return LoadReport(shards=len(shards), **counts)


def target_of(
    store: UnitStore | ExistingStore, identity: Identity, dim: int, *, progress: bool | None = None
) -> Target:
    """Return a store as shards are loaded into it."""
    if isinstance(store, UnitStore):
        return _OwnStore(store, identity, dim, progress)
    return _VectorStore(store, identity)


def finished_shards(folder: Folder | str | Path) -> list[Shard]:
    """Return the finished shards of a folder.

    Raises:
        InvalidInputError: It has none.
    """
    shards = read_shards(folder)
    if not shards:
        place = folder.address if isinstance(folder, Folder) else folder
        raise InvalidInputError(f"there are no shards at {place}: factoid build makes them")
    return shards


def what_made(shards: Sequence[Shard]) -> tuple[Identity, int]:
    """Return what made the vectors of shards, and their dimension; 0 if they have none.

    Raises:
        EncoderMismatchError: Shards differ in it.
    """
    first = shards[0].manifest
    for shard in shards:
        manifest = shard.manifest
        if not manifest.vectors:
            continue
        if not first.vectors:
            first = manifest
        here = {"dimension": first.dim, **first.identity}
        there = {"dimension": manifest.dim, **manifest.identity}
        for name in here:
            if here[name] != there.get(name):
                raise EncoderMismatchError(
                    f"the shards {first.name} and {manifest.name} have vectors of different "
                    f"makes: {name} {here[name]!r} and {there.get(name)!r}. Build them into "
                    "folders of their own"
                )
    return first.identity, first.dim


class NamedEncoder:
    """Stands for an encoder whose vectors are all there: it has its name, and encodes nothing."""

    def __init__(self, name: str) -> None:
        self.name = name

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Refuse to encode."""
        return self.encode_units(texts)

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        """Refuse to encode.

        Raises:
            InvalidInputError: Always.
        """
        raise InvalidInputError(
            f"{len(texts)} texts have no vectors, and the encoder {self.name!r} is not loaded: "
            "name the vector store as module:name, opened with the encoder"
        )


def _load(shard: Shard, target: Target, counts: Counter[str], bar: Progress) -> None:
    """Load what is missing of one shard."""
    if _is_loaded(shard, target):
        counts["unchanged"] += shard.manifest.documents
        bar.update(shard.manifest.documents)
        return
    for batch in _batches(shard):
        known = target.digests(list(batch.documents))
        changed = set()
        for name, digest in batch.digests.items():
            if known.get(name) != digest:
                changed.add(name)
        chosen = batch.only(changed)
        if changed:
            target.write(chosen)
        counts["documents"] += len(changed)
        counts["unchanged"] += len(batch.documents) - len(changed)
        counts["units"] += len(chosen.units)
        bar.update(len(batch.documents))


def _is_loaded(shard: Shard, target: Target) -> bool:
    """Return whether all documents of a shard are there, if that can be told quickly."""
    if shard.folder.local is None:
        return False  # the file would have to be fetched
    digests = shard.digests()
    if len(digests) != shard.manifest.documents or not digests:
        return False
    ids = list(digests)
    if not ids and shard.manifest.units:
        return False  # units without their documents, which are refused when they are read
    for start in range(0, len(ids), _BATCH):
        some = ids[start : start + _BATCH]
        known = target.digests(some)
        for name in some:
            if not digests[name] or known.get(name) != digests[name]:
                return False
    return True


def _batches(shard: Shard) -> Iterator[LoadedDocuments]:
    """Yield the documents of a shard, some at a time."""
    content = shard.read()
    units: dict[str, list[StoredUnit]] = {document.id: [] for document, _ in content.documents}
    for stored in content.units:
        if stored.unit.document_id not in units:
            raise UnreadableFileError(
                f"{shard.place} has units of the document {stored.unit.document_id!r}, and not the "
                "document: remove it and build again"
            )
        units[stored.unit.document_id].append(stored)
    documents: dict[str, Document] = {}
    digests: dict[str, str] = {}
    together: list[StoredUnit] = []
    for document, digest in content.documents:
        documents[document.id] = document
        digests[document.id] = _digest(document, digest, units[document.id])
        together += units[document.id]
        if len(together) + len(documents) >= _BATCH:
            yield LoadedDocuments(documents, digests, together)
            documents = {}
            digests = {}
            together = []
    if documents:
        yield LoadedDocuments(documents, digests, together)


def _digest(document: Document, digest: str, units: Sequence[StoredUnit]) -> str:
    """Return what tells whether a document was loaded.

    The digest of `add_documents` is empty for one that should be made again: adding it does so.
    """
    if digest not in (NO_DIGEST, INCOMPLETE):
        return digest
    return content_id("loaded", document.text, *sorted(stored.unit.id for stored in units))


# -- Into a store of ours --


class _OwnStore:
    def __init__(
        self, store: UnitStore, identity: Identity, dim: int, progress: bool | None
    ) -> None:
        self._store = store
        self._opened = store.opened
        self._identity = dict(identity)
        self._dim = dim or None
        self._progress = progress
        self._is_first = True

    def check(self, identity: Identity, dim: int) -> None:
        self._opened.connections.check_writable()
        with self._opened.connections.reading() as snapshot:
            check_identity(snapshot, "the shards with", **identity, dim=dim or None)
        encoder = self._opened.identity["encoder"]
        made_by = identity.get("encoder")
        if encoder and made_by and bare_name(encoder) != bare_name(made_by):
            _refuse_encoder(made_by, encoder)

    def digests(self, ids: Sequence[str]) -> Mapping[str, str]:
        with self._opened.connections.reading() as snapshot:
            return snapshot.digests(ids)

    def write(self, batch: LoadedDocuments) -> None:
        units = [stored.unit for stored in batch.units]
        check_units(units)
        vectors: dict[int, Vectors] = {}
        for position, stored in enumerate(batch.units):
            if stored.vector is not None:
                vectors[position] = stored.vector
        if self._is_first:
            set_language(self._opened, _passages(units), None)
            self._is_first = False
        kinds = {units[position].granularity for position in vectors}
        self._opened.encode_also(kinds)
        with self._opened.identified_transaction(None) as transaction:
            check_identity(transaction, "the shards with", **self._identity, dim=self._dim)
            transaction.remove(Selection(document_ids=list(batch.documents)))
            for name, document in batch.documents.items():
                transaction.put_document(document, batch.digests[name])
            transaction.insert(units, vectors)
            transaction.identify(self._identity)
            kinds.update(self._opened.named_granularities, transaction.granularities)
            transaction.keep_granularities([kind for kind in GRANULARITIES if kind in kinds])

    def finish(self) -> None:
        self._store.refresh(progress=self._progress)


def _passages(units: Sequence[Unit]) -> Iterator[Unit]:
    for unit in units:
        if unit.granularity is Granularity.PASSAGE:
            yield unit


# -- Into a vector store of any make --


class _VectorStore:
    def __init__(self, store: ExistingStore, identity: Identity) -> None:
        self._store = store
        self._collection = store.collection
        template = identity.get("embed_template") or EMBED_TEMPLATE
        template = with_metadata(template, metadata_keys(identity.get("embed_metadata")))
        recipe = replace(store.writer.recipe, template=template)
        self._writer: Writer = replace(store.writer, recipe=recipe)

    def check(self, identity: Identity, dim: int) -> None:
        encoder = getattr(self._store.encoder, "name", None)
        made_by = identity.get("encoder")
        if encoder and made_by and bare_name(encoder) != bare_name(made_by):
            _refuse_encoder(made_by, encoder)
        there = self._stored_dim()
        if dim and there not in (None, dim):
            raise EncoderMismatchError(
                f"the shards have vectors of {dim} dimensions, and {self._store.name} holds some "
                f"of {there}: load them into another collection"
            )
        if not self._collection.takes_vectors():
            logger.warning(
                "%s embeds texts itself: the vectors of the shards are of no use there, and all "
                "texts are encoded again",
                self._store.name,
            )

    def _stored_dim(self) -> int | None:
        """Return the dimension of the vectors that are there; None if that is not known."""
        try:
            first = next(self._collection.scan(None), None)
        except InvalidInputError:  # it cannot list its rows
            return None
        if first is None or first.vector is None:
            return None
        return len(first.vector)

    def digests(self, ids: Sequence[str]) -> Mapping[str, str]:
        stored = run(known_documents(ids), self._collection)
        return {name: document.digest for name, document in stored.items()}

    def write(self, batch: LoadedDocuments) -> None:
        vectors = {}
        for stored in batch.units:
            if stored.vector is not None:
                vectors[stored.unit.id] = stored.vector.tolist()
        before = run(known_documents(list(batch.documents)), self._collection)
        steps = put_documents(
            self._writer,
            list(batch.documents.values()),
            [stored.unit for stored in batch.units],
            batch.digests,
            before,
            vectors,
        )
        run(steps, self._collection)

    def finish(self) -> None:
        pass


def _refuse_encoder(made_by: str, there: str) -> NoReturn:
    raise EncoderMismatchError(
        f"the shards were made by the encoder {made_by!r}, and the store has {there!r}: their "
        "vectors cannot be compared. Build the shards with the second one, or load them into "
        "another store"
    )
