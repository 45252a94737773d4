"""Entity linking by titles on questions for which its rules were not written: those of SQuAD and of
CLAP NQ.

    python -m benchmarks.entities.unseen

The store is the one of `benchmarks.entities.linking questions`. "named" is the share of questions
in which the title of the article with the answer stands, in any case; "linked" that of those with a
mention; "gold" of those with that title among its mentions; "only" of those with no other; "gold of
named" of the questions that name the title.

No test or benchmark of the linker had these questions while its rules were written. When it was
made shorter, what a rule is worth was measured with them, among others, and what changed here was
read.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.data import DATA
from benchmarks.entities.linking import all_titles, make_linker, percentiles, timed_links, titles_of
from benchmarks.entities.page import add_into, into
from benchmarks.entities.title_sources import Question
from benchmarks.records import texts_of
from factoid.entities.articles.names import canonical_title, name_key
from factoid.entities.linkers.titles import TitleLinker


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    add_into(parser)
    arguments = parser.parse_args()
    # Those of the command whose store it is.
    arguments.more = None
    arguments.encoder = False
    with tempfile.TemporaryDirectory() as folder, into(arguments.into, "unseen"):
        linker = make_linker(arguments, Path(folder) / "all", all_titles(arguments, listed=False))
        print(
            "| | questions | named | linked | gold | only | gold of named | mentions | "
            "CPU ms p50 | CPU ms p99 |"
        )
        print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
        for name, asked in (
            ("SQuAD", list(squad(arguments.data))),
            ("CLAP NQ", list(natural_questions(arguments.data))),
        ):
            print(row(name, asked, linker))


def row(name: str, asked: Sequence[Question], linker: TitleLinker) -> str:
    """Return a row of the table for some questions."""
    found, milliseconds = timed_links(linker, texts_of(asked))
    named = []  # whether the question holds its gold title
    linked = []
    right = []
    alone = []
    right_of_named = []
    mentions = 0
    for question, mentions_of_question in zip(asked, found, strict=True):
        gold = canonical_title(question.title)
        titles = titles_of(mentions_of_question)
        mentions += len(titles)
        named.append(f" {name_key(gold)} " in f" {spaced(name_key(question.text))} ")
        linked.append(bool(titles))
        right.append(gold in titles)
        alone.append(titles == [gold])
        if named[-1]:
            right_of_named.append(right[-1])
    shares = map(mean, (named, linked, right, alone, right_of_named))
    cells = " | ".join(f"{share:.1%}" for share in shares)
    return (
        f"| {name} | {len(asked):,} | {cells} | {mentions / len(asked):.2f} | "
        f"{percentiles(milliseconds)} |"
    )


def squad(data: Path) -> Iterator[Question]:
    """Yield the questions of half of SQuAD's development set, with the title of the article that
    answers each.
    """
    file = data / "squad-v1.1-dev" / "dev-v1.1.even.json"
    for article in json.loads(file.read_text())["data"]:
        for paragraph in article["paragraphs"]:
            for record in paragraph["qas"]:
                yield Question(record["question"], "", article["title"].replace("_", " "))


def natural_questions(data: Path) -> Iterator[Question]:
    """Yield the answerable questions of CLAP NQ, in lower case as they were typed, with the title
    of their first passage.
    """
    file = data / "clapnq" / "annotated_data" / "dev" / "clapnq_dev_answerable.jsonl"
    for line in file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        yield Question(record["input"], "", record["passages"][0]["title"])


def spaced(text: str) -> str:
    """Return a text without the marks that stand at words."""
    return " ".join(
        text.replace("'s ", " ").replace("?", " ").replace(",", " ").replace('"', " ").split()
    )


def mean(values: Iterable[bool]) -> float:
    return statistics.fmean(map(float, values))


if __name__ == "__main__":
    sys.exit(main())
