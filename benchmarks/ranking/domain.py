"""What the default score finds in documents of several domains, none of which it was made with.

    python -m benchmarks.ranking.domain ../shared/data/domain-retrieval --cache build/vectors

Each folder holds `corpus.jsonl` (or `.gz`) with documents, and `queries.jsonl` with questions, the
documents that answer them, and where there are any, the characters of the evidence. R@k is the
share of a question's evidence among its k best results, of as much as k results can hold: passages
that have half of a span of evidence, or where the set names none, documents. The words curve is the
share of questions whose evidence, by nine tenths of its distinct words, or whose answer stands in
the first 100 or 200 words of context. Contexts hold the units' texts, without headings. Questions
of tatqa are asked of their own report only. A third of its reports is kept, and of scifact a third
of the abstracts that no question cites.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.ranking.corpora import NEARLY_WHOLE, normal, spread
from benchmarks.ranking.measures import budget_names, per_cent, recall_names, table
from benchmarks.records import indexed_by_id, texts_of, units_of
from factoid.evaluate.vector_cache import VectorCache
from factoid import (
    Document,
    Hit,
    SentenceTransformerEncoder,
    Unit,
    UnitStore,
    Weights,
    pack_context,
)
from factoid.encode import Vectors, span_encoder

SETS = ("chunkeval", "covidqa", "scifact", "hotpot", "tatqa")
BY_SPAN = ("chunkeval", "covidqa")
CUTS = (1, 5)
BUDGETS = (100, 200)
FETCHED = 50  # results of a search for passages, and units of a context
_SAMPLES = 1000  # of a bootstrap over questions
_HALF = 0.5  # of a span of evidence, or of a passage that is shorter than two of them
_GOLD_ALONE = 3  # of documents that answer no question, every so many are kept in a large set
_LARGE = 5000
_REPORTS = 3  # every so many reports of tatqa are kept
_FEW = 10  # documents, such as the long ones of chunkeval, that are all kept


@dataclass(frozen=True)
class Evidence:
    """A part of a document that answers a question."""

    document_id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class DomainQuestion:
    """A question, what answers it, and the documents that it is asked of; none for all."""

    text: str
    gold: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    answers: tuple[str, ...]
    scope: tuple[str, ...] = ()


@dataclass(frozen=True)
class DomainSet:
    """Documents and questions about them; `by_span` says that passages are judged by the evidence
    that they hold.
    """

    name: str
    documents: Sequence[Document]
    questions: Sequence[DomainQuestion]
    by_span: bool

    def recall(self, question: DomainQuestion, units: Sequence[Unit]) -> list[float]:
        """Return the share of the question's evidence among the k best results, for each k."""
        if self.by_span:
            wanted: Sequence[Any] = question.evidence
            results: Sequence[Any] = units
            is_right = _holds
        else:
            wanted = question.gold
            results = list(dict.fromkeys(map(attrgetter("document_id"), units)))
            is_right = str.__eq__
        first_ranks = []
        for target in wanted:
            first_ranks.append(_first_rank(results, partial(is_right, target)))
        shares = []
        for k in CUTS:
            found = sum(rank < k for rank in first_ranks)
            shares.append(min(found / min(k, len(wanted)), 1.0))
        return shares

    def curve(self, question: DomainQuestion, units: Sequence[Unit | Hit]) -> list[float]:
        """Return for each budget whether the first words of context answer the question: 0 or 1, or
        NaN if nothing can tell.
        """
        if not question.evidence and not question.answers:
            return [np.nan] * len(BUDGETS)
        answered = []
        for words in BUDGETS:
            context = pack_context(units, words=words, headings=False)
            answered.append(float(_answers(context, question)))
        return answered


def _first_rank(results: Sequence[Any], is_right: Callable[[Any], bool]) -> float:
    """Return the rank of the first right result, from 0; infinite if none is right."""
    for rank, result in enumerate(results):
        if is_right(result):
            return rank
    return math.inf


