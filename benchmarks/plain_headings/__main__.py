"""Headings of plain texts: precision and recall by kind of text, and what they are worth in
retrieval.

    python -m benchmarks.plain_headings
    python -m benchmarks.plain_headings --retrieval ../shared/data/domain-retrieval/chunkeval \
        --cache build/vectors

The texts in `texts` were written for this, one of each kind; those in `written_later` when the
rules stood, and their first figures are in docs/ranking.md. A line that starts with ⟦1⟧ is a
heading of level 1 to a reader, one with ⟦?⟧ a question that heads the paragraph of its answer; the
marks are taken off before the text is read. "path" is the share of paragraphs that have the very
headings above them that a reader sees. Rules: "earlier" as they were before, "none", "marked" only
those of wikis and markup, "evidence" ours.

`--retrieval` takes a folder of long documents with questions and the places of their answers.
Encoder: all-MiniLM-L6-v2. Sentences are ranked with .4 of their passage's score, passages without;
both with .2 of words. A question counts where one of the k best passages holds half of an excerpt
that answers it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
from numpy.typing import NDArray

from benchmarks.plain_headings.earlier import earlier_headings
from benchmarks.ranking.measures import difference, per_cent, table
from benchmarks.records import indexed_by_id
from factoid.evaluate.vector_cache import VectorCache
from factoid import (
    Document,
    Granularity,
    Hit,
    SentenceTransformerEncoder,
    UnitStore,
    Weights,
    sections,
    split_passages,
    split_sentences,
)
from factoid.heading_template import with_heading
from factoid.sections import outline
from factoid.text.plain_headings import Heading, Line

TEXTS = Path(__file__).with_name("texts")
CUTS = (1, 5)
QUESTION = 9  # level of a question that heads one paragraph
_MARK = re.compile(r"⟦([\d?])⟧ ?")
_NOT_WORDS = re.compile(r"[^\w\s]|_")


def no_headings(*_: object) -> list[Heading]:
    return []


def marked_only(lines: Sequence[Line], _: bool) -> list[Heading]:
    """Find the headings that are marked in the text's notation."""
    levels = [line.level for line in lines]
    headings = []
    for place, level in enumerate(levels):
        later = range(place + 1, len(lines))
        end = next((other for other in later if 0 < levels[other] <= level), len(lines))
        if level:
            headings.append(Heading(place, end, level))
    return headings


RULES = ("earlier", "none", "marked", "evidence")


@contextmanager
def using(rule: str) -> Iterator[None]:
    """Read texts by other rules for the time of a block."""
    replaced: dict[str, Callable[..., Any]] = {}
    if rule != "evidence":
        replaced = {
            "find_headings": {
                "earlier": earlier_headings,
                "none": no_headings,
                "marked": marked_only,
            }[rule]
        }
        replaced["heading_cuts"] = lambda _: []
    if rule in ("earlier", "none"):
        replaced["marked_headings"] = lambda *_: []
    if not replaced:
        yield
        return
    with mock.patch.multiple(sections, **replaced):
        yield


# Precision and recall


@dataclass
class Counts:
    """Headings found, found rightly and wanted; paragraphs with the right path of headings, and
    paragraphs.
    """

    found: int = 0
    right: int = 0
    wanted: int = 0
    paths: int = 0
    paragraphs: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Counts) -> None:
        self.found += other.found
        self.right += other.right
        self.wanted += other.wanted
        self.paths += other.paths
        self.paragraphs += other.paragraphs

    def cells(self) -> list[str]:
        precision = f"{100 * self.right / self.found:.1f}" if self.found else "–"
        recall = f"{100 * self.right / self.wanted:.1f}" if self.wanted else "–"
        return [
            f"{self.found}",
            precision,
            recall,
            f"{100 * self.paths / max(self.paragraphs, 1):.1f}",
        ]


def judge(path: Path) -> Counts:
    """Compare the headings of a text with those that are marked in its file."""
    text, wanted = read_marked(path.read_text(encoding="utf-8"))
    title, paragraphs = outline(Document(text))
    found: set[int] = set()
    counts = Counts()
    inside = set()
    for paragraph in paragraphs:
        inside.update(range(paragraph.start, paragraph.end))
    for line in re.finditer(r"[^\n]+", text):
        if _NOT_WORDS.sub("", line[0]).strip() and not inside.intersection(range(*line.span())):
            found.add(line.start())
    counts.found = len(found)
    counts.wanted = len(wanted)
    counts.right = len(found & wanted.keys())
    counts.wrong = [f"+ {line_at(text, place)}" for place in sorted(found - wanted.keys())]
    counts.wrong += [f"- {line_at(text, place)}" for place in sorted(wanted.keys() - found)]
    starts = [paragraph.start for paragraph in paragraphs]
    for paragraph in paragraphs:
        sought = path_above(text, wanted, starts, paragraph.start)
        if plain(line_at(text, paragraph.start)) in sought:
            continue  # a heading that was missed
        sees = plain(" ".join(filter(None, [title, paragraph.section])))
        counts.paths += sees == " ".join(sought)
        counts.paragraphs += 1
    return counts


def path_above(
    text: str, wanted: dict[int, int], starts: Sequence[int], paragraph: int
) -> list[str]:
    """Return the headings that a reader sees above the paragraph that starts at a place."""
    above: list[tuple[int, str]] = []
    for place, level in wanted.items():
        if place < paragraph:
            while above and above[-1][0] >= level:
                above.pop()
            above.append((level, line_at(text, place)))
    if above and above[-1][0] == QUESTION:
        last_heading = wanted_before(wanted, paragraph)
        if any(last_heading < start < paragraph for start in starts):
            above.pop()  # a question heads one paragraph
    return [plain(words) for _, words in above]


