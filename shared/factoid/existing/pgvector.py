"""Whether a search by an index of pgvector is too narrow to find the nearest rows.

Both kinds of index are approximate: HNSW starts from `hnsw.ef_search` candidates, and IVFFlat reads
`ivfflat.probes` of its lists. The answer depends on the settings of the session, which are read,
and on whether PostgreSQL uses the index for the search at all, which its plan says.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

# Measured over SQuAD: see docs/existing-stores.md.
EF_SEARCH = 200
_PROBED = 2  # the part of the lists that has to be read: half of them
_LISTS = 100  # pgvector's default

# The vector indexes of a table, with their options and the settings of the session. A setting is
# NULL where nobody has made it and the session has not loaded pgvector yet.
_INDEXES = """
SELECT methods.amname, indexes.reloptions,
    current_setting('hnsw.ef_search', true), current_setting('ivfflat.probes', true)
FROM pg_index
JOIN pg_class AS indexes ON indexes.oid = pg_index.indexrelid
JOIN pg_am AS methods ON methods.oid = indexes.relam
WHERE pg_index.indrelid = to_regclass(:name) AND methods.amname IN ('hnsw', 'ivfflat')
"""


def shortcoming(connection: Any, table: Any, statement: Any, own_remedy: str = "") -> str:
    """Return why a search may miss rows that are nearer than those it returns, and what mends it.

    Args:
        connection: SQLAlchemy's, with the settings of the search.
        table: The table that is searched, of SQLAlchemy.
        statement: The search, of SQLAlchemy.
        own_remedy: What sets the width in the store itself, with "{width}", where an option of the
            store comes before the settings of the role.

    Returns:
        "" where the index is searched widely enough, or is not used.
    """
    sqlalchemy = import_module("sqlalchemy")
    name = connection.dialect.identifier_preparer.format_table(table)
    indexes = connection.execute(sqlalchemy.text(_INDEXES), {"name": name}).all()
    reason = _too_narrow(indexes, own_remedy)
    if not reason:
        return ""
    plan = connection.execute(_explain_class()(statement)).scalar_one()
    if not _is_by_index(plan):
        return ""
    return reason


def _too_narrow(indexes: Iterable[Sequence[Any]], own_remedy: str) -> str:
    """Return which of the indexes is searched too narrowly, and what mends it.

    "" if there is none.
    """
    for method, options, ef_search, probes in indexes:
        if method == "hnsw":
            name = "hnsw.ef_search"
            width = int(ef_search or 40)
            enough = EF_SEARCH
        else:
            name = "ivfflat.probes"
            width = int(probes or 1)
            enough = -(-_lists(options) // _PROBED)
        if width < enough:
            remedy = own_remedy.format(width=enough)
            if not own_remedy:
                remedy = f"run: ALTER ROLE CURRENT_USER SET {name} = {enough}; and connect again"
            return (
                f"an index of pgvector is approximate, and with {name} = {width} it misses some of "
                f"the nearest rows: {remedy}"
            )
    return ""


def _lists(options: Sequence[str] | None) -> int:
    """Return how many lists an IVFFlat index has, from its options."""
    for option in options or ():
        name, _, value = option.partition("=")
        if name == "lists":
            return int(value)
    return _LISTS


def _is_by_index(plan: Any) -> bool:
    """Return whether a plan in JSON takes the order of its rows from an index.

    PostgreSQL compares all rows that pass a filter where it believes that these are few.
    """
    if isinstance(plan, str):
        plan = json.loads(plan)
    nodes = [described["Plan"] for described in plan]
    while nodes:
        node = nodes.pop()
        if "Order By" in node:
            return True
        nodes += node.get("Plans", ())
    return False


@cache
def _explain_class() -> Any:
    """Return a class of statements of SQLAlchemy that explain another one."""
    expression = import_module("sqlalchemy.sql.expression")

    def keep(explain: Any, statement: Any) -> None:
        explain.statement = statement

    bases = (expression.Executable, expression.ClauseElement)
    explain_class = type("Explain", bases, {"inherit_cache": False, "__init__": keep})

    def write(explain: Any, compiler: Any, **options: Any) -> str:
        return "EXPLAIN (FORMAT JSON) " + str(compiler.process(explain.statement, **options))

    import_module("sqlalchemy.ext.compiler").compiles(explain_class)(write)
    return explain_class
