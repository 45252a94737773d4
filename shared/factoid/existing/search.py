"""Search a store of any make for the k best distinct parents, with the units that matched.

The question is embedded once. Candidates are the passages of the nearest units, the nearest
passages, and those with the question's words; the best k are ranked as in a `UnitStore`, and the
units under them are fetched by one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from factoid.errors import InvalidInputError
from factoid.existing.candidates import Pool, gather, lacking_matches, ranked_by_score
from factoid.existing.collection import Get, Shortcoming, Steps
from factoid.existing.contract import (
    DOCUMENT,
    ID,
    PASSAGES,
    Row,
    StoredDocument,
    document_row_id,
    other_parts,
    passage_of,
    row_id,
    to_document,
    to_unit,
)
from factoid.existing.loop import PARENT_KEYS, rows_under
from factoid.existing.plan import Plan
from factoid.existing.score import Ranked, fuse
from factoid.ranking import MATCHES
from factoid.units import Granularity, Hit, document_unit


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search found.

    Attributes:
        hits: The parents, best first.
        complete: Whether there are k of them, or all that there are, and no other can be better, or
            there were as many candidates as were wanted, and no index of pgvector was searched too
            narrowly. Another approximate index may still miss some.
        note: What was not complete and what mends it, in words; "" otherwise.
        calls: How many searches of the store it took.
    """

    hits: list[Hit]
    complete: bool = True
    note: str = ""
    calls: int = 0


def search(plan: Plan) -> Steps[Answer]:
    """Return the k best parents."""
    if plan.document_ids is not None and not plan.document_ids:
        return Answer([])
    pool, best = yield from gather(plan)
    ranked = _ranked(plan, pool, best)

    # -- The units under the best parents --
    if ranked and plan.ranked != "unit":
        key = PARENT_KEYS[plan.ranked]
        lacking = lacking_matches(pool, [parent.key for parent in ranked], key)
        if lacking:
            under = yield from rows_under(
                plan.question, lacking, plan.kinds, plan.row_filter, plan.limits, key=key
            )
            pool.add(plan, under)
    hits = yield from _hits(plan, ranked, pool.units, pool.passages)
    complete = all(part.complete for part in pool.searches())
    if plan.weights is None:  # there is nothing that more candidates would make more exact
        complete = complete or len(hits) == plan.k
    note = ""
    if complete and not _has_all(plan, pool):
        note = yield from _shortcoming(pool)
    calls = sum(part.calls for part in pool.searches())
    return Answer(hits, complete and not note, note, calls)


def _has_all(plan: Plan, pool: Pool) -> bool:
    """Return whether every parent that there is was found and is wanted, in whatever order."""
    key = PARENT_KEYS.get(plan.ranked, ID)
    return pool.near.is_exhausted and len(pool.near.parents(key)) <= plan.k


def _shortcoming(pool: Pool) -> Steps[str]:
    """Return why one of the searches may have missed rows; "" if none is known to.

    The first of each is asked about: those for more rows, or for the rows of some passages, are no
    more likely to use an index.
    """
    for found in pool.searches():
        if found.first is not None:
            note: str = yield Shortcoming(found.first)
            if note:
                return note
    return ""


def _ranked(plan: Plan, pool: Pool, best: Sequence[Ranked] | None) -> list[Ranked]:
    """Return the k best parents; of the best passages, where these are known."""
    if plan.weights is None:
        return fuse(pool.candidates(plan), plan.k, parents=plan.ranked)
    if best is not None and plan.ranked == "passage":
        ranked = list(best[: plan.k])
    else:
        names = None
        if best is not None:
            names = [parent.key for parent in best]
        candidates = pool.candidates(plan, names)
        scores = plan.similarities([*candidates.units.values(), *candidates.passages.values()])
        ranked = ranked_by_score(plan, candidates, scores, plan.k, parents=plan.ranked)
    if plan.min_score is not None:
        ranked = [parent for parent in ranked if parent.score >= plan.min_score]
    return ranked


# -- Hits --


