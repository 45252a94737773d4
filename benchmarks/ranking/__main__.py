"""What each way to score finds: recall at 1, 5 and 20, and answers within the first 50, 100 and 200 words of context.

    python -m benchmarks.ranking ../shared/data/squad-v1.1-dev/dev-v1.1.even.json --cache build/vectors
    python -m benchmarks.ranking ../shared/data/factoidqa-cmu-qa-v1.2 --cache build/vectors
    python -m benchmarks.ranking ../shared/data/clapnq --cache build/vectors

Encoder: all-MiniLM-L6-v2. SQuAD: every paragraph is a document, its article the title. FactoidQA: articles are documents,
questions to be answered by yes or no are left out. A question counts where an answer occurs, as a run of words, in one of the
k best distinct passages (Dense X Retrieval, §4.3). CLAP NQ: every passage is a document; a question counts where its own is
among the k best, and in the curve where the context has nine tenths of the distinct words of a sentence that annotators took
the answer from. Contexts hold the units' texts, without headings.

"pronoun" is the share of units that start with one. Intervals are of differences from the default, by a paired bootstrap
over questions. Seconds, printed where nothing is cached, are wall time of one process; milliseconds are of searches in batches.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")


from benchmarks.ranking.corpora import Corpus, Question, cut, read
from benchmarks.ranking.measures import (
    BUDGETS,
    CUTS,
    Shares,
    cells,
    curve,
    difference,
    recall,
    table,
)
from benchmarks.ranking.rankings import DEFAULT, FETCHED, SCORES, distinct_documents, fuse_ranks, search
from benchmarks.ranking.vectors import CachedEncoder
from factoid import (
    Granularity,
    SentenceTransformerEncoder,
    SyntaxPropositionizer,
    Unit,
    UnitStore,
    Weights,
)
from factoid.encode import EMBED_TEMPLATE, Vectors, with_heading
from factoid.propositions import decompose

_PRONOUN = re.compile(r"(he|she|it|they|his|her|its|their|this|these|those)\b", re.IGNORECASE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="SQuAD JSON, or the folder of FactoidQA or CLAP NQ")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep vectors here for the next run")
    parser.add_argument("--questions", type=int, metavar="N", help="only so many, evenly spread")
    parser.add_argument("--curve", type=int, metavar="N", help="questions of the words curve, evenly spread")
    parser.add_argument("--min-words", type=int, default=4, help="of SyntaxPropositionizer")
    parser.add_argument("--atomic", action="store_true", help="of SyntaxPropositionizer")
    parser.add_argument("--embed-template", default=EMBED_TEMPLATE, help="what is encoded; {text} for the text alone")
    arguments = parser.parse_args()
    peers = find_spec("bm25s") is not None
    if not peers:
        print("Without bm25s the rows of chunks are left out: pip install --group bench")
    corpus = read(arguments.corpus)
    encoder = CachedEncoder(SentenceTransformerEncoder(), arguments.cache)
    questions = spread(corpus.questions, arguments.questions)
    queries = encoder.encode_queries([question.text for question in questions])
    propositionizer = SyntaxPropositionizer(min_words=arguments.min_words, atomic=arguments.atomic)
    units, report = cut(corpus, propositionizer)
    print(f"{len(corpus.documents):,} documents, {len(questions):,} questions; {report}")
    if arguments.cache is None:
        print_seconds(units, propositionizer, encoder, arguments.embed_template)
    row = table("units", ["number", "words each", "begin with a pronoun"])
    with UnitStore(encoder=encoder, embed_template=arguments.embed_template) as store:
        for granularity, of_one in units.items():
            vectors = encoder.encode_units([with_heading(unit, arguments.embed_template) for unit in of_one])
            store.add(of_one, vectors=vectors)
            words = sum(len(unit.text.split()) for unit in of_one) / len(of_one)
            pronouns = sum(bool(_PRONOUN.match(unit.text)) for unit in of_one) / len(of_one)
            row(granularity, [f"{len(of_one):,}", f"{words:.1f}", f"{100 * pronouns:.1f} %"])
        print_recall(corpus, store, questions, queries, encoder, peers=peers)
        some = spread(range(len(questions)), arguments.curve)
        print_curve(
            corpus,
            store,
            [questions[place] for place in some],
            queries[list(some)],
            encoder,
            peers=peers,
        )


def print_recall(
    corpus: Corpus,
    store: UnitStore,
    questions: Sequence[Question],
    queries: Vectors,
    encoder: CachedEncoder,
    *,
    peers: bool,
) -> None:
    """Print what stands in the k best."""
    differences = [f"R@{k} − default's, 95 %" for k in CUTS]
    row = table("score", [*(f"R@{k}" for k in CUTS), *differences, "ms"])
    parents = "document" if corpus.long_answers else "passage"
    default: Shares | None = None
    for name, options in SCORES.items():
        began = time.perf_counter()
        found = search(store, questions, queries, CUTS[-1], options | {"parents": parents})
        milliseconds = 1000 * (time.perf_counter() - began) / len(questions)
        right = recall(corpus, found, questions)
        default = right if default is None else default
        row(name, [*cells(right, default), f"{milliseconds:.1f}"])
    vectors_alone, words_alone = (
        search(store, questions, queries, FETCHED, {"weights": weights, "parents": parents})
        for weights in (Weights(0.4, 0), Weights(0, 1))
    )
    fused = fuse_ranks(vectors_alone, words_alone)
    row(
        "rank fusion of vectors and words, in place of weights", [*cells(recall(corpus, fused, questions), default), ""]
    )
    for name, ranked in peer_rankings(corpus, questions, queries, encoder) if peers else ():
        results = distinct_documents(ranked, corpus.documents) if corpus.long_answers else ranked
        row(name, [*cells(recall(corpus, results, questions), default), ""])


def print_curve(
    corpus: Corpus,
    store: UnitStore,
    questions: Sequence[Question],
    queries: Vectors,
    encoder: CachedEncoder,
    *,
    peers: bool,
) -> None:
    """Print what stands in the first words of context, and whether smaller units are better."""
    print(f"\nAnswers within the first words of context, {len(questions):,} questions:")
    differences = [f"{words} − default's, 95 %" for words in BUDGETS]
    row = table("units by score", [*(f"{words} words" for words in BUDGETS), *differences])
    shares: dict[str, Shares] = {}
    for name, options in SCORES.items():
        ranked = search(store, questions, queries, FETCHED, options | {"parents": "unit"})
        shares[name] = curve(corpus, ranked, questions)
        row(name, cells(shares[name], shares[DEFAULT]))
    for name, ranked in peer_rankings(corpus, questions, queries, encoder) if peers else ():
        row(name, cells(curve(corpus, ranked, questions), shares[DEFAULT]))
    row = table("smaller units, 95 %", [f"{words} words" for words in BUDGETS])
    for smaller, larger in (
        ("propositions", "sentences"),
        ("propositions, .4 passage", "sentences, .4 passage"),
        (DEFAULT, "sentences, .4 passage, .2 words"),
        ("sentences", "passages"),
        ("sentences, .4 passage, .2 words", "passages, .2 words"),
    ):
        columns = zip(shares[smaller].T, shares[larger].T, strict=True)
        row(f"{smaller} − {larger}", [difference(*pair) for pair in columns])


def peer_rankings(
    corpus: Corpus, questions: Sequence[Question], queries: Vectors, encoder: CachedEncoder
) -> Iterator[tuple[str, list[list[Unit]]]]:
    """Yield names and rankings of chunks."""
    from benchmarks.ranking.peers import Chunks  # needs bm25s

    texts = [question.text for question in questions]
    for size, template, note in (
        (500, "{text}", ""),
        (1000, "{text}", ""),
        (500, "{title}: {text}", " under their title"),
    ):
        chunks = Chunks(corpus.documents, size, encoder, template)
        by_cosine, by_words = chunks.by_cosine(queries, FETCHED), chunks.by_words(texts, FETCHED)
        name = f"chunks of {size} characters{note}"
        yield f"{name}, cosine", by_cosine
        yield f"{name}, BM25 (bm25s)", by_words
        yield f"{name}, rank fusion of both", fuse_ranks(by_cosine, by_words)


def print_seconds(
    units: dict[Granularity, list[Unit]], propositionizer: SyntaxPropositionizer, encoder: CachedEncoder, template: str
) -> None:
    """Print what propositions cost beside vectors of the passages."""
    passages = units[Granularity.PASSAGE]
    propositionizer.propositionize(passages[:1])  # loads the parser
    began, worked = time.perf_counter(), time.process_time()
    decompose(passages, propositionizer)
    seconds, work = time.perf_counter() - began, time.process_time() - worked
    began = time.perf_counter()
    encoder.encode_units([with_heading(unit, template) for unit in passages])
    ratio = seconds / (time.perf_counter() - began)
    print(f"SyntaxPropositionizer: {len(passages) / work:.0f} passages per CPU second, grounding included; ", end="")
    print(f"{ratio:.2f} of the time that the encoder takes for the passages")


def spread(items: Sequence[Any], count: int | None) -> Sequence[Any]:
    """Return about so many of the items, evenly spread."""
    return items if count is None else items[:: max(1, len(items) // count)]


if __name__ == "__main__":
    main()
