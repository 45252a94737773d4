"""A damaged database: one clear error or right answers, and what is silent `verify` finds; no lie, other exception or hang."""

from __future__ import annotations

import random
import shutil
from itertools import product

import numpy as np
import pytest

from factoid.errors import InvalidInputError, StoreError
from tests.faults.content import DIM, KINDS, opened
from tests.faults.damage import DATABASE, added, caches, flip, fresh, make, outcome, random_damage
from tests.faults.model import WrongAnswerError, check

pytest.importorskip("faiss")

PAGE = 8192


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    path = tmp_path_factory.mktemp("database") / "pristine"
    return path, make(path, count=60)


@pytest.fixture(scope="module")
def content(pristine):
    return (pristine[0] / DATABASE).read_bytes()


def faults(pristine, path, cases, judge=lambda path, state, _: outcome(path, [state])):
    """Give a store each of some databases, with its caches and without; return what was neither right nor a clear error."""
    source, state = pristine
    wrong = {}
    for (name, changed), cached in product(cases, (True, False)):
        fresh(source, path)
        for file in () if cached else caches(path):
            file.unlink()
        (path / DATABASE).write_bytes(changed)
        try:
            judge(path, state, len(wrong))
        except WrongAnswerError as error:
            wrong[name, cached] = str(error)[:300]
    return wrong


