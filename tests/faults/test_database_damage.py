"""A damaged database: one clear error or right answers, never a wrong one, another exception or a hang."""

from __future__ import annotations

import random
import shutil

import pytest

from factoid.errors import StoreError
from tests.faults.content import opened
from tests.faults.damage import DATABASE, added, caches, flip, fresh, make, outcome, random_damage
from tests.faults.model import WrongAnswerError

pytest.importorskip("faiss")

PAGE = 8192


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    path = tmp_path_factory.mktemp("database") / "pristine"
    return path, make(path, count=60)


@pytest.fixture(params=["with caches", "without caches"])
def damaged(request, pristine, tmp_path):
    """Return a function that gives a store another database, and tells what comes of it, and says if it is wrong."""
    source, state = pristine

    def damaged(content, seed=0):
        path = fresh(source, tmp_path / "store")
        if request.param == "without caches":
            for file in caches(path):
                file.unlink()
        (path / DATABASE).write_bytes(content)
        return outcome(path, [state], seed)

    return damaged


def wrong(damaged, cases):
    """Return what was neither right nor a clear error, by case."""
    faults = {}
    for case, content in cases:
        try:
            damaged(content)
        except WrongAnswerError as error:
            faults[case] = str(error)[:200]
    return faults


def sizes(content):
    pages = len(content) // PAGE
    chance = random.Random(30)
    return sorted(
        {1, 16, 99, 100, 512, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 3 * PAGE, len(content) - PAGE, len(content) - 1}
        | {chance.randrange(1, pages) * PAGE for _ in range(12)}
        | {chance.randrange(len(content)) for _ in range(12)}
    )


def test_truncated(pristine, damaged, few):
    content = (pristine[0] / DATABASE).read_bytes()
    assert wrong(damaged, few([(size, content[:size]) for size in sizes(content)])) == {}


def test_emptied_beside_its_caches(pristine, tmp_path):
    path = fresh(pristine[0], tmp_path / "store")
    (path / DATABASE).write_bytes(b"")
    assert outcome(path, [pristine[1]]) != "right"


def test_a_bit_flipped_in_the_header(pristine, damaged, few):
    content = (pristine[0] / DATABASE).read_bytes()
    chance = random.Random(31)
    cases = [(offset, bit) for offset in range(100) for bit in chance.sample(range(8), 2)]
    assert wrong(damaged, [(case, flip(content, *case)) for case in few(cases)]) == {}


def test_overwritten_by_garbage(pristine, damaged, few):
    content = (pristine[0] / DATABASE).read_bytes()
    chance = random.Random(32)
    cases = [
        ("zeros", b"\0" * len(content)),
        ("noise", chance.randbytes(len(content))),
        ("text", b"not a store " * 900),
    ]
    for number in range(12):  # a page or two
        at = chance.randrange(len(content) // PAGE) * PAGE
        size = PAGE * chance.randint(1, 2)
        filler = chance.choice([b"\0" * size, b"\xff" * size, chance.randbytes(size)])
        cases.append((f"page {at // PAGE} of {number}", (content[:at] + filler + content[at + size :])[: len(content)]))
    assert wrong(damaged, few(cases)) == {}


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
    cases = [None, b"", content[:31], content[:32], content[: len(content) // 2], content[:-1], b"\0" * len(content)]
    cases += [random_damage(chance, content) for _ in range(40)]
    cases += [flip(content, offset, chance.randrange(8)) for offset in range(32)]
    faults = {}
    for number, case in few([*enumerate(cases)]):
        path = fresh(source, tmp_path / "store")
        (path / log).unlink()
        if case is not None:
            (path / log).write_bytes(case)
        if not shared_memory:
            (path / f"{DATABASE}-shm").unlink()
        try:
            outcome(path, states[::-1])
        except WrongAnswerError as error:
            faults[number] = str(error)[:200]
    assert faults == {}


def test_an_open_store_whose_database_is_truncated(pristine, tmp_path):
    path = fresh(pristine[0], tmp_path / "store")
    store = opened(path)
    content = (path / DATABASE).read_bytes()
    with (path / DATABASE).open("r+b") as file:
        file.truncate(len(content) // 3)
    with pytest.raises(StoreError, match=r"malformed|damaged|disk I/O|disk image"):
        [store.vectors(store.ids()), store.get(store.ids()), store.document("t1")]
    try:
        store.close()
    except StoreError as error:
        assert str(path) in str(error)  # noqa: PT017
