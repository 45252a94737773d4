"""The settings of a store, most of them kept in it, so that whoever opens it finds the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from factoid.encode import EMBED_TEMPLATE, Encoder, bare_name, with_heading
from factoid.errors import EncoderMismatchError, InvalidInputError, MissingDependencyError
from factoid.index import AUTO, Similarity, check_factory, check_kind
from factoid.index.lexical import check_language
from factoid.search import Weights
from factoid.store.database.connections import Connections
from factoid.store.database.records import DamagedRowError
from factoid.store.database.snapshot import Snapshot, write_meta
from factoid.units import Granularity, whole_number

_PROBES = 3  # stored units that an encoder of another name has to give their vectors
_TOLERANCE = 0.05  # of a vector's length: half precision and other devices stay far below, another model far above

Alias = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a store's vectors are compared and indexed; the options are those of `UnitStore`."""

    similarity: Similarity = Similarity.INNER_PRODUCT
    kinds: Mapping[Granularity, str] = field(default_factory=dict)  # "auto" for those not named
    shards: int = 1
    language: str = "en"
    weights: Weights = field(default_factory=Weights)  # of a search that names none

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        """Return the settings kept in a store."""
        text = snapshot.meta.get("settings") or "{}"
        try:
            values: dict[str, Any] = json.loads(text)
            kinds = {Granularity(name): kind for name, kind in values.get("kinds", {}).items()}
            similarity = Similarity(values.get("similarity", Similarity.INNER_PRODUCT))
            weights = Weights(**values.get("weights", {}))
            return cls(similarity, kinds, values.get("shards", 1), values.get("language", "en"), weights)
        except (ValueError, TypeError, AttributeError) as error:
            raise DamagedRowError(text, what="settings") from error

    def updated(
        self,
        similarity: str | None = None,
        index: str | Mapping[str, str] | None = None,
        shards: int | None = None,
        language: str | None = None,
        weights: Weights | None = None,
    ) -> Settings:
        """Return these settings with those that are not None in their place; raise InvalidInputError for unknown ones."""
        kinds = dict(self.kinds)
        if isinstance(index, str):
            kinds = dict.fromkeys(Granularity, index)
        elif index is not None:
            if not isinstance(index, Mapping) or not all(isinstance(kind, str) for kind in index.values()):
                raise InvalidInputError(
                    f"index must be a FAISS factory string, or a dict of one for each granularity, got {index!r}"
                )
            kinds |= {Granularity(name): kind for name, kind in index.items()}
        for kind in set(kinds.values()) - {AUTO, *self.kinds.values()}:
            check_factory(kind)
        shards = self.shards if shards is None else whole_number("shards", shards)
        language = self.language if language is None else check_language(language)
        return Settings(Similarity(similarity or self.similarity), kinds, shards, language, weights or self.weights)

    def check(self, dim: int) -> None:
        """Refuse kinds that FAISS does not know, or that cannot index vectors of so many dimensions."""
        for kind in set(self.kinds.values()) - {AUTO}:
            check_kind(kind, dim)


def keep_settings(connections: Connections, *, dtype: str | None = None, **requested: Any) -> Settings:
    """Return the settings of a store with those requested in their place, and keep them unless it is read-only."""
    with connections.reading() as snapshot:
        stored, stored_dtype, dim = Settings.of(snapshot), str(snapshot.dtype), snapshot.meta.get("dim")
    settings = stored.updated(**requested)
    if dim is not None and settings != stored:
        settings.check(dim)
    new_dtype = dtype not in (None, stored_dtype)
    if dim is not None and new_dtype:
        raise InvalidInputError(
            f"the store at {connections.path} keeps vectors as {stored_dtype}: that cannot be changed"
        )
    if not connections.read_only and (settings != stored or new_dtype):
        with connections.writing() as connection:
            write_meta(connection, settings=json.dumps(asdict(settings)), dtype=dtype or stored_dtype)
    return settings


def check_identity(
    snapshot: Snapshot, encoder: Encoder | None, template: str | None, alias: Alias | None = None
) -> str | None:
    """Return the name by which a store knows an encoder; refuse another encoder or template than made its vectors.

    An encoder of another name is the same if it gives stored units their vectors. So a model may be named with or without
    its owner, or by its folder. `alias` is the encoder's name and that in the store, where they were checked before.
    """
    stored = snapshot.meta.get("embed_template")
    if template and stored and stored != template:
        raise EncoderMismatchError(
            f"the units of the store were encoded as {stored!r}, and it was opened with embed_template={template!r}: "
            "leave it out, or add the documents to a new store"
        )
    name, stored = getattr(encoder, "name", None), snapshot.meta.get("encoder")
    if encoder is None or not name or not stored or (name, stored) == alias or bare_name(name) == bare_name(stored):
        return stored or name
    message = f"the store was built by the encoder {stored!r}, and was opened with {name!r}"
    try:
        if _encodes_alike(snapshot, encoder):
            return str(stored)
    except (MissingDependencyError, OSError) as error:  # the model is not there: only names can be compared
        raise EncoderMismatchError(message) from error
    message += ", which gives the same texts other vectors"
    raise EncoderMismatchError(message)


def _encodes_alike(snapshot: Snapshot, encoder: Encoder) -> bool:
    """Tell whether an encoder gives units of the store the vectors that they have."""
    sql = "SELECT id FROM units WHERE vector IS NOT NULL AND trim(text) <> '' ORDER BY row LIMIT ?"
    units = snapshot.units_by_id(snapshot.values(sql, [_PROBES]))
    if not units:
        return False
    vectors = snapshot.vectors_by_id([unit.id for unit in units])
    stored = np.stack([vectors[unit.id] for unit in units])
    template = snapshot.meta.get("embed_template") or EMBED_TEMPLATE
    encoded = np.asarray(encoder.encode_units([with_heading(unit, template) for unit in units]), np.float32)
    if encoded.shape != stored.shape or not stored.any():
        return False
    distances = np.linalg.norm(encoded - stored, axis=1)
    return bool((distances <= _TOLERANCE * np.linalg.norm(stored, axis=1)).all())
