"""Find k distinct parents in a store that ranks units and knows no parents.

The fetch grows, or found parents are excluded, until there are enough. A short answer never counts
as the end: an HNSW index may return 40 rows whatever it is asked for, and none behind a filter. It
is the end only where the store compares all vectors, or says without a search that nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from factoid.existing.collection import Leaves, Nearest, Question, Steps
from factoid.existing.conditions import predicate
from factoid.existing.contract import DOCUMENT, GRANULARITY, PASSAGE, Row, is_unit
from factoid.filters import All, Comparison, Operator, Tree
from factoid.units import Granularity

_PER_PARENT = 4  # rows of the first fetch for each parent that is wanted
_LEAST = 30  # rows of the first fetch
PER_CALL = 20  # rows for each parent whose rows are asked for
_GROWTH = 4
_MOST_EXCLUDED = 5_000  # parents in one filter

PARENT_KEYS = {"passage": PASSAGE, "document": DOCUMENT}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a store can do, as far as the loop has to know."""

    most: int  # rows of one search
    filters: bool  # whether it has filters that are known
    excludes: bool  # whether its filters can exclude values
    is_exact: bool  # whether fewer rows than asked for are all that there are


@dataclass(slots=True)
class Found:
    """The rows that were found, best first, each once.

    Attributes:
        rows: The rows by id.
        complete: Whether they are of enough parents, or of all that there are.
        calls: How many searches of the store it took.
        first: The first of them.
        has_gaps: Whether rows of a parent after its best may be missing.
        last: The last row of the last search: no parent that is missing has a nearer one.
        is_exhausted: Whether no parent is missing.
    """

    rows: dict[str, Row] = field(default_factory=dict)
    complete: bool = False
    calls: int = 0
    first: Nearest | None = None
    has_gaps: bool = False
    last: Row | None = None
    is_exhausted: bool = False

    def parents(self, key: str) -> list[str]:
        """Return the parents of the rows, best first."""
        names: dict[str, None] = {}
        for row in self.rows.values():
            names[str(row.metadata[key])] = None
        return list(names)


@dataclass(frozen=True, slots=True)
class RowFilter:
    """The user's filter: a tree that the store may understand, and a test of each row."""

    tree: Tree | None
    passes: Callable[[Row], bool]
    may_exclude: bool = True  # False without a filter


def condition(
    kinds: Sequence[Granularity],
    row_filter: RowFilter,
    *others: Tree,
    key: str = PASSAGE,
    excluded: Sequence[str] = (),
) -> Tree:
    """Return the condition for units of some granularities.

    There is no list in it that is empty: stores refuse it, or let everything pass.
    """
    names = [kind.value for kind in kinds]
    parts: list[Tree] = [Comparison(GRANULARITY, Operator.IN, names), *others]
    if row_filter.tree is not None:
        parts.append(row_filter.tree)
    if excluded:
        parts.append(Comparison(key, Operator.NIN, list(excluded)))
    return All(tuple(parts))


def nearest_parents(
    result: Found,
    question: Question,
    goal: int,
    kinds: Sequence[Granularity],
    row_filter: RowFilter,
    limits: Limits,
    *,
    key: str = PASSAGE,
    only: Sequence[Tree] = (),
) -> Steps[None]:
    """Find the rows nearest to a question until they have `goal` distinct parents.

    Args:
        result: What was found for a smaller goal, else empty. It gets the rows.
        question: What is asked.
        goal: How many parents are wanted.
        kinds: The granularities that are compared.
        row_filter: What may be found.
        limits: What the store can do.
        key: What tells parents apart: the key of the passage, the document, or the unit.
        only: Further conditions.
    """
    parents = result.parents(key)
    if result.is_exhausted or len(parents) >= goal:
        return
    result.complete = False
    first = max(_LEAST, _PER_PARENT * goal)
    if list(kinds) == [Granularity.PASSAGE] and key == PASSAGE:
        first = goal  # each row is a parent
    first = limit = min(first, limits.most)
    excluded: list[str] = []
    may_exclude = limits.excludes and key in PARENT_KEYS.values()
    if may_exclude and parents:
        excluded = parents
        result.has_gaps = True
    has_grown = False
    longest = 0  # of the pages of one filter
    while True:
        asked = condition(kinds, row_filter, *only, key=key, excluded=excluded)
        search = Nearest(question, limit, asked)
        if result.first is None:
            result.first = search
        rows = yield search
        result.calls += 1
        before = len(result.rows)
        _take(result, rows, asked, row_filter)
        if rows:
            result.last = rows[-1]
        parents = result.parents(key)
        is_short = len(rows) < limit
        if is_short and limits.is_exact:
            result.complete = result.is_exhausted = True
            return
        if len(parents) >= goal:
            result.complete = True
            return
        has_new = len(result.rows) > before
        is_longer = len(rows) > longest
        longest = len(rows)
        # -- The next page: of other parents, or a longer one --
        if may_exclude and has_new and len(parents) <= _MOST_EXCLUDED:
            excluded = parents
            result.has_gaps = True
            limit = first
            has_grown = False
            longest = 0
        elif limit < limits.most and (has_new or is_longer or not has_grown):
            limit = min(limit * _GROWTH, limits.most)
            has_grown = True
        else:
            break
    result.complete = yield from _is_end(kinds, row_filter, only, key, parents)
    result.is_exhausted = result.complete


