"""A lexical index: score texts, known by row, by the words that they share with a query (BM25).

The index is an inverted one. For each term it holds the texts that have it and how often: a posting. Postings are
written once, in segments, and only read from then on, so they can be mapped from a file and shared by processes. A
removed text stays in its segments, and is masked. Document frequencies and the average length count the texts that are
left, so scores do not depend on how an index came about.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.index.terms import Terms
from factoid.index.vector_index import RowIds, ranks

_K1 = 1.2
_B = 0.75
_ENOUGH = 0.5  # of the score of a text with all words of the query: the best text counts less if it has less
_BLOCK = 16_384  # texts that become a segment
_SMALLER = 2  # a segment is merged into the one before that is not this many times as large
_REMOVED = 0.25  # share of removed texts at which their postings are dropped
_MOST_COUNTED = 255  # occurrences of a term in a text

Mask = NDArray[np.bool_]


class Segment(NamedTuple):
    """The postings of some texts, by term. A text is a position in the index's `rows`."""

    terms: NDArray[np.uint64]  # ascending. Shape: (terms,)
    starts: NDArray[np.int64]  # where the postings of each term begin, and the end of the last. Shape: (terms + 1,)
    texts: NDArray[np.int32]  # ascending for each term. Shape: (postings,)
    counts: NDArray[np.uint8]  # how often the text has the term. Shape: (postings,)

    @classmethod
    def of(cls, terms: NDArray[np.uint64], texts: NDArray[np.int32], counts: NDArray[np.uint8]) -> Self:
        """Group postings by term. They come in any order, those of one term by text. Shapes: (postings,)."""
        order = np.argsort(terms, kind="stable")
        ordered = terms[order]
        begins = np.ones(len(ordered), np.bool_)
        np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
        starts = np.flatnonzero(begins)
        return cls(ordered[starts], np.append(starts, len(ordered)), texts[order], counts[order])

    @classmethod
    def merged(cls, segments: Sequence[Segment]) -> Self:
        """Join segments, the texts of each after those of the one before."""
        terms = [np.repeat(segment.terms, np.diff(segment.starts)) for segment in segments]
        texts = [segment.texts for segment in segments]
        counts = [segment.counts for segment in segments]
        return cls.of(np.concatenate(terms), np.concatenate(texts), np.concatenate(counts))

    def postings(self, term: int) -> slice:
        """Return where the postings of a term are."""
        key = np.uint64(term)
        place = int(np.searchsorted(self.terms, key))
        if place == len(self.terms) or self.terms[place] != key:
            return slice(0, 0)
        return slice(int(self.starts[place]), int(self.starts[place + 1]))


