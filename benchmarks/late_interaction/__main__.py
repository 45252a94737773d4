"""Ranking 100 passages down to the sentence: what stored token vectors save, what they take, and
LlamaIndex's ColbertRerank.

    python -m benchmarks.late_interaction --squad ../shared/data/squad-v1.1-dev/dev-v1.1.even.json
    python -m benchmarks.late_interaction --models tiny               # made-up passages
    python -m benchmarks.late_interaction --small                     # does it run?

All contestants rank the same passages for the same queries with the same checkpoint, in this
process, one after the other in each round; medians of rounds, and of the ratios within a round, are
printed. The MiniLM checkpoint is all-MiniLM-L6-v2 with a projection of random weights (a stated
seed): speed does not depend on weights, ranking does, and is not measured here. `pip install
--group bench` has ColbertRerank; without it its columns are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from operator import truediv
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from benchmarks.late_interaction.colbert_rerank import PeerScores, peer_scores, rerank
from benchmarks.late_interaction.models import MODELS
from benchmarks.store.report import fill, markdown
from factoid import AnyGranularityRanker
from factoid.late_interaction import LateInteractionEncoder, TokenVectorCache, TokenVectors
from factoid.store.token_cache import TokenDtype

PASSAGES = 100
DTYPES: tuple[TokenDtype, ...] = ("float32", "float16", "int8")
ENCODED = "encode each time"
PEER = "LlamaIndex ColbertRerank"
TABLE = "late-interaction"
SIZES = [
    "model",
    "dtype",
    "tokens a passage",
    "bytes a passage",
    "on disk",
    "largest error of a score",
    "same first",
]


@dataclass(frozen=True)
class Stored:
    """What a cache of one dtype takes, and how far it moves scores.

    Attributes:
        bytes: Bytes of a passage in an entry, on average.
        on_disk: Bytes of the file, by passages.
        error: Largest difference of a sentence's score from that with float32 vectors, over five
            queries.
        same_first: Share of queries whose first sentence is the same.
    """

    bytes: float
    on_disk: float
    error: float
    same_first: float


@dataclass(frozen=True)
class Measured:
    """What was measured with one model.

    Attributes:
        tokens: Token vectors of a passage, on average.
        encode: Passages a second that the encoder alone encodes, in batches; one rate of each
            round.
        rates: Queries a second over all passages, by contestant; one of each round.
        stored: By dtype.
        peer: How ColbertRerank's scores differ; None where it is not installed.
    """

    tokens: float
    encode: Sequence[float]
    rates: Mapping[str, Sequence[float]]
    stored: Mapping[str, Stored]
    peer: PeerScores | None


def main() -> None:
    arguments = parse()
    import torch

    torch.set_num_threads(arguments.threads)
    passages, queries = texts(arguments)
    measured = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name in arguments.models:
            folder = MODELS[name](Path(temporary) / name)
            measured[name] = measure(folder, passages, queries, arguments)
            if arguments.into:
                fill(arguments.into, TABLE, report(measured, arguments))
    print(report(measured, arguments))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--models", type=lambda text: text.split(","), default=list(MODELS), metavar="A,B"
    )
    parser.add_argument(
        "--squad",
        type=Path,
        metavar="FILE",
        help="paragraphs and questions, in place of made-up ones",
    )
    parser.add_argument("--passages", type=int, default=PASSAGES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--queries",
        type=int,
        default=5,
        help="of a contestant in a round, where vectors are stored",
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--small", action="store_true", help="8 passages, 2 rounds, the tiny model unless told"
    )
    parser.add_argument(
        "--into",
        type=Path,
        metavar="PAGE",
        help="write the tables between the markers of this page",
    )
    if "--small" in sys.argv:
        parser.set_defaults(passages=8, rounds=2, queries=1, models=["tiny"])
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.models if name not in MODELS]:
        parser.error(f"unknown models {', '.join(unknown)}; there are {', '.join(MODELS)}")
    return arguments


def texts(arguments: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return passages, and a query for each use."""
    count = max(5, len(DTYPES) + arguments.queries * arguments.rounds)
    if arguments.squad is None:
        random = np.random.default_rng(0)
        words = "the tower bridge harbour leans sank opened in by of a large old river".split()

        def sentence() -> str:
            return " ".join(random.choice(words, 18)).capitalize() + "."

        passages = []
        for _ in range(arguments.passages):
            passages.append(" ".join(sentence() for _ in range(6)))
        queries = []
        for _ in range(count):
            queries.append(" ".join(random.choice(words, 9)) + "?")
        return passages, queries
    paragraphs = []
    for article in json.loads(arguments.squad.read_text(encoding="utf-8"))["data"]:
        paragraphs += article["paragraphs"]
    step = max(1, len(paragraphs) // arguments.passages)
    passages = []
    questions = []
    for paragraph in paragraphs[::step][: arguments.passages]:
        passages.append(paragraph["context"])
        questions.append(paragraph["qas"][0]["question"])
    return passages, list(islice(cycle(questions), count))


class Known:
    """An encoder with passages that were encoded before, so that several caches are filled by one
    encoding.
    """

    def __init__(self, encoder: LateInteractionEncoder, known: Mapping[str, TokenVectors]) -> None:
        self.encode_query = encoder.encode_query
        self.fingerprint = encoder.fingerprint
        self._known = known

    def encode_passages(self, texts: Sequence[str]) -> list[TokenVectors]:
        return [self._known[text] for text in texts]


def measure(
    folder: Path, passages: Sequence[str], queries: Sequence[str], arguments: argparse.Namespace
) -> Measured:
    encoder = LateInteractionEncoder(folder, device="cpu")
    tokens = encoder.encode_passages(passages)  # untimed: loads and warms up
    rankers = {ENCODED: AnyGranularityRanker(encoder)}
    for dtype in DTYPES:
        cache = TokenVectorCache(folder.parent / f"{folder.name}.{dtype}", dtype=dtype)
        rankers[dtype] = AnyGranularityRanker(encoder, cache=cache)
        AnyGranularityRanker(
            Known(encoder, dict(zip(passages, tokens, strict=True))), cache=cache
        ).encode_passages(passages)
    contestants: dict[str, Callable[[str], Any]] = {}
    for name, ranker in rankers.items():
        contestants[name] = partial(ranker.rank, passages=passages)
    peer = rerank(folder, passages)
    if peer is not None:
        contestants[PEER] = peer
    else:
        print("ColbertRerank is left out: pip install --group bench", file=sys.stderr)
    encode: list[float] = []
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    asked = iter(queries)
    for dtype in DTYPES:
        rankers[dtype].rank(next(asked), passages)  # untimed
    for _ in range(arguments.rounds):
        for name, rate in one_round(contestants, list(islice(asked, arguments.queries))):
            rates[name].append(rate)
        began = time.perf_counter()
        encoder.encode_passages(passages)
        encode.append(len(passages) / (time.perf_counter() - began))
    stored = {}
    for dtype in DTYPES:
        stored[dtype] = compared(rankers["float32"], rankers[dtype], passages, queries[:5])
    per_passage = statistics.fmean(len(of_passage.vectors) for of_passage in tokens)
    scores = None if peer is None else peer_scores(folder, encoder, passages, tokens, peer.scores)
    return Measured(per_passage, encode, rates, stored, scores)


def one_round(
    contestants: Mapping[str, Callable[[str], Any]], queries: Sequence[str]
) -> Iterator[tuple[str, float]]:
    """Yield the queries a second of each contestant: one query where passages are encoded, all
    where they are stored.
    """
    for name, rank in contestants.items():
        some = queries[:1] if name in (ENCODED, PEER) else queries
        began = time.perf_counter()
        for query in some:
            rank(query)
        yield name, len(some) / (time.perf_counter() - began)


def compared(
    exact: AnyGranularityRanker,
    ranker: AnyGranularityRanker,
    passages: Sequence[str],
    queries: Sequence[str],
) -> Stored:
    errors = []
    same = []
    for query in queries:
        expected = exact.rank(query, passages)
        hits = ranker.rank(query, passages)
        scores = {(hit.position, hit.unit.start): hit.score for hit in expected}
        for hit in hits:
            errors.append(abs(hit.score - scores[hit.position, hit.unit.start]))
        first, *_ = hits
        expected_first, *_ = expected
        is_same_passage = first.position == expected_first.position
        same.append(is_same_passage and first.unit.start == expected_first.unit.start)
    if ranker.cache is None:
        raise AssertionError
    file = ranker.cache.file
    with closing(sqlite3.connect(file)) as connection:
        size, count = connection.execute(
            "SELECT avg(length(content)), count(*) FROM token_vectors"
        ).fetchone()
    return Stored(size, file.stat().st_size / count, max(errors), statistics.fmean(same))


def report(measured: Mapping[str, Measured], arguments: argparse.Namespace) -> str:
    what = "SQuAD v1.1" if arguments.squad else "made-up words"
    head = (
        f"{arguments.passages} passages ({what}), {arguments.rounds} rounds on "
        f"{arguments.threads} threads "
        f"({platform.machine()}); medians, with the ratio to encoding each time within the same "
        "rounds."
    )
    speeds: list[list[str]] = []
    sizes: list[list[str]] = []
    peers: list[list[str]] = []
    for name, figures in measured.items():
        speeds += speed_rows(name, figures)
        sizes += size_rows(name, figures)
        if figures.peer is not None:
            peers.append([name, *figures.peer.row()])
    parts = [
        head,
        markdown(["model", "", "rate", "ratio"], speeds),
        markdown(SIZES, sizes),
    ]
    if peers:
        parts.append(markdown(["model", *PeerScores.HEAD], peers))
    return "\n\n".join(parts)


def speed_rows(name: str, figures: Measured) -> list[list[str]]:
    """Return a row of the encoder, and one for each contestant."""
    encode = statistics.median(figures.encode)
    rows = [[name, "encode passages alone", f"{encode:,.1f} passages/s", ""]]
    for contestant, rates in figures.rates.items():
        label = f"stored, {contestant}"
        if contestant in (ENCODED, PEER):
            label = contestant
        ratios = map(truediv, rates, figures.rates[ENCODED])  # within a round
        ratio = statistics.median(ratios)
        rows.append([name, label, f"{statistics.median(rates):.3g} queries/s", f"{ratio:.3g}×"])
    return rows


def size_rows(name: str, figures: Measured) -> list[list[str]]:
    """Return a row for each dtype of stored vectors."""
    rows = []
    for dtype, stored in figures.stored.items():
        rows.append(
            [
                name,
                dtype,
                f"{figures.tokens:.0f}",
                f"{stored.bytes:,.0f}",
                f"{stored.on_disk:,.0f}",
                f"{stored.error:.2g}",
                f"{stored.same_first:.0%}",
            ]
        )
    return rows


if __name__ == "__main__":
    main()
