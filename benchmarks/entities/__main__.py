"""Retrieval by entities beside BM25 and dense retrieval, on questions about Wikipedia articles
(Entity Retrieval, §4).

    python -m benchmarks.entities ../shared/data/factoidqa-cmu-qa-v1.2
    python -m benchmarks.entities DATA --into docs/entity-benchmarks.md
    python -m benchmarks.entities DATA --questions 50        # does it run?

BM25 and MiniLM search the same articles, cut into blocks of 100 words with the title before each.
Every method is built, and searched, in a process of its own, whose seconds and memory are reported,
imports and loading included.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.entities import factoidqa
from benchmarks.entities.factoidqa import FactoidQA, Question
from benchmarks.entities.process import Timed, disk_bytes, timed
from benchmarks.records import texts_of
from benchmarks.store.report import fill
from factoid.evaluate.answers import has_answer_dpr, has_answer_normalized
from factoid.evaluate.rankings import judge, mrr, ndcg, top_k_accuracy

WORDS = (50, 100, 300, 1000)
_DEEP = 100  # documents of BM25 and MiniLM
_CUTS = (1, 4, 100)
_MIB = 2**20


@dataclass(frozen=True)
class Found:
    """What a method retrieved, and what that took."""

    name: str
    texts: list[list[str]]
    seconds: float
    peak: int
    disk: int


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "data", type=Path, metavar="DATA", help="folder of FactoidQA (CMU question-answer data set)"
    )
    parser.add_argument("--questions", type=int, metavar="N", help="only the first N")
    parser.add_argument(
        "--into",
        type=Path,
        metavar="PAGE",
        help="write the tables between the markers of this page",
    )
    arguments = parser.parse_args()
    given = factoidqa.read(arguments.data)
    questions = given.questions[: arguments.questions]
    with tempfile.TemporaryDirectory() as folder:
        found = [
            *similarity(given, questions, Path(folder)),
            *entities(given, questions, Path(folder)),
        ]
    text = "\n\n".join((heading(given, questions), quality(found, questions), costs(found)))
    print(text)
    if arguments.into:
        fill(arguments.into, "factoidqa", text)


def titles_and_texts(given: FactoidQA) -> list[list[str]]:
    return [[article.title, article.text] for article in given.articles]


def similarity(given: FactoidQA, questions: Sequence[Question], work: Path) -> list[Found]:
    found = []
    texts = texts_of(questions)
    articles = titles_and_texts(given)
    for method in ("BM25", "MiniLM"):
        folder = work / method
        timed(
            "benchmarks.entities.passages:build",
            method=method,
            articles=articles,
            folder=str(folder),
        )
        done = timed(
            "benchmarks.entities.passages:search",
            method=method,
            folder=str(folder),
            questions=texts,
            k=_DEEP,
        )
        found.append(_found(f"{method}, 100-word passages", done, folder))
    return found


def entities(given: FactoidQA, questions: Sequence[Question], work: Path) -> list[Found]:
    folder = work / "entities"
    articles = titles_and_texts(given)
    timed("benchmarks.entities.retrieval:build", articles=articles, folder=str(folder))
    texts = texts_of(questions)
    titles = [question.title for question in questions]
    found = []
    for linker, annotated in (("annotations", titles), ("TitleLinker", None)):
        for words in WORDS:
            done = timed(
                "benchmarks.entities.retrieval:search",
                folder=str(folder),
                questions=texts,
                titles=annotated,
                words=words,
            )
            found.append(_found(f"ER{words}w, {linker}", done, folder))
        done = timed(
            "benchmarks.entities.retrieval:search",
            folder=str(folder),
            questions=texts,
            titles=annotated,
            words=100,
            granularity="sentence",
        )
        found.append(_found(f"100 words of the best sentences, {linker}", done, folder))
    return found


def _found(name: str, done: Timed, folder: Path) -> Found:
    texts = []
    for results in done.result:
        texts.append([f"{title}\n{text}" for title, text in results])
    print(f"  {name}: {done.seconds:.1f} s", flush=True)
    return Found(name, texts, done.seconds, done.peak, disk_bytes(folder))


def heading(given: FactoidQA, questions: Sequence[Question]) -> str:
    plain = sum(not question.yes_no for question in questions)
    return (
        f"{len(questions):,} questions with an answer ({plain:,} of them with another than yes or "
        "no) about "
        f"{len(given.articles)} articles; {given.rows:,} rows in the files, of which "
        + ", ".join(f"{count} have {reason}" for reason, count in sorted(given.left_out.items()))
        + "."
    )


def quality(found: Sequence[Found], questions: Sequence[Question]) -> str:
    """Return the table of MRR, nDCG and accuracy."""
    all_answers = [question.answers for question in questions]
    plain = [at for at, question in enumerate(questions) if not question.yes_no]
    answers = [all_answers[at] for at in plain]
    rows = [
        "| | retrieved % | documents | MRR | "
        + " | ".join(f"nDCG@{k}" for k in _CUTS)
        + " | top-4 | MRR, DPR's | MRR, all |"
    ]
    rows.append("| :-- |" + " --: |" * (len(_CUTS) + 6))
    for method in found:
        texts = [method.texts[at] for at in plain]
        relevant = judge(texts, answers, has_answer_normalized)
        by_tokens = judge(texts, answers, has_answer_dpr)
        everything = judge(method.texts, all_answers, has_answer_normalized)
        hit = list(filter(None, method.texts))
        cells = [
            f"{len(hit) / len(questions):.1%}",
            f"{sum(map(len, hit)) / max(len(hit), 1):.2f}",
            f"{mrr(relevant):.3f}",
        ]
        cells += [f"{ndcg(relevant, k):.3f}" for k in _CUTS]
        cells += [
            f"{top_k_accuracy(relevant, 4):.3f}",
            f"{mrr(by_tokens):.3f}",
            f"{mrr(everything):.3f}",
        ]
        rows.append(f"| {method.name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def costs(found: Sequence[Found]) -> str:
    """Return the table of seconds, memory and disk (Table 6)."""
    rows = [
        "| | seconds, all questions | × BM25 | peak memory, MiB | disk, MiB |",
        "| :-- | --: | --: | --: | --: |",
    ]
    base = found[0].seconds
    for method in found:
        cells = (
            f"{method.seconds:.1f}",
            f"{method.seconds / base:.2f}",
            f"{method.peak / _MIB:,.0f}",
            f"{method.disk / _MIB:.1f}",
        )
        rows.append(f"| {method.name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
