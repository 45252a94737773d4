"""What late chunking finds beside units that are each encoded, and whether another mixing finds
more.

    python -m benchmarks.ranking.late_chunking ../shared/data/domain-retrieval --sets tatqa \
        --every 2 --cache build/vectors

Sets and measures are those of `python -m benchmarks.ranking.domain`. A row that takes a share of
the passage's vector from those of its parts makes the parts of one passage differ more. Intervals
are of the mean difference of R@1 and R@5 from the first row, by a paired bootstrap over questions.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np

from benchmarks.ranking.domain import (
    BUDGETS,
    CUTS,
    SETS,
    DomainSet,
    TokenCachedEncoder,
    gain,
    read,
    shares_of_questions,
    thin,
)
from benchmarks.ranking.measures import budget_names, per_cent, recall_names, table
from factoid import SentenceTransformerEncoder, UnitStore
from factoid.encode import Vectors

TAKEN = (0.0, 0.2, 0.35)

Spans = Sequence[tuple[int, int]]


class Mixed:
    """An encoder that takes a share of the passage's vector from those of its parts.

    Args:
        encoder: Encodes passages and their parts.
        taken: The share.
        passes: What was encoded, for all encoders that share it.
    """

    def __init__(
        self, encoder: TokenCachedEncoder, taken: float, passes: dict[tuple[str, Spans], Vectors]
    ) -> None:
        self.name = encoder.name
        self.encode_queries = encoder.encode_queries
        self.encode_units = encoder.encode_units
        self._encoder = encoder
        self._taken = taken
        self._passes = passes

    def encode_spans(self, texts: Sequence[str], spans: Sequence[Spans]) -> list[Vectors]:
        keys = [(text, tuple(parts)) for text, parts in zip(texts, spans, strict=True)]
        new = [key for key in keys if key not in self._passes]
        if new:
            encoded = self._encoder.encode_spans(*zip(*new, strict=True))
            self._passes.update(zip(new, encoded, strict=True))
        return [self._mixed(self._passes[key], key[1]) for key in keys]

    def _mixed(self, vectors: Vectors, spans: Spans) -> Vectors:
        whole = vectors[0]
        parts = vectors[1:] - self._taken * whole
        parts /= np.linalg.norm(parts, axis=1, keepdims=True)
        is_empty = np.array([start == end for start, end in spans], bool)
        parts[is_empty] = whole
        return np.vstack([whole, parts])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="holds a folder for each set")
    parser.add_argument("--sets", nargs="+", default=SETS, help="names of folders")
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="keep vectors here for the next run"
    )
    parser.add_argument("--questions", type=int, metavar="N", help="only so many of each set")
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="keep about one of so many documents"
    )
    parser.add_argument("--characters", type=int, metavar="N", help="keep so many of each document")
    arguments = parser.parse_args()
    for name in arguments.sets:
        encoder = TokenCachedEncoder(SentenceTransformerEncoder(), arguments.cache)
        domain = thin(
            read(arguments.folder / name),
            arguments.questions,
            arguments.every,
            arguments.characters,
        )
        print(f"\n{name}: {len(domain.documents):,} documents, {len(domain.questions):,} questions")
        measure(domain, encoder)


def measure(domain: DomainSet, encoder: TokenCachedEncoder) -> None:
    """Print what is found with units encoded by themselves, and as parts of their passages."""
    columns = [*recall_names(CUTS), *budget_names(BUDGETS)]
    row = table(domain.name, [*columns, "R@1 and R@5, difference"])
    passes: dict[tuple[str, Spans], Vectors] = {}
    encoders = {"each unit encoded (the default)": encoder}
    for taken in TAKEN:
        label = "late chunking"
        if taken:
            label += f", less {taken} of the passage"
        encoders[label] = Mixed(encoder, taken, passes)
    first = None
    for label, encoder_of_row in encoders.items():
        is_late = encoder_of_row is not encoder
        with UnitStore(encoder=encoder_of_row, late_chunking=is_late) as store:
            store.add_documents(domain.documents)
            shares = shares_of_questions(domain, store, {})
        cells = per_cent(np.nanmean(shares, axis=0))
        difference = ""
        if first is not None:
            difference = gain(shares - first)
        else:
            first = shares
        row(label, [*cells, difference])


if __name__ == "__main__":
    main()
