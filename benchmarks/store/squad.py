"""Real vectors: the propositions and questions of a SQuAD v1.1 file, by all-MiniLM-L6-v2.

    python -m benchmarks.store.squad ../shared/data/squad-v1.1-dev/dev-v1.1.even.json

Encodes them and keeps them, so that the benchmarks can use them without torch.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

import numpy as np

from benchmarks.records import indexed_by_id, texts_of
from benchmarks.store.corpus import Floats, Integers

KEPT = Path(__file__).resolve().parents[2] / "build" / "store"


@dataclass(frozen=True)
class Squad:
    """Encoded propositions and questions.

    Attributes:
        vectors: Of the distinct propositions of each passage, those of one passage together. Shape:
            (n, dim).
        parents: The passage of each. Shape: (n,).
        queries: Of the questions. Shape: (q, dim).
    """

    vectors: Floats
    parents: Integers
    queries: Floats


def squad(file: Path, *, kept: Path = KEPT) -> Squad:
    """Return what the file holds, encoded now or before."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    path = kept / f"squad-{digest}.npz"
    if not path.exists():
        made = _encode(file)
        kept.mkdir(parents=True, exist_ok=True)
        np.savez(path, vectors=made.vectors, parents=made.parents, queries=made.queries)
    return Squad(**np.load(path))


def _encode(file: Path) -> Squad:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from factoid import Document, SentenceTransformerEncoder, SyntaxPropositionizer, split_passages
    from factoid.propositions import decompose

    passages = []
    questions = []
    for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
        title = article["title"].replace("_", " ")
        for paragraph in article["paragraphs"]:
            passages += split_passages(Document(paragraph["context"], title=title))
            questions += map(itemgetter("question"), paragraph["qas"])
    units = indexed_by_id(decompose(passages, SyntaxPropositionizer()).units)
    place = {passage.id: at for at, passage in enumerate(passages)}
    kept = sorted(units.values(), key=lambda unit: place[unit.parent_id])
    # Every passage has some.
    _, numbers = np.unique([place[unit.parent_id] for unit in kept], return_inverse=True)
    encoder = SentenceTransformerEncoder()
    return Squad(
        encoder.encode_units(texts_of(kept)),
        numbers.astype(np.int64),
        encoder.encode_queries(questions),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="SQuAD v1.1 JSON")
    made = squad(parser.parse_args().file)
    print(
        f"{len(made.vectors):,} propositions of {made.parents.max() + 1:,} passages, "
        f"{len(made.queries):,} questions"
    )


if __name__ == "__main__":
    main()
