"""What the passage and the query's words cost in a search: milliseconds by what the score is made
of, beside other hybrids.

    pip install --group bench -e ".[all]"
    python -m benchmarks.store.hybrid  # 40,000 passages of 60 words, four propositions each, 384 d

Vectors are random, and words are drawn by Zipf's law from 800: harder than real ones, whose best
answers stand out in every channel. Every query is a proposition, its vector disturbed, its first
words asked for. All searches take turns, query by query, in a new order each time, so that a busy
moment of the machine meets all of them; ratios are medians of each query's own.

The others get the vectors of the same propositions and the words of the same passages, and fuse the
ten best of each by rank, as their own pages show: LangChain's `EnsembleRetriever` of
langchain-community's `FAISS` and `BM25Retriever` (rank_bm25), and Qdrant's `query_points` in local
mode with `Fusion.RRF`, its sparse vectors BM25's weights. They return propositions and passages
mixed, where ours returns the best distinct passages. Chroma is left out: its `search`, which fuses
ranks, raises NotImplementedError in its local modes. Those that take more than `--slow` seconds
answer every tenth query only.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.records import texts_of
from factoid import Granularity, Unit, UnitStore, Weights

_FACTS = 4
_WORDS = 60
_BLOCK = 4000
_K = 10
_SEVERAL = 10  # of so many queries, slow searches answer one
SEARCHES: dict[str, dict[str, Any]] = {
    "propositions": {"weights": Weights(0, 0)},
    "passages": {"granularity": "passage", "weights": Weights(0, 0)},
    "propositions and their passage": {"weights": Weights(lexical=0)},
    "propositions, their passage and words": {"weights": Weights()},
    "words alone": {"lexical": 1},
}
Search = Callable[[np.ndarray, str], Any]


@dataclass(frozen=True)
class Corpus:
    """What everybody searches, by row."""

    passages: list[Unit]
    propositions: list[Unit]
    vectors: np.ndarray  # of the propositions


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=int, default=40_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--queries", type=int, default=90)
    parser.add_argument("--slow", type=float, default=0.5, metavar="SECONDS")
    parser.add_argument("--no-peers", action="store_true", help="ours alone")
    arguments = parser.parse_args()
    generator = np.random.default_rng(0)
    with (
        tempfile.TemporaryDirectory() as folder,
        UnitStore(folder, encoder=None, granularities=["passage", "proposition"]) as store,
    ):
        corpus = filled(store, generator, arguments.passages, arguments.dim)
        searches = {name: ours(store, options) for name, options in SEARCHES.items()}
        if not arguments.no_peers:
            searches |= peers(corpus)
        propositions = corpus.propositions
        rows = generator.integers(0, len(propositions), arguments.queries)
        disturbed = corpus.vectors[rows] + generator.normal(
            0, 0.05, (len(rows), arguments.dim)
        ).astype(np.float32)
        queries = disturbed / np.linalg.norm(disturbed, axis=1, keepdims=True)
        texts = ["what is " + " ".join(propositions[row].text.split()[:6]) for row in rows]
        times = measure(searches, queries, texts, slow=arguments.slow)
    print(
        f"{arguments.passages * (1 + _FACTS):,} units of {arguments.dim} d; k = {_K}, "
        f"{arguments.queries} queries\n"
    )
    print("| search | ms, median | × propositions, median | queries |\n| :-- | --: | --: | --: |")
    base = times["propositions"]
    for name, values in times.items():
        ratio = statistics.median(value / base[place] for place, value in values.items())
        print(
            f"| {name} | {1000 * statistics.median(values.values()):.1f} | {ratio:.1f} | "
            f"{len(values)} |"
        )


def filled(store: UnitStore, generator: np.random.Generator, passages: int, dim: int) -> Corpus:
    """Add so many passages with their propositions to a store, and return them."""
    corpus = Corpus([], [], np.empty((0, dim), np.float32))
    blocks = []
    for start in range(0, passages, _BLOCK):
        units, vectors = block(generator, start, min(_BLOCK, passages - start), dim)
        store.add(units, vectors=vectors)
        for unit, vector in zip(units, vectors, strict=True):
            if unit.granularity is Granularity.PASSAGE:
                corpus.passages.append(unit)
            else:
                corpus.propositions.append(unit)
                blocks.append(vector)
    store.refresh()
    return replace(corpus, vectors=np.stack(blocks))


def measure(
    searches: dict[str, Search], queries: np.ndarray, texts: list[str], *, slow: float
) -> dict[str, dict[int, float]]:
    """Return the seconds that each search took, by the number of the query; the first query
    warms up.
    """
    times: dict[str, dict[int, float]] = {name: {} for name in searches}
    for name, search in searches.items():
        began = time.perf_counter()
        search(queries[0], texts[0])
        times[name][-1] = time.perf_counter() - began
    patient = {name for name in searches if times[name].pop(-1) <= slow}
    generator = np.random.default_rng(1)
    for place, (query, text) in enumerate(zip(queries, texts, strict=True)):
        for name in generator.permutation(list(searches)):
            if name in patient or place % _SEVERAL == 0:
                began = time.perf_counter()
                searches[name](query, text)
                times[name][place] = time.perf_counter() - began
    return times


def ours(store: UnitStore, options: dict[str, Any]) -> Search:
    return lambda query, text: store.search_by_vector(query, _K, text=text, **options)


def peers(corpus: Corpus) -> dict[str, Search]:
    """Return the searches of other stores that have all of it."""
    return dict(itertools.chain(langchain(corpus), qdrant(corpus)))


def langchain(corpus: Corpus) -> Iterator[tuple[str, Search]]:
    """Yield FAISS by itself, BM25 by itself, and the ensemble of both."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_core.embeddings import Embeddings

    with warnings.catch_warnings(action="ignore"):  # the package says that it is being sunset
        from langchain_community.retrievers import BM25Retriever
        from langchain_community.vectorstores import FAISS
        from langchain_community.vectorstores.utils import DistanceStrategy

    class Known(Embeddings):
        """Returns the vector of the present query."""

        vector: np.ndarray

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise NotImplementedError

        def embed_query(self, text: str) -> list[float]:  # noqa: ARG002
            return self.vector.tolist()

    known = Known()
    pairs = zip(texts_of(corpus.propositions), corpus.vectors.tolist(), strict=True)
    store = FAISS.from_embeddings(
        pairs, known, distance_strategy=DistanceStrategy.MAX_INNER_PRODUCT
    )
    dense = store.as_retriever(search_kwargs={"k": _K})
    words = BM25Retriever.from_texts(texts_of(corpus.passages), k=_K)
    both = EnsembleRetriever(retrievers=[dense, words], weights=[0.5, 0.5])

    def search(retriever: Any, query: np.ndarray, text: str) -> Any:
        known.vector = query
        return retriever.invoke(text)

    yield "LangChain `FAISS`, propositions", partial(search, dense)
    yield "LangChain `BM25Retriever`", partial(search, words)
    yield "LangChain `EnsembleRetriever` of both", partial(search, both)


