"""Turn errors of the disk and of SQLite into errors that say what to do.

A full disk (ENOSPC, SQLITE_FULL), one that is read-only or fails, a locked file and a damaged one.
"""

from __future__ import annotations

import errno
import sqlite3

from factoid.errors import StoreError, StoreFormatError

WAIT = 30  # seconds that a write to SQLite waits for the write of another process

# Texts of SQLite's OperationalErrors that come of damage; those of the disk, of locks and of
# interruptions are others.
_DAMAGES = (
    "could not decode to utf-8",
    "malformed",
    "unsupported file format",
    "no such ",
    "has no column",
)

# What to do about errors of the system.
_FREE_SPACE = "Free some space and run again"
_MAKE_WRITABLE = "Make its folder writable"
_CHECK_DISK = "Check that its disk works, has space and is writable, and run again"
_REMEDIES = {
    errno.ENOSPC: _FREE_SPACE,
    errno.EDQUOT: _FREE_SPACE,
    errno.EACCES: f"{_MAKE_WRITABLE}, or name another place",
    errno.EPERM: f"{_MAKE_WRITABLE}, or name another place",
    errno.EROFS: f"{_MAKE_WRITABLE}, or name another place",
}


def is_damage(error: sqlite3.Error) -> bool:
    """Tell whether SQLite reports a damaged file, not a problem with disk or lock."""
    if isinstance(error, sqlite3.OperationalError):
        reason = str(error).lower()
        return any(damage in reason for damage in _DAMAGES)
    return isinstance(error, sqlite3.DatabaseError)


def explain_disk_error(error: sqlite3.Error | OSError) -> str:
    """Return the error that SQLite or the system reports, with what to do about it."""
    if isinstance(error, OSError):
        reason = error.strerror or str(error) or type(error).__name__
        return f"{reason}. {_REMEDIES.get(error.errno or 0, _CHECK_DISK)}"
    reason = str(error)
    if "locked" in reason:
        return (
            f"{reason}. Another process has been writing for {WAIT} seconds: try again when it is "
            "done"
        )
    if "full" in reason or "disk I/O" in reason:
        return f"{reason}. What was committed before is safe. {_FREE_SPACE}"
    if "readonly" in reason:
        return f"{reason}. {_MAKE_WRITABLE}, or open a store with read_only=True"
    return f"{reason}. {_CHECK_DISK}"


def store_error(place: str, error: sqlite3.Error, verb: str = "used") -> StoreError:
    """Return the error to raise when SQLite reports one about a store.

    Args:
        place: Where the store is.
        error: That of SQLite.
        verb: What could not be done with the store, as a participle.
    """
    if is_damage(error):
        return StoreFormatError(
            f"{place} cannot be {verb} as a store: {error}. Restore it from a backup or index "
            "again elsewhere"
        )
    return StoreError(f"{place} cannot be {verb}: {explain_disk_error(error)}")
