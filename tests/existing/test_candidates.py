"""Few rows are fetched, and the answer is the one that all rows would give."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

pytest.importorskip("langchain_core")

from langchain_core.vectorstores import InMemoryVectorStore

from factoid import Document, Weights
from factoid.existing import ExistingStore
from factoid.existing.plan import Plan
from factoid.testing import ScriptedPropositionizer
from langchain_factoid import EncoderEmbeddings
from langchain_factoid.embeddings import LangChainEncoder
from langchain_factoid.existing import collection_of

# Left by stores that other files of the same process have opened.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

NOUNS = "harbour lantern boat coast tide storm ferry keeper gull anchor".split()
SENTENCES = ScriptedPropositionizer(
    lambda passage: [f"{sentence.strip()}." for sentence in passage.text.split(".") if sentence]
)


class Scattered:
    """An encoder whose vectors point anywhere, with scores below 0, and know nothing of words."""

    def __init__(self, dim: int = 24) -> None:
        self.dim = dim
        self.name = "scattered"

    def encode_queries(self, texts):
        return self.encode_units([f"? {text}" for text in texts])

    def encode_units(self, texts):
        vectors = []
        for text in texts:
            seed = zlib.crc32(text.encode("utf-8"))
            vectors.append(np.random.default_rng(seed).normal(size=self.dim))
        return np.array(vectors, np.float32)


def documents(count: int = 200) -> list[Document]:
    chance = np.random.default_rng(5)
    made = []
    for number in range(count):
        sentences = []
        for _ in range(chance.integers(1, 9)):
            words = " ".join(chance.choice(NOUNS, 4))
            sentences.append(f"The {words} stands at place{chance.integers(60)}.")
        metadata = {"tenant": "abc"[number % 3]}
        made.append(
            Document(" ".join(sentences), f"Page {number}", id=f"d{number}", metadata=metadata)
        )
    return made


@pytest.fixture(scope="module")
def store() -> ExistingStore:
    embeddings = EncoderEmbeddings(Scattered())
    made = ExistingStore(
        collection_of(InMemoryVectorStore(embeddings)),
        LangChainEncoder(embeddings),
        propositionizer=SENTENCES,
        granularities=["passage", "sentence", "proposition"],
        unsupported="keep",
        words=30,
        min_words=5,
    )
    made.add_documents(documents())
    return made


QUESTIONS = [f"{noun} at place{number}" for noun in NOUNS[:4] for number in (3, 33)]
OPTIONS = [
    {},
    {"weights": Weights(1, 0)},
    {"weights": Weights(0, 0.5)},
    {"weights": Weights(0.5, 0.9)},
    {"lexical": 1},
    {"parents": "document"},
    {"granularity": "passage"},
    {"granularity": ["proposition", "passage"]},
    {"filter": {"tenant": "b"}},
    {"filter": {"tenant": {"$ne": "b"}}},
    {"document_ids": [f"d{number}" for number in range(0, 200, 5)]},
    {"min_score": 0.5},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_best_of_few_rows_are_the_best_of_all(store, options, monkeypatch):
    answers = [store.search(question, 5, **options) for question in QUESTIONS]
    monkeypatch.setattr(Plan, "is_bounded", False)
    monkeypatch.setattr(Plan, "width", 10_000)
    for question, answer in zip(QUESTIONS, answers, strict=True):
        expected = store.search(question, 5, **options)
        assert answer.complete
        assert [hit.unit.id for hit in answer.hits] == [hit.unit.id for hit in expected.hits]
        for hit, other in zip(answer.hits, expected.hits, strict=True):
            assert hit.score == pytest.approx(other.score, abs=1e-6)
            assert dict(hit.parts) == pytest.approx(dict(other.parts), abs=1e-6)
            assert [match.unit.id for match in hit.matches] == [
                match.unit.id for match in other.matches
            ]


def test_few_rows_are_fetched(store, monkeypatch):
    nearest = store.collection.nearest
    counts = []

    def recorded(question, limit, condition):
        rows = nearest(question, limit, condition)
        counts.append(len(rows))
        return rows

    monkeypatch.setattr(store.collection, "nearest", recorded)
    calls = [store.search(question, 5).calls for question in QUESTIONS]
    few = sum(counts)
    assert np.mean(calls) <= 8
    counts.clear()
    monkeypatch.setattr(Plan, "is_bounded", False)
    for question in QUESTIONS:
        store.search(question, 5)
    assert few < sum(counts) / 2
