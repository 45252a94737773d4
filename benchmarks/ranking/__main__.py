"""What each way to score finds: recall at 1, 5 and 20, and answers within the first 50, 100 and 200
words of context.

    python -m benchmarks.ranking ../shared/data/squad-v1.1-dev/dev-v1.1.even.json \
        --cache build/vectors
    python -m benchmarks.ranking ../shared/data/factoidqa-cmu-qa-v1.2 --cache build/vectors
    python -m benchmarks.ranking ../shared/data/clapnq --cache build/vectors
    python -m benchmarks.ranking benchmarks/office

Encoder: all-MiniLM-L6-v2. SQuAD: every paragraph is a document, its article the title. FactoidQA:
articles are documents, questions to be answered by yes or no are left out. A question counts where
an answer occurs, as a run of words, in one of the k best distinct passages (Dense X Retrieval,
§4.3). CLAP NQ: every passage is a document; a question counts where its own is among the k best,
and in the curve where the context has nine tenths of the distinct words of a sentence that
annotators took the answer from. benchmarks/office holds manuals, policies, minutes and the like: a
result counts where it is of the right document, too. Contexts hold the units' texts, without
headings unless told.

"pronoun" is the share of units that start with one. Intervals are of differences from the default,
by a paired bootstrap over questions. Seconds, printed where nothing is cached, are wall time of one
process; milliseconds are of searches in batches.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import chain, starmap
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")


from benchmarks.ranking.corpora import Corpus, Question, cut, read, spread
from benchmarks.ranking.domain import TokenCachedEncoder
from benchmarks.ranking.measures import (
    CUTS,
    Shares,
    budget_names,
    cells,
    curve,
    difference,
    recall,
    recall_names,
    table,
    with_differences,
)
from benchmarks.ranking.rankings import (
    DEFAULT,
    FETCHED,
    RERANK,
    SCORES,
    distinct_documents,
    fuse_ranks,
    search,
)
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
from factoid.encode import Vectors
from factoid.heading_template import EMBED_TEMPLATE, with_heading
from factoid.propositions import decompose

_PRONOUN = re.compile(r"(he|she|it|they|his|her|its|their|this|these|those)\b", re.IGNORECASE)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "corpus", type=Path, help="SQuAD JSON, or the folder of FactoidQA, CLAP NQ or texts"
    )
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="keep vectors here for the next run"
    )
    parser.add_argument("--questions", type=int, metavar="N", help="only so many, evenly spread")
    parser.add_argument(
        "--curve", type=int, metavar="N", help="questions of the words curve, evenly spread"
    )
    parser.add_argument("--only", choices=["recall", "words"], help="one of the two tables")
    parser.add_argument(
        "--rows", choices=["ours", "others", "all"], default="all", help="beside the default"
    )
    parser.add_argument(
        "--late-chunking", action="store_true", help="encode units as parts of their passages"
    )
    parser.add_argument("--headings", action="store_true", help="contexts hold headings, too")
    parser.add_argument("--rerank", action="store_true", help='a further row, rerank="tokens"')
    parser.add_argument(
        "--embed-template",
        default=EMBED_TEMPLATE,
        help="what is encoded; {text} for the text alone",
    )
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    corpus = read(arguments.corpus)
    encoder = TokenCachedEncoder(SentenceTransformerEncoder(), arguments.cache)
    questions = spread(corpus.questions, arguments.questions)
    queries = encoder.encode_queries(texts_of(questions))
    propositionizer = SyntaxPropositionizer()
    units, report = cut(corpus, propositionizer)
    print(f"{len(corpus.documents):,} documents, {len(questions):,} questions; {report}")
    if arguments.cache is None:
        print_seconds(units, propositionizer, encoder, arguments.embed_template)
    row = table("units", ["number", "words each", "begin with a pronoun"])
    with UnitStore(
        encoder=encoder,
        embed_template=arguments.embed_template,
        late_chunking=arguments.late_chunking,
    ) as store:
        for granularity, of_one in units.items():
            texts = texts_of(of_one)
            words = sum(map(len, map(str.split, texts))) / len(texts)
            pronouns = len(list(filter(_PRONOUN.match, texts))) / len(texts)
            row(granularity, [f"{len(of_one):,}", f"{words:.1f}", f"{100 * pronouns:.1f} %"])
        store.add(list(chain.from_iterable(units.values())))
        bench = Bench(
            corpus,
            store,
            encoder,
            questions,
            queries,
            arguments.rows,
            arguments.rerank,
            arguments.headings,
        )
        if arguments.only != "words":
            print_recall(bench)
        if arguments.only != "recall":
            places = list(spread(range(len(questions)), arguments.curve))
            some = [questions[place] for place in places]
            print_words(replace(bench, questions=some, queries=queries[places]))


@dataclass(frozen=True)
class Bench:
    """A store that holds everything, and what it is asked.

    Attributes:
        rows: "ours" or "others" beside the default, or "all".
        reranks: Whether there is a row of `rerank="tokens"`.
        headings: Whether contexts hold headings, too.
    """

    corpus: Corpus
    store: UnitStore
    encoder: VectorCache
    questions: Sequence[Question]
    queries: Vectors
    rows: str
    reranks: bool
    headings: bool

    def rankings(self, k: int, parents: str) -> Iterator[tuple[str, float, list[list[Any]]]]:
        """Yield name, seconds and results of each way to rank, the default first."""
        scores = dict(SCORES)
        if self.reranks:
            scores |= RERANK
        for name, options in scores.items():
            if self.rows != "others" or name == DEFAULT:
                began = time.perf_counter()
                found = self.search(k, options | {"parents": parents})
                yield name, time.perf_counter() - began, found
        if self.rows == "ours":
            return
        if parents != "unit":
            by_vectors = self.search(FETCHED, {"weights": Weights(0.25, 0), "parents": parents})
            by_words = self.search(FETCHED, {"weights": Weights(0.25, 1), "parents": parents})
            name = "ranks of vectors and words fused, in place of weights"
            yield name, math.nan, fuse_ranks(by_vectors, by_words)
        if find_spec("bm25s") is None:
            print("Without bm25s the rows of chunks are left out: pip install --group bench")
        else:
            yield from self.rankings_of_chunks()

    def rankings_of_chunks(self) -> Iterator[tuple[str, float, list[list[Any]]]]:
        """Yield name and results of each way to rank chunks; their times are not measured."""
        from benchmarks.ranking.peers import Chunks

        texts = texts_of(self.questions)
        for size, template, note in (
            (500, "{text}", ""),
            (1000, "{text}", ""),
            (500, "{title}: {text}", " under their title"),
        ):
            chunks = Chunks(self.corpus.documents, size, self.encoder, template)
            by_cosine = chunks.by_cosine(self.queries, FETCHED)
            by_words = chunks.by_words(texts, FETCHED)
            for note_of_way, ranked in (
                ("cosine", by_cosine),
                ("BM25 (bm25s)", by_words),
                ("ranks of both fused", fuse_ranks(by_cosine, by_words)),
            ):
                yield f"chunks of {size} characters{note}, {note_of_way}", math.nan, ranked

    def search(self, k: int, options: dict[str, Any]) -> list[list[Any]]:
        return search(self.store, self.questions, self.queries, k, options)


def print_recall(bench: Bench) -> None:
    """Print what stands in the k best."""
    row = table("score", [*with_differences(recall_names()), "ms"])
    shares: dict[str, Shares] = {}
    by_document = bench.corpus.long_answers
    for name, seconds, ranked in bench.rankings(FETCHED if by_document else CUTS[-1], "passage"):
        results = distinct_documents(ranked, bench.corpus.documents) if by_document else ranked
        shares[name] = recall(bench.corpus, results, bench.questions)
        milliseconds = "" if math.isnan(seconds) else f"{1000 * seconds / len(bench.questions):.1f}"
        row(name, [*cells(shares[name], shares[DEFAULT]), milliseconds])
    print_smaller(shares, recall_names())


def print_words(bench: Bench) -> None:
    """Print what stands in the first words of context."""
    print(f"\nAnswers within the first words of context, {len(bench.questions):,} questions:")
    columns = budget_names()
    row = table("units by score", with_differences(columns))
    shares: dict[str, Shares] = {}
    for name, _, ranked in bench.rankings(FETCHED, "unit"):
        shares[name] = curve(bench.corpus, ranked, bench.questions, headings=bench.headings)
        row(name, cells(shares[name], shares[DEFAULT]))
    print_smaller(shares, columns)


def print_smaller(shares: dict[str, Shares], columns: Sequence[str]) -> None:
    """Print whether smaller units are better."""
    if not shares.keys() >= SCORES.keys():
        return
    row = table("smaller less larger units, 95 %", columns)
    for smaller, larger in (
        ("propositions", "sentences"),
        (DEFAULT, "sentences, .25 passage, .33 words"),
        ("sentences", "passages"),
        ("sentences, .25 passage, .33 words", "passages, .33 words"),
    ):
        pairs = zip(shares[smaller].T, shares[larger].T, strict=True)
        row(f"{smaller} − {larger}", list(starmap(difference, pairs)))


def print_seconds(
    units: dict[Granularity, list[Unit]],
    propositionizer: SyntaxPropositionizer,
    encoder: VectorCache,
    template: str,
) -> None:
    """Print what propositions cost beside vectors of the passages."""
    passages = units[Granularity.PASSAGE]
    propositionizer.propositionize(passages[:1])  # loads the parser
    began = time.perf_counter()
    worked = time.process_time()
    decompose(passages, propositionizer)
    seconds = time.perf_counter() - began
    work = time.process_time() - worked
    began = time.perf_counter()
    encoder.encode_units([with_heading(unit, template) for unit in passages])
    ratio = seconds / (time.perf_counter() - began)
    print(
        f"SyntaxPropositionizer: {len(passages) / work:.0f} passages per CPU second, grounding "
        "included; ",
        end="",
    )
    print(f"{ratio:.2f} of the time that the encoder takes for the passages")


if __name__ == "__main__":
    main()
