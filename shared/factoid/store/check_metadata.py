"""What `verify` checks of metadata: that they are JSON, and that `fields`, by which filters find them, says the same."""

from __future__ import annotations

import json
from collections.abc import Callable

from factoid.filters import field_rows
from factoid.store.checks import BLOCK, FIELDS, Findings, shown
from factoid.store.snapshot import Snapshot

_HELD = "SELECT count(*) FROM fields WHERE key = ? AND kind = ? AND value = ? AND metadata = ?"


def check_metadata(snapshot: Snapshot, found: Findings, progress: Callable[[int], object]) -> None:
    """Check the metadata of units and of documents."""
    connection = snapshot.connection
    expected = missing = last = 0
    unreadable: list[int] = []
    sql = "SELECT row, json FROM metadata WHERE row > ? ORDER BY row LIMIT ?"
    while block := connection.execute(sql, [last, BLOCK]).fetchall():
        last = block[-1][0]
        for row, text in block:
            metadata = parsed(text)
            if metadata is None:
                unreadable.append(row)
                continue
            for field in field_rows(metadata):
                expected += 1
                missing += not connection.execute(_HELD, [*field, row]).fetchone()[0]
        progress(len(block))
    if unreadable:
        remedy = "Add the units that have them again, or delete them"
        found.add(
            f"{len(unreadable):,} metadata are no JSON objects (rows {shown(unreadable, len(unreadable))})", remedy
        )
    among = "SELECT count(*) FROM fields"
    if unreadable:  # what their rows were is not known
        among += f" WHERE metadata NOT IN ({', '.join(map(str, unreadable[:BLOCK]))})"
    surplus = connection.execute(among).fetchone()[0] - (expected - missing)
    if missing or surplus > 0:
        found.add_mendable(
            FIELDS, f"filters would miss {missing:,} fields of metadata, and find {max(surplus, 0):,} too many"
        )
    _check_documents(snapshot, found)


def parsed(text: object) -> dict[str, object] | None:
    """Return metadata, or None for what is no JSON object."""
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _check_documents(snapshot: Snapshot, found: Findings) -> None:
    rows = snapshot.connection.execute("SELECT id, metadata FROM documents ORDER BY row")
    bad = [own for own, text in rows if parsed(text) is None]
    if bad:
        found.add(
            f"the metadata of {len(bad):,} documents are no JSON objects ({shown(bad, len(bad))})", "Add them again"
        )
