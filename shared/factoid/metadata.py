"""Metadata of documents: values that JSON can hold, and the fields that a search adds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from operator import attrgetter
from pathlib import PurePath
from typing import Any, TypedDict
from uuid import UUID

import numpy as np

from factoid.errors import InvalidInputError, shown
from factoid.units import Hit, Unit, check_size

# Keys under which parsers and propositionizers say what a unit is, and nothing of what it says.
KIND = ("granularity", "passage_id", "fallback")

# Keys under which parsers put the text around a unit, and the unit's own, as LlamaIndex's
# `SentenceWindowNodeParser` does.
WINDOW = ("window", "original_text")

_UNCHANGED = {str, int, bool, type(None)}


def plain_metadata(metadata: Mapping[str, Any], *, checked: bool = False) -> dict[str, Any]:
    """Return a copy of metadata that survives JSON unchanged.

    Dates and times become ISO 8601 strings, UUIDs and paths strings, decimals floats, tuples and
    sets lists (sets in order), NaN and infinities None, enumerations their values, NumPy values
    those of Python.

    Raises:
        InvalidInputError: A key is not a string, or a value has no counterpart in JSON; the message
            names the key. Or the metadata hold too much: see `factoid.units.check_size`, which the
            caller has called if they are `checked`.
    """
    if not checked:
        check_size(metadata)
    plain = {}
    for key, value in metadata.items():
        if type(key) is str and type(value) in _UNCHANGED:
            plain[key] = value
            continue
        try:
            plain[_checked(key)] = _plain(value)
        except (TypeError, RecursionError) as error:
            raise InvalidInputError(f"metadata[{shown(key)}] cannot be stored: {error}") from error
    return plain


def _checked(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"keys must be strings, got {shown(key)}")
    return key


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it."""
    if isinstance(value, Decimal):
        if value.is_finite():
            return _plain(float(value))
        return None
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return None
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, Mapping):
        return {_checked(key): _plain(element) for key, element in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    if isinstance(value, set | frozenset):
        return sorted(map(_plain, value), key=lambda element: (str(type(element)), element))
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, UUID | PurePath):
        return str(value)
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    raise TypeError(f"JSON has no counterpart for a {type(value).__name__}, got {shown(value)}")


def text_field(metadata: Mapping[str, Any], key: str) -> str:
    """Return a text of the metadata; "" if it is absent, or no string."""
    value = metadata.get(key)
    if isinstance(value, str):
        return value
    return ""


def with_fields(metadata: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of metadata with these fields.

    Other values under their keys move to `source_<key>`.
    """
    merged = dict(metadata)
    for key, value in fields.items():
        if key in merged and merged[key] != value:
            name = f"source_{key}"
            while name in merged:
                name = f"source_{name}"
            merged[name] = merged[key]
        merged[key] = value
    return merged


def hit_fields(hit: Hit, start: str, end: str, *, matches: bool = True) -> dict[str, Any]:
    """Return the `matches` and `neighbours` of a hit, if there are any.

    They are for the metadata of a framework's document. Both are lists of dicts of text, id,
    granularity and span, whose keys are `start` and `end` (None where the place is unknown).
    Matches come best first, with their scores; neighbours in order of the text, those of the
    matches included.
    """
    fields: dict[str, Any] = {}
    around: dict[str, Unit] = {}
    for part in (hit, *hit.matches):
        for unit in part.neighbours:
            around[unit.id] = unit
    matched: list[Unit] = []
    if matches:
        matched = list(map(attrgetter("unit"), hit.matches))
    for name, units in (
        ("matches", matched),
        ("neighbours", sorted(around.values(), key=attrgetter("start", "end"))),
    ):
        for unit in units:
            span: dict[str, int | None] = {start: None, end: None}
            if unit.has_place:
                span = {start: unit.start, end: unit.end}
            entry = {
                "text": unit.text,
                "id": unit.id,
                "granularity": unit.granularity.value,
                **span,
            }
            fields.setdefault(name, []).append(entry)
    for entry, match in zip(fields.get("matches", ()), hit.matches, strict=False):
        entry["score"] = match.score
    return fields


class MatchFields(TypedDict):
    """A unit that made a result a hit, as `matches_of` of both frameworks returns it."""

    id: str
    text: str
    granularity: str
    # of its place in the document's text, half-open; None where that is not known
    start: int | None
    end: int | None
    score: float


def match_fields(metadata: Mapping[str, Any], start: str, end: str) -> list[MatchFields]:
    """Return the matches that `hit_fields` put into the metadata of a result, best first.

    [] if there are none.
    """
    entries = metadata.get("matches")
    if not isinstance(entries, list):
        return []
    matches = []
    for entry in entries:
        matches.append(
            MatchFields(
                id=entry["id"],
                text=entry["text"],
                granularity=entry["granularity"],
                start=entry[start],
                end=entry[end],
                score=entry["score"],
            )
        )
    return matches