class LexicalIndex:
    """Texts by row, scored by BM25 (k1 1.2, b 0.75). Reads may run in several threads at once, but not during `update`.

    Args:
        language: A code of `factoid.index.terms.LANGUAGES`, or "" for no stemmer.

    Raises:
        InvalidInputError: The language is unknown.
    """

    def __init__(self, language: str = "en") -> None:
        self.language = language
        self._terms = Terms(language)
        self._segments: list[Segment] = []
        self._rows = np.empty(0, np.int64)  # of the texts, in the order in which they came
        self._lengths = np.empty(0, np.int32)  # terms of each text
        self._present = np.empty(0, np.bool_)  # False for removed texts
        self._asked: tuple[RowIds | None, RowIds] = None, self._rows  # rows, and their places
        self._prepare()

    @classmethod
    def from_arrays(cls, language: str, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the index of which these are the `arrays`; they are not copied.

        Raises:
            ValueError: The arrays do not belong to an index, or to no language known here.
        """
        index = cls(language)
        rows, lengths = arrays["rows"], arrays["lengths"]
        _check(rows.dtype == np.int64 and lengths.dtype == np.int32, "rows or lengths are of another type")
        _check(rows.ndim == 1 and rows.shape == lengths.shape, "rows and lengths differ in shape")
        ascending = np.sort(rows)
        _check(bool((ascending[1:] > ascending[:-1]).all()), "a row occurs twice")
        _check(lengths.min(initial=0) >= 0, "a length is negative")
        index._segments = list(_read_segments(arrays, len(rows)))
        index._rows = rows
        index._lengths = lengths
        index._present = np.ones(len(rows), np.bool_)
        index._prepare()
        return index

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that hold the index, by name, to be written to a file."""
        self._drop_removed()
        arrays: dict[str, NDArray[Any]] = {"rows": self._rows, "lengths": self._lengths}
        for number, segment in enumerate(self._segments):
            for name, array in segment._asdict().items():
                arrays[f"{name} {number}"] = array
        return arrays

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> RowIds:
        """The rows of all texts, ascending."""
        return self._by_row[0]

    def update(self, removed: RowIds, rows: RowIds, texts: Iterable[str]) -> None:
        """Remove rows, then add rows with their texts. Unknown rows to remove are ignored."""
        places = self.places(removed)
        present = self._present.copy()
        present[places[places >= 0]] = False
        self._present = present
        remaining = iter(texts)
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            self._append(block, list(islice(remaining, len(block))))
        if np.count_nonzero(~self._present) > _REMOVED * len(self._present):
            self._drop_removed()
        self._prepare()

    def places(self, rows: RowIds) -> RowIds:
        """Return the place of each row's text, for `shares`, or -1 for an unknown row. Shape: (n,).

        Those of the last array are kept for the next search that passes the same one.
        """
        asked, places = self._asked
        if asked is rows:
            return places
        known, order = self._by_row
        if np.array_equal(rows, self._rows) and len(known) == len(rows):
            places = self._every_place
        else:
            places = ranks(rows, known)
            if len(known):
                places = np.where(places >= 0, order[places], -1)
        self._asked = rows, places
        return places

    def shares(self, query: str, places: RowIds) -> Vectors:
        """Return the scores of texts at some places, divided by the best of them.

        They are divided by half the score of a text with all words of the query if that is more: where no text has
        many of them, words count less. The place -1 scores 0. Shape: (n,), float32.
        """
        terms = self._terms.of_query(query)
        if not len(self._rows):
            return np.zeros(len(places), np.float32)
        scores = self.scores(terms)
        if places is not self._every_place:
            scores = scores[places]
            scores[places < 0] = 0
        highest = scores.max(initial=_ENOUGH * self.expected_score(terms))
        if highest > 0:
            scores /= highest
        return scores

    def terms(self, query: str) -> list[int]:
        """Return the terms of a query that count. A query is any text, without syntax."""
        return self._terms.of_query(query)

    def scores(self, terms: Sequence[int]) -> Vectors:
        """Return the score of the text at each place, 0 for one that has none of the terms. Shape: (places,), float32."""
        scores = np.zeros(len(self._rows), np.float32)
        for term in terms:
            postings = [(segment, segment.postings(term)) for segment in self._segments]
            frequency = 0
            for segment, place in postings:
                frequency += self._count_present(segment.texts[place])
            weight = self._weight(frequency) * (_K1 + 1)
            for segment, place in postings:
                texts = segment.texts[place]
                counts = segment.counts[place].astype(np.float32)
                scores[texts] += weight * (counts / (counts + self._norms[texts]))  # each text once in a posting list
        if self._count < len(scores):
            scores[~self._present] = 0
        return scores

    def expected_score(self, terms: Sequence[int]) -> float:
        """Return the score of a text of average length that would have each of the terms once."""
        score = 0.0
        for term in terms:
            frequency = 0
            for segment in self._segments:
                frequency += self._count_present(segment.texts[segment.postings(term)])
            score += self._weight(frequency)
        return score

    def _weight(self, frequency: int) -> float:
        """Return the inverse document frequency of a term."""
        return math.log1p((self._count - frequency + 0.5) / (frequency + 0.5))

    def _count_present(self, texts: NDArray[np.int32]) -> int:
        if self._count == len(self._rows):
            return len(texts)
        return int(np.count_nonzero(self._present[texts]))

    def _append(self, rows: RowIds, texts: Sequence[str]) -> None:
        """Add texts as a segment, and merge small segments."""
        if len(texts) != len(rows):
            raise ValueError(f"got {len(texts)} texts for {len(rows)} rows")
        first = len(self._rows)
        terms: list[int] = []
        lengths = []
        for text in texts:
            of_text = self._terms.of_text(text)
            terms += of_text
            lengths.append(len(of_text))
        numbers = np.repeat(np.arange(first, first + len(rows), dtype=np.int32), lengths)
        self._segments.append(_counted(np.array(terms, np.uint64), numbers))
        while len(self._segments) > 1 and len(self._segments[-2].texts) < _SMALLER * len(self._segments[-1].texts):
            self._segments[-2:] = [Segment.merged(self._segments[-2:])]
        self._rows = np.concatenate([self._rows, rows])
        self._lengths = np.concatenate([self._lengths, np.array(lengths, np.int32)])
        self._present = np.concatenate([self._present, np.ones(len(rows), np.bool_)])

    def _drop_removed(self) -> None:
        """Write the index anew without removed texts."""
        if self._present.all():
            return
        segments = []
        places = np.cumsum(self._present, dtype=np.int32) - 1
        for segment in self._segments:
            kept = self._present[segment.texts]
            terms = np.repeat(segment.terms, np.diff(segment.starts))[kept]
            segments.append(Segment.of(terms, places[segment.texts[kept]], segment.counts[kept]))
        self._segments = segments
        self._rows = self._rows[self._present]
        self._lengths = self._lengths[self._present]
        self._present = np.ones(len(self._rows), np.bool_)
        self._prepare()

    def _prepare(self) -> None:
        """Compute what all searches need."""
        self._count = int(np.count_nonzero(self._present))
        present = np.flatnonzero(self._present)
        order = present[np.argsort(self._rows[present], kind="stable")]
        self._by_row = self._rows[order], order
        self._every_place = np.arange(len(self._rows))
        self._asked = None, self._every_place
        average = float(self._lengths[self._present].mean()) if self._count else 0.0
        relative = self._lengths / np.float32(average or 1)
        self._norms = (_K1 * (1 - _B + _B * relative)).astype(np.float32)


def _counted(terms: NDArray[np.uint64], texts: NDArray[np.int32]) -> Segment:
    """Return the segment of the terms of texts, as often as they occur; the texts ascend. Shapes: (terms,)."""
    order = np.argsort(terms, kind="stable")
    terms = terms[order]
    texts = texts[order]
    begins = np.ones(len(terms), np.bool_)
    np.not_equal(terms[1:], terms[:-1], out=begins[1:])
    begins[1:] |= texts[1:] != texts[:-1]
    places = np.flatnonzero(begins)
    counts = np.minimum(np.diff(np.append(places, len(terms))), _MOST_COUNTED)
    return Segment.of(terms[places], texts[places], counts.astype(np.uint8))


def _read_segments(arrays: Mapping[str, NDArray[Any]], count: int) -> Iterator[Segment]:
    """Yield the segments among arrays that a file holds, checked so that no search leaves the bounds of an array."""
    number = 0
    while f"terms {number}" in arrays:
        segment = Segment(*(arrays[f"{name} {number}"] for name in Segment._fields))
        types = [array.dtype for array in segment]
        _check(types == [np.uint64, np.int64, np.int32, np.uint8], "postings are of another type")
        _check(all(array.ndim == 1 for array in segment), "postings are of another shape")
        terms, starts, texts, counts = segment
        _check(bool((terms[1:] > terms[:-1]).all()), "terms are not in order")
        _check(len(starts) == len(terms) + 1 and bool((starts[1:] > starts[:-1]).all()), "postings are not in order")
        _check(starts[0] == 0 and starts[-1] == len(texts) == len(counts), "postings are missing")
        _check(texts.min(initial=0) >= 0 and texts.max(initial=-1) < count, "a posting names no text")
        yield segment
        number += 1


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"not a lexical index: {otherwise}")
