"""What it costs to index a layout service's Markdown as it stands, and what cleaning gains: dirty
units, answers found.

    python -m benchmarks.documents PRINTOUT QUESTIONS

such as ../shared/papers/document-intelligence-output.txt and
../shared/data/document-questions/dense-x.json. The printout is of Azure Document Intelligence: the
Markdown of a paper between "Page Content 1:" and "Metadata 1:". "raw" indexes it as one document,
"clean" what `factoid.documents.clean` makes of it. A unit is dirty by a rule if its text matches
it, or for the side stamp its section. "In the top 5" counts the units that the default search finds
for the questions. A question is answered by a unit that holds its answer, with hyphens at line ends
joined, case and punctuation aside; all-MiniLM-L6-v2 encodes. The splitter is LangChain's
RecursiveCharacterTextSplitter with 600 characters, about as long as our passages, ranked by the
same encoder.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from benchmarks.records import texts_of, units_of
from factoid import Document, Granularity, SentenceTransformerEncoder, Unit, UnitStore
from factoid.documents import clean, read_markdown
from factoid.encode import Encoder

Search = Callable[[str], list[str]]
"""Returns the texts of the five best results."""

CHARACTERS = 600
RULES = {
    "broken hyphen": re.compile(r"\w[-\u2010]\s+(?!(?:and|or|to)\b)\w"),
    "figure markup": re.compile(r"</?fig|!\[[^\]]*\]\(|FigureContent"),
    "selection mark": re.compile(r":(?:un)?selected:|[☐☑☒]"),
    "escape": re.compile(r"\\[!-/:-@\[-`{-~]"),
    "comment": re.compile(r"<!--|-->"),
    "row of a table": re.compile(r"\|\s*-+\s*\||\|\||\|[^|\n]+\|[^|\n]+\|"),
    "underlined heading": re.compile(r"^={3,}\s*$", re.MULTILINE),
    "soft hyphen or ligature": re.compile("[\u00adﬀ-ﬆ]"),
    "no word": re.compile(r"\A(?!.*[^\W\d_]{2})", re.DOTALL),
}
STAMP = re.compile(r"\w+:\d{4}\.\d{4,5}v\d")


def faults(unit: Unit) -> list[str]:
    """Return the rules by which a unit is dirty."""
    names = [name for name, pattern in RULES.items() if pattern.search(unit.text)]
    return names + ["side stamp"] * bool(STAMP.search(unit.section) or re.match(STAMP, unit.text))


def read_body(path: Path) -> str:
    """Return the Markdown in a printout."""
    body = (
        path.read_text(encoding="utf-8")
        .partition("Page Content 1: ")[2]
        .partition("Metadata 1:")[0]
    )
    if not body:
        raise SystemExit(f'{path} holds no "Page Content 1:"')
    return body


def plain(text: str) -> str:
    """Return a text as answers are compared with it."""
    joined = re.sub(r"(?<=\w)-\s+(?=\w)", "", text)
    return " ".join(re.sub(r"[^\w\s]", " ", joined.lower()).split())


def answered(search: Search, questions: Sequence[dict[str, str]]) -> tuple[int, int]:
    """Return how many questions the best result answers, and how many the five best do."""
    first = among = 0
    for question in questions:
        answer = plain(question["answer"])
        right = []
        for text in search(question["question"]):
            right.append(answer in plain(text))
        first += right[:1] == [True]
        among += any(right)
    return first, among


def build(encoder: Encoder, documents: Sequence[Document]) -> UnitStore:
    """Return a store in memory."""
    store = UnitStore(None, encoder=encoder)
    store.add_documents(documents)
    return store


def all_units(store: UnitStore, granularity: Granularity) -> list[Unit]:
    """Return all units of a granularity: a search for as many as there are finds them."""
    count = store.counts()[granularity]
    return units_of(store.search("units", count, granularity=granularity, parents="unit"))


def splitter_search(encoder: Encoder, text: str) -> tuple[Search, int]:
    """Return a search in the chunks of a plain splitter, and their number."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    chunks = RecursiveCharacterTextSplitter(chunk_size=CHARACTERS, chunk_overlap=0).split_text(text)
    vectors = encoder.encode_units(chunks)

    def search(question: str) -> list[str]:
        scores = vectors @ encoder.encode_queries([question])[0]
        return [chunks[place] for place in (-scores).argsort()[:5]]

    return search, len(chunks)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("printout", type=Path)
    parser.add_argument("questions", type=Path)
    options = parser.parse_args(arguments)
    body = read_body(options.printout)
    questions = json.loads(options.questions.read_text(encoding="utf-8"))
    encoder = SentenceTransformerEncoder()
    document = clean(read_markdown(body))
    stores = {
        "raw": build(encoder, [Document(body)]),
        "clean": build(encoder, document.documents()),
    }

    print_dirt(list(stores.values()), questions)
    print(
        f"\n| answered, of {len(questions)} | raw R@1 | raw R@5 | clean R@1 | clean R@5 |\n"
        "| - | - | - | - | - |"
    )
    for granularity in Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION:
        counts: list[int] = []
        for store in stores.values():
            counts += answered(partial(best_texts, store, granularity), questions)
        print_row(f"{granularity}s", counts)
    counts = []
    for text in (body, document.text):
        search, _ = splitter_search(encoder, text)
        counts += answered(search, questions)
    print_row("chunks of a plain splitter", counts)
    for store in stores.values():
        store.close()


def print_dirt(stores: Sequence[UnitStore], questions: Sequence[dict[str, str]]) -> None:
    """Print how many units of each store are dirty, by rule, and among those that are found."""
    columns: list[list[Unit]] = []
    found: list[list[Unit]] = []
    for store in stores:
        for granularity in (Granularity.PASSAGE, Granularity.PROPOSITION):
            columns.append(all_units(store, granularity))
            units: list[Unit] = []
            for asked in questions:
                units += best_units(store, granularity, asked["question"])
            found.append(units)
    print(
        "| dirty by | raw passages | raw propositions | clean passages | clean propositions |\n"
        "| - | - | - | - | - |"
    )
    for rule in [*RULES, "side stamp"]:
        counts = []
        for units in columns:
            counts.append(sum(rule in faults(unit) for unit in units))
        print_row(rule, counts)
    print_row("any", list(map(count_dirty, columns)))
    print_row("any, in the top 5", [f"{count_dirty(units)} of {len(units)}" for units in found])
    references = []
    for units in columns:
        references.append(sum("references" in unit.section.lower() for unit in units))
    print_row("units of references", references)
    print_row("units", list(map(len, columns)))


def count_dirty(units: Sequence[Unit]) -> int:
    """Return how many units some rule finds dirty."""
    return sum(bool(faults(unit)) for unit in units)


def print_row(name: str, cells: Sequence[object]) -> None:
    """Print a row of a table."""
    print(f"| {name} | " + " | ".join(map(str, cells)) + " |")


def best_units(store: UnitStore, granularity: Granularity, question: str) -> list[Unit]:
    """Return the five best units for a question."""
    hits = store.search(question, 5, granularity=granularity, parents="unit")
    return units_of(hits)


def best_texts(store: UnitStore, granularity: Granularity, question: str) -> list[str]:
    """Return the texts of the five best units for a question."""
    return texts_of(best_units(store, granularity, question))


if __name__ == "__main__":
    main()
