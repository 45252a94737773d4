"""A damaged database: one clear error or right answers.

What is silent and what `verify` finds of it, test_damage tries.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from itertools import product

import pytest

from factoid.errors import StoreError
from tests.faults.content import opened
from tests.faults.damage import (
    DATABASE,
    VECTORS,
    added,
    caches,
    flip,
    fresh,
    make,
    outcome,
    random_damage,
)
from tests.faults.model import WrongAnswerError

pytest.importorskip("faiss")

PAGE = 8192


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    path = tmp_path_factory.mktemp("database") / "pristine"
    return path, make(path, count=60)


@pytest.fixture(scope="module")
def content(pristine):
    return (pristine[0] / DATABASE).read_bytes()


def faults(pristine, path, cases):
    """Give a store each of some databases, with its caches and without; return what was neither
    right nor a clear error.
    """
    source, state = pristine
    wrong = {}
    for (name, changed), cached in product(cases, (True, False)):
        fresh(source, path)
        for file in () if cached else caches(path):
            file.unlink()
        (path / DATABASE).write_bytes(changed)
        try:
            outcome(path, [state])
        except WrongAnswerError as error:
            wrong[name, cached] = str(error)[:300]
    return wrong


def truncated(content):
    chance = random.Random(30)
    sizes = {
        16,
        99,
        100,
        512,
        PAGE - 1,
        PAGE,
        PAGE + 1,
        2 * PAGE,
        3 * PAGE,
        len(content) - PAGE,
        len(content) - 1,
    }
    sizes |= {chance.randrange(1, len(content) // PAGE) * PAGE for _ in range(12)}
    sizes |= {chance.randrange(len(content)) for _ in range(12)}
    return [(size, content[:size]) for size in sorted(sizes)]


def with_flips_in_the_header(content):
    chance = random.Random(31)
    places = [(offset, bit) for offset in range(100) for bit in chance.sample(range(8), 2)]
    return [(place, flip(content, *place)) for place in places]


def overwritten(content):
    chance = random.Random(32)
    cases = [
        ("zeros", bytes(len(content))),
        ("noise", chance.randbytes(len(content))),
        ("text", b"no store " * 900),
    ]
    for number in range(12):  # a page or two
        at, size = chance.randrange(len(content) // PAGE) * PAGE, PAGE * chance.randint(1, 2)
        filler = chance.choice([b"\0" * size, b"\xff" * size, chance.randbytes(size)])
        cases.append(
            (
                f"page {at // PAGE} of {number}",
                (content[:at] + filler + content[at + size :])[: len(content)],
            )
        )
    return cases


@pytest.mark.parametrize("damage", [truncated, with_flips_in_the_header, overwritten])
def test_what_sqlite_may_notice(pristine, content, tmp_path, few, damage):
    assert faults(pristine, tmp_path / "store", few(damage(content))) == {}


def test_damaged_vectors_are_named_and_never_give_a_wrong_answer(pristine, tmp_path, few):
    source, state = pristine
    chance = random.Random(33)
    (file,) = source.glob(VECTORS)
    content = file.read_bytes()
    cases = [random_damage(chance, content) for _ in range(60)]
    cases += [b"", content[:63], content[:64], content[:-1], bytes(len(content)), content[64:]]
    cases += [flip(content, offset, chance.randrange(8)) for offset in range(64)]
    ends = Counter()
    for case, cached in product(few(cases), (True, False)):
        path = fresh(source, tmp_path / "store")
        for cache in () if cached else caches(path):
            cache.unlink()
        (path / file.name).write_bytes(case)
        end = outcome(path, [state])
        ends[end == "right"] += 1
        if end != "right":
            assert "vector" in end
            with opened(path) as store:
                assert store.verify() != []
    assert ends[False] > len(ends)


@pytest.fixture(scope="module")
def hot(tmp_path_factory):
    """Return a folder as a killed writer leaves it, its last writes in the log only, and all states
    that were committed.
    """
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
    cases = [
        None,
        b"",
        content[:31],
        content[:32],
        content[: len(content) // 2],
        content[:-1],
        bytes(len(content)),
    ]
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
