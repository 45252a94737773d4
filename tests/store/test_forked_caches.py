"""Caches, article stores, linkers and propositionizers that were used before a fork work in children as in a fresh process."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from factoid import AnyGranularityRanker, Granularity, Unit, UnitStore, forks
from factoid.entities import (
    Article,
    ArticleStore,
    EntityRetriever,
    Redirect,
    TitleLinker,
    build_articles,
)
from factoid.propositions import PropositionCache, SyntaxPropositionizer
from factoid.propositions.cached_propositionizer import CachedPropositionizer
from factoid.testing import HashEncoder, ScriptedPropositionizer
from tests.faults.worker import ENVIRONMENT
from tests.late_interaction.word_vectors import WordVectors
from tests.store.forking import in_child
from tests.towns import PROPOSITIONIZER, make

pytest.importorskip("faiss")
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

FORKS = 8
QUESTION = "Is Oslo, or Christiania, larger than Bergen?"
TEXTS = [f"Town {number} lies on hill {number}. It has {number} gates." for number in range(6)]


@pytest.fixture
def folder(tmp_path):
    articles = [
        Article("Oslo", "Oslo is the capital of Norway. It lies on a fjord."),
        Article("Bergen", "Bergen is a town in Norway. It rains there."),
    ]
    build_articles(tmp_path / "articles.sqlite", [*articles, Redirect("Christiania", "Oslo")])
    return tmp_path


def passage(number):
    return Unit(f"p{number}", f"Fact {number}.", Granularity.PASSAGE, "d", "d", 0, 7, "", "", {})


class Ranking:
    """A late-interaction ranker with its cache of token vectors."""

    def __init__(self, folder):
        self._ranker = AnyGranularityRanker(
            WordVectors(), propositionizer=PROPOSITIONIZER, cache=folder / "tokens.sqlite"
        )

    def values(self):
        return [
            [hit.unit.text, hit.score]
            for hit in self._ranker.rank("Which hill has 3 gates?", TEXTS)
        ]

    def add(self, number):
        self._ranker.rank("a hill", [f"Hill {number} is new."])


class Linking:
    """A linker and a retriever over one article store."""

    def __init__(self, folder):
        self._store = ArticleStore(folder / "articles.sqlite")
        self._linker = TitleLinker(self._store)
        self._retriever = EntityRetriever(
            self._store,
            granularity="sentence",
            encoder=HashEncoder(),
            propositionizer=PROPOSITIONIZER,
        )

    def values(self):
        mentions = [
            [mention.title, mention.start, mention.score] for mention in self._linker.link(QUESTION)
        ]
        hits = [[hit.unit.title, hit.text, hit.score] for hit in self._retriever.retrieve(QUESTION)]
        return [mentions, hits, [self._store.get(title).text for title in self._store.titles()]]

    def add(self, number):
        self._linker.link(f"Bergen {number}")


class Caching:
    """A cache of propositions in a file, and one in a store."""

    def __init__(self, folder):
        path = folder / "store"
        if not path.exists():
            make(path)
        propositionizer = ScriptedPropositionizer(lambda unit: [unit.text, f"{unit.id} is one."])
        self._cached = [
            CachedPropositionizer(propositionizer, place)
            for place in (folder / "cache.sqlite", path)
        ]

    def values(self):
        return [cached.propositionize(list(map(passage, range(6)))) for cached in self._cached]

    def add(self, number):
        for cached in self._cached:
            cached.propositionize([passage(100 + number)])


class Parsing:
    """The parser of the default propositionizer."""

    def __init__(self, _):
        self._propositionizer = SyntaxPropositionizer()

    def values(self):
        texts = ["Anna, who was born in Oslo, wrote a book and sold it.", *TEXTS]
        units = [
            Unit(str(n), text, Granularity.PASSAGE, "d", "d", 0, len(text))
            for n, text in enumerate(texts)
        ]
        return self._propositionizer.propositionize(units)

    def add(self, number):
        text = f"Hill {number}, which is steep, has a wall and a gate."
        self._propositionizer.propositionize(
            [Unit("u", text, Granularity.PASSAGE, "d", "d", 0, len(text))]
        )


KINDS = {kind.__name__.lower(): kind for kind in (Ranking, Linking, Caching, Parsing)}


def fresh_values(name, folder):
    return KINDS[name](folder).values()


@pytest.mark.parametrize("name", KINDS)
def test_used_in_the_parent_and_in_children(folder, name):
    used = KINDS[name](folder)
    values = used.values()
    done = threading.Event()

    def working(first):
        number = first
        while not done.is_set():
            assert used.values() == values
            used.add(number)
            number += 1

    def work(number):
        before = used.values()
        used.add(1000 + number)
        return [before, used.values()]

    with ThreadPoolExecutor(2) as threads:
        jobs = [threads.submit(working, first) for first in (200, 400)]
        try:
            outcomes = [in_child(lambda number=number: work(number)) for number in range(FORKS)]
        finally:
            done.set()
        for job in jobs:
            job.result()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        expected = pool.apply(fresh_values, (name, folder))
    assert values == expected
    assert outcomes == [[expected, expected]] * FORKS
    assert used.values() == expected
    if name == "caching":
        cached = PropositionCache(folder / "cache.sqlite").get(
            "scripted", [passage(1100 + n) for n in range(FORKS)]
        )
        assert [texts[0] for texts in cached] == [
            f"Fact {1100 + number}." for number in range(FORKS)
        ]


def test_article_stores_are_closed_in_children_alone(folder):
    articles = ArticleStore(folder / "articles.sqlite")
    for _ in range(FORKS):
        assert in_child(lambda: [articles.get("christiania").title, articles.close()]) == [
            "Oslo",
            None,
        ]
    assert articles.get("Oslo").title == "Oslo"


def test_a_child_has_the_articles_in_memory(tmp_path):
    code = """
import os, sys
from factoid import Document
from factoid.entities import build_own_articles

store = build_own_articles([Document("Oslo is a town.", "Oslo")])
child = os.fork()
if child == 0:
    sys.exit(len(store) - 1)  # as workers end: with all that is to be done at exit
_, status = os.waitpid(child, 0)
print(status, len(store), len(os.listdir(sys.argv[1])))
"""
    environment = ENVIRONMENT | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", code, str(tmp_path)]
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.split() == ["0", "1", "0"]


@pytest.mark.parametrize("name", ["parsing", "linking"])
def test_a_child_does_not_wait_for_a_lock_that_another_thread_of_its_parent_had(
    folder, monkeypatch, name
):
    monkeypatch.setattr(forks, "_PATIENCE", 0.2)
    release, begun = threading.Event(), threading.Event()
    values = KINDS[name](folder).values()
    used = KINDS[name](folder)
    patched = {
        "parsing": (SyntaxPropositionizer, "_parse"),
        "linking": (UnitStore, "add_documents"),
    }[name]
    original = getattr(*patched)

    def slow(*arguments, **options):
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            release.wait(30)
        return original(*arguments, **options)

    monkeypatch.setattr(*patched, slow)
    with ThreadPoolExecutor(1) as threads:
        job = threads.submit(used.values)
        try:
            assert begun.wait(30)
            began = time.monotonic()
            result = in_child(used.values)
            assert time.monotonic() - began < 20
        finally:
            release.set()
        assert job.result() == values
    assert result == values or "open it in this process, after the fork" in result
