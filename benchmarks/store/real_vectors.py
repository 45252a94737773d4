"""Real vectors in large numbers: sentences of corpora at hand by all-MiniLM-L6-v2, and mixtures of
them with noise.

    python -m benchmarks.store.real_vectors ../shared/data

Encodes sentences of SQuAD, CLAP NQ, HotpotQA and Wikipedia, and the questions of the first two, and
keeps them, so that the benchmarks can use them without torch. A larger set is augmented: each
further vector is a real one, mixed with another one at a weight of up to .4, with noise of a fifth
of its length. Vectors of 768 and 1,536 components are made of the same: each block of 384 is
another random rotation of the real vector, with noise of its own.
"""

from __future__ import annotations

import argparse
import bz2
import json
import os
import re
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.store.corpus import Floats

KEPT = Path(__file__).resolve().parents[2] / "build" / "store"
SENTENCES = 50_000
_BLOCK = 20_000
_HEAVIEST = 0.4  # weight of the other vector in a mixture
_NOISE = 0.2


class RealVectors(NamedTuple):
    """Vectors of sentences and of questions. Shapes: (n, dim) and (q, dim)."""

    sentences: Floats
    questions: Floats


def real_vectors(data: Path, *, count: int = SENTENCES, kept: Path = KEPT) -> RealVectors:
    """Return vectors of sentences and questions of the corpora in a folder, encoded now or
    before.
    """
    path = kept / f"real-{count}.npz"
    if not path.exists():
        made = _encode(data, count)
        kept.mkdir(parents=True, exist_ok=True)
        np.savez(path, **made._asdict())
    return RealVectors(**np.load(path))


def augmented(vectors: Floats, count: int, *, seed: int = 0) -> Iterator[Floats]:
    """Yield blocks of `count` vectors of unit length in all: the given ones, then mixtures of them
    with noise.
    """
    random = np.random.default_rng(seed)
    dim = vectors.shape[1]
    yield vectors[:count]
    for start in range(len(vectors), count, _BLOCK):
        size = min(_BLOCK, count - start)
        chosen, others = random.integers(0, len(vectors), (2, size))
        weights = random.uniform(0, _HEAVIEST, (size, 1)).astype(np.float32)
        noise = random.standard_normal((size, dim), np.float32) * (_NOISE / dim**0.5)
        yield _unit_length(vectors[chosen] * (1 - weights) + vectors[others] * weights + noise)


def widened(vectors: Floats, dim: int, *, seed: int) -> Floats:
    """Return vectors of more components, a multiple of theirs, made of rotated copies with noise.

    Shape: (n, dim).
    """
    base = vectors.shape[1]
    if dim == base:
        return vectors
    rotations = np.random.default_rng(1)  # the same for sentences and questions
    random = np.random.default_rng(seed)
    blocks = []
    for _ in range(dim // base):
        rotation = np.linalg.qr(rotations.standard_normal((base, base)))[0].astype(np.float32)
        noise = random.standard_normal(vectors.shape, np.float32) * (_NOISE / base**0.5)
        blocks.append((vectors + noise) @ rotation)
    return _unit_length(np.hstack(blocks))


def _unit_length(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def _encode(data: Path, count: int) -> RealVectors:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from factoid import SentenceTransformerEncoder

    encoder = SentenceTransformerEncoder()
    sentences = list(islice(dict.fromkeys(_sentences(data)), count))
    return RealVectors(encoder.encode_units(sentences), encoder.encode_queries(_questions(data)))


def _sentences(data: Path) -> Iterator[str]:
    for text in _texts(data):
        for sentence in re.split(r"(?<=[.!?])\s+", text):
            if 30 <= len(sentence) <= 300:
                yield sentence


def _texts(data: Path) -> Iterator[str]:
    squad = json.loads((data / "squad-v1.1-dev" / "dev-v1.1.even.json").read_text(encoding="utf-8"))
    for article in squad["data"]:
        for paragraph in article["paragraphs"]:
            yield paragraph["context"]
    for line in (data / "clapnq/annotated_data/dev/clapnq_dev_answerable.jsonl").open(
        encoding="utf-8"
    ):
        yield json.loads(line)["passages"][0]["text"]
    for line in (data / "domain-retrieval" / "hotpot" / "corpus.jsonl").open(encoding="utf-8"):
        yield json.loads(line)["text"]
    (dump,) = (data / "wikipedia-enwiki-gensim").glob("*.bz2")
    with bz2.open(dump, "rt", encoding="utf-8") as lines:
        for line in lines:
            # Prose only; links are replaced by what is shown of them.
            if (
                line[0].isalpha()
                and "{" not in line
                and "|" not in re.sub(r"\[\[[^\]]*\]\]", "", line)
            ):
                yield re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]|'{2,}|<[^>]*>|&\w+;", r"\1", line)


def _questions(data: Path) -> list[str]:
    squad = json.loads((data / "squad-v1.1-dev" / "dev-v1.1.even.json").read_text(encoding="utf-8"))
    questions = []
    for article in squad["data"]:
        for paragraph in article["paragraphs"]:
            questions += map(itemgetter("question"), paragraph["qas"][:2])
    lines = (data / "clapnq/annotated_data/dev/clapnq_dev_answerable.jsonl").open(encoding="utf-8")
    for line in lines:
        questions.append(json.loads(line)["input"])
    return questions[::3]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder of the corpora")
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    arguments = parser.parse_args()
    made = real_vectors(arguments.data, count=arguments.sentences)
    print(f"{len(made.sentences):,} sentences, {len(made.questions):,} questions")


if __name__ == "__main__":
    main()
