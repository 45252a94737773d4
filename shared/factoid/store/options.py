"""What a search may be asked beside the query, checked."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, SupportsFloat, get_args

from factoid.errors import InvalidInputError
from factoid.filters import Filter
from factoid.search import Fusion, Level
from factoid.units import Granularity

MIXED = "mixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of `UnitStore.search`, which see."""

    granularity: str | Sequence[str] = Granularity.PROPOSITION
    parents: bool | str = True
    filter: Filter | None = None
    document_ids: Sequence[str] | None = None
    unit_ids: Sequence[str] | None = None
    min_score: float | None = None
    fusion: Fusion = "rrf"
    mmr: float | None = None
    fetch_k: int = 20
    expand: int = 0
    parameters: Mapping[str, Any] | None = None
    refine: int | None = None

    def __post_init__(self) -> None:
        for name in ("granularity", "document_ids", "unit_ids"):
            given = getattr(self, name)
            if isinstance(given, Iterable) and not isinstance(given, str):  # iterators, too, are read more than once
                object.__setattr__(self, name, list(given))

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return options as they were given.

        Raises:
            TypeError: An option that no search has.
        """
        names = [each.name for each in fields(cls)]
        if unknown := sorted(set(given) - set(names)):
            message = f"unknown options {unknown} of a search: expected some of {', '.join(names)}"
            raise TypeError(message)
        return cls(**given)

    def kinds(self, searched: Sequence[Granularity]) -> list[Granularity]:
        """Return the granularities to compare with the query.

        Raises:
            InvalidInputError: None, an unknown one, or one that the store does not search.
        """
        if self.granularity == MIXED:
            return list(searched)
        names = [self.granularity] if isinstance(self.granularity, str) else self.granularity
        if not isinstance(names, Iterable):
            message = f"granularity must be one of {', '.join(searched)}, a list of them, or {MIXED!r}, got {names!r}"
            raise InvalidInputError(message)
        kinds = list(dict.fromkeys(Granularity(name) for name in names))
        missing = [kind for kind in kinds if kind not in searched]
        if missing or not kinds:
            wanted = f"it has no index of {missing[0]}s" if missing else "name one, or several"
            message = f"this store searches {', '.join(searched)}: {wanted}"
            raise InvalidInputError(message)
        return kinds

    @property
    def level(self) -> Level:
        """What hits are."""
        if isinstance(self.parents, bool):
            return "passage" if self.parents else "unit"
        if self.parents in ("passage", "document"):
            return self.parents  # type: ignore[return-value]
        message = f"parents must be True, False, 'passage' or 'document', got {self.parents!r}"
        raise InvalidInputError(message)

    def check(self) -> None:
        """Refuse what no search can do.

        Raises:
            InvalidInputError: Says which option, and what it takes.
        """
        _ = self.level
        if self.fusion not in get_args(Fusion):
            message = f"fusion must be 'rrf' or 'max', got {self.fusion!r}"
            raise InvalidInputError(message)
        _number("mmr", self.mmr)
        _number("min_score", self.min_score)
        if self.mmr is not None and not 0 <= self.mmr <= 1:
            message = f"mmr must be from 0 (only diversity counts) to 1 (it does not), got {self.mmr!r}"
            raise InvalidInputError(message)
        whole_number("expand", self.expand, least=0)
        whole_number("fetch_k", self.fetch_k)
        if self.refine is not None:
            whole_number("refine", self.refine)
        if self.parameters is not None and not isinstance(self.parameters, Mapping):
            message = f'parameters must be a dict such as {{"nprobe": 32}}, got {self.parameters!r}'
            raise InvalidInputError(message)
        for name in ("document_ids", "unit_ids"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, list):
                what = f"the string {given!r}" if isinstance(given, str) else repr(given)
                message = f"{name} must be a list of ids, got {what}"
                raise InvalidInputError(message)


def whole_number(name: str, value: object, *, least: int = 1) -> int:
    """Return a number as an int, whatever integer type it came as.

    Raises:
        InvalidInputError: Not a whole number, or below the least.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError as error:
        message = f"{name} must be a whole number, got {value!r}"
        raise InvalidInputError(message) from error
    if number < least:
        message = f"{name} must be at least {least}, got {number}"
        raise InvalidInputError(message)
    return number


def _number(name: str, value: object) -> None:
    """Refuse what is no number; None is left out."""
    if value is not None and (not isinstance(value, SupportsFloat) or math.isnan(value)):
        message = f"{name} must be a number, got {value!r}"
        raise InvalidInputError(message)
