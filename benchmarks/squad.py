"""Retrieval at three granularities on SQuAD v1.1 (Dense X Retrieval, Tables 1 and 2), with all-MiniLM-L6-v2.

    python benchmarks/squad.py ../shared/data/squad-v1.1-dev/dev-v1.1.even.json

Every paragraph is a document, its article the title. Recall@k is the paper's: the share of questions of which an answer
occurs, as a run of words, in one of the k best distinct passages (§4.3); "gold" counts only passages of the paragraph that
the question was asked about. "pronoun" is the share of units that start with one. Seconds are wall time of one process on
all cores; passages per CPU second count the work of all its threads, so that they hold for one core.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np

from factoid import (
    Document,
    Granularity,
    Hit,
    SentenceTransformerEncoder,
    SyntaxPropositionizer,
    UnitStore,
    split_passages,
    split_sentences,
)
from factoid.propositions import decompose

CUTS = (1, 5, 20)
GRANULARITIES = (Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION)
_WORDS = re.compile(r"\w+")
_PRONOUN = re.compile(r"(he|she|it|they|his|her|its|their|this|these|those)\b", re.IGNORECASE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="SQuAD v1.1 JSON")
    parser.add_argument("--questions", type=int, default=None, help="only this many, evenly spread")
    parser.add_argument("--min-words", type=int, default=4, help="of SyntaxPropositionizer")
    parser.add_argument("--atomic", action="store_true", help="of SyntaxPropositionizer")
    arguments = parser.parse_args()
    documents, questions = read(arguments.file)
    if arguments.questions:
        questions = questions[:: max(1, len(questions) // arguments.questions)]
    seconds: dict[str, float] = {}
    with stage(seconds, "split into passages"):
        passages = [passage for document in documents for passage in split_passages(document)]
    with stage(seconds, "split into sentences"):
        sentences = [sentence for passage in passages for sentence in split_sentences(passage)]
    propositionizer = SyntaxPropositionizer(min_words=arguments.min_words, atomic=arguments.atomic)
    propositionizer.propositionize(passages[:1])  # loads the parser
    before = time.process_time()
    with stage(seconds, "propositionize"):
        decomposition = decompose(passages, propositionizer)
    rate = len(passages) / (time.process_time() - before)
    units = dict(zip(GRANULARITIES, (passages, sentences, decomposition.units), strict=True))
    encoder = SentenceTransformerEncoder()
    encoder.encode_queries(["warm up"])
    with stage(seconds, "encode questions"):
        queries = encoder.encode_queries([question for question, *_ in questions])

    print(f"{len(documents)} paragraphs, {len(questions)} questions; {decomposition.report}\n")
    print(f"{'':12} {'units':>7} {'words':>6} {'pronoun':>8}   " + "  ".join(f"R@{k:<3} gold" for k in CUTS))
    with UnitStore(encoder=encoder) as store:
        for granularity, own in units.items():
            distinct = list({unit.id: unit for unit in own}.values())
            with stage(seconds, f"encode {granularity}s"):
                vectors = encoder.encode_units([unit.text for unit in distinct])
            with stage(seconds, f"store {granularity}s"):
                store.add(distinct, vectors=vectors)
            with stage(seconds, f"search {granularity}s"):
                hits = [store.search_by_vector(query, max(CUTS), granularity=granularity) for query in queries]
            words = sum(len(unit.text.split()) for unit in distinct) / len(distinct)
            pronouns = 100 * sum(bool(_PRONOUN.match(unit.text)) for unit in distinct) / len(distinct)
            print(f"{granularity:12} {len(distinct):7} {words:6.1f} {pronouns:6.1f} %   " + recall(hits, questions))
    print("\n" + "\n".join(f"{value:8.1f} s  {name}" for name, value in seconds.items()))
    ratio = seconds["propositionize"] / seconds["encode passages"]
    print(f"\nSyntaxPropositionizer, grounding included: {rate:.0f} passages per CPU second;")
    print(f"{ratio:.2f} of the time that the encoder takes for the passages themselves")


def read(path: Path) -> tuple[list[Document], list[tuple[str, list[str], str]]]:
    """Return paragraphs, and (question, answers, paragraph id)."""
    documents, questions = [], []
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            document = Document(paragraph["context"], title=article["title"].replace("_", " "))
            documents.append(document)
            questions += [
                (entry["question"], [each["text"] for each in entry["answers"]], document.id)
                for entry in paragraph["qas"]
            ]
    return documents, questions


def recall(hits: list[list[Hit]], questions: list[tuple[str, list[str], str]]) -> str:
    answered = np.zeros((len(questions), max(CUTS)), dtype=bool)
    gold = np.zeros_like(answered)
    for row, (found, (_, answers, own)) in enumerate(zip(hits, questions, strict=True)):
        patterns = [f" {normal(answer)} " for answer in answers]
        for rank, hit in enumerate(found):
            text = f" {normal(hit.unit.text)} "
            answered[row, rank:] |= any(pattern in text for pattern in patterns)
            gold[row, rank:] |= hit.unit.document_id == own
    return "  ".join(f"{100 * answered[:, k - 1].mean():5.1f} {100 * gold[:, k - 1].mean():4.1f}" for k in CUTS)


def normal(text: str) -> str:
    return " ".join(_WORDS.findall(text.lower()))


@contextmanager
def stage(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start


if __name__ == "__main__":
    main()
