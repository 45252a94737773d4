"""Damages files, and tells what a store of damaged files does: the right answer, one clear error,
or a fault.
"""

from __future__ import annotations

import fnmatch
import gc
import re
import shutil

import numpy as np

from factoid.errors import EncoderMismatchError, InvalidInputError, StoreError
from tests.faults.content import (
    DIM,
    KINDS,
    add_documents,
    document,
    document_units,
    family,
    opened,
    vector_of,
)
from tests.faults.model import State, WrongAnswerError, check, check_searches, require

DATABASE = "units.sqlite"
VECTORS = "vectors-*.bin"
CACHES = (
    *(f"{kind}-*.safetensors" for kind in (*KINDS, "lexical")),
    "sentence-*.faiss",
)  # patterns of their names


def flip(content, offset, bit):
    changed = bytearray(content)
    changed[offset] ^= 1 << bit
    return bytes(changed)


def random_damage(chance, content):
    """Return damaged bytes: flipped, replaced, zeroed, cut short, moved, doubled, longer, or with
    two words exchanged.
    """
    damaged = content
    while damaged == content:  # zeros over zeros are no damage
        damaged = chance.choice(SORTS)(chance, content)
    return damaged


def _flipped(chance, content):
    return flip(content, chance.randrange(len(content)), chance.randrange(8))


def _replaced(chance, content):
    at = chance.randrange(len(content))
    return content[:at] + chance.randbytes(1) + content[at + 1 :]


def _zeroed(chance, content):
    at, size = _block(chance, content)
    return content[:at] + bytes(size) + content[at + size :]


def _cut(chance, content):
    return content[
        : chance.choice([chance.randrange(len(content)), chance.randrange(len(content)), 0, 1])
    ]


def _swapped(chance, content):
    at, size = _block(chance, content)
    other = chance.randrange(len(content) - size + 1)
    changed = bytearray(content)
    changed[at : at + size] = content[other : other + size]
    changed[other : other + size] = content[at : at + size]
    return bytes(changed)


def _doubled(chance, content):
    """Return content in which a block lies at a second place: over what was there, or between
    it.
    """
    at, size = _block(chance, content)
    place = chance.randrange(len(content) - size + 1)
    after = place + size * chance.randrange(2)
    return content[:place] + content[at : at + size] + content[after:]


def _longer(chance, content):
    size = chance.choice([1, 10, 5000])
    return content + chance.choice(
        [bytes(size), chance.randbytes(size), content[:size], content[-size:]]
    )


def _with_words_exchanged(chance, content):
    """Return content with two words or numbers exchanged, such as fields of a record, or names in a
    header.
    """
    words = list(re.finditer(rb"[\w.-]{2,60}", content))
    if len(words) < 2:
        return content
    number = chance.randrange(len(words))
    near = words[max(0, number - 20) : number + 20]
    first, second = sorted([words[number], chance.choice(near)], key=lambda word: word.start())
    between = content[first.end() : second.start()]
    if first is second:
        return content
    return content[: first.start()] + second[0] + between + first[0] + content[second.end() :]


def _block(chance, content):
    """Return the place of a block, at a page or anywhere, and its size."""
    size = min(chance.choice([1, 4, 16, 60, 200, 1000, 4096, 8192]), len(content))
    at = chance.randrange(len(content) - size + 1)
    return at - at % chance.choice([1, size]), size


SORTS = (_flipped, _replaced, _zeroed, _cut, _swapped, _doubled, _longer, _with_words_exchanged)


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
    return sorted(
        file for file in path.iterdir() if not file.name.startswith((DATABASE, "vectors-"))
    )


def outcome(path, states, seed=0):
    """Open a store, search it before and after everything in it is read, and close it.

    Returns:
        "right" if all answers were those of one of these states; the error's text if it was a clear
        `StoreError`.

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
        if isinstance(error, EncoderMismatchError) or (
            "units.sqlite" not in text and str(path) not in text
        ):
            message = f"an error that does not tell that the store is damaged: {error!r}"
            raise WrongAnswerError(message) from error
        return text
    except WrongAnswerError:
        raise
    except Exception as error:
        message = f"an error of another type: {error!r}"
        raise WrongAnswerError(message) from error


def lies(store, state, seed):
    """Return what searches say that was never written; an error is no lie."""
    chance = np.random.default_rng(seed)
    told = []
    for number in range(12):
        query = chance.integers(-40, 41, DIM).astype(np.float32)
        options = {
            "granularity": KINDS[number % 3],
            "parents": ("passage", "unit")[number % 2],
            "expand": number // 6,
        }
        if number % 4 == 3:
            options["filter"] = {"group": 1}
        try:
            hits = store.search_by_vector(query, 10, **options)
        except StoreError:
            continue
        for hit in hits:
            for unit in (hit.unit, *hit.neighbours, *(match.unit for match in hit.matches)):
                if unit.id not in state.units or unit != state.units[unit.id][0]:
                    told.append(f"{unit} with {options}")
            # A unit whose passage cannot be found any more is returned as its own, which `verify`
            # must find.
            wrong = [
                match.unit.id
                for match in hit.matches
                if hit.unit.id not in (state.parent(match.unit), match.unit.id)
            ]
            if (
                options["parents"] == "passage"
                and options["granularity"] != "passage"
                and (wrong or not hit.matches)
            ):
                told.append(f"{hit.unit.id} as the parent of {wrong} with {options}")
    for stored in state.documents.values():
        query = chance.integers(-40, 41, DIM).astype(np.float32)
        try:
            hits = store.search_by_vector(query, 5, parents="document", document_ids=[stored.id])
            told += [f"the document {hit.unit.id}" for hit in hits if hit.unit.text != stored.text]
        except (StoreError, InvalidInputError):
            continue
    return told


def harmless_or_found(path, state, seed):
    """Return what a store of a damaged database does; raise if a search lies, or if `verify` misses
    what is wrong.
    """
    try:
        with opened(path) as store:
            if told := lies(store, state, seed):
                raise WrongAnswerError(f"a search gave {told[0]}")
            try:
                check(store, state, seed)
            except (WrongAnswerError, StoreError) as error:
                if store.verify() == []:
                    raise WrongAnswerError(f"verify found nothing, though {error}") from error
                return "found by verify"
            return "right"
    except StoreError:
        return "an error"


def no_leftovers(path):
    """Raise if a closed store holds any file but its database, one of vectors, and caches."""
    files = sorted(file.name for file in path.iterdir())
    for pattern in (DATABASE, VECTORS, *CACHES):
        if known := fnmatch.filter(files, pattern):
            files.remove(known[-1])
    require(not files, "files that nothing needs were left behind:", files)


def check_again(path, state, seed=0):
    """Open, check and close a store twice: as it is, and with the caches that the first one
    wrote.
    """
    gc.collect()
    for _ in range(2):
        with opened(path) as store:
            check(store, state, seed)
    no_leftovers(path)


def fresh(pristine, path):
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(pristine, path)
    return path
