"""Token encoders without a model."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from factoid.late_interaction import TokenVectors


class WordVectors:
    """A token encoder without a model: random vectors of any length, by word and marker;
    punctuation is not scored.
    """

    def __init__(self) -> None:
        self.encoded: list[str] = []
        self.threads: set[int] = set()

    def encode_query(self, text: str, *, finer: bool = False) -> TokenVectors:
        return self._encode(text, "finer" if finer else "query")

    def fingerprint(self) -> str:
        return "words"

    def encode_passages(self, texts: Sequence[str]) -> list[TokenVectors]:
        self.threads.add(threading.get_ident())
        self.encoded += texts
        return [self._encode(text, "passage") for text in texts]

    def _encode(self, text: str, marker: str) -> TokenVectors:
        words, at = [("[CLS]", (0, 0)), (marker, (0, 0))], 0
        for word in text.split():
            at = text.index(word, at)
            bare = word.strip(".,…")
            if bare:
                words.append((bare, (at, at + len(bare))))
            at += len(word)
        vectors = [self.vector(word, marker) for word, _ in words]
        return TokenVectors(
            np.array(vectors, np.float32), np.array([span for _, span in words], np.int64)
        )

    @staticmethod
    def vector(word: str, marker: str) -> np.ndarray:
        seed = [
            ord(character) for character in word.lower() + (marker if marker == "finer" else "")
        ]
        return np.random.default_rng(seed).normal(-0.3, 1, 6)


def bare(text: str) -> list[str]:
    return [word.strip(".,") for word in text.split()]


def maxsim(query: Sequence[str], words: Sequence[str], marker: str = "query") -> float:
    """Sum the largest product of each word of the query, under a marker, with a word of a passage,
    one by one in float64.
    """

    def vector(word: str, marker: str) -> np.ndarray:
        return WordVectors.vector(word, marker).astype(np.float32).astype(float)

    return sum(
        max(float(vector(one, marker) @ vector(other, "passage")) for other in words)
        for one in query
    )


class TextVectors(WordVectors):
    """As `WordVectors`, but no two tokens have the same vector, unless the texts are the same: no
    scores are equal by chance.
    """

    def _encode(self, text: str, marker: str) -> TokenVectors:
        tokens = super()._encode(text, marker)
        generator = np.random.default_rng([ord(character) for character in text + marker])
        return TokenVectors(
            generator.normal(-0.3, 1, tokens.vectors.shape).astype(np.float32), tokens.spans
        )
