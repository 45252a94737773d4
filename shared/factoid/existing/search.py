"""Search a store of any make for the k best distinct parents, with the units that matched.

The question is embedded once. Candidates are the passages of the nearest units, the nearest
passages, and those with the question's words; each gets its score as a unit and as a passage; the
best k are ranked as in a `UnitStore`, and the units under them are fetched by one call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from factoid.errors import InvalidInputError
from factoid.existing.collection import Get, Question, Steps
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
from factoid.existing.known import Metric
from factoid.existing.loop import (
    PARENT_KEYS,
    Found,
    Limits,
    RowFilter,
    nearest_parents,
    rows_under,
)
from factoid.existing.score import Candidates, Ranked, Reach, blend, fuse
from factoid.existing.words import Passes, Words
from factoid.filters import Comparison, Operator, Tree
from factoid.ranking import Parents, Weights
from factoid.units import Granularity, Hit, document_unit

_WIDTH = 50  # candidates, at least
_FACTOR = 4  # candidates for each parent that is wanted
_MATCHES = 3  # units that are returned with a parent

ParentsOption = Literal["auto", "passage", "document", "unit"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search found.

    Attributes:
        hits: The parents, best first.
        complete: Whether there are k of them, or all that there are, and as many candidates as
            were wanted. An approximate index may still miss some.
        note: What was not complete and what mends it, in words; "" otherwise.
        calls: How many searches of the store it took.
    """

    hits: list[Hit]
    complete: bool = True
    note: str = ""
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked search."""

    question: Question
    k: int
    kinds: Sequence[Granularity]
    parents: ParentsOption
    weights: Weights | None  # None where only ranks are known
    row_filter: RowFilter
    passes: Passes | None  # of the row filter, for the metadata of a document
    limits: Limits
    document_ids: Sequence[str] | None = None
    words: Words | None = None
    metric: Metric | None = None
    lengths: tuple[float, float] = (1.0, 1.0)  # of the query, and the median one of units
    reach: Reach | None = None
    min_score: float | None = None

    @property
    def ranked(self) -> Parents:
        """What is ranked."""
        if self.parents == "auto":
            return "passage"
        return self.parents

    @property
    def is_blended(self) -> bool:
        """Whether more counts than the nearest unit."""
        if self.weights is None:
            return True
        return bool(self.weights.passage or self.weights.lexical)

    @property
    def width(self) -> int:
        """How many candidates are wanted."""
        if not self.is_blended:
            return self.k
        return max(_WIDTH, _FACTOR * self.k)


def search(plan: Plan) -> Steps[Answer]:
    """Return the k best parents."""
    if plan.document_ids is not None and not plan.document_ids:
        return Answer([])
    candidates, searches = yield from _gather(plan)
    units = dict(candidates.units)
    scores = _similarities(plan, [*units.values(), *candidates.passages.values()])
    ranked = _ranked(plan, candidates, scores)

    # -- The units under the best parents --
    if ranked and searches[0].has_gaps:
        under = yield from rows_under(
            plan.question,
            [parent.key for parent in ranked],
            plan.kinds,
            plan.row_filter,
            plan.limits,
            key=PARENT_KEYS[plan.ranked],
        )
        searches.append(under)
        units |= under.rows
        scores |= _similarities(plan, under.rows.values())
    hits = yield from _hits(plan, ranked, units, candidates.passages, scores)
    complete = all(part.complete for part in searches)
    if plan.weights is None:  # there is nothing that more candidates would make more exact
        complete = complete or len(hits) == plan.k
    return Answer(hits, complete, calls=sum(part.calls for part in searches))


def _gather(plan: Plan) -> Steps[tuple[Candidates, list[Found]]]:
    """Return what is ranked, and what the searches found; that of units first.

    Candidates come by units, by passages, and by words; each gets both of its scores.
    """
    only: list[Tree] = []
    if plan.document_ids is not None:
        only.append(Comparison(DOCUMENT, Operator.IN, list(plan.document_ids)))
    question = plan.question
    key = PARENT_KEYS.get(plan.ranked, ID)
    nearest = yield from nearest_parents(
        question, plan.width, plan.kinds, plan.row_filter, plan.limits, key=key, only=only
    )
    searches = [nearest]
    units = dict(nearest.rows)
    passages: dict[str, Row] = {}
    by_words: list[str] = []
    if not plan.is_blended:
        return Candidates(units, passages, plan.kinds, by_words), searches

    of_passages = [Granularity.PASSAGE]
    if _counts_passages(plan):
        near = yield from nearest_parents(
            question, plan.width, of_passages, plan.row_filter, plan.limits, only=only
        )
        searches.append(near)
        passages = _by_passage(near.rows.values())
    if plan.words is not None and _counts_words(plan):
        by_words = plan.words.best(question.text, plan.width, plan.passes)

    # -- Scores that are missing: of passages found by their units or words, and the reverse --
    ids = dict.fromkeys([*map(passage_of, units.values()), *passages, *by_words])
    missing = [passage for passage in ids if passage not in passages]
    if missing and (_counts_passages(plan) or by_words):
        under = yield from rows_under(question, missing, of_passages, plan.row_filter, plan.limits)
        searches.append(under)
        passages |= _by_passage(under.rows.values())
    passages = _of_documents(passages, plan.document_ids)
    with_units = {*map(passage_of, units.values())}
    missing = [passage for passage in passages if passage not in with_units]
    if missing:
        under = yield from rows_under(question, missing, plan.kinds, plan.row_filter, plan.limits)
        searches.append(under)
        units |= under.rows
    return Candidates(units, passages, plan.kinds, by_words), searches


def _ranked(plan: Plan, candidates: Candidates, scores: Mapping[str, float]) -> list[Ranked]:
    if plan.weights is None:
        return fuse(candidates, plan.k, parents=plan.ranked)
    ranked = blend(
        candidates,
        scores,
        plan.question.text,
        plan.k,
        parents=plan.ranked,
        weights=plan.weights,
        words=plan.words,
        reach=plan.reach,
    )
    if plan.min_score is not None:
        ranked = [parent for parent in ranked if parent.score >= plan.min_score]
    return ranked


def _counts_passages(plan: Plan) -> bool:
    """Return whether the nearest passages are candidates of their own."""
    if Granularity.PASSAGE in plan.kinds:
        return False
    return plan.weights is None or plan.weights.passage > 0


def _counts_words(plan: Plan) -> bool:
    return plan.weights is None or plan.weights.lexical > 0


def _by_passage(rows: Iterable[Row]) -> dict[str, Row]:
    return {passage_of(row): row for row in rows}


def _of_documents(passages: Mapping[str, Row], ids: Sequence[str] | None) -> dict[str, Row]:
    if ids is None:
        return dict(passages)
    return {name: row for name, row in passages.items() if row.metadata[DOCUMENT] in ids}


def _similarities(plan: Plan, rows: Iterable[Row]) -> dict[str, float]:
    """Return the inner product or cosine of each row; 0 where only ranks are known."""
    scores = {}
    for row in rows:
        score = 0.0
        if plan.metric is not None:
            score = plan.metric.similarity(row.score, *plan.lengths)
        scores[row.id] = score
    return scores


# -- Hits --


def _hits(
    plan: Plan,
    ranked: Sequence[Ranked],
    units: Mapping[str, Row],
    passages: Mapping[str, Row],
    scores: Mapping[str, float],
) -> Steps[list[Hit]]:
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
        shown |= _by_passage(rows)
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
            if is_new and len(best) < _MATCHES:
                best.append(Hit(unit, scores[row.id]))
        matches[name] = tuple(best)
    return matches


def metadata_of(row: Row) -> Mapping[str, Any]:
    """Return the metadata of a row's unit, as they were given."""
    return to_unit(row).metadata
