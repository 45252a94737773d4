"""Damages files, and tells what a store of damaged files does: the right answer, one clear error, or a fault."""

from __future__ import annotations

import fnmatch
import gc
import shutil

from factoid.errors import EncoderMismatchError, StoreError
from tests.faults.content import KINDS, add_documents, document, document_units, family, opened, vector_of
from tests.faults.model import State, WrongAnswerError, check, check_searches, require

DATABASE = "units.sqlite"
CACHES = (*(f"{kind}-*.safetensors" for kind in (*KINDS, "lexical")), "sentence-*.faiss")  # patterns of their names


def flip(content, offset, bit):
    changed = bytearray(content)
    changed[offset] ^= 1 << bit
    return bytes(changed)


def random_damage(chance, content):
    """Return some bytes cut short or with one bit flipped."""
    offset = chance.randrange(len(content))
    return content[:offset] if chance.random() < 0.3 else flip(content, offset, chance.randrange(8))


def added(store, state, first, count, *, documents=()):
    """Add passages with their units, and documents; return the state after it."""
    units = [each for number in range(first, first + count) for each in family(number, 0, number)]
    vectors = [vector_of(each.text) for each in units]
    store.add(units, vectors=vectors)
    state = state.with_units(units, vectors)
    for number in documents:
        given = document(number, number)
        add_documents(store, [given])
        held = document_units(number, number)
        state = state.with_document(given, held, [vector_of(each.text) for each in held])
    return state


def make(path, *, first=0, count=30):
    """Make a closed store with all its caches; return its state."""
    with opened(path) as store:
        state = added(store, State(), first, count, documents=range(4))
        check(store, state)
    return state


def caches(path):
    return sorted(file for file in path.iterdir() if not file.name.startswith(DATABASE))


def outcome(path, states, seed=0):
    """Open a store, search it before and after everything in it is read, and close it.

    Returns:
        "right" if all answers were those of one of these states; the error's text if it was a clear `StoreError`.

    Raises:
        WrongAnswerError: A wrong answer, or an error that is not clear.
    """
    try:
        with opened(path) as store:
            failures = []
            for state in states:
                try:
                    check_searches(store, state, seed)
                    check(store, state, seed + 1)
                except WrongAnswerError as error:
                    failures.append(str(error))
                else:
                    return "right"
            raise WrongAnswerError(" || ".join(failures))
    except StoreError as error:
        text = str(error)
        if isinstance(error, EncoderMismatchError) or ("units.sqlite" not in text and str(path) not in text):
            message = f"an error that does not tell that the store is damaged: {error!r}"
            raise WrongAnswerError(message) from error
        return text
    except WrongAnswerError:
        raise
    except Exception as error:
        message = f"an error of another type: {error!r}"
        raise WrongAnswerError(message) from error


def no_leftovers(path):
    """Raise if a closed store holds any file but its database and caches."""
    files = sorted(file.name for file in path.iterdir())
    for pattern in (DATABASE, *CACHES):
        if known := fnmatch.filter(files, pattern):
            files.remove(known[-1])
    require(not files, "files that nothing needs were left behind:", files)


def check_again(path, state, seed=0):
    """Open, check and close a store twice: as it is, and with the caches that the first one wrote."""
    gc.collect()
    for _ in range(2):
        with opened(path) as store:
            check(store, state, seed)
    no_leftovers(path)


def fresh(pristine, path):
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(pristine, path)
    return path
