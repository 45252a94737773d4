"""Processes killed at any step of what changes files: nothing committed is lost, and nothing is left behind."""

from __future__ import annotations

import re

import numpy as np
import pytest

from factoid.entities import Article, ArticleStore, build_articles
from factoid.store.token_vectors import TokenVectorCache, TokenVectors
from tests.faults.kills import CAMPAIGN, killed, listing, moments
from tests.towns import add, hits, opened

pytest.importorskip("faiss")

FILES = re.compile(r"units\.sqlite|(passage|sentence|proposition|lexical)-\d+(\.safetensors|-[0-9a-f]{16}\.faiss)")
CASES = pytest.mark.parametrize("cases", [12, pytest.param(CAMPAIGN, marks=pytest.mark.slow)], ids=["few", "all"])


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Return a folder for files, one beside it, and one for temporary files, which stay empty."""
    temporary = tmp_path / "temporary"
    for folder in (tmp_path / "inside", temporary):
        folder.mkdir()
    for name in ("TMPDIR", "SQLITE_TMPDIR"):
        monkeypatch.setenv(name, str(temporary))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return tmp_path / "inside", tmp_path, temporary


def check(path, numbers):
    """Check a store after a kill: it is whole, says so, and finds everything; the next writer sweeps."""
    with opened(path, read_only=True) as store:
        assert store.verify() == []
    with opened(path) as store:
        assert store.verify() == []
        stored = {document.id for document in store.documents([f"doc{number}" for number in numbers])}
        assert stored == {f"doc{number}" for number in numbers}
        for number in {min(numbers), max(numbers)}:
            question = f"Which town lies on hill {number}?"
            assert hits(store, question)[0].unit.document_id == f"doc{number}"
            assert f"doc{number}" in {hit.unit.document_id for hit in hits(store, f"town hill {number}", lexical=1)}
        store.refresh()
    assert [file.name for file in path.iterdir() if not FILES.fullmatch(file.name)] == []
    for kind in ("passage", "proposition", "lexical"):
        assert len(list(path.glob(f"{kind}-*.safetensors"))) == 1


@CASES
@pytest.mark.parametrize("index", ["Flat", "HNSW8"])
def test_compact(folders, cases, index):
    path = folders[0] / "store"
    with opened(path, index=index) as store:
        add(store, *range(8))
        store.refresh()
    before = listing(*folders)

    def work(_):
        with opened(path, index=index) as store:
            store.compact()

    kills = 0
    for number, moment in enumerate(moments(cases, seed=f"compact {index}", longest=0.15)):
        with opened(path, index=index) as store:
            store.delete([f"doc{8 + number % 3}"])
            add(store, 8 + (number + 1) % 3)
        numbers = [*range(8), 8 + (number + 1) % 3]
        kills += killed(work, **moment)[0]
        check(path, numbers)
        assert listing(*folders) == before
    assert kills > cases // 4


@CASES
def test_adding_and_saving_the_words(folders, cases):
    path = folders[0] / "store"
    with opened(path) as store:
        add(store, 0)
        store.refresh()
    before = listing(*folders)
    numbers = [0]

    def work(committed):
        with opened(path) as store:
            first = max(numbers) + 1
            for number in range(first, first + 3):
                add(store, number)
                committed(number)
                store.refresh()

    kills = 0
    for moment in moments(cases, seed="words", longest=0.2):
        was_killed, committed = killed(work, **moment)
        kills += was_killed
        with opened(path) as store:  # the last one may have been committed before it was said
            following = max([*numbers, *committed]) + 1
            there = bool(store.documents([f"doc{following}"]))
        numbers = [*numbers, *committed, *[following] * there]
        check(path, numbers)
        assert listing(*folders) == before
    assert kills > cases // 4


def tokens(number):
    return TokenVectors(np.full((3, 4), number, np.float32), np.array([[0, 1], [1, 2], [2, 3]]))


@CASES
def test_the_cache_of_token_vectors(folders, cases):
    path = folders[0] / "tokens.sqlite"
    stored = set()

    def work(committed):
        cache = TokenVectorCache(path, dtype="float32")
        first = max(stored, default=0) + 1
        for number in range(first, first + 20):
            cache.put("model", {f"text {number}": (f"text {number}", tokens(number))})
            committed(number)

    before, kills = None, 0
    for moment in moments(cases, seed="tokens", longest=0.05):
        was_killed, committed = killed(work, **moment)
        kills += was_killed
        stored.update(committed)
        cache = TokenVectorCache(path, dtype="float32")
        found = cache.get("model", [f"text {number}" for number in stored])
        assert found.keys() == {f"text {number}" for number in stored}
        for number in stored:
            np.testing.assert_array_equal(found[f"text {number}"].vectors, tokens(number).vectors)
        cache.put("model", {"text 0": ("text 0", tokens(0))})
        before = before or listing(*folders)
        assert listing(*folders) == before
    assert kills > cases // 4


@CASES
@pytest.mark.parametrize("resume", ["", "towns"])
def test_building_articles(folders, cases, resume):
    path = folders[0] / "articles.sqlite"

    def build(count):
        articles = (Article(f"Town {number}", f"Town {number} lies on hill {number}.") for number in range(count))
        build_articles(path, articles, resume=resume)

    def content():
        with ArticleStore(path) as store:
            return [(title, store.get(title).text) for title in store.titles()]

    build(20)
    before = listing(*folders)
    earlier, later = 20, 30
    kills = 0
    for moment in moments(cases, seed=f"articles {resume}", longest=0.08):
        kills += killed(lambda _, count=later: build(count), **moment)[0]
        titles = content()
        assert len(titles) in (earlier, later)
        assert titles == [(f"Town {number}", f"Town {number} lies on hill {number}.") for number in range(len(titles))]
        build(later)
        assert len(content()) == later
        assert listing(*folders) == before
        earlier, later = later, earlier
    assert kills > cases // 4
