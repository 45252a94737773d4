"""Public fakes for our tests and yours: no model, no download, the same result everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from factoid.encode import Vectors
from factoid.propositions import NoPropositions
from factoid.propositions.ground import content_tokens
from factoid.units import Unit


class HashEncoder:
    """Bags of words, hashed to `dim` components.

    Texts that share words have a higher inner product.
    """

    def __init__(self, dim: int = 256) -> None:
        self.dim = dim
        self.name = f"HashEncoder({dim})"

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 unit vectors (zero for texts without content words).

        Shape: (len(texts), dim).
        """
        return self.encode_units(texts)

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        """Return float32 unit vectors (zero for texts without content words).

        Shape: (len(texts), dim).
        """
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            for word, _, _ in content_tokens(text):
                digest = hashlib.sha256(word.encode()).digest()
                column = int.from_bytes(digest[:4], "big") % self.dim
                if digest[4] % 2:
                    vectors[row, column] += 1
                else:
                    vectors[row, column] -= 1
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.where(norms > 0, norms, 1)
        return vectors

    def encode_spans(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> list[Vectors]:
        """Return the vectors of texts, and of the words in spans of their characters.

        A span without content words has the vector of its text. Shape of each: (1 + spans, dim).
        """
        vectors = []
        for text, of_text in zip(texts, spans, strict=True):
            parts = self.encode_units([text, *(text[start:end] for start, end in of_text)])
            parts[~parts.any(axis=1)] = parts[0]
            vectors.append(parts)
        return vectors

    def encode_query_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vectors of the content words of each text. Shape of each: (words, dim)."""
        return self.encode_unit_tokens(texts)

    def encode_unit_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vectors of the content words of each text. Shape of each: (words, dim)."""
        vectors = []
        for text in texts:
            vectors.append(self.encode_units([word for word, _, _ in content_tokens(text)]))
        return vectors


class ScriptedPropositionizer:
    """Return scripted propositions, by the text of the passage.

    Args:
        script: Passage text → propositions, or a function from a passage. Passages missing from a
            mapping fail with the reason "not in the script".
    """

    name = "scripted"

    def __init__(
        self, script: Mapping[str, Sequence[str]] | Callable[[Unit], Sequence[str]]
    ) -> None:
        self._script = script
        self.calls: list[list[Unit]] = []

    def propositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Return the scripted propositions, and remember the passages in `calls`."""
        self.calls.append(list(passages))
        script = self._script
        missing = NoPropositions("not in the script")
        outputs = []
        for unit in passages:
            if callable(script):
                outputs.append(script(unit))
            else:
                outputs.append(script.get(unit.text, missing))
        result: list[list[str]] = []
        for texts in outputs:
            if isinstance(texts, NoPropositions):
                result.append(texts)
            else:
                result.append(list(texts))
        return result
