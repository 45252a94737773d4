"""Gather the candidates of a search, until no other passage can be among the best.

The nearest units and the nearest passages are fetched, some at a time, and passages with the
question's words are known. A passage that neither search has returned is no nearer than the last
row of each, so its score has a bound: the threshold algorithm (Fagin, Lotem and Naor, 2003). Scores
that are missing are fetched only for passages whose bound is among the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from factoid.existing.collection import Steps
from factoid.existing.contract import DOCUMENT, GRANULARITY, ID, PASSAGE, TEXT, Row, passage_of
from factoid.existing.loop import PARENT_KEYS, Found, nearest_parents, rows_under
from factoid.existing.plan import Plan
from factoid.existing.score import Candidates, Ranked, blend
from factoid.filters import Comparison, Operator, Tree
from factoid.ranking import MATCHES, Parents, Weights
from factoid.units import Granularity

_UNBOUNDED = 1e30  # in place of infinity, of which no weight of 0 makes NaN
_ONE = np.ones((1, 1), np.float32)
_WIDER = 4  # times as many passages, where those that are wanted are of too few documents
_AT_ONCE = 2  # passages, for each parent that is wanted, whose scores are fetched together


@dataclass(slots=True)
class Pool:
    """What the searches have returned.

    Attributes:
        units: Rows of the compared granularities by id, those of the nearest units first.
        passages: Rows of passages by the passage's id.
        by_words: Scores by the question's words, by passage, best first.
        near: The search for the nearest units.
        near_passages: That for the nearest passages.
        others: Further searches.
        settled: Passages all of whose rows were asked for.
    """

    units: dict[str, Row] = field(default_factory=dict)
    passages: dict[str, Row] = field(default_factory=dict)
    by_words: dict[str, float] = field(default_factory=dict)
    near: Found = field(default_factory=Found)
    near_passages: Found | None = None
    others: list[Found] = field(default_factory=list)
    settled: set[str] = field(default_factory=set)

    def searches(self) -> Iterator[Found]:
        """Yield all searches."""
        yield self.near
        if self.near_passages is not None:
            yield self.near_passages
        yield from self.others

    def names(self) -> list[str]:
        """Return the passages that something is known of."""
        of_units = map(passage_of, self.units.values())
        return list(dict.fromkeys([*of_units, *self.passages, *self.by_words]))

    def add(self, plan: Plan, found: Found) -> None:
        """Add the rows that a further search has returned."""
        self.others.append(found)
        for row in found.rows.values():
            kind = Granularity(row.metadata[GRANULARITY])
            if kind in plan.kinds:
                self.units.setdefault(row.id, row)
            if kind is Granularity.PASSAGE:
                self.passages.setdefault(passage_of(row), row)

    def candidates(self, plan: Plan, names: Iterable[str] | None = None) -> Candidates:
        """Return the candidates, or those among some passages."""
        units = self.units
        passages = self.passages
        if names is not None:
            chosen = {*names}
            units = {name: row for name, row in units.items() if passage_of(row) in chosen}
            passages = {name: row for name, row in passages.items() if name in chosen}
        return Candidates(units, passages, plan.kinds, list(self.by_words))


def gather(plan: Plan) -> Steps[tuple[Pool, list[Ranked] | None]]:
    """Return what is known of the candidates, and the best passages where these are certain."""
    pool = Pool()
    if plan.counts_words and plan.words is not None:
        pool.by_words = plan.words.best(plan.question.text, plan.width, plan.passes)
        if plan.document_ids is not None:
            pool.by_words = _of_documents(pool.by_words, plan)
    if plan.is_bounded:
        best = yield from _gather_best(plan, pool)
        return pool, best
    yield from _gather_all(plan, pool)
    return pool, None


def _of_documents(scores: dict[str, float], plan: Plan) -> dict[str, float]:
    """Return the scores of passages of those documents that are searched."""
    chosen = {*(plan.document_ids or ())}
    of_documents = {}
    for name, score in scores.items():
        if plan.words is not None and plan.words.document(name) in chosen:
            of_documents[name] = score
    return of_documents


def _look(plan: Plan, pool: Pool, goal: int) -> Steps[None]:
    """Fetch the nearest units and passages, until they are of so many parents."""
    only: list[Tree] = []
    if plan.document_ids is not None:
        only.append(Comparison(DOCUMENT, Operator.IN, list(plan.document_ids)))
    key = PARENT_KEYS.get(plan.ranked, ID)
    if plan.is_bounded:
        key = PASSAGE  # bounds are those of passages
    yield from nearest_parents(
        pool.near, plan.question, goal, plan.kinds, plan.row_filter, plan.limits, key=key, only=only
    )
    pool.units |= pool.near.rows
    if not plan.is_blended or not plan.counts_passages:
        return
    if pool.near_passages is None:
        pool.near_passages = Found()
    kinds = [Granularity.PASSAGE]
    yield from nearest_parents(
        pool.near_passages, plan.question, goal, kinds, plan.row_filter, plan.limits, only=only
    )
    for row in pool.near_passages.rows.values():
        pool.passages.setdefault(passage_of(row), row)


# -- All scores of as many candidates as are wanted --


def _gather_all(plan: Plan, pool: Pool) -> Steps[None]:
    yield from _look(plan, pool, plan.width)
    if not plan.is_blended:
        return
    missing = [passage for passage in pool.names() if passage not in pool.passages]
    if missing and (plan.counts_passages or pool.by_words):
        passages = yield from _under(plan, missing, [Granularity.PASSAGE])
        pool.others.append(passages)
        for row in passages.rows.values():
            pool.passages[passage_of(row)] = row
    with_units = {*map(passage_of, pool.units.values())}
    missing = [passage for passage in pool.passages if passage not in with_units]
    if missing:
        units = yield from _under(plan, missing, plan.kinds)
        pool.others.append(units)
        pool.units |= units.rows


def _under(plan: Plan, passages: Sequence[str], kinds: Sequence[Granularity]) -> Steps[Found]:
    return rows_under(plan.question, passages, kinds, plan.row_filter, plan.limits)


# -- Those that may be among the best --


def _gather_best(plan: Plan, pool: Pool) -> Steps[list[Ranked]]:
    """Fetch rows until no other passage can be among the best, and return the ranked ones.

    Where that is not certain before as many candidates are known as are wanted, these decide.
    """
    kinds = list(dict.fromkeys([*plan.kinds, Granularity.PASSAGE]))
    if not plan.counts_passages:
        kinds = list(plan.kinds)
    goal = plan.first_width
    while True:
        yield from _look(plan, pool, goal)
        while True:
            ranked, pending = _by_bound(plan, pool)
            least = _least(plan, pool, ranked, pending)
            needed = []
            for parent in ranked:
                if parent.key in pending and parent.score >= least:
                    needed.append(parent.key)
            if not needed:
                break
            needed = needed[: _AT_ONCE * plan.k]
            best = [parent.key for parent in ranked[: plan.k] if parent.key not in pending]
            asked = [*needed, *lacking_matches(pool, best, PASSAGE)]
            rows = yield from _under(plan, asked, kinds)
            pool.add(plan, rows)
            pool.settled.update(asked)
        has_all = least > -math.inf or pool.near.is_exhausted or not pool.near.complete
        if least >= _unseen(plan, pool) or (goal >= plan.width and has_all):
            break
        if goal < plan.width:
            goal = plan.width
        else:
            goal *= _WIDER
    return [parent for parent in ranked if parent.key not in pending]


def _by_bound(plan: Plan, pool: Pool) -> tuple[list[Ranked], set[str]]:
    """Return passages by their scores or the bounds of these, and those of which scores miss."""
    units = dict(pool.units)
    passages = dict(pool.passages)
    scores = plan.similarities([*units.values(), *passages.values()])
    known: dict[str, dict[str, float]] = {}  # the best score of each granularity, by passage
    documents: dict[str, str] = {}
    for row in (*passages.values(), *units.values()):
        name = passage_of(row)
        known.setdefault(name, {})
        documents[name] = str(row.metadata[DOCUMENT])
    for row in units.values():
        of_passage = known[passage_of(row)]
        kind = str(row.metadata[GRANULARITY])
        of_passage[kind] = max(scores[row.id], of_passage.get(kind, -math.inf))
    highest, highest_passage = _bounds(plan, pool)

    # -- Rows that stand for those that are missing, with the highest score that they can have --
    pending = set()
    for name, of_passage in known.items():
        if name in pool.settled:
            continue
        bound = max(of_passage.values(), default=highest)
        for kind in plan.kinds:
            may_be_there = highest > -math.inf or (of_passage and pool.near.has_gaps)
            if kind.value not in of_passage and may_be_there:
                row = _stand_in(name, kind, documents[name])
                units[row.id] = row
                scores[row.id] = bound
                pending.add(name)
        if plan.counts_passages and name not in passages and highest_passage > -math.inf:
            row = _stand_in(name, Granularity.PASSAGE, documents[name])
            passages[name] = row
            scores[row.id] = highest_passage
            pending.add(name)
    candidates = Candidates(units, passages, plan.kinds, [])
    ranked = ranked_by_score(plan, candidates, scores, len(known), parents="passage")

    # -- Passages of which only the words are known --
    for name, by_words in pool.by_words.items():
        if name not in known and name not in pool.settled:
            ranked.append(Ranked(name, _highest(plan, pool, by_words), {}))
            pending.add(name)
    ranked.sort(key=lambda parent: -parent.score)
    return ranked, pending


def ranked_by_score(
    plan: Plan, candidates: Candidates, scores: Mapping[str, float], k: int, *, parents: Parents
) -> list[Ranked]:
    """Return the k best candidates by the score of a store of ours."""
    return blend(
        candidates,
        scores,
        plan.question.text,
        k,
        parents=parents,
        weights=plan.weights or Weights(),
        words=plan.words,
        reach=plan.reach,
    )


def _stand_in(passage: str, kind: Granularity, document: str) -> Row:
    metadata = {GRANULARITY: kind.value, PASSAGE: passage, DOCUMENT: document}
    return Row(f"{kind} of {passage}", "", metadata)


def _bounds(plan: Plan, pool: Pool) -> tuple[float, float]:
    """Return the highest score of a unit, and of a passage, that no search has returned."""
    unit = _bound(plan, pool.near)
    passage = -math.inf
    if pool.near_passages is not None:
        passage = _bound(plan, pool.near_passages)
    return unit, passage


def _bound(plan: Plan, found: Found) -> float:
    if found.is_exhausted:
        return -math.inf
    if found.last is None:
        return _UNBOUNDED
    [score] = plan.similarities([found.last]).values()
    return score


def _highest(plan: Plan, pool: Pool, by_words: float) -> float:
    """Return the highest score of a passage that no search has returned, by that of its words."""
    weights = plan.weights or Weights()
    unit, passage = _bounds(plan, pool)
    vectors = unit
    if pool.near_passages is not None:
        # A passage is one of its own units.
        nearest = max(unit, passage)
        vectors = (1 - weights.passage) * nearest + weights.passage * passage
    reach = 1.0
    if plan.reach is not None:
        reach = float(plan.reach.as_scale().reach(_ONE)[0])
    return (1 - weights.lexical) * max(vectors, -_UNBOUNDED) + weights.lexical * reach * by_words


def _least(plan: Plan, pool: Pool, ranked: Sequence[Ranked], pending: set[str]) -> float:
    """Return the score of the last of the k best parents whose scores are known."""
    documents: dict[str, str] = {}
    if plan.ranked == "document":
        for row in (*pool.units.values(), *pool.passages.values()):
            documents[passage_of(row)] = str(row.metadata[DOCUMENT])
    parents = set()
    for parent in ranked:
        if parent.key not in pending:
            parents.add(documents.get(parent.key, parent.key))
            if len(parents) == plan.k:
                return parent.score
    return -math.inf


def _unseen(plan: Plan, pool: Pool) -> float:
    """Return the highest score of a passage of which nothing is known."""
    by_words = 0.0
    if len(pool.by_words) == plan.width:
        by_words = min(pool.by_words.values())
    return _highest(plan, pool, by_words)


def lacking_matches(pool: Pool, names: Sequence[str], key: str) -> list[str]:
    """Return the parents of which the searches may have left out some of the best units."""
    if pool.near.is_exhausted and not pool.near.has_gaps:
        return []
    if key == DOCUMENT and pool.near.has_gaps:  # passages are excluded one by one
        return list(names)
    texts: dict[str, set[str]] = {}
    for row in pool.near.rows.values():  # of each parent the best
        texts.setdefault(str(row.metadata[key]), set()).add(str(row.metadata[TEXT]))
    lacking = []
    for name in names:
        if name not in pool.settled and len(texts.get(name, ())) < MATCHES:
            lacking.append(name)
    return lacking
