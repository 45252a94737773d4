"""Hits of the core as what the searches of `MultiGranularFAISS` return.

Where neighbours were asked for, with `expand`, what is returned has those that there are under `neighbours` in its
metadata, in order of the text, what was found among them: dicts of text, start_index, end_index, granularity and id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from factoid.units import Hit, Unit
from langchain_factoid.convert import stored_document, unit_document, with_fields

Scored = tuple[Document, float]
Match = tuple[Document, float, list[Document]]


def documents(hits: Sequence[Hit]) -> list[Document]:
    """Return parents as the documents that were added; their neighbours are those of all their matches."""
    return [_document(hit) for hit in hits]


def scored_documents(hits: Sequence[Hit]) -> list[Scored]:
    """Return parents with their scores."""
    return [(_document(hit), hit.score) for hit in hits]


def matched_documents(hits: Sequence[Hit]) -> list[Match]:
    """Return parents with their scores and their matches, best first, as unit documents with `score`."""
    return [(_document(hit), hit.score, [_unit(match, score=match.score) for match in hit.matches]) for hit in hits]


def units(hits: Sequence[Hit]) -> list[Document]:
    """Return the units themselves."""
    return [_unit(hit) for hit in hits]


def scored_units(hits: Sequence[Hit]) -> list[Scored]:
    """Return the units themselves with their scores."""
    return [(_unit(hit), hit.score) for hit in hits]


def _document(hit: Hit) -> Document:
    document = stored_document(hit.unit)
    around = {unit.id: unit for each in (hit, *hit.matches) for unit in each.neighbours}
    if around.keys() - {hit.unit.id}:  # a document that is one passage stands alone
        document.metadata = with_fields(document.metadata, **_neighbours(list(around.values())))
    return document


def _unit(hit: Hit, **fields: Any) -> Document:
    return unit_document(hit.unit, **fields, **_neighbours(hit.neighbours))


def _neighbours(around: Sequence[Unit]) -> dict[str, Any]:
    if not around:
        return {}
    ordered = sorted(around, key=lambda unit: (unit.start, unit.end))
    return {
        "neighbours": [
            {
                "text": unit.text,
                "id": unit.id,
                "start_index": unit.start,
                "end_index": unit.end,
                "granularity": unit.granularity.value,
            }
            for unit in ordered
        ]
    }