def truncated(content):
    chance = random.Random(30)
    sizes = {16, 99, 100, 512, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 3 * PAGE, len(content) - PAGE, len(content) - 1}
    sizes |= {chance.randrange(1, len(content) // PAGE) * PAGE for _ in range(12)}
    sizes |= {chance.randrange(len(content)) for _ in range(12)}
    return [(size, content[:size]) for size in sorted(sizes)]


def with_flips_in_the_header(content):
    chance = random.Random(31)
    places = [(offset, bit) for offset in range(100) for bit in chance.sample(range(8), 2)]
    return [(place, flip(content, *place)) for place in places]


def overwritten(content):
    chance = random.Random(32)
    cases = [("zeros", bytes(len(content))), ("noise", chance.randbytes(len(content))), ("text", b"no store " * 900)]
    for number in range(12):  # a page or two
        at, size = chance.randrange(len(content) // PAGE) * PAGE, PAGE * chance.randint(1, 2)
        filler = chance.choice([b"\0" * size, b"\xff" * size, chance.randbytes(size)])
        cases.append((f"page {at // PAGE} of {number}", (content[:at] + filler + content[at + size :])[: len(content)]))
    return cases


@pytest.mark.parametrize("damage", [truncated, with_flips_in_the_header, overwritten])
def test_what_sqlite_may_notice(pristine, content, tmp_path, few, damage):
    assert faults(pristine, tmp_path / "store", few(damage(content))) == {}


def silently_damaged(content, seed):
    """Return what was done, and the content after it: a bit flipped, or a stretch zeroed, overwritten or swapped."""
    chance = random.Random(seed)
    size = chance.choice([1, 4, 16, 60, 200, 1000, PAGE])
    at, other = (chance.randrange(100, len(content) - size) for _ in range(2))
    what = chance.choice(["flip", "zeros", "noise", "swap"])
    changed = bytearray(content)
    if what == "flip":
        changed[at] ^= 1 << chance.randrange(8)
    elif what == "swap":
        changed[at : at + size] = content[other : other + size]
        changed[other : other + size] = content[at : at + size]
    else:
        changed[at : at + size] = bytes(size) if what == "zeros" else chance.randbytes(size)
    return f"{seed}: {what} of {size} at {at} and {other}", bytes(changed)


def lies(store, state, seed):
    """Return what searches say that was never written; an error is no lie."""
    chance = np.random.default_rng(seed)
    told = []
    for number in range(12):
        query = chance.integers(-40, 41, DIM).astype(np.float32)
        options = {"granularity": KINDS[number % 3], "parents": ("passage", "unit")[number % 2], "expand": number // 6}
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
            wrong = [match.unit.id for match in hit.matches if state.parent(match.unit) != hit.unit.id]
            if options["parents"] == "passage" and options["granularity"] != "passage" and (wrong or not hit.matches):
                told.append(f"{hit.unit.id} as the parent of {wrong} with {options}")
    for document in state.documents.values():
        query = chance.integers(-40, 41, DIM).astype(np.float32)
        try:
            hits = store.search_by_vector(query, 5, parents="document", document_ids=[document.id])
            told += [f"the document {hit.unit.id}" for hit in hits if hit.unit.text != document.text]
        except (StoreError, InvalidInputError):
            continue
    return told


def harmless_or_found(path, state, seed):
    """Raise if a search lies, if `verify` misses what is wrong, or if anything but a StoreError comes."""
    try:
        with opened(path) as store:
            if told := lies(store, state, seed):
                raise WrongAnswerError(f"a search gave {told[0]}")
            try:
                check(store, state, seed)
            except (WrongAnswerError, StoreError) as error:
                if store.verify() == []:
                    raise WrongAnswerError(f"verify found nothing, though {error}") from error
    except WrongAnswerError:
        raise
    except StoreError:
        pass  # one clear error
    except Exception as error:
        raise WrongAnswerError(f"another exception: {error!r}") from error


@pytest.mark.parametrize(
    "seeds", [range(5), pytest.param(range(1000, 1150), marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_what_is_silent_is_harmless_or_found(pristine, content, tmp_path, seeds):
    cases = (silently_damaged(content, seed) for seed in seeds)
    assert faults(pristine, tmp_path / "store", cases, harmless_or_found) == {}


@pytest.fixture(scope="module")
def hot(tmp_path_factory):
    """Return a folder as a killed writer leaves it, its last writes in the log only, and all states that were committed."""
    folder = tmp_path_factory.mktemp("hot")
    states = [make(folder / "store")]
    with opened(folder / "store") as store:
        for number in range(100, 106):
            states.append(added(store, states[-1], number, 1))
            states.append(states[-1].without([f"d{number - 90}"]))
            store.delete([f"d{number - 90}"])
        shutil.copytree(folder / "store", folder / "hot")
    assert (folder / "hot" / f"{DATABASE}-wal").stat().st_size > 10 * PAGE
    return folder / "hot", states


def test_the_log_of_a_killed_writer_is_read(hot, tmp_path):
    source, states = hot
    assert outcome(fresh(source, tmp_path / "store"), states[-1:]) == "right"


@pytest.mark.parametrize("shared_memory", [True, False])
def test_a_damaged_log(hot, tmp_path, shared_memory, few):
    """What the log has lost cannot be known: the answers are those of one earlier commit, whole."""
    source, states = hot
    log = f"{DATABASE}-wal"
    content = (source / log).read_bytes()
    chance = random.Random(34)
    cases = [None, b"", content[:31], content[:32], content[: len(content) // 2], content[:-1], bytes(len(content))]
    cases += [random_damage(chance, content) for _ in range(40)]
    cases += [flip(content, offset, chance.randrange(8)) for offset in range(32)]
    for case in few(cases):
        path = fresh(source, tmp_path / "store")
        (path / log).unlink()
        if case is not None:
            (path / log).write_bytes(case)
        if not shared_memory:
            (path / f"{DATABASE}-shm").unlink()
        outcome(path, states[::-1])


def test_an_open_store_whose_database_is_truncated(pristine, content, tmp_path):
    path = fresh(pristine[0], tmp_path / "store")
    store = opened(path)
    with (path / DATABASE).open("r+b") as file:
        file.truncate(len(content) // 3)
    with pytest.raises(StoreError, match=r"malformed|damaged|disk I/O|disk image"):
        [store.vectors(store.ids()), store.get(store.ids()), store.documents(["t1"])]
    try:
        store.close()
    except StoreError as error:
        assert str(path) in str(error)  # noqa: PT017
