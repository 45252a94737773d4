"""Edited text that records where each of its characters was in the source."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from factoid.errors import InvalidInputError
from factoid.sentences import Span

Edit = tuple[int, int, str]  # start and end in the text, and the replacement


class Run(NamedTuple):
    """An unchanged stretch: `text[start:end]` is `source[origin : origin + end - start]`."""

    start: int
    end: int
    origin: int


@dataclass(frozen=True, slots=True)
class TracedText:
    """A text, and its stretches that are in the source, in order. The text between them was inserted."""

    text: str
    runs: tuple[Run, ...]

    @classmethod
    def of(cls, source: str, start: int = 0, end: int | None = None) -> TracedText:
        """Return a part of a source unchanged."""
        text = source[start:end]
        return cls(text, (Run(0, len(text), start),) if text else ())

    def cut(self, start: int, end: int | None = None) -> TracedText:
        """Return `text[start:end]`."""
        end = len(self.text) if end is None else min(end, len(self.text))
        start = min(max(start, 0), end)
        return TracedText(self.text[start:end], tuple(_shifted(self._within(start, end), -start)))

    def strip(self) -> TracedText:
        """Return the text without white space around it."""
        return self.cut(len(self.text) - len(self.text.lstrip()), len(self.text.rstrip()))

    def edit(self, edits: Iterable[Edit]) -> TracedText:
        """Replace parts of the text, in any order. Characters that a replacement shares with the old text at its ends are kept.

        Raises:
            InvalidInputError: Two edits overlap, or one extends beyond the text.
        """
        parts: list[TracedText] = []
        at = 0
        for start, end, replacement in sorted(edits):
            if not at <= start <= end <= len(self.text):
                raise InvalidInputError(
                    f"edits must not overlap or leave the text of {len(self.text)} characters: {start, end, replacement}"
                )
            before = self.text[start:end]
            head = _shared(before, replacement)
            tail = _shared(before[head:][::-1], replacement[head:][::-1])
            inserted = replacement[head : len(replacement) - tail]
            parts += [self.cut(at, start + head), TracedText(inserted, ())]
            at = end - tail
        return join([*parts, self.cut(at)]) if parts else self

    def sources(self, start: int = 0, end: int | None = None) -> list[Span]:
        """Return the spans of the source that a part of the text comes from, in order of the text; touching ones are merged."""
        spans: list[Span] = []
        for run in self._within(start, len(self.text) if end is None else end):
            stop = run.origin + run.end - run.start
            if spans and spans[-1][1] == run.origin:
                spans[-1] = (spans[-1][0], stop)
            else:
                spans.append((run.origin, stop))
        return spans

    def _within(self, start: int, end: int) -> list[Run]:
        first = max(bisect_right(self.runs, start, key=lambda run: run.start) - 1, 0)
        inside: list[Run] = []
        for run in self.runs[first:]:
            if run.start >= end:
                break
            begin, stop = max(run.start, start), min(run.end, end)
            if begin < stop:
                inside.append(Run(begin, stop, run.origin + begin - run.start))
        return inside


def join(parts: Sequence[TracedText], separator: str = "") -> TracedText:
    """Concatenate texts."""
    runs: list[Run] = []
    at = 0
    for position, part in enumerate(parts):
        at += len(separator) if position else 0
        for run in _shifted(part.runs, at):
            if runs and runs[-1].end == run.start and runs[-1].origin + run.start - runs[-1].start == run.origin:
                runs[-1] = Run(runs[-1].start, run.end, runs[-1].origin)
            else:
                runs.append(run)
        at += len(part.text)
    return TracedText(separator.join(part.text for part in parts), tuple(runs))


def _shifted(runs: Iterable[Run], by: int) -> list[Run]:
    return [Run(run.start + by, run.end + by, run.origin) for run in runs]


def _shared(first: str, second: str) -> int:
    """Return the number of characters that two texts share at their start."""
    pairs = zip(first, second, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))
