"""Passages of SQuAD and HotpotQA with propositions and vectors, and how fast these were made."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import attrgetter, itemgetter
from pathlib import Path

import numpy as np

from benchmarks.store.real_vectors import augmented
from factoid import Document, SentenceTransformerEncoder, Unit
from factoid.encode import Vectors
from factoid.heading_template import EMBED_TEMPLATE, encoded_text
from factoid.propositions import SyntaxPropositionizer, decompose, estimate
from factoid.store.document_units import assemble, split_document
from factoid.store.recipe import Recipe
from factoid.units import Granularity

KEPT = Path(__file__).resolve().parents[2] / "build" / "serving"
_BATCH = 128  # documents
_QUESTIONS = 100  # that are encoded
_ENCODED = 6_000  # units; the others get mixtures of their vectors, with noise


@dataclass
class Rates:
    """How fast the stages went: things in a second, one figure for each batch."""

    name: str
    of: str  # what is counted
    values: list[float] = field(default_factory=list)

    def note(self, count: int, seconds: float) -> None:
        if count and seconds:
            self.values.append(count / seconds)

    @property
    def median(self) -> float:
        return float(np.median(self.values))

    @property
    def span(self) -> tuple[float, float]:
        """The tenth and the ninetieth percentile."""
        low, high = np.percentile(self.values, [10, 90])
        return float(low), float(high)


@dataclass(frozen=True)
class Made:
    """Documents as they are loaded, and questions.

    Attributes:
        documents: The documents.
        digests: By document.
        units: By document, passages first.
        vectors: Of units, by id.
        questions: What is asked.
        question_vectors: Theirs. Shape: (questions, dim).
        rates: Of the stages, by name.
        tokens: Those of a chat model's prompts and answers, for each passage.
    """

    documents: Sequence[Document]
    digests: dict[str, str]
    units: dict[str, list[Unit]]
    vectors: dict[str, Vectors]
    questions: Sequence[str]
    question_vectors: Vectors
    rates: dict[str, Rates]
    tokens: tuple[float, float]

    @property
    def count(self) -> int:
        """How many units there are."""
        return sum(map(len, self.units.values()))

    @property
    def passages(self) -> int:
        """How many of them are passages."""
        kinds = map(attrgetter("granularity"), chain.from_iterable(self.units.values()))
        return list(kinds).count(Granularity.PASSAGE)

    @property
    def dim(self) -> int:
        return int(self.question_vectors.shape[1])


def made(data: Path, count: int, questions: int) -> Made:
    """Return this many documents with units and vectors; vectors are kept for the next run."""
    documents, texts = _read(data)
    documents = documents[:count]
    texts = texts[:: len(texts) // _QUESTIONS][:_QUESTIONS]
    recipe = Recipe((Granularity.PASSAGE, Granularity.PROPOSITION), SyntaxPropositionizer())
    assert recipe.propositionizer is not None
    rates = {
        "split": Rates("split", "passages"),
        "propositions": Rates("propositions", "passages"),
        "encode": Rates("encode", "units"),
    }
    decompose(split_document(documents[0], recipe), recipe.propositionizer)  # loads the model

    # -- Units --
    units: dict[str, list[Unit]] = {}
    digests: dict[str, str] = {}
    for batch in _batches(documents):
        began = time.process_time()
        passages: list[Unit] = []
        for document in batch:
            passages += split_document(document, recipe)
            digests[document.id] = recipe.digest(document)
        rates["split"].note(len(passages), time.process_time() - began)
        began = time.process_time()
        decomposition = decompose(passages, recipe.propositionizer)
        rates["propositions"].note(len(passages), time.process_time() - began)
        for document in batch:
            units[document.id] = []
        for unit in assemble(passages, decomposition.units, recipe.granularities):
            units[unit.document_id].append(unit)
    everything = list(chain.from_iterable(units.values()))
    passages = [unit for unit in everything if unit.granularity is Granularity.PASSAGE]
    usage = estimate(passages).usage
    tokens = (usage.prompt_tokens / len(passages), usage.completion_tokens / len(passages))

    # -- Vectors --
    vectors, asked = _encoded(everything, texts, rates["encode"])
    by_id = dict(zip(map(attrgetter("id"), everything), vectors, strict=True))
    texts = texts[:questions]
    return Made(documents, digests, units, by_id, texts, asked[:questions], rates, tokens)


def _encoded(
    units: Sequence[Unit], questions: Sequence[str], rates: Rates
) -> tuple[Vectors, Vectors]:
    """Return the vectors of units and questions; those of the first units are encoded, or kept."""
    file = KEPT / f"vectors-{len(questions)}.npz"
    texts = [encoded_text(unit, EMBED_TEMPLATE) for unit in units[:_ENCODED]]
    if not file.exists():
        encoder = SentenceTransformerEncoder()
        encoder.encode_units(texts[:8])  # loads the model
        parts = []
        seconds = []
        for start in range(0, len(texts), 512):
            began = time.process_time()
            parts.append(encoder.encode_units(texts[start : start + 512]))
            seconds.append((len(parts[-1]), time.process_time() - began))
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(
            file,
            units=np.vstack(parts),
            questions=encoder.encode_queries(list(questions)),
            seconds=np.array(seconds),
        )
    kept = np.load(file)
    for count, taken in kept["seconds"]:
        rates.note(count, taken)
    return np.vstack(list(augmented(kept["units"], len(units)))), kept["questions"]


def _read(data: Path) -> tuple[list[Document], list[str]]:
    """Return documents and questions: SQuAD's paragraphs, then HotpotQA's."""
    documents: dict[str, Document] = {}
    questions = []
    squad = data / "squad-v1.1-dev" / "dev-v1.1.even.json"
    for article in json.loads(squad.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            document = Document(paragraph["context"], article["title"].replace("_", " "))
            documents[document.id] = document
            questions += map(itemgetter("question"), paragraph["qas"][:1])
    hotpot = data / "domain-retrieval" / "hotpot" / "corpus.jsonl"
    with hotpot.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            document = Document(record["text"], record["title"])
            documents[document.id] = document
    return list(documents.values()), questions


def _batches(documents: Sequence[Document]) -> Iterator[list[Document]]:
    remaining = iter(documents)
    while batch := list(islice(remaining, _BATCH)):
        yield batch