def _hits(
    plan: Plan,
    ranked: Sequence[Ranked],
    units: Mapping[str, Row],
    passages: Mapping[str, Row],
) -> Steps[list[Hit]]:
    scores = plan.similarities(units.values())
    if plan.ranked == "unit":
        hits = []
        for parent in ranked:
            row = units[parent.key]
            hits.append(Hit(to_unit(row), parent.score, parts=parent.parts))
        return hits
    key = PARENT_KEYS[plan.ranked]
    matches = _matches(plan, [parent.key for parent in ranked], key, units, scores)
    documents: dict[str, StoredDocument] = {}
    shown = dict(passages)
    if plan.ranked == "document":
        documents = yield from stored_documents([parent.key for parent in ranked])
        for name, stored in documents.items():
            if not stored.document.text:
                raise InvalidInputError(
                    f"the store holds units of document {name!r}, and not its text: "
                    "parents='document' needs documents that were added by add_documents; use "
                    "parents='passage'"
                )
    else:
        missing = [parent.key for parent in ranked if parent.key not in shown]
        rows = yield Get([row_id(passage) for passage in missing])
        shown |= {passage_of(row): row for row in rows}
        if plan.parents == "auto":
            documents = yield from _whole_documents(ranked, shown)
    hits = []
    for parent in ranked:
        passage = shown.get(parent.key)
        name = parent.key
        if passage is not None:
            name = str(passage.metadata[DOCUMENT])
        if name in documents:
            unit = document_unit(documents[name].document)
        elif passage is not None:
            unit = to_unit(passage)
        else:  # its own row is gone: another process is deleting it
            continue
        hits.append(Hit(unit, parent.score, matches[parent.key], parts=parent.parts))
    return hits


def _whole_documents(
    ranked: Sequence[Ranked], passages: Mapping[str, Row]
) -> Steps[dict[str, StoredDocument]]:
    """Return the documents of those passages that are the only one of theirs."""
    ids = []
    for parent in ranked:
        row = passages.get(parent.key)
        if row is not None and int(row.metadata[PASSAGES]) == 1:
            ids.append(str(row.metadata[DOCUMENT]))
    documents = yield from stored_documents(ids)
    return {name: stored for name, stored in documents.items() if stored.document.text}


def rows_by_id(ids: Sequence[str]) -> Steps[list[Row]]:
    """Return rows by id, in any order; unknown ones are left out."""
    rows: list[Row] = yield Get(ids)
    return rows


def stored_documents(ids: Sequence[str]) -> Steps[dict[str, StoredDocument]]:
    """Return documents by id; unknown ones are left out.

    Raises:
        StoreFormatError: The rows of one of them are not whole.
    """
    firsts: list[Row] = yield Get([document_row_id(name) for name in dict.fromkeys(ids)])
    others: list[str] = []
    parts: dict[str, list[Row]] = {}
    for row in firsts:
        parts[str(row.metadata[DOCUMENT])] = [row]
        others += other_parts(row)
    rows: list[Row] = yield Get(others)
    for row in rows:
        parts[str(row.metadata[DOCUMENT])].append(row)
    documents = {}
    for name, of_document in parts.items():
        documents[name] = to_document(of_document)
    return documents


def _matches(
    plan: Plan,
    keys: Sequence[str],
    key: str,
    units: Mapping[str, Row],
    scores: Mapping[str, float],
) -> dict[str, tuple[Hit, ...]]:
    """Return the best units of each parent, each text at one granularity only."""
    below: dict[str, list[Row]] = {name: [] for name in keys}
    for row in units.values():
        name = str(row.metadata[key])
        if name in below:
            below[name].append(row)
    matches = {}
    for name, rows in below.items():
        if plan.metric is not None:
            rows.sort(key=lambda row: (-scores[row.id], row.id))
        first: dict[str, Granularity] = {}
        best: list[Hit] = []
        for row in rows:
            unit = to_unit(row)
            is_new = first.setdefault(unit.text, unit.granularity) is unit.granularity
            if is_new and len(best) < MATCHES:
                best.append(Hit(unit, scores[row.id]))
        matches[name] = tuple(best)
    return matches


def metadata_of(row: Row) -> Mapping[str, Any]:
    """Return the metadata of a row's unit, as they were given."""
    return to_unit(row).metadata
