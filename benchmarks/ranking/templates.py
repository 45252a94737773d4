"""What the heading that is encoded with a unit is worth, by template.

    python -m benchmarks.ranking.templates ../shared/data/squad-v1.1-dev/dev-v1.1.even.json \
        --cache build/vectors
    python -m benchmarks.ranking.templates ../shared/data/factoidqa-cmu-qa-v1.2 \
        --cache build/vectors --every 2
    python -m benchmarks.ranking.templates ../shared/data/clapnq --cache build/vectors

Measures are those of `python -m benchmarks.ranking`. A template is of the vectors and of the
lexical index. "nearest heading" is the innermost section, or the title where there is none;
headings that hold a comma are cut at it.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from benchmarks.ranking.corpora import Corpus, cut, read, spread
from benchmarks.ranking.measures import (
    Shares,
    budget_names,
    cells,
    curve,
    recall,
    recall_names,
    table,
    with_differences,
)
from benchmarks.ranking.rankings import FETCHED, distinct_documents, search
from benchmarks.records import texts_of
from factoid.evaluate.vector_cache import VectorCache
from factoid import (
    Granularity,
    SentenceTransformerEncoder,
    SyntaxPropositionizer,
    Unit,
    UnitStore,
    Weights,
)
from factoid.heading_template import EMBED_TEMPLATE, with_heading

NEAREST = "nearest heading: {text}"
TEMPLATES = (EMBED_TEMPLATE, "{text}", "{title}: {text}", NEAREST)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "corpus", type=Path, help="SQuAD JSON, or the folder of FactoidQA or CLAP NQ"
    )
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="keep vectors here for the next run"
    )
    parser.add_argument(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="only every Nth document and its questions",
    )
    parser.add_argument("--questions", type=int, metavar="N", help="only so many, evenly spread")
    arguments = parser.parse_args()
    corpus = thin(read(arguments.corpus), arguments.every)
    corpus = replace(corpus, questions=spread(corpus.questions, arguments.questions))
    encoder = VectorCache(SentenceTransformerEncoder(), arguments.cache)
    kinds = (Granularity.PASSAGE, Granularity.PROPOSITION)
    units, _ = cut(corpus, SyntaxPropositionizer(), kinds)
    passages = units[Granularity.PASSAGE]
    with_section = sum(bool(unit.section) for unit in passages) / len(passages)
    print(f"{len(corpus.documents):,} documents, {len(corpus.questions):,} questions; ", end="")
    print(f"{len(passages):,} passages, of which {100 * with_section:.0f} % have a section")
    results: dict[str, tuple[Shares, Shares, Shares]] = {}
    measured: dict[tuple[str, ...], tuple[Shares, Shares, Shares]] = {}
    for template in TEMPLATES:  # without sections some are the same
        texts = tuple(encoded(unit, template) for unit in chain.from_iterable(units.values()))
        if texts not in measured:
            measured[texts] = measure(corpus, units, encoder, template)
        results[template] = measured[texts]
    print_tables(results)


def print_tables(results: dict[str, tuple[Shares, Shares, Shares]]) -> None:
    """Print what was found with each template."""
    recalls = recall_names()
    tables = (
        ("propositions alone", recalls),
        ("default score", recalls),
        ("default score, first words", budget_names()),
    )
    for place, (name, columns) in enumerate(tables):
        row = table(name, with_differences(columns))
        for template, shares in results.items():
            row(f"`{template}`", cells(shares[place], results[EMBED_TEMPLATE][place]))


def measure(
    corpus: Corpus, units: dict[Granularity, list[Unit]], encoder: VectorCache, template: str
) -> tuple[Shares, Shares, Shares]:
    """Return what propositions find by themselves, what the default score finds, and what its first
    words answer.
    """
    queries = encoder.encode_queries(texts_of(corpus.questions))
    embed_template = template
    if template == NEAREST:
        embed_template = EMBED_TEMPLATE
    with UnitStore(encoder=encoder, embed_template=embed_template) as store:
        for of_one in units.values():
            headed = of_one
            if template == NEAREST:
                headed = list(map(with_nearest_heading, of_one))
            vectors = encoder.encode_units([encoded(unit, template) for unit in of_one])
            store.add(headed, vectors=vectors)
        asked = partial(search, store, corpus.questions, queries, FETCHED)
        alone = asked({"weights": Weights(0, 0)})
        default = asked({})
        units_by_default = asked({"parents": "unit"})
    if corpus.long_answers:
        alone = distinct_documents(alone, corpus.documents)
        default = distinct_documents(default, corpus.documents)
    return (
        recall(corpus, alone, corpus.questions),
        recall(corpus, default, corpus.questions),
        curve(corpus, units_by_default, corpus.questions),
    )


def encoded(unit: Unit, template: str) -> str:
    """Return what is encoded of a unit."""
    if template == NEAREST:
        return with_heading(with_nearest_heading(unit))
    return with_heading(unit, template)


def with_nearest_heading(unit: Unit) -> Unit:
    """Return a unit with its innermost heading as its only one."""
    return replace(unit, title="", section=unit.section.split(", ")[-1]) if unit.section else unit


def thin(corpus: Corpus, every: int) -> Corpus:
    """Return every so many documents, and the questions that were asked about them."""
    documents = corpus.documents[::every]
    ids = {document.id for document in documents}
    questions = [question for question in corpus.questions if question.document_id in ids]
    return replace(corpus, documents=documents, questions=questions)


if __name__ == "__main__":
    main()
