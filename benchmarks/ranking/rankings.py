"""The ways to rank that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.ranking.corpora import Question
from benchmarks.records import indexed_by_id, texts_of, units_of
from factoid import Document, Hit, Unit, UnitStore, Weights
from factoid.encode import Vectors

FETCHED = 100  # results that fusion by ranks sees, and units of a context
_BATCH = 256
_RANK_CONSTANT = 60  # of LangChain's EnsembleRetriever, and ours

DEFAULT = "**propositions, .25 passage, .33 words** (the default)"
SCORES: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "passages": {"granularity": "passage", "weights": Weights(0, 0)},
    "sentences": {"granularity": "sentence", "weights": Weights(0, 0)},
    "propositions": {"weights": Weights(0, 0)},
    "passages, .33 words": {"granularity": "passage", "weights": Weights(0, 0.33)},
    "sentences, .25 passage, .33 words": {"granularity": "sentence"},
    "words alone": {"lexical": 1},
    "sentences, .25 passage": {"granularity": "sentence", "weights": Weights(0.25, 0)},
    "propositions, .25 passage": {"weights": Weights(0.25, 0)},
    "propositions, .25 passage, .2 words": {"lexical": 0.2},
    "propositions, .25 passage, .5 words": {"lexical": 0.5},
    "propositions, .33 words": {"weights": Weights(0, 0.33)},
    "all three, equally, .33 words": {"granularity": "mixed", "weights": Weights(1 / 3, 0.33)},
    "all three, equally": {"granularity": "mixed", "weights": Weights(1 / 3, 0)},
}
"""Options of `UnitStore.search` by the name of their row."""

RERANK = {'rerank="tokens"': {"rerank": "tokens"}}
"""A further row: each question has 50 passages read, so it takes seconds a question."""


def search(
    store: UnitStore,
    questions: Sequence[Question],
    queries: Vectors,
    k: int,
    options: dict[str, Any],
) -> list[list[Any]]:
    """Return the k best units or documents for each question."""
    hits: list[list[Hit]] = []
    for start in range(0, len(questions), _BATCH):
        batch = slice(start, start + _BATCH)
        texts = texts_of(questions[batch])
        hits += store.search_batch_by_vector(queries[batch], k, texts=texts, **options)
    return [units_of(best) for best in hits]


def fuse_ranks(*rankings: Sequence[Sequence[Unit | Document]]) -> list[list[Any]]:
    """Return results by the sum of their reciprocal ranks in several rankings of the same
    questions.
    """
    fused = []
    for lists in zip(*rankings, strict=True):
        scores: dict[str, float] = {}
        results = {}
        for results_of_one in lists:
            for rank, result in enumerate(results_of_one, start=1):
                results[result.id] = result
                scores[result.id] = scores.get(result.id, 0.0) + 1 / (_RANK_CONSTANT + rank)
        best_first = sorted(scores, key=lambda key: -scores[key])
        fused.append([results[key] for key in best_first])
    return fused


def distinct_documents(
    ranked: Sequence[Sequence[Unit]], documents: Sequence[Document]
) -> list[list[Document]]:
    """Return the documents of results, best first."""
    by_id = indexed_by_id(documents)
    rankings = []
    for results in ranked:
        distinct = dict.fromkeys(unit.document_id for unit in results)
        rankings.append([by_id[document_id] for document_id in distinct])
    return rankings
