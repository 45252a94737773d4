"""Choose the units that a search at one granularity compares with the query.

These are the units of that granularity. A passage that has none is compared all the same: by its
units of the other fine granularity or, without these, as a whole. So it does not matter how finely
a passage was cut when it was added, and by whom.
"""

from __future__ import annotations

import json

import numpy as np

from factoid.ranking import LEXICAL, Columns
from factoid.store.database.records import DamagedRowError, to_array
from factoid.store.database.snapshot import AMONG, Snapshot, ascending
from factoid.store.options import SUBSTITUTES
from factoid.units import Granularity
from factoid.vectors import RowIds
from factoid.vectors.vector_index import membership

_OF_GRANULARITY = "units.granularity = :granularity"
_OF_DOCUMENTS = f"units.document {AMONG.replace('?', ':documents')} AND {_OF_GRANULARITY}"
_TOUCHED = "SELECT row FROM units WHERE row > :last UNION SELECT value FROM json_each(:changed)"


def compared_units(snapshot: Snapshot, name: str, documents: RowIds | None = None) -> Columns:
    """Return the columns of all units that a search compares, or of those of some documents by row.

    Args:
        snapshot: That of the generation.
        name: That of the index: a granularity, whose units have vectors; or `LEXICAL` for all
            passages, also those without vectors, each with its own row as the id of its vector.
        documents: The rows of the documents; None for all.

    Raises:
        DamagedRowError: The index entry of a passage is damaged.
    """
    if documents is None:
        columns = snapshot.unit_columns(name, _OF_GRANULARITY, {})
    else:
        columns = snapshot.unit_columns(
            name, _OF_DOCUMENTS, {"documents": to_array(documents.tolist())}
        )
    if name in (Granularity.PASSAGE, LEXICAL):
        return columns
    _check_alone(snapshot, columns)
    return _with_substitutes(snapshot, Granularity(name), columns, documents)


def changed_units(
    snapshot: Snapshot, name: str, since: int, last: int, before: Columns
) -> tuple[RowIds, Columns] | None:
    """Return the rows to drop from the columns of an earlier commit, and their replacements.

    The result is None if the changes are no longer known; `last` is the last unit of that commit.
    What a passage is compared by depends on all of its units, so all compared units of a changed
    document are replaced.
    """
    if since < int(snapshot.meta.get("forgotten") or 0):
        return None
    logged = snapshot.values("SELECT row FROM changes WHERE generation > ?", [since])
    changed = ascending(logged)
    values = {"last": last, "changed": json.dumps(changed.tolist())}
    if name in (Granularity.PASSAGE, LEXICAL):
        where = f"{_OF_GRANULARITY} AND units.row IN ({_TOUCHED})"
        return changed, snapshot.unit_columns(name, where, values)
    sql = f"SELECT DISTINCT document FROM units WHERE row IN ({_TOUCHED})"  # noqa: S608
    present = np.array(snapshot.values(sql, values), np.int64)
    removed = before.documents[membership(before.rows, changed)]
    documents = np.union1d(present, removed)
    replaced = before.rows[membership(before.documents, documents)]
    return np.union1d(changed, replaced), compared_units(snapshot, name, documents)


def _check_alone(snapshot: Snapshot, columns: Columns) -> None:
    """Raise DamagedRowError if units are not found under a passage that is there."""
    alone = columns.rows[columns.rows == columns.passages]
    if not len(alone):
        return
    sql = f"""SELECT id FROM units NOT INDEXED WHERE granularity = 'passage' AND (id, document) IN
        (SELECT parent_id, document FROM units WHERE row {AMONG}) LIMIT 1"""  # noqa: S608
    for passage_id in snapshot.values(sql, [json.dumps(alone.tolist())]):
        raise DamagedRowError(passage_id, what="the index entry of passage")


def _with_substitutes(
    snapshot: Snapshot, granularity: Granularity, columns: Columns, documents: RowIds | None
) -> Columns:
    """Return the columns of units of a fine granularity, and of substitutes for missing ones.

    Units without a passage have no parent in common, so they take a place only in documents without
    any unit of the granularity.
    """
    passages, owners, vectors, metadata = snapshot.passage_vectors(documents)
    lacking = ~membership(passages, columns.passages)
    if documents is None:
        documents = snapshot.all_document_rows()
    bare = documents[~membership(documents, columns.documents)]
    incomplete = np.union1d(owners[lacking], bare)
    if not len(incomplete):
        return columns
    among = {"documents": to_array(incomplete.tolist())}
    others = snapshot.unit_columns(SUBSTITUTES[granularity], _OF_DOCUMENTS, among)
    in_passage = membership(others.passages, passages[lacking])
    in_bare_document = (others.passages == others.rows) & membership(others.documents, bare)
    substitutes = others.stacked()[:, in_passage | in_bare_document]
    whole = lacking & (vectors >= 0) & ~membership(passages, others.passages)
    themselves = np.stack([vectors, passages, passages, owners, metadata])[:, whole]
    return Columns.of(np.hstack([columns.stacked(), substitutes, themselves]))
