"""Every kind of index in use: with so many documents that it is trained, against brute force in numpy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from numpy.typing import NDArray

from factoid.index import load
from factoid.testing import ScriptedPropositionizer
from langchain_factoid import MultiGranularFAISS

COUNT = 3000
DIM = 16
QUERIES = [f"query {n}" for n in range(20)]
EMBEDDING = DeterministicFakeEmbedding(size=DIM)  # neither of unit length nor positive
GPUS = getattr(faiss, "get_num_gpus", lambda: 0)()

# What makes each kind exact: all lists, a wide walk, or all candidates scored again.
EXACT: dict[str, dict[str, Any]] = {
    "Flat": {},
    "HNSW32": {"parameters": {"efSearch": 2000}},
    "IVF8,Flat": {"parameters": {"nprobe": 8}},
    "IVF8,SQ8": {"parameters": {"nprobe": 8}, "refine": 100},
    "SQ8": {"refine": 100},
    "PQ8x6": {"refine": 600},  # of 6 bits: 8 would need 10,000 vectors to be trained
    "RaBitQ": {"refine": 600},
}


ON_GPU = pytest.mark.skipif(GPUS == 0, reason="needs a GPU and faiss-gpu")
PLACES = [(kind, *rest) for kind in EXACT for rest in (("cosine", "memory"), ("inner_product", "disk"))]
PLACES += [("Flat", "inner_product", "shards"), ("IVF8,SQ8", "cosine", "shards")]
SETTINGS = [pytest.param(place, id="-".join(place)) for place in PLACES]
SETTINGS += [pytest.param((kind, "cosine", "cuda"), id=f"{kind}-cuda", marks=ON_GPU) for kind in EXACT]


def two_parts(passage: Any) -> list[str]:
    return passage.text.split("; ")


PARTS: dict[str, Any] = {"propositionizer": ScriptedPropositionizer(two_parts), "unsupported": "keep"}


class Corpus:
    """Documents of two propositions each, every third one the same for a hundred documents, with their best scores."""

    def __init__(self, similarity: str) -> None:
        self.parts = [
            [f"first fact {n}", f"shared fact {n // 100}" if n % 3 == 0 else f"second {n}"] for n in range(COUNT)
        ]
        self.documents = [
            Document(id=f"d{n}", page_content="; ".join(each), metadata={"n": n, "even": n % 2 == 0})
            for n, each in enumerate(self.parts)
        ]
        flat = [part for each in self.parts for part in each]
        vectors, queries = (np.array(EMBEDDING.embed_documents(texts)) for texts in (flat, QUERIES))
        if similarity == "cosine":
            vectors, queries = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (vectors, queries))
        self.scores = (queries @ vectors.T).reshape(len(QUERIES), COUNT, 2).max(axis=2)

    def best(self, k: int, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """Return the k best scores of documents for each query."""
        scores = self.scores if allowed is None else self.scores[:, allowed]
        return -np.sort(-scores, axis=1)[:, :k]


@pytest.fixture(scope="module")
def corpora() -> dict[str, Corpus]:
    return {name: Corpus(name) for name in ("inner_product", "cosine")}


@pytest.fixture(scope="module")
def folders(corpora: dict[str, Corpus], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A store of all documents for each similarity, without indexes."""
    made = {}
    for name, corpus in corpora.items():
        made[name] = tmp_path_factory.mktemp(name) / "store"
        options: dict[str, Any] = {"granularities": ("proposition",), "similarity": name, **PARTS}
        with MultiGranularFAISS(EMBEDDING, path=made[name], **options) as store:
            store.add_documents(corpus.documents, batch_size=1000)
    return made


@pytest.fixture(params=SETTINGS)
def setting(request: pytest.FixtureRequest) -> tuple[str, str, str]:
    kind, similarity, place = request.param
    return kind, similarity, place


@pytest.fixture
def kind(setting: tuple[str, str, str]) -> str:
    return setting[0]


@pytest.fixture
def corpus(setting: tuple[str, str, str], corpora: dict[str, Corpus]) -> Corpus:
    return corpora[setting[1]]


@pytest.fixture
def store(
    setting: tuple[str, str, str], corpus: Corpus, folders: dict[str, Path], tmp_path: Path
) -> Iterator[MultiGranularFAISS]:
    """The documents under an index of the kind."""
    kind, similarity, place = setting
    options: dict[str, Any] = {"index": kind, **PARTS}
    if place == "memory":
        options |= {"similarity": similarity, "granularities": ("proposition",)}
        with MultiGranularFAISS(EMBEDDING, **options) as store:
            store.merge_from(folders[similarity])
            yield store
        return
    with MultiGranularFAISS.load_local(folders[similarity], EMBEDDING, read_only=True) as source:
        source.save_local(tmp_path / "store")
    options |= {"shards": 2} if place == "shards" else {}
    options |= {"device": "cuda"} if place == "cuda" else {}
    with MultiGranularFAISS.load_local(tmp_path / "store", EMBEDDING, **options) as store:
        store.refresh()
        read = load(tmp_path / "store" / "proposition")
        assert read is not None
        assert (read.index.kind, len(read.index)) == (kind, len({part for each in corpus.parts for part in each}))
        yield store


def test_the_k_best_distinct_documents(store: MultiGranularFAISS, corpus: Corpus, kind: str) -> None:
    found = store.similarity_search_batch_with_score(QUERIES, k=10, **EXACT[kind])
    assert all(len({document.id for document, _ in each}) == 10 for each in found)
    assert np.allclose([[score for _, score in each] for each in found], corpus.best(10), rtol=1e-4, atol=1e-4)
    by_default = store.similarity_search_batch(QUERIES, k=10)
    assert all(len({document.id for document in each}) == 10 for each in by_default)
    hits = sum(
        document in [own for own, _ in exact]
        for each, exact in zip(by_default, found, strict=True)
        for document in each
    )
    assert hits >= 0.8 * 10 * len(QUERIES)


def test_filters(store: MultiGranularFAISS, corpus: Corpus, kind: str) -> None:
    even, rare = np.arange(COUNT) % 2 == 0, np.isin(np.arange(COUNT), [7, 1500, 2999])
    for condition, allowed in (({"even": True}, even), ({"n": {"$in": [7, 1500, 2999]}}, rare)):
        found = store.similarity_search_batch_with_score(QUERIES, k=10, filter=condition, **EXACT[kind])
        assert all(allowed[document.metadata["n"]] for each in found for document, _ in each)
        scores = [[score for _, score in each] for each in found]
        assert np.allclose(scores, corpus.best(10, allowed), rtol=1e-4, atol=1e-4)


def test_changes(store: MultiGranularFAISS, corpus: Corpus, kind: str) -> None:
    store.similarity_search(QUERIES[0])
    gone = [f"d{n}" for n in np.argsort(-corpus.scores[0])[:5]]
    store.delete(gone)
    store.add_documents([Document(id="new", page_content="a new fact; another")])
    left = ~np.isin([document.id for document in corpus.documents], gone)
    found = store.similarity_search_with_score(QUERIES[0], k=10, filter={"n": {"$gte": 0}}, **EXACT[kind])
    assert np.allclose([score for _, score in found], corpus.best(10, left)[0], rtol=1e-4, atol=1e-4)
    assert not {document.id for document, _ in found} & set(gone)
    everything = store.similarity_search("a new fact", k=1, document_ids=["new"])
    assert [document.id for document in everything] == ["new"]