def read(folder: Path) -> DomainSet:
    """Read a set. Of a large one, only a third of the documents that answer no question is kept."""
    corpus = list(_lines(folder / "corpus.jsonl"))
    entries = list(_lines(folder / "queries.jsonl"))
    reports = sorted({row["context"] for row in corpus if "context" in row})[::_REPORTS]
    scopes: dict[str, list[str]] = {}
    if reports:
        corpus = [row for row in corpus if row["context"] in reports]
        entries = [entry for entry in entries if entry["context"] in reports]
        for row in corpus:
            scopes.setdefault(row["context"], []).append(row["id"])
    documents = _documents(corpus, entries)
    by_id = indexed_by_id(documents)

    by_span = folder.name in BY_SPAN
    questions = []
    for entry in entries:
        evidence = _evidence(entry)
        if by_span and not evidence:
            continue
        gold = tuple(entry["gold"])
        answers = _answers_in_text(entry, by_id)
        scope = tuple(scopes.get(entry.get("context", ""), ()))
        questions.append(DomainQuestion(entry["text"], gold, evidence, answers, scope))
    return DomainSet(folder.name, documents, questions, by_span)


def _documents(
    corpus: Sequence[dict[str, Any]], entries: Sequence[dict[str, Any]]
) -> list[Document]:
    """Return the documents that are kept: of a large set those that answer a question, and some of
    the others.
    """
    gold: set[str] = set()
    for entry in entries:
        gold.update(entry["gold"])
    documents = []
    for number, row in enumerate(corpus):
        if len(corpus) < _LARGE or row["id"] in gold or number % _GOLD_ALONE == 0:
            documents.append(Document(row["text"], title=row["title"], id=row["id"]))
    return documents


def _evidence(entry: dict[str, Any]) -> tuple[Evidence, ...]:
    """Return the spans that answer a question, where their places are known."""
    evidence = []
    for span in entry.get("evidence", ()):
        if span["start"] is not None:
            evidence.append(Evidence(span["id"], span["start"], span["end"], span["text"]))
    return tuple(evidence)


def _answers_in_text(entry: dict[str, Any], documents: Mapping[str, Document]) -> tuple[str, ...]:
    """Return the answers in the words of the text, so that they can be found; not yes or no."""
    answers = []
    for answer in entry.get("answers", ()):
        is_there = False
        for document_id in entry["gold"]:
            is_there |= _stands(answer, documents[document_id].text)
        if is_there and answer.lower() not in ("yes", "no"):
            answers.append(answer)
    return tuple(answers)


def thin(
    domain: DomainSet, questions: int | None, every: int = 1, characters: int | None = None
) -> DomainSet:
    """Return a set of fewer documents and questions.

    Args:
        domain: The set.
        questions: Keep about so many questions, evenly spread.
        every: Keep one of so many documents. Where evidence is a part of one document, the
            questions about the others are left out; elsewhere the documents that answer a question
            stay. Of tatqa every so many reports are kept, with the questions about them; a few long
            documents all stay.
        characters: Keep so many characters of each document, and the questions whose evidence they
            hold.
    """
    documents = list(domain.documents)
    kept = list(domain.questions)
    if characters is not None:
        documents = [replace(document, text=document.text[:characters]) for document in documents]
        kept = [question for question in kept if _last_place(question) <= characters]
    is_thinned = every > 1 and len(documents) > _FEW
    if is_thinned and domain.by_span:
        documents = documents[::every]
        ids = set(map(attrgetter("id"), documents))
        kept = [question for question in kept if ids.issuperset(question.gold)]
    kept = list(spread(kept, questions))
    if is_thinned and not domain.by_span:
        reports = sorted({question.scope for question in kept})[::every]
        if any(reports):
            kept = [question for question in kept if question.scope in reports]
            ids = set().union(*reports)
            documents = [document for document in documents if document.id in ids]
        else:
            ids = set(map(attrgetter("id"), documents[::every]))
            ids.update(*map(attrgetter("gold"), kept))
            documents = [document for document in documents if document.id in ids]
    return replace(domain, documents=documents, questions=kept)


