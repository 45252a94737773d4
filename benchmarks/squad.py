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
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np

from factoid import (
    Document,
    Granularity,
    Hit,
    SentenceTransformerEncoder,
    SyntaxPropositionizer,
    UnitStore,
    Weights,
    pack_context,
    split_passages,
    split_sentences,
)
from factoid.encode import EMBED_TEMPLATE, with_heading
from factoid.propositions import decompose

CUTS = (1, 5, 20)
GRANULARITIES = (Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION)
BUDGETS = (50, 100, 200)
Question = tuple[str, list[str], str]  # its text, its answers, and the id of its paragraph

SCORES: dict[str, dict[str, Any]] = {
    "propositions": {"granularity": "proposition"},
    "passages": {"granularity": "passage"},
    "sentences": {"granularity": "sentence"},
    "propositions, .4 passage": {"weights": Weights(0.4, 0)},
    "sentences, .4 passage": {"granularity": "sentence", "weights": Weights(0.4, 0)},
    "all, equally": {"granularity": "mixed", "weights": Weights(1 / 3, 0)},
    "words alone": {"lexical": 1},
    "passages, .2 words": {"granularity": "passage", "weights": Weights(1, 0.2)},
    "sentences, .4 passage, .2 words": {"granularity": "sentence", "weights": Weights()},
    "propositions, .4 passage, .2 words": {"weights": Weights()},
    "propositions, .4 passage, .3 words": {"weights": Weights(lexical=0.3)},
    "all, equally, .2 words": {"granularity": "mixed", "weights": Weights(1 / 3, 0.2)},
}
_WORDS = re.compile(r"\w+")
_PRONOUN = re.compile(r"(he|she|it|they|his|her|its|their|this|these|those)\b", re.IGNORECASE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="SQuAD v1.1 JSON")
    parser.add_argument("--questions", type=int, default=None, help="only this many, evenly spread")
    parser.add_argument("--min-words", type=int, default=4, help="of SyntaxPropositionizer")
    parser.add_argument("--atomic", action="store_true", help="of SyntaxPropositionizer")
    parser.add_argument("--embed-template", default=EMBED_TEMPLATE, help="what is encoded; {text} for the text alone")
    parser.add_argument("--curve", type=int, default=2000, help="questions of the words curve")
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
                vectors = encoder.encode_units([with_heading(unit, arguments.embed_template) for unit in distinct])
            with stage(seconds, f"store {granularity}s"):
                store.add(distinct, vectors=vectors)
            with stage(seconds, f"search {granularity}s"):
                hits = [store.search_by_vector(query, max(CUTS), granularity=granularity) for query in queries]
            words = sum(len(unit.text.split()) for unit in distinct) / len(distinct)
            pronouns = 100 * sum(bool(_PRONOUN.match(unit.text)) for unit in distinct) / len(distinct)
            print(f"{granularity:12} {len(distinct):7} {words:6.1f} {pronouns:6.1f} %   " + recall(hits, questions))
        texts = [question for question, *_ in questions]
        print(f"\n{'score':44}   " + "  ".join(f"R@{k:<3} gold" for k in CUTS) + "   R@1 over the first row, 95 %   ms")
        first = None
        for name, options in SCORES.items():
            began = time.perf_counter()
            hits = store.search_batch_by_vector(queries, max(CUTS), texts=texts, **options)
            milliseconds = 1000 * (time.perf_counter() - began) / len(queries)
            right = answered(hits, questions)[0][:, 0]
            first = right if first is None else first
            print(f"{name:44}   {recall(hits, questions)}   {interval(right, first)}   {milliseconds:5.1f}", flush=True)
        some = slice(None, None, max(1, len(questions) // arguments.curve))
        print(f"\n{'answer within the first words of the units':44}   " + "".join(f"{words:>7}" for words in BUDGETS))
        for name, options in SCORES.items():
            units = store.search_batch_by_vector(
                queries[some], max(BUDGETS), texts=texts[some], parents="unit", **options
            )
            print(f"{name:44}   {curve(units, questions[some])}", flush=True)
    print("\n" + "\n".join(f"{value:8.1f} s  {name}" for name, value in seconds.items()))
    ratio = seconds["propositionize"] / seconds["encode passages"]
    print(f"\nSyntaxPropositionizer, grounding included: {rate:.0f} passages per CPU second;")
    print(f"{ratio:.2f} of the time that the encoder takes for the passages themselves")


def read(path: Path) -> tuple[list[Document], list[Question]]:
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


def answered(hits: list[list[Hit]], questions: list[Question]) -> tuple[np.ndarray, np.ndarray]:
    """Return whether the first hits answer each question, and whether they are of its paragraph. Shape: (n, most) both."""
    right = np.zeros((len(questions), max(CUTS)), dtype=bool)
    gold = np.zeros_like(right)
    for row, (ranked, (_, answers, document_id)) in enumerate(zip(hits, questions, strict=True)):
        patterns = [f" {normal(answer)} " for answer in answers]
        for rank, hit in enumerate(ranked):
            text = f" {normal(hit.unit.text)} "
            right[row, rank:] |= any(pattern in text for pattern in patterns)
            gold[row, rank:] |= hit.unit.document_id == document_id
    return right, gold


def recall(hits: list[list[Hit]], questions: list[Question]) -> str:
    right, gold = answered(hits, questions)
    return "  ".join(f"{100 * right[:, k - 1].mean():5.1f} {100 * gold[:, k - 1].mean():4.1f}" for k in CUTS)


def interval(right: np.ndarray, other: np.ndarray) -> str:
    """Return a paired bootstrap's interval for the difference of two shares of questions, in points."""
    generator = np.random.default_rng(0)
    difference = right.astype(float) - other
    means = [difference[generator.integers(0, len(right), len(right))].mean() for _ in range(1000)]
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{100 * difference.mean():+6.1f}  [{100 * low:+5.1f}, {100 * high:+5.1f}]"


def curve(hits: list[list[Hit]], questions: list[Question]) -> str:
    """Return the share of questions that are answered within the first words of the units, for each budget."""
    shares = np.zeros(len(BUDGETS))
    for ranked, (_, answers, _) in zip(hits, questions, strict=True):
        for place, words in enumerate(BUDGETS):
            text = f" {normal(pack_context(ranked, words=words, headings=False))} "
            shares[place] += any(f" {normal(answer)} " in text for answer in answers)
    return "".join(f"{100 * share / len(questions):7.1f}" for share in shares)


def normal(text: str) -> str:
    return " ".join(_WORDS.findall(text.lower()))


@contextmanager
def stage(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start


if __name__ == "__main__":
    main()
