"""What a store is told about its indexes: kept in the store, so that whoever opens it finds the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from factoid.errors import InvalidInputError
from factoid.index import AUTO, Similarity, check_factory, check_kind
from factoid.store.options import whole_number
from factoid.store.records import DamagedRowError
from factoid.store.snapshot import Snapshot
from factoid.units import Granularity


@dataclass(frozen=True, slots=True)
class Settings:
    """How a store's vectors are compared and indexed.

    Attributes:
        similarity: What a score is.
        kinds: The index kind of each granularity, a FAISS factory string or "auto"; "auto" for those not named.
        shards: Parts that an index is cut into, which are searched side by side (Dense X Retrieval, Appendix C).
    """

    similarity: Similarity = Similarity.INNER_PRODUCT
    kinds: Mapping[Granularity, str] = field(default_factory=dict)
    shards: int = 1

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        """Return the settings kept in a store."""
        text = snapshot.get("settings") or "{}"
        try:
            kept: dict[str, Any] = json.loads(text)
            kinds = {Granularity(name): kind for name, kind in kept.get("kinds", {}).items()}
            return cls(Similarity(kept.get("similarity", Similarity.INNER_PRODUCT)), kinds, kept.get("shards", 1))
        except (ValueError, TypeError, AttributeError) as error:
            raise DamagedRowError(text, what="settings") from error

    def given(self, *, similarity: str | None, index: str | Mapping[str, str] | None, shards: int | None) -> Settings:
        """Return these settings with those that are given in place of their own.

        Raises:
            InvalidInputError: An unknown similarity, granularity or kind of index, or no shard.
        """
        kinds = dict(self.kinds)
        if isinstance(index, str):
            kinds = dict.fromkeys(Granularity, index)
        elif index is not None:
            if not isinstance(index, Mapping) or not all(isinstance(kind, str) for kind in index.values()):
                message = f"index must be a FAISS factory string, or a dict of one for each granularity, got {index!r}"
                raise InvalidInputError(message)
            kinds |= {Granularity(name): kind for name, kind in index.items()}
        for kind in set(kinds.values()) - {AUTO, *self.kinds.values()}:
            check_factory(kind)
        if shards is not None:
            whole_number("shards", shards)
        return Settings(Similarity(similarity or self.similarity), kinds, shards or self.shards)

    def kind(self, granularity: Granularity) -> str:
        """Return the index kind of a granularity, or "auto"."""
        return self.kinds.get(granularity, AUTO)

    def check(self, dim: int) -> None:
        """Refuse kinds that cannot index vectors of so many dimensions.

        Raises:
            InvalidInputError: FAISS does not know a kind, or it does not fit.
        """
        for kind in set(self.kinds.values()) - {AUTO}:
            check_kind(kind, dim)

    def to_json(self) -> str:
        """Return the settings as a store keeps them."""
        kinds = {str(granularity): kind for granularity, kind in self.kinds.items()}
        return json.dumps({"similarity": self.similarity, "kinds": kinds, "shards": self.shards})