def _last_place(question: DomainQuestion) -> int:
    """Return where the last evidence of a question ends; 0 if there is none."""
    return max((part.end for part in question.evidence), default=0)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    packed = path.with_name(f"{path.name}.gz")
    with (
        gzip.open(packed, "rt", encoding="utf-8")
        if packed.exists()
        else path.open(encoding="utf-8") as lines
    ):
        yield from map(json.loads, lines)


def _holds(evidence: Evidence, unit: Unit) -> bool:
    """Return whether a passage has at least half of a span of evidence, or lies in it by at least
    half.
    """
    common = min(unit.end, evidence.end) - max(unit.start, evidence.start)
    shorter = min(unit.end - unit.start, evidence.end - evidence.start)
    return unit.document_id == evidence.document_id and common >= _HALF * shorter


def _answers(context: str, question: DomainQuestion) -> bool:
    if not question.evidence:
        return any(_stands(answer, context) for answer in question.answers)
    words = set(normal(context).split())
    for evidence in question.evidence:
        wanted = set(normal(evidence.text).split())
        if len(words & wanted) >= NEARLY_WHOLE * len(wanted):
            return True
    return False


def _stands(answer: str, text: str) -> bool:
    return f" {normal(answer)} " in f" {normal(text)} "


ROWS: dict[str, dict[str, Any]] = {
    "**the default**": {},
    'rerank="tokens"': {"rerank": "tokens"},
    "sentences": {"granularity": "sentence"},
    "passages and words": {"granularity": "passage"},
    "vectors alone": {"lexical": 0},
    "words alone": {"lexical": 1},
}
"""Options of `UnitStore.search` by the name of their row."""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="holds a folder for each set")
    parser.add_argument("--sets", nargs="+", default=SETS, help="names of folders")
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="keep vectors here for the next run"
    )
    parser.add_argument(
        "--stores", type=Path, metavar="FOLDER", help="keep the stores here for the next run"
    )
    parser.add_argument(
        "--questions", type=int, metavar="N", help="only so many of each set, evenly spread"
    )
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="keep about one of so many documents"
    )
    parser.add_argument("--characters", type=int, metavar="N", help="keep so many of each document")
    parser.add_argument(
        "--rows", nargs="+", choices=list(ROWS), default=list(ROWS), help="only these"
    )
    parser.add_argument(
        "--weights",
        nargs=2,
        type=float,
        metavar=("PASSAGE", "LEXICAL"),
        help="in place of the default",
    )
    parser.add_argument(
        "--late-chunking", action="store_true", help="encode units as parts of their passages"
    )
    parser.add_argument(
        "--bfloat16",
        action="store_true",
        help="encode in bfloat16, which some CPUs do several times as fast",
    )
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    options = {} if arguments.weights is None else {"weights": Weights(*arguments.weights)}
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=arguments.bfloat16):
        for name in arguments.sets:
            encoder = TokenCachedEncoder(SentenceTransformerEncoder(), arguments.cache)
            domain = thin(
                read(arguments.folder / name),
                arguments.questions,
                arguments.every,
                arguments.characters,
            )
            path = None if arguments.stores is None else arguments.stores / name
            if path is not None and arguments.late_chunking:
                path = path.with_name(f"{name}, late chunking")
            with UnitStore(path, encoder=encoder, late_chunking=arguments.late_chunking) as store:
                measure(domain, store, arguments.rows, options)


class TokenCachedEncoder(VectorCache):
    """A `VectorCache` that also keeps the token vectors of passages, so that a set is encoded
    once.
    """

    def __init__(self, encoder: SentenceTransformerEncoder, folder: Path | None) -> None:
        super().__init__(encoder, folder)
        self._tokens = TokenFiles(Path(tempfile.mkdtemp()) if folder is None else folder / "tokens")

    def encode_spans(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> list[Vectors]:
        return span_encoder(self.encoder).encode_spans(texts, spans)

    def encode_unit_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._tokens]
        if missing:
            self._tokens.add(missing, super().encode_unit_tokens(missing))
        return [self._tokens[text] for text in texts]


