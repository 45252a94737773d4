"""What each set of granularities costs and finds, beside what people use today: the table of
docs/what-it-finds.md.

    python -m benchmarks.presets ../shared/data/domain-retrieval --cache build/vectors

Costs are those of indexing the same sample of all sets from nothing, encoder included: processor
seconds of all threads, bytes on disk and vectors, as multiples of chunks of 500 characters in
LangChain's `FAISS` on disk. The settings take turns, and each figure is the median of the rounds.
What is found is measured on whole sets, as in `benchmarks.ranking.domain`, with kept vectors.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from langchain_core.documents import Document as LangChainDocument
from langchain_text_splitters import RecursiveCharacterTextSplitter

from benchmarks.ranking.domain import (
    BUDGETS,
    CUTS,
    DomainQuestion,
    DomainSet,
    TokenCachedEncoder,
    read,
)
from benchmarks.ranking.measures import per_cent, table
from benchmarks.ranking.peers import Chunks
from benchmarks.records import texts_of, units_of
from factoid import Document, Hit, SentenceTransformerEncoder, Unit, UnitStore
from factoid.encode import Encoder
from langchain_factoid import EncoderEmbeddings

SETS = ("chunkeval", "covidqa", "hotpot", "tatqa")
CHUNK = 500  # characters
FETCHED = 50
RANK_CONSTANT = 60  # of LangChain's EnsembleRetriever
SAMPLE = 20_000  # words that are indexed to measure costs

# Results for a question: passages or chunks for recall, and units for a context.
Results = tuple[Sequence[Unit], Sequence[Unit | Hit]]
Search = Callable[[DomainQuestion, np.ndarray], Results]


class Cost(NamedTuple):
    """What indexing costs: processor seconds, bytes on disk, vectors."""

    seconds: float
    size: int
    vectors: int


@dataclass(frozen=True)
class Setting:
    """Granularities of a store, under the name of the table."""

    name: str
    granularities: tuple[str, ...]
    late_chunking: bool = False

    @property
    def _options(self) -> dict[str, Any]:
        return {"granularities": self.granularities, "late_chunking": self.late_chunking}

    def cost(self, documents: Sequence[Document], encoder: Encoder) -> Cost:
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            with UnitStore(Path(folder) / "store", encoder=encoder, **self._options) as store:
                store.add_documents(documents)
                store.refresh()
                count = sum(store.counts().values())
            return Cost(time.process_time() - start, folder_size(Path(folder)), count)

    @contextmanager
    def opened(self, data: DomainSet, encoder: Encoder) -> Iterator[Search]:
        with UnitStore(encoder=encoder, **self._options) as store:
            store.add_documents(data.documents)
            yield partial(self._search, store)

    def _search(self, store: UnitStore, question: DomainQuestion, _: np.ndarray) -> Results:
        options = {"document_ids": question.scope or None}
        passages = store.search(question.text, k=max(CUTS), parents="passage", **options)
        units = store.search(question.text, k=FETCHED, parents="unit", **options)
        return units_of(passages), units


@dataclass(frozen=True)
class Peer:
    """Chunks by LangChain's splitter; with words, ranks are fused as EnsembleRetriever fuses them.

    Attributes:
        name: That of the row.
        has_words: Whether BM25 ranks as well.
        size: Most characters of a chunk, or what `length` counts.
        length: Measures a text.
    """

    name: str
    has_words: bool
    size: int = CHUNK
    length: Callable[[str], int] = len

    def cost(self, documents: Sequence[Document], encoder: Encoder) -> Cost:
        with warnings.catch_warnings(action="ignore"):  # the package says that it is being sunset
            from langchain_community.vectorstores import FAISS
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            splitter = RecursiveCharacterTextSplitter(
                chunk_size=self.size, chunk_overlap=0, length_function=self.length
            )
            chunks = splitter.split_documents(
                [LangChainDocument(document.text) for document in documents]
            )
            store = FAISS.from_documents(chunks, EncoderEmbeddings(encoder))
            store.save_local(folder)
            if self.has_words:
                from langchain_community.retrievers import BM25Retriever

                BM25Retriever.from_documents(chunks)
            return Cost(time.process_time() - start, folder_size(Path(folder)), len(chunks))

    @contextmanager
    def opened(self, data: DomainSet, encoder: Encoder) -> Iterator[Search]:
        chunks = Chunks(data.documents, self.size, encoder, length=self.length)
        yield partial(self._search, chunks, {})

    def _search(
        self, whole: Chunks, by_scope: dict, question: DomainQuestion, vector: np.ndarray
    ) -> Results:
        chunks = whole
        if question.scope:
            if question.scope not in by_scope:
                inside = [document for document in whole.documents if document.id in question.scope]
                by_scope[question.scope] = Chunks(
                    inside, self.size, whole.encoder, length=self.length
                )
            chunks = by_scope[question.scope]
        [found] = chunks.by_cosine(vector[None], FETCHED)
        if self.has_words:
            [by_words] = chunks.by_words([question.text], FETCHED)
            found = fused(found, by_words)
        return found, found


def fused(*rankings: Sequence[Unit]) -> list[Unit]:
    """Return units by the sum of their reciprocal ranks."""
    scores: dict[str, float] = {}
    units = {}
    for ranking in rankings:
        for rank, unit in enumerate(ranking, 1):
            units[unit.id] = unit
            scores[unit.id] = scores.get(unit.id, 0) + 1 / (RANK_CONSTANT + rank)
    best_first = sorted(scores, key=scores.__getitem__, reverse=True)
    return [units[key] for key in best_first]


def folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def count_tokens(text: str) -> int:
    """Return the number of tokens that the encoder sees of a text, without those that mark its
    ends.
    """
    return len(_tokenizer().encode(text, add_special_tokens=False))


@cache
def _tokenizer() -> Any:
    return SentenceTransformerEncoder()._model().tokenizer


SETTINGS = (
    Peer("chunks of 500 characters, vectors", has_words=False),
    Peer("the same with BM25, ranks fused (EnsembleRetriever)", has_words=True),
    # What follows MarkdownHeaderTextSplitter or MarkdownNodeParser; these sets have no headings of
    # Markdown.
    Peer("chunks of 128 tokens", has_words=False, size=128, length=count_tokens),
    Setting("passages", ("passage",)),
    Setting("passages and sentences", ("passage", "sentence")),
    Setting("passages and propositions", ("passage", "proposition")),
    Setting("all three", ("passage", "sentence", "proposition")),
    Setting("passages and sentences, late chunking", ("passage", "sentence"), late_chunking=True),
    Setting(
        "passages and propositions, late chunking", ("passage", "proposition"), late_chunking=True
    ),
)


def sample_of(sets: Sequence[DomainSet]) -> list[Document]:
    """Return documents of all sets in turn, about as many words of each."""
    chosen = []
    for data in sets:
        left = SAMPLE // len(sets)
        for document in data.documents:
            if left <= 0:
                break
            words = document.text.split(" ")
            chosen.append(
                Document(
                    " ".join(words[:left]), title=document.title, id=f"{data.name} {document.id}"
                )
            )
            left -= len(words)
    return chosen


def costs(
    settings: Sequence[Setting | Peer], documents: Sequence[Document], encoder: Encoder, rounds: int
) -> list[Cost]:
    """Return the median costs of each setting, which take turns."""
    encoder.encode_units(texts_of(documents[:8]))  # the first call is slower
    measured: list[list[Cost]] = [[] for _ in settings]
    for _ in range(rounds):
        for setting, figures in zip(settings, measured, strict=True):
            figures.append(setting.cost(documents, encoder))
            print(setting.name, figures[-1], flush=True)
    medians = []
    for figures in measured:
        columns = zip(*figures, strict=True)
        medians.append(Cost(*map(statistics.median, columns)))
    return medians


def found_in(
    settings: Sequence[Setting | Peer], data: DomainSet, encoder: Encoder, limit: int
) -> list[list[float]]:
    """Return for each setting the means of recall and of the words curve."""
    questions = data.questions[:: max(1, len(data.questions) // limit)][:limit]
    vectors = encoder.encode_queries(texts_of(questions))
    rows = []
    for setting in settings:
        values = []
        with setting.opened(data, encoder) as search:
            for question, vector in zip(questions, vectors, strict=True):
                results, context = search(question, vector)
                values.append([*data.recall(question, results), *data.curve(question, context)])
        means = np.nanmean(np.array(values), axis=0)
        rows.append(means.tolist())
        print(data.name, setting.name, per_cent(means), flush=True)
    return rows


def chosen_settings(arguments: argparse.Namespace) -> list[Setting | Peer]:
    """Return the rows that were asked for, and the first one where it is the unit of costs."""
    chosen = []
    for setting in SETTINGS:
        is_unit = setting is SETTINGS[0] and not arguments.found
        is_asked = arguments.rows is None or any(part in setting.name for part in arguments.rows)
        if is_unit or is_asked:
            chosen.append(setting)
    return chosen


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--questions", type=int, default=400, help="most questions of a set")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--costs", action="store_true", help="measure costs alone")
    parser.add_argument("--found", action="store_true", help="measure what is found alone")
    parser.add_argument(
        "--rows",
        nargs="+",
        help="only rows whose names hold one of these; costs are also measured of the first",
    )
    parser.add_argument(
        "--bfloat16",
        action="store_true",
        help="encode whole sets in bfloat16; costs are in float32",
    )
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    encoder = SentenceTransformerEncoder()
    sets = [read(arguments.folder / name) for name in arguments.sets]
    settings = chosen_settings(arguments)
    cells = [[setting.name] for setting in settings]
    columns: list[str] = []

    if not arguments.found:
        sample = sample_of(sets)
        columns += ["CPU", "disk", "vectors"]
        measured = costs(settings, sample, encoder, arguments.rounds)
        plain = measured[0]
        for row, cost in zip(cells, measured, strict=True):
            row += [f"{mine / theirs:.1f}" for mine, theirs in zip(cost, plain, strict=True)]
        print(f"{len(sample)} documents of {SAMPLE:,} words; a chunk of 500 characters: 1")

    if not arguments.costs:
        columns += [data.name for data in sets]
        for data in sets:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=arguments.bfloat16):
                cached = TokenCachedEncoder(encoder, arguments.cache)
                found = found_in(settings, data, cached, arguments.questions)
            for row, values in zip(cells, found, strict=True):
                recall = " / ".join(per_cent(values[: len(CUTS)]))
                curve = " / ".join(per_cent(values[len(CUTS) :]))
                row.append(f"{recall} · {curve}")
        print(f"Each set: R@{CUTS} · the first {BUDGETS} words")

    add_row = table("index", columns)
    for name, *rest in cells:
        add_row(name, rest)


if __name__ == "__main__":
    main()
