"""The settings of a store. Most are kept in it, so that everyone who opens it has the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from factoid.encode import bare_name
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.ranking import Weights
from factoid.store.database.connections import Connections
from factoid.store.database.records import DamagedRowError
from factoid.store.database.snapshot import Snapshot, write_meta
from factoid.units import Granularity
from factoid.vectors import AUTO, Similarity, check_factory
from factoid.vectors.terms import check_language

GRANULARITIES = (Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION)
# All that the default score compares.
DEFAULT_GRANULARITIES = (Granularity.PASSAGE, Granularity.PROPOSITION)
"""What a store encodes and searches if it is not told."""

AUTO_TEMPLATE = "auto"
"""The template that a store was filled with; in an empty one, the default."""

_ADVICE = {
    "late_chunking": " It is late_chunking of UnitStore",
    "encoder": (
        " If both are the same weights, say so by the first name: name={0!r} of "
        "SentenceTransformerEncoder, of LangChainEncoder (LangChain) or of LlamaIndexEncoder "
        "(LlamaIndex)"
    ),
    "embed_metadata": (
        " It is embed_metadata={0} of the store or, in LlamaIndex, of the node parser, as in "
        "MultiGranularNodeParser(embed_metadata={0})"
    ),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """How a store's vectors are compared and indexed; the options are those of `UnitStore`."""

    similarity: Similarity = Similarity.INNER_PRODUCT
    # "auto" for granularities not named
    kinds: Mapping[Granularity, str] = field(default_factory=dict)
    language: str = "en"
    weights: Weights = field(default_factory=Weights)  # for a search that names none

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        """Return the settings kept in a store."""
        if "settings" not in snapshot.meta:
            return cls()
        try:
            values = json.loads(snapshot.meta["settings"])
            kinds = {}
            for name, kind in values["kinds"].items():
                kinds[Granularity(name)] = kind
            weights = Weights(**values["weights"])
            language = check_language(values["language"])
            return cls(Similarity(values["similarity"]), kinds, language, weights)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise DamagedRowError("settings", what="the record of") from error

    def updated(
        self,
        similarity: str | None = None,
        index: str | Mapping[str, str] | None = None,
        language: str | None = None,
        weights: Weights | None = None,
    ) -> Settings:
        """Return these settings, replaced by the arguments that are not None.

        Raise InvalidInputError for unknown ones.
        """
        kinds = dict(self.kinds)
        if isinstance(index, str):
            kinds = dict.fromkeys(Granularity, index)
        elif index is not None:
            kinds |= {Granularity(name): kind for name, kind in index.items()}
        for kind in set(kinds.values()) - {AUTO, *self.kinds.values()}:
            check_factory(kind)
        language = self.language if language is None else check_language(language)
        return Settings(
            Similarity(similarity or self.similarity), kinds, language, weights or self.weights
        )


def keep_settings(
    connections: Connections, *, dtype: str | None = None, **requested: Any
) -> Settings:
    """Return the settings of a store, updated by those requested.

    They are written unless the store is read-only.
    """
    with connections.reading() as snapshot:
        stored = Settings.of(snapshot)
        stored_dtype = str(snapshot.dtype)
        dim = snapshot.meta.get("dim")
    settings = stored.updated(**requested)
    new_dtype = dtype not in (None, stored_dtype)
    if dim is not None and new_dtype:
        raise InvalidInputError(
            f"the store at {connections.path} keeps vectors as {stored_dtype}: that cannot be "
            "changed"
        )
    if not connections.read_only and (settings != stored or new_dtype):
        with connections.raw_transaction() as connection:
            write_meta(
                connection, settings=json.dumps(asdict(settings)), dtype=dtype or stored_dtype
            )
    return settings


def check_identity(snapshot: Snapshot, source: str, **identity: object) -> None:
    """Reject vectors made in another way than those of a store; None stands for what is unknown."""
    for name, value in identity.items():
        stored = snapshot.meta.get(name)
        if (
            value is not None
            and stored is not None
            and bare_name(str(value)) != bare_name(str(stored))
        ):
            raise EncoderMismatchError(
                f"the store was built with the {name} {stored!r}, and {source} {value!r}: use the "
                "first one, or a new store." + _ADVICE.get(name, "").format(stored)
            )