class TokenFiles:
    """Token vectors by text in float16: a file for the vectors, and one for the place of each
    text.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._places = folder / "places.jsonl"
        self._vectors = folder / "vectors.f16"
        self._index: dict[str, tuple[int, int, int]] = {}  # first component, tokens, dimension
        if self._places.exists():
            for line in self._places.read_text().splitlines():
                key, *place = json.loads(line)
                self._index[key] = tuple(place)

    def __contains__(self, text: str) -> bool:
        return _digest(text) in self._index

    def __getitem__(self, text: str) -> Vectors:
        first, tokens, dim = self._index[_digest(text)]
        flat = np.fromfile(self._vectors, np.float16, tokens * dim, offset=2 * first)
        return flat.reshape(tokens, dim).astype(np.float32)

    def add(self, texts: Sequence[str], vectors: Sequence[Vectors]) -> None:
        with self._vectors.open("ab") as data, self._places.open("a") as places:
            for text, tokens in zip(texts, vectors, strict=True):
                place = (data.tell() // 2, *tokens.shape)
                data.write(tokens.astype(np.float16).tobytes())
                data.flush()
                places.write(json.dumps([_digest(text), *place]) + "\n")
                self._index[_digest(text)] = place


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def measure(
    domain: DomainSet, store: UnitStore, rows: Sequence[str], options: dict[str, Any]
) -> None:
    """Fill a store with a set, and print what each way to score finds."""
    questions = domain.questions
    began = time.process_time()
    store.add_documents(domain.documents)
    store.refresh()
    seconds = time.process_time() - began
    encoder = store.encoder
    assert encoder is not None
    # Into the cache, so that times are of searches.
    encoder.encode_queries(texts_of(questions))
    counts = ", ".join(f"{count:,} {kind}s" for kind, count in store.counts().items())
    print(
        f"\n{domain.name}: {len(domain.documents):,} documents, {len(questions):,} questions; "
        f"{counts}"
    )
    print(f"{seconds:.0f} CPU seconds to add what the store and the cache did not hold")
    columns = [*recall_names(CUTS), *budget_names(BUDGETS), "ms", "R@1 and R@5, difference"]
    row = table(domain.name, columns)
    first = None
    for name in rows:
        began = time.perf_counter()
        shares = shares_of_questions(domain, store, {**options, **ROWS[name]})
        seconds = (time.perf_counter() - began) / 2  # of two searches for each question
        cells = per_cent(np.nanmean(shares, axis=0))
        difference = ""
        if first is not None:
            difference = gain(shares - first)
        else:
            first = shares
        row(name, [*cells, f"{1000 * seconds / len(questions):.0f}", difference])


def shares_of_questions(
    domain: DomainSet, store: UnitStore, options: dict[str, Any]
) -> NDArray[np.float64]:
    """Return recall at each cut and the words curve of each question.

    Shape: (questions, cuts + budgets).
    """
    rows = []
    for question in domain.questions:
        common = {**options, "document_ids": question.scope or None}
        passages = units_of(store.search(question.text, FETCHED, **common))
        units = store.search(question.text, FETCHED, parents="unit", **common)
        rows.append([*domain.recall(question, passages), *domain.curve(question, units)])
    return np.array(rows, np.float64)


def gain(gains: NDArray[np.float64]) -> str:
    """Return the mean gain of R@1 and R@5 with its 95 % interval, in points."""
    of_questions = 100 * gains[:, : len(CUTS)].mean(axis=1)
    generator = np.random.default_rng(0)
    means = []
    for _ in range(_SAMPLES):
        chosen = generator.integers(0, len(of_questions), len(of_questions))
        means.append(of_questions[chosen].mean())
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{of_questions.mean():+.1f} [{low:+.1f}, {high:+.1f}]"


if __name__ == "__main__":
    main()