def _is_end(
    kinds: Sequence[Granularity],
    row_filter: RowFilter,
    only: Sequence[Tree],
    key: str,
    parents: Sequence[str],
) -> Steps[bool]:
    """Return whether the store says that there is no other parent."""
    if key not in PARENT_KEYS.values() or len(parents) > _MOST_EXCLUDED:
        return False
    asked = condition(kinds, row_filter, *only, key=key, excluded=parents)

    is_asked_for = predicate(_ours(asked))

    def passes(row: Row) -> bool:
        return is_unit(row) and is_asked_for(row.metadata) and row_filter.passes(row)

    test = None
    if row_filter.may_exclude:
        test = passes
    remaining = yield Leaves(asked, test)
    return remaining is False


def _take(result: Found, rows: Sequence[Row], asked: Tree, row_filter: RowFilter) -> None:
    """Add the rows that are units, meet the condition and pass the filter."""
    is_asked_for = predicate(_ours(asked))
    for row in rows:
        if row.id in result.rows or not is_unit(row):
            continue
        if is_asked_for(row.metadata) and row_filter.passes(row):
            result.rows[row.id] = row


def _ours(asked: Tree) -> Tree:
    """Return the conditions on our own keys; the row filter judges the user's."""
    if not isinstance(asked, All):
        return asked
    ours = []
    for part in asked.parts:
        if isinstance(part, Comparison) and part.key in (GRANULARITY, PASSAGE, DOCUMENT):
            ours.append(part)
    return All(tuple(ours))


def rows_under(
    question: Question,
    parents: Sequence[str],
    kinds: Sequence[Granularity],
    row_filter: RowFilter,
    limits: Limits,
    *,
    key: str = PASSAGE,
) -> Steps[Found]:
    """Find rows of some parents: by one call, and by more only where a parent lacks any.

    Each parent has a row of each granularity, as far as there is one. A store without filters
    returns none.
    """
    result = Found(complete=True)
    if not limits.filters:
        return result
    missing = list(parents)
    limit = min(PER_CALL * len(parents), limits.most)
    if list(kinds) == [Granularity.PASSAGE] and key == PASSAGE:
        limit = min(len(parents), limits.most)
    while missing:
        only = Comparison(key, Operator.IN, missing)
        asked = condition(kinds, row_filter, only)
        rows = yield Nearest(question, limit, asked)
        result.calls += 1
        _take(result, rows, asked, row_filter)
        remaining = _lacking(result, missing, kinds, key)
        if len(rows) < limit or (limit == limits.most and remaining == missing):
            break
        if remaining == missing:
            limit = min(limit * _GROWTH, limits.most)
        missing = remaining
    return result


def every_row(
    question: Question,
    only: Tree,
    kinds: Sequence[Granularity],
    row_filter: RowFilter,
    limits: Limits,
    *,
    at_first: int,
) -> Steps[Found]:
    """Find all rows that meet a condition, by as large a search as it takes.

    An index that returns fewer rows than there are hides some.
    """
    result = Found()
    limit = min(at_first, limits.most)
    while True:
        asked = condition(kinds, row_filter, only)
        rows = yield Nearest(question, limit, asked)
        result.calls += 1
        _take(result, rows, asked, row_filter)
        if len(rows) < limit:
            result.complete = True
            return result
        if limit == limits.most:
            return result
        limit = min(limit * _GROWTH, limits.most)


def _lacking(
    result: Found, parents: Sequence[str], kinds: Sequence[Granularity], key: str
) -> list[str]:
    """Return the parents that lack a row of some granularity."""
    present: dict[str, set[str]] = {}
    for row in result.rows.values():
        present.setdefault(str(row.metadata[key]), set()).add(str(row.metadata[GRANULARITY]))
    names = {kind.value for kind in kinds}
    return [parent for parent in parents if present.get(parent, set()) != names]
