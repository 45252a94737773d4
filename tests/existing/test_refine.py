"""Maximal marginal relevance, rerankers and neighbours are those of a store of ours."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core.vector_stores import SimpleVectorStore

import langchain_factoid
import llama_index_factoid
from factoid import AnyGranularityRanker, UnitStore, Weights
from factoid.errors import InvalidInputError
from factoid.existing import ExistingStore
from factoid.existing.move import move_to
from tests.existing.test_candidates import SENTENCES, Scattered, documents
from tests.late_interaction.word_vectors import WordVectors

# Left by stores that other files of the same process have opened.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

WITHOUT_WORDS = Weights(0.25, 0)
QUESTIONS = ["the lantern of the coast", "a ferry at place7"]


class Reading(Scattered):
    """An encoder of vectors of length 1, which gives those of tokens as well."""

    def __init__(self) -> None:
        super().__init__(24)
        self.words = WordVectors()

    def encode_units(self, texts):
        vectors = super().encode_units(texts)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def encode_query_tokens(self, texts):
        return [self.words.encode_query(text).vectors for text in texts]

    def encode_unit_tokens(self, texts):
        return [tokens.vectors for tokens in self.words.encode_passages(texts)]


def over_langchain(encoder) -> ExistingStore:
    store = InMemoryVectorStore(langchain_factoid.EncoderEmbeddings(encoder))
    return langchain_factoid.MultiGranularRetriever(vectorstore=store).existing


def over_llama_index(encoder) -> ExistingStore:
    model = llama_index_factoid.EncoderEmbedding(encoder)
    return llama_index_factoid.MultiGranularRetriever(
        vectorstore=SimpleVectorStore(), embed_model=model
    ).existing


@pytest.fixture(
    scope="module", params=[("passage", "proposition"), ("passage", "sentence")], ids=str
)
def stores(request):
    """A store of ours, and two of others with the same units and vectors."""
    own = UnitStore(encoder=Reading(), granularities=list(request.param))
    own.add_documents(
        documents(70), propositionizer=SENTENCES, unsupported="keep", words=20, min_words=5
    )
    others = []
    for make in (over_langchain, over_llama_index):
        existing = make(Reading())
        existing.granularities = own.granularities
        move_to(own, existing, progress=False)
        others.append(existing)
    return own, others


def shown(hits):
    """Return all that a hit shows, with rounded scores."""
    rows = []
    for hit in hits:
        matches = [
            (match.unit.text, round(match.score, 3), [unit.text for unit in match.neighbours])
            for match in hit.matches
        ]
        neighbours = [unit.text for unit in hit.neighbours]
        rows.append((hit.unit.id, round(hit.score, 3), hit.unit.granularity, matches, neighbours))
    return rows


OPTIONS = [
    {"mmr": 0.3},
    {"mmr": 0.7, "fetch_k": 40, "parents": "document"},
    {"mmr": 0.5, "parents": "unit"},
    {"rerank": "tokens"},
    {"rerank": "tokens", "candidates": 8, "parents": "document"},
    {"rerank": "tokens", "parents": "unit", "expand": 1},
    {"rerank": AnyGranularityRanker(WordVectors())},
    {"rerank": AnyGranularityRanker(WordVectors()), "candidates": 7, "parents": "document"},
    {"rerank": AnyGranularityRanker(WordVectors()), "parents": "unit", "expand": 1},
    {"rerank": AnyGranularityRanker(WordVectors()), "granularity": "passage", "parents": "auto"},
    {"rerank": AnyGranularityRanker(WordVectors()), "min_score": 0.2},
    {"expand": 1},
    {"expand": 2, "parents": "unit"},
    {"expand": 1, "granularity": "passage"},
    {"expand": 2, "parents": "auto", "filter": {"tenant": "b"}},
]


def named(options):
    return " ".join(
        f"{name}={value if isinstance(value, str | int | float | dict) else type(value).__name__}"
        for name, value in options.items()
    )


@pytest.mark.parametrize("options", OPTIONS, ids=named)
def test_the_same_as_over_our_own_store(stores, options):
    own, others = stores
    for question in QUESTIONS:
        expected = shown(own.search(question, 5, weights=WITHOUT_WORDS, **options))
        assert expected
        for existing in others:
            answer = existing.search(question, 5, weights=WITHOUT_WORDS, **options)
            assert shown(answer.hits) == expected
            assert answer.complete


def test_awaited(stores):
    _, [existing, _] = stores
    for options in ({"mmr": 0.4}, {"rerank": "tokens"}, {"expand": 1}):
        answer = existing.search(QUESTIONS[0], 5, **options)
        assert asyncio.run(existing.asearch(QUESTIONS[0], 5, **options)) == answer


def test_an_index_that_hides_rows_hides_no_neighbour(stores, monkeypatch):
    """A document says how many passages it has; those that no search returns come by their ids."""
    own, [existing, _] = stores
    nearest = existing.collection.nearest
    monkeypatch.setattr(existing.collection, "nearest", lambda *asked: nearest(*asked)[:6])
    hits = existing.search(QUESTIONS[0], 2, weights=Weights(0, 0), expand=1).hits
    expected = own.search(QUESTIONS[0], 2, weights=Weights(0, 0), expand=1)
    around = [[unit.text for unit in match.neighbours] for hit in hits for match in hit.matches[:1]]
    assert around == [
        [unit.text for unit in match.neighbours] for hit in expected for match in hit.matches[:1]
    ]


def test_what_cannot_be_done_says_what_to_do():
    existing = over_langchain(Scattered())
    with pytest.raises(InvalidInputError, match="needs the vectors of tokens"):
        existing.search("ferry", rerank="tokens")
    existing.encoder = None
    with pytest.raises(InvalidInputError, match="mmr compares vectors"):
        existing.search("ferry", mmr=0.5)
    for option in ({"unit_ids": ["a"]}, {"parameters": {"nprobe": 3}}):
        with pytest.raises(InvalidInputError, match="it needs a store of factoid"):
            existing.search("ferry", **option)


def test_both_retrievers_take_them(stores):
    own, [first, second] = stores
    indexing = {"granularities": own.granularities}
    retriever = langchain_factoid.MultiGranularRetriever(
        vectorstore=first.collection.store,
        indexing=indexing,
        k=3,
        search_type="mmr",
        expand=1,
    )
    documents_found = retriever.invoke(QUESTIONS[1])
    nodes = llama_index_factoid.MultiGranularRetriever(
        vectorstore=second.collection.store,
        embed_model=llama_index_factoid.EncoderEmbedding(Reading()),
        indexing=indexing,
        k=3,
        mode="mmr",
        expand=1,
    ).retrieve(QUESTIONS[1])
    assert [document.page_content for document in documents_found] == [
        node.node.get_content() for node in nodes
    ]
    assert len(nodes) == 3
    plain = langchain_factoid.MultiGranularRetriever(
        vectorstore=first.collection.store, indexing=indexing, k=3
    )
    assert plain.invoke(QUESTIONS[1], search_type="mmr", lambda_mult=0.0) != plain.invoke(
        QUESTIONS[1]
    )