def qdrant(corpus: Corpus) -> Iterator[tuple[str, Search]]:
    """Yield Qdrant's dense search, and its fusion with BM25's weights."""
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    name = "units"
    client.create_collection(
        name,
        vectors_config={
            "dense": models.VectorParams(size=corpus.vectors.shape[1], distance=models.Distance.DOT)
        },
        sparse_vectors_config={"words": models.SparseVectorParams(modifier=models.Modifier.IDF)},
    )
    numbers: dict[str, int] = {}

    def sparse(text: str, length: float) -> Any:
        counts = Counter(numbers.setdefault(word, len(numbers)) for word in text.split())
        size = sum(counts.values()) / length
        weights = [count * 2.2 / (count + 1.2 * (0.25 + 0.75 * size)) for count in counts.values()]
        return models.SparseVector(indices=list(counts), values=weights)

    def points() -> Iterator[Any]:
        for row, (unit, vector) in enumerate(
            zip(corpus.propositions, corpus.vectors.tolist(), strict=True)
        ):
            yield models.PointStruct(id=row, vector={"dense": vector}, payload={"text": unit.text})
        for row, unit in enumerate(corpus.passages, start=len(corpus.propositions)):
            yield models.PointStruct(
                id=row, vector={"words": sparse(unit.text, _WORDS)}, payload={"text": unit.text}
            )

    with warnings.catch_warnings(
        action="ignore"
    ):  # that local mode is not meant for so many points
        client.upload_points(name, points(), wait=True)

    def dense(query: np.ndarray, _text: str) -> Any:
        return client.query_points(name, query=query.tolist(), using="dense", limit=_K)

    def both(query: np.ndarray, text: str) -> Any:
        asked = models.SparseVector(
            indices=sorted({numbers[word] for word in text.split() if word in numbers}), values=[]
        )
        asked.values = [1.0] * len(asked.indices)
        return client.query_points(
            name,
            prefetch=[
                models.Prefetch(query=query.tolist(), using="dense", limit=_K),
                models.Prefetch(query=asked, using="words", limit=_K),
            ],
            query=models.FusionQuery(fusion=models.Fusion.RRF),
            limit=_K,
        )

    yield "Qdrant, local mode, propositions", dense
    yield "Qdrant, local mode, fused with words", both


def block(
    generator: np.random.Generator, start: int, count: int, dim: int
) -> tuple[list[Unit], np.ndarray]:
    """Return some passages with their propositions, and vectors of unit length."""
    syllables = map("".join, itertools.product("bdfgklmnprst", "aeio"))
    words = list(map("".join, itertools.product(syllables, repeat=2)))[:800]
    chances = 1 / np.arange(2, len(words) + 2)
    drawn = generator.choice(len(words), (count, _WORDS), p=chances / chances.sum())
    units = []
    vectors = []
    for number, row in enumerate(drawn, start):
        text = [words[place] for place in row]
        base = generator.normal(size=dim)
        own = f"{number}"
        length = _WORDS // _FACTS
        units.append(unit(own, " ".join(text), Granularity.PASSAGE, own))
        vectors.append(base)
        for fact in range(_FACTS):
            part = " ".join(text[fact * length : (fact + 1) * length])
            units.append(unit(f"{own}.{fact}", f"{part} {fact}", Granularity.PROPOSITION, own))
            vectors.append(base + 0.8 * generator.normal(size=dim))
    matrix = np.array(vectors, np.float32)
    return units, matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def unit(unit_id: str, text: str, granularity: Granularity, passage: str) -> Unit:
    document = f"document {passage}"
    return Unit(
        unit_id,
        text,
        granularity,
        document,
        document if unit_id == passage else passage,
        0,
        len(text),
    )


if __name__ == "__main__":
    main()