def read_marked(text: str) -> tuple[str, dict[int, int]]:
    """Return a text without the marks of its headings, and their levels by the place of their
    line.
    """
    wanted: dict[int, int] = {}
    lines: list[str] = []
    place = 0
    for line in text.split("\n"):
        if mark := _MARK.match(line):
            line = line[mark.end() :]
            wanted[place] = QUESTION if mark[1] == "?" else int(mark[1])
        lines.append(line)
        place += len(line) + 1
    return "\n".join(lines), wanted


def wanted_before(wanted: dict[int, int], place: int) -> int:
    return max((other for other in wanted if other < place), default=-1)


def line_at(text: str, place: int) -> str:
    return text[text.rfind("\n", 0, place) + 1 :].partition("\n")[0].strip()


def plain(words: str) -> str:
    return " ".join(_NOT_WORDS.sub(" ", words).split())


def print_judgement(show: bool) -> None:
    for folder in sorted(TEXTS.iterdir()):
        for rule in RULES:
            row = table(f"{folder.name}, {rule}", ["found", "precision", "recall", "path"])
            total = Counts()
            for path in sorted(folder.glob("*.txt")):
                with using(rule):
                    counts = judge(path)
                total.add(counts)
                row(path.stem, counts.cells())
                if show and counts.wrong:
                    print("\n".join(counts.wrong))
            row("**all**", total.cells())


# Retrieval


def print_retrieval(
    folder: Path, cache: Path | None, characters: int | None, granularity: Granularity
) -> None:
    """Print the recall of answers with each kind of headings."""
    documents = []
    lengths = {}
    for entry in read(folder / "corpus.jsonl"):
        document = Document(entry["text"][:characters], entry["title"], id=entry["id"])
        documents.append(document)
        lengths[document.id] = len(document.text)
    entries = read(folder / "queries.jsonl")
    questions = [question for question in entries if is_within(question, lengths)]
    texts = list(map(itemgetter("text"), questions))
    print(f"{len(questions)} questions")
    encoder = VectorCache(SentenceTransformerEncoder(), cache)
    queries = encoder.encode_queries(texts)
    row = table("headings", ["passages", "R@1", "R@5", "mean", "mean − earlier's, 95 %"])
    first = None
    weights = Weights(0, 0.2) if granularity == Granularity.PASSAGE else Weights()
    for rule in RULES:
        with using(rule):
            passages = list(chain.from_iterable(map(split_passages, documents)))
        sentences = []
        if granularity == Granularity.SENTENCE:
            sentences = list(chain.from_iterable(map(split_sentences, passages)))
        units = list(indexed_by_id([*passages, *sentences]).values())
        with UnitStore(encoder=encoder) as store:
            store.add(units, vectors=encoder.encode_units(list(map(with_heading, units))))
            ranked = store.search_batch_by_vector(
                queries,
                CUTS[-1],
                texts=texts,
                granularity=granularity,
                weights=weights,
                parents="passage",
            )
        right = is_answered(questions, ranked)
        mean = right.mean(axis=1)
        first = mean if first is None else first
        recalls = per_cent(right.mean(axis=0))
        [share] = per_cent([mean.mean()])
        row(rule, [f"{len(passages):,}", *recalls, share, difference(mean, first)])


def is_answered(
    questions: Sequence[dict[str, Any]], ranked: Sequence[Sequence[Hit]]
) -> NDArray[np.bool_]:
    """Return which questions one of the k best passages answers. Shape: (questions, cuts)."""
    right = np.zeros((len(questions), len(CUTS)), bool)
    for place, (question, hits) in enumerate(zip(questions, ranked, strict=True)):
        for rank, hit in enumerate(hits):
            if is_right(question, hit.unit):
                right[place] = rank < np.array(CUTS)
                break
    return right


def is_within(question: dict[str, Any], lengths: dict[str, int]) -> bool:
    """Tell whether a question's answers lie in what is read of the documents."""
    return all(excerpt["end"] <= lengths[excerpt["id"]] for excerpt in question["evidence"])


def is_right(question: dict[str, Any], passage: Any) -> bool:
    """Tell whether a passage holds half of an excerpt that answers a question."""
    for excerpt in question["evidence"]:
        shared = min(passage.end, excerpt["end"]) - max(passage.start, excerpt["start"])
        if passage.document_id == excerpt["id"] and 2 * shared >= excerpt["end"] - excerpt["start"]:
            return True
    return False


def read(path: Path) -> list[dict[str, Any]]:
    return list(map(json.loads, path.read_text(encoding="utf-8").splitlines()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--retrieval", type=Path, metavar="FOLDER", help="measure retrieval on these documents"
    )
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="keep vectors here for the next run"
    )
    parser.add_argument(
        "--characters", type=int, metavar="N", help="only the first so many of each document"
    )
    parser.add_argument(
        "--granularity",
        choices=["passage", "sentence"],
        default="sentence",
        help="of what is found",
    )
    parser.add_argument(
        "--show", action="store_true", help="print each wrong and each missed heading"
    )
    arguments = parser.parse_args()
    if arguments.retrieval:
        print_retrieval(
            arguments.retrieval,
            arguments.cache,
            arguments.characters,
            Granularity(arguments.granularity),
        )
    else:
        print_judgement(arguments.show)


if __name__ == "__main__":
    main()
