"""Sets of metadata rows, each a named SELECT of one statement.

    WITH r0 AS (SELECT ... FROM fields ...), r1 AS (...), r2 AS (SELECT metadata FROM r1 WHERE metadata IN r0)
    SELECT metadata FROM r2

Names instead of nested queries keep the text flat, because SQLite's parser stops at some depth. SQLite still reads a set
that is used once as if it stood there, so that an index serves the whole.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from factoid.filters.fields import bound_key
from factoid.filters.terms import Term
from factoid.filters.tree import Tree, cache_key

Query = tuple[str, list[Any]]

_COUNTED = 20_000  # rows counted of a set before it is joined, within a millisecond
_COMPOUND = 400  # SELECTs in one UNION; SQLite takes 500

NOTHING = "SELECT metadata FROM fields WHERE 0"
EVERYTHING = "SELECT row AS metadata FROM metadata"


@dataclass(frozen=True, slots=True)
class Rows:
    """The metadata rows of a named SELECT, or with `others` all but those.

    `size` is the most that the SELECT gives, or None where it was not counted or is above 20,000.
    """

    name: str
    size: int | None
    others: bool = False

    def inverted(self) -> Rows:
        """Return all other rows."""
        return replace(self, others=not self.others)


@dataclass(slots=True)
class Statement:
    """The SELECTs named so far, and their parameters in order. With a connection, it counts what they give."""

    connection: sqlite3.Connection | None = None
    selects: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    parameters: list[Any] = field(default_factory=list)

    def query(self, rows: Rows) -> Query:
        """Return the whole statement, which selects these rows."""
        named = [
            f"r{i} AS {hint}({select})" for i, (hint, select) in enumerate(zip(self.hints, self.selects, strict=True))
        ]
        if rows.others:
            return f"WITH {', '.join(named)} {EVERYTHING} WHERE row NOT IN {rows.name}", self.parameters
        if len(named) == 1:
            return self.selects[0], self.parameters
        return f"WITH {', '.join(named)} SELECT metadata FROM {rows.name}", self.parameters  # noqa: S608

    def define(
        self, select: str, parameters: Sequence[Any] = (), size: int | None = None, *, once: bool = False
    ) -> Rows:
        """Give a SELECT a name; `once` keeps its rows, instead of reading it again wherever SQLite copies its name to."""
        self.selects.append(select)
        self.hints.append("MATERIALIZED " if once else "")
        self.parameters += parameters
        return Rows(f"r{len(self.selects) - 1}", size)

    def terms(self, tree: Tree, key: str, terms: Sequence[Term], function: str) -> Rows:
        """Return the rows of any term on a key, each once: in `fields` a metadata row has one kind for its key.

        Args:
            tree: What is asked of the JSON of rows that `fields` only marks.
            key: The metadata key.
            terms: Ranges of `fields`.
            function: The SQL function that asks.
        """
        selects: list[str] = []
        parameters: list[Any] = []
        for term in terms:
            parameters += [bound_key(key), *term.parameters]
            if term.by_json:
                # The order of the join is fixed: from the index to the JSON.
                joined = "SELECT fields.metadata FROM fields CROSS JOIN metadata ON metadata.row = fields.metadata"
                selects.append(f"{joined} WHERE {term.where} AND {function}(json, ?)")
                parameters.append(cache_key(tree))
            else:
                selects.append(f"SELECT metadata FROM fields WHERE {term.where}")  # noqa: S608
        return self.define(" UNION ALL ".join(selects) or NOTHING, parameters, self._size(key, terms))

    def by_json(self, tree: Tree) -> Rows:
        """Return the rows that pass a filter asked of their JSON."""
        return self.define(f"{EVERYTHING} WHERE factoid_matches(json, ?)", [cache_key(tree)])

    def union(self, parts: Sequence[Rows]) -> Rows:
        """Join by OR the SELECTs of all parts, whether or not they are meant as `others`."""
        if len(parts) == 1:
            return Rows(parts[0].name, parts[0].size)
        if len(parts) > _COMPOUND:
            starts = range(0, len(parts), _COMPOUND)
            return self.union([self.union(parts[start : start + _COMPOUND]) for start in starts])
        sizes = [part.size for part in parts if part.size is not None]
        size = sum(sizes) if len(sizes) == len(parts) else None
        selects = [f"SELECT metadata FROM {part.name}" for part in parts]  # noqa: S608
        return self.define(" UNION ".join(selects) or NOTHING, (), size)

    def intersection(self, parts: Sequence[Rows]) -> Rows:
        """Join parts by AND, the smallest first, so that the index of the next is asked for those rows only."""
        within = sorted((part for part in parts if not part.others), key=_by_size)
        without = [part for part in parts if part.others]
        if not within:
            return self.union(without).inverted()
        found = within[0]
        for part in within[1:]:
            found = self._narrowed(part, f"IN {found.name}", found.size)
        if without:
            less = self.union(without)
            if found.size is not None and (less.size is None or less.size > found.size):
                less = self._narrowed(less, f"IN {found.name}", found.size)
            found = self._narrowed(found, f"NOT IN {less.name}", found.size)
        return found

    def _narrowed(self, rows: Rows, test: str, size: int | None) -> Rows:
        return self.define(f"SELECT metadata FROM {rows.name} WHERE metadata {test}", size=size, once=True)  # noqa: S608

    def _size(self, key: str, terms: Sequence[Term]) -> int | None:
        """Count the rows of `fields` that terms may give, up to a limit."""
        if self.connection is None:
            return None
        size = 0
        for term in terms:
            inner = f"SELECT 1 FROM fields WHERE {term.range} LIMIT {_COUNTED + 1 - size}"  # noqa: S608
            parameters = (bound_key(key), *(term.parameters if term.ranged else ()))
            size += self.connection.execute(f"SELECT count(*) FROM ({inner})", parameters).fetchone()[0]  # noqa: S608
            if size > _COUNTED:
                return None
        return size


def _by_size(rows: Rows) -> int:
    return _COUNTED + 1 if rows.size is None else rows.size
