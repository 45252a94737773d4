"""Is a store, after a crash, in one of the states that its journal allows?"""

from __future__ import annotations

import gc

from tests.faults.content import KINDS, opened
from tests.faults.journal import History, Journal
from tests.faults.model import State, WrongAnswerError, check, check_content, check_searches, require

NAMES = {"units.sqlite", "lexical.files.npy", "lexical.json", "lexical.columns.npy"}
NAMES |= {f"{kind}.{end}" for kind in KINDS for end in ("faiss", "json", "columns.npy")}


def settle(store, candidates):
    """Return the position of the first state that the store is in."""
    failures = []
    for position, state in enumerate(candidates):
        try:
            check_content(store, state or State())
        except WrongAnswerError as error:
            failures.append(str(error))
        else:
            return position
    message = f"none of {len(candidates)} possible states: " + " || ".join(failures)
    raise WrongAnswerError(message)


def no_leftovers(path):
    """Raise if a closed store holds any file but its database and caches."""
    extra = {file.name for file in path.iterdir()} - NAMES
    require(not extra, "files that nothing needs were left behind:", sorted(extra))


def verify(folder, seed, *, journal=None):
    """Open the store and its copies as the next process would, check all of them, and settle what was in flight.

    Args:
        folder: Holds `store`, `journal`, and the copies.
        seed: Of the queries.
        journal: Open already, or None to open it here.

    Returns:
        The operation that was in flight, or None, and how many operations have returned.
    """
    history = History(folder / "journal")
    found = {}
    with opened(folder / "store") as store:
        position = settle(store, history.states)
        check_searches(store, history.states[position], seed)
    no_leftovers(folder / "store")
    for name, candidates in history.copies.items():
        if not (folder / name).exists():
            require(candidates[0] is None, "the copy", name, "is not there")
            found[name] = 0
            continue
        with opened(folder / name) as copy:
            found[name] = settle(copy, candidates)
            check_searches(copy, candidates[found[name]] or State(), seed)
        no_leftovers(folder / name)
    own = journal or Journal(folder / "journal")
    own.write({"settled": position, "copies": found})
    if journal is None:
        own.close()
    return history.running, history.done


def check_again(path, state, seed=0):
    """Open, check and close a store twice: as it is, and with the caches that the first one wrote."""
    gc.collect()  # an interrupt may leave connections in cycles of frames and tracebacks
    for _ in range(2):
        with opened(path) as store:
            check(store, state, seed)
    no_leftovers(path)
