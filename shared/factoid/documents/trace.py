"""Edited text that records where each of its characters was in the source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from factoid.sentences import Span

Edit = tuple[int, int, str]  # start and end in the text, and the replacement


@dataclass(frozen=True, slots=True, eq=False)
class TracedText:
    """A text, and where each of its characters was in the source, or -1 if it was inserted."""

    text: str
    origins: NDArray[np.int32]

    @classmethod
    def of(cls, source: str, start: int = 0, end: int | None = None) -> TracedText:
        """Return a part of a source unchanged."""
        text = source[start:end]
        return cls(text, np.arange(start, start + len(text), dtype=np.int32))

    def cut(self, start: int, end: int | None = None) -> TracedText:
        """Return `text[start:end]`."""
        return TracedText(self.text[start:end], self.origins[start:end])

    def strip(self) -> TracedText:
        """Return the text without white space around it."""
        start = len(self.text) - len(self.text.lstrip())
        return self.cut(start, start + len(self.text.strip()))

    def edit(self, edits: Iterable[Edit]) -> TracedText:
        """Replace parts of the text that do not overlap, in any order."""
        parts: list[TracedText] = []
        at = 0
        for start, end, replacement in sorted(edits):
            parts += [self.cut(at, start), inserted(replacement)]
            at = end
        if parts:
            return join([*parts, self.cut(at)])
        return self

    def sources(self, start: int = 0, end: int | None = None) -> list[Span]:
        """Return the spans of the source of a part of the text, in order of the text."""
        origins = self.origins[start:end]
        origins = origins[origins >= 0]
        runs = np.split(origins, np.flatnonzero(np.diff(origins) != 1) + 1)
        spans = []
        for run in runs:
            if len(run):
                spans.append((int(run[0]), int(run[-1]) + 1))
        return spans


def inserted(text: str) -> TracedText:
    """Return text that is not in the source."""
    return TracedText(text, np.full(len(text), -1, np.int32))


def join(parts: Sequence[TracedText], separator: str = "") -> TracedText:
    """Concatenate texts."""
    pieces: list[TracedText] = []
    for part in parts:
        if pieces:
            pieces.append(inserted(separator))
        pieces.append(part)
    if not pieces:
        return inserted("")
    return TracedText(
        "".join(piece.text for piece in pieces), np.concatenate([piece.origins for piece in pieces])
    )
