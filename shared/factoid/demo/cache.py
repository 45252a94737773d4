"""An encoder that remembers, so that the frameworks' runs need not encode the same units again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factoid.encode import Encoder, Vectors

_LIMIT = 20_000  # texts: as many as the demo needs, and no more memory than it should take


class CachedEncoder:
    """Encodes each distinct unit once.

    Args:
        encoder: Does the work.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._known: dict[str, Vectors] = {}

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors. Shape: (len(texts), dim)."""
        return self._encoder.encode_queries(texts)

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors. Shape: (len(texts), dim)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if len(self._known) + len(new) > _LIMIT:
            return self._encoder.encode_units(texts)
        if new:
            self._known.update(zip(new, self._encoder.encode_units(new), strict=True))
        return np.stack([self._known[text] for text in texts])
