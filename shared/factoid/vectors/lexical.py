"""A lexical index: score texts, known by row, by the words that they share with a query (BM25).

The index is an inverted one. For each term it holds the texts that have it and how often: a
posting. Postings are written once, in segments of up to 65,536 texts, and only read from then on,
so they can be mapped from a file and shared by processes. A removed text stays in its segment, and
is masked. Document frequencies and the average length count the texts that are left, so scores do
not depend on how an index came about.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.files.arrays import ChangedPieceError, InPieces
from factoid.vectors.terms import Terms
from factoid.vectors.vector_index import RowIds, places_in

# That a text has a word counts far more than how often: questions name a thing once, and 1.2, which
# is usual for long documents, lost half a point or more at R@1 on each of several sets of passages.
_K1 = 0.3
_B = 0.75
_BLOCK = 16_384  # texts that become a segment
_MOST_TEXTS = 1 << 16  # of a segment: their numbers take two bytes
# A segment is merged into the one before that has fewer than this many times its texts.
_SMALLER = 2
_REMOVED = 0.25  # share of removed texts at which their postings are dropped
_OF_SEGMENTS = ("terms", "starts", "texts", "counts")
_POSTINGS = ("texts", "counts")  # of which a search reads little
_MOST_COUNTED = 255  # occurrences of a term in a text

Mask = NDArray[np.bool_]
Numbers = NDArray[np.integer[Any]]
# Of a term in a segment: where the segment's texts are, the numbers of those with the term, and how
# often they have it.
Postings = tuple[slice, NDArray[np.uint16], NDArray[np.uint8]]


class Segment(NamedTuple):
    """The postings of texts that came one after the other, by term.

    A text is known by its number in the segment. Methods that read postings raise ChangedPieceError
    for those in a file that are not as they were written.
    """

    terms: NDArray[np.uint64]  # ascending. Shape: (terms,)
    # Where the postings of each term begin, and the end of the last. Shape: (terms + 1,).
    starts: NDArray[np.int64]
    texts: NDArray[np.uint16] | InPieces[np.uint16]  # ascending for each term. Shape: (postings,)
    # How often the text has the term. Shape: (postings,).
    counts: NDArray[np.uint8] | InPieces[np.uint8]
    size: int  # number of texts

    @classmethod
    def of(
        cls, terms: NDArray[np.uint64], texts: Numbers, counts: NDArray[np.uint8], size: int
    ) -> Self:
        """Group postings by term.

        They come in any order, those of one term by text. Shapes: (postings,).
        """
        order = np.argsort(terms, kind="stable")
        ordered = terms[order]
        begins = np.ones(len(ordered), np.bool_)
        np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
        starts = np.flatnonzero(begins)
        bounds = np.append(starts, len(ordered))
        return cls(ordered[starts], bounds, texts[order].astype(np.uint16), counts[order], size)

    @classmethod
    def of_texts(cls, terms: NDArray[np.uint64], texts: Numbers, size: int) -> Self:
        """Return the segment of the terms of texts.

        Terms come in the order of the texts, as often as they occur. Shapes: (n,).
        """
        order = np.argsort(terms, kind="stable")
        terms = terms[order]
        texts = texts[order]
        begins = np.ones(len(terms), np.bool_)
        np.not_equal(terms[1:], terms[:-1], out=begins[1:])
        begins[1:] |= texts[1:] != texts[:-1]
        places = np.flatnonzero(begins)
        counts = np.minimum(np.diff(np.append(places, len(terms))), _MOST_COUNTED)
        return cls.of(terms[places], texts[places], counts.astype(np.uint8), size)

    def without(self, removed: Mask) -> Segment:
        """Return the segment without the texts in a mask; those after them move up.

        Shape: (texts,).
        """
        numbers = np.cumsum(~removed) - 1
        texts, counts = self.postings()
        remaining = ~removed[texts]
        terms = np.repeat(self.terms, np.diff(self.starts))[remaining]
        return Segment.of(
            terms, numbers[texts[remaining]], counts[remaining], int(np.count_nonzero(~removed))
        )

    def followed_by(self, other: Segment) -> Segment:
        """Return one segment of the texts of this one and then those of another."""
        terms = [np.repeat(segment.terms, np.diff(segment.starts)) for segment in (self, other)]
        before, counts_before = self.postings()
        after, counts_after = other.postings()
        texts = np.concatenate([before.astype(np.int64), after.astype(np.int64) + self.size])
        counts = np.concatenate([counts_before, counts_after])
        return Segment.of(np.concatenate(terms), texts, counts, self.size + other.size)

    def postings(self) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
        """Return the texts and counts of all postings."""
        return self._read(slice(0, len(self.texts)))

    def postings_of(self, term: int) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
        """Return the texts and counts of the postings of a term."""
        key = np.uint64(term)
        place = int(np.searchsorted(self.terms, key))
        if place == len(self.terms) or self.terms[place] != key:
            return self._read(slice(0, 0))
        return self._read(slice(int(self.starts[place]), int(self.starts[place + 1])))

    def _read(self, place: slice) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
        texts = self.texts[place]
        if len(texts) and int(texts.max()) >= self.size:
            raise ChangedPieceError("a posting names no text")
        return texts, self.counts[place]


class LexicalIndex:
    """Texts by row, scored by BM25 (k1 0.3, b 0.75).

    Reads may run in several threads at once, but not during `update`. All methods that score or
    change texts raise ChangedPieceError if a file that the index is read from is damaged.

    Args:
        language: A code of `factoid.vectors.terms.LANGUAGES`, or "" for no stemmer.

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
        # The rows of the latest search, and their places.
        self._latest: tuple[RowIds | None, RowIds] = (None, self._rows)
        self._count_passages()

    @classmethod
    def from_arrays(cls, language: str, arrays: Mapping[str, Any]) -> Self:
        """Return the index of which these are the `arrays`; they are not copied.

        Those of postings may be `InPieces`.

        Raises:
            ValueError: The arrays do not belong to an index, or to no language known here.
        """
        index = cls(language)
        rows = arrays["rows"]
        lengths = arrays["lengths"]
        _check(
            isinstance(rows, np.ndarray) and isinstance(lengths, np.ndarray),
            "rows or lengths are in pieces",
        )
        _check(
            rows.dtype == np.int64 and lengths.dtype == np.int32,
            "rows or lengths are of another type",
        )
        _check(rows.ndim == 1 and rows.shape == lengths.shape, "rows and lengths differ in shape")
        _check(_ascends(rows) or _ascends(np.sort(rows)), "a row occurs twice")
        _check(lengths.min(initial=0) >= 0, "a length is negative")
        index._segments = list(_read_segments(arrays))
        _check(sum(segment.size for segment in index._segments) == len(rows), "texts are missing")
        index._rows = rows
        index._lengths = lengths
        index._present = np.ones(len(rows), np.bool_)
        index._count_passages()
        return index

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that hold the index, by name, to be written to a file."""
        self._drop_removed()
        arrays: dict[str, NDArray[Any]] = {"rows": self._rows, "lengths": self._lengths}
        arrays["sizes"] = np.array([segment.size for segment in self._segments], np.int64)
        for number, segment in enumerate(self._segments):
            texts, counts = segment.postings()
            arrays |= {f"terms {number}": segment.terms, f"starts {number}": segment.starts}
            arrays |= {f"texts {number}": texts, f"counts {number}": counts}
        return arrays

    @property
    def in_pieces(self) -> list[str]:
        """The names of those `arrays` of which a search reads little."""
        names = []
        for number in range(len(self._segments)):
            names += [f"{name} {number}" for name in _POSTINGS]
        return names

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
        self._count_passages()

    def places(self, rows: RowIds) -> RowIds:
        """Return the place of each row's text, for `relative_scores`, or -1 for an unknown row.

        Shape: (n,). Those of the last array are kept for the next search that passes the same one.
        """
        latest, places = self._latest
        if latest is rows:
            return places
        known, order = self._by_row
        if np.array_equal(rows, self._rows) and len(known) == len(rows):
            places = self._every_place
        else:
            places = places_in(known, rows)
            if len(known):
                places = np.where(places >= 0, order[places], -1)
        self._latest = (rows, places)
        return places

    def relative_scores(self, query: str, places: RowIds) -> Vectors:
        """Return the scores of texts at some places, as shares of the highest possible score.

        It is a share of the query's words, in which rare ones count more: a text of average length
        that has each of them once gets 1 / (1 + k1). It does not depend on the other places. The
        place -1 scores 0. Shape: (n,), float32, from 0 to 1.
        """
        terms = self._terms.of_query(query)
        if not len(self._rows):
            return np.zeros(len(places), np.float32)
        postings = [self._postings(term) for term in terms]
        scores = self._scores(postings)
        if places is not self._every_place:
            scores = scores[places]
            scores[places < 0] = 0
        highest = sum(self._most(frequency) for _, frequency in postings)
        if highest > 0:
            scores /= highest
        return scores

    def terms(self, query: str) -> list[int]:
        """Return the terms of a query that count. A query is any text, without syntax."""
        return self._terms.of_query(query)

    def scores(self, terms: Sequence[int]) -> Vectors:
        """Return the score of the text at each place, 0 for one that has none of the terms.

        Shape: (places,), float32.
        """
        return self._scores([self._postings(term) for term in terms])

    def _scores(self, postings_of_terms: Iterable[tuple[list[Postings], int]]) -> Vectors:
        """Return the score of the text at each place by the postings of terms and frequencies."""
        scores = np.zeros(len(self._rows), np.float32)
        for postings, frequency in postings_of_terms:
            most = self._most(frequency)
            for texts, numbers, counts in postings:
                occurrences = counts.astype(np.float32)
                # A text is once in the postings of a term.
                scores[texts][numbers] += most * (
                    occurrences / (occurrences + self._norms[texts][numbers])
                )
        if self._count < len(scores):
            scores[~self._present] = 0
        return scores

    def _most(self, frequency: int) -> float:
        """Return the score that no text exceeds by a term that so many texts have."""
        return self._weight(frequency) * (_K1 + 1)

    def _postings(self, term: int) -> tuple[list[Postings], int]:
        """Return the postings of a term in each segment, and how many texts have it."""
        postings = []
        frequency = 0
        first = 0
        for segment in self._segments:
            texts = slice(first, first + segment.size)
            numbers, counts = segment.postings_of(term)
            postings.append((texts, numbers, counts))
            if self._count == len(self._rows):
                frequency += len(numbers)
            else:
                frequency += int(np.count_nonzero(self._present[texts][numbers]))
            first += segment.size
        return postings, frequency

    def _weight(self, frequency: int) -> float:
        """Return the inverse document frequency of a term."""
        return math.log1p((self._count - frequency + 0.5) / (frequency + 0.5))

    def _append(self, rows: RowIds, texts: Sequence[str]) -> None:
        """Add texts as a segment, and merge small segments."""
        if len(texts) != len(rows):
            raise ValueError(f"got {len(texts)} texts for {len(rows)} rows")
        terms: list[int] = []
        lengths = []
        for text in texts:
            of_text = self._terms.of_text(text)
            terms += of_text
            lengths.append(len(of_text))
        numbers = np.repeat(np.arange(len(rows)), lengths)
        self._segments.append(Segment.of_texts(np.array(terms, np.uint64), numbers, len(rows)))
        while len(self._segments) > 1:
            before, last = self._segments[-2:]
            if before.size >= _SMALLER * last.size or before.size + last.size > _MOST_TEXTS:
                break
            self._segments[-2:] = [before.followed_by(last)]
        self._rows = np.concatenate([self._rows, rows])
        self._lengths = np.concatenate([self._lengths, np.array(lengths, np.int32)])
        self._present = np.concatenate([self._present, np.ones(len(rows), np.bool_)])

    def _drop_removed(self) -> None:
        """Write the index anew without removed texts."""
        if self._present.all():
            return
        segments: list[Segment] = []
        first = 0
        for segment in self._segments:
            remaining = segment.without(~self._present[first : first + segment.size])
            first += segment.size
            if segments and segments[-1].size + remaining.size <= _MOST_TEXTS:
                segments[-1] = segments[-1].followed_by(remaining)
            else:
                segments.append(remaining)
        self._segments = segments
        self._rows = self._rows[self._present]
        self._lengths = self._lengths[self._present]
        self._present = np.ones(len(self._rows), np.bool_)
        self._count_passages()

    def _count_passages(self) -> None:
        """Count the passages and their average length, and find their rows."""
        self._count = int(np.count_nonzero(self._present))
        self._every_place = np.arange(len(self._rows))
        if self._count == len(self._rows) and _ascends(self._rows):
            self._by_row = self._rows, self._every_place
        else:
            present = np.flatnonzero(self._present)
            order = present[np.argsort(self._rows[present], kind="stable")]
            self._by_row = self._rows[order], order
        self._latest = (None, self._every_place)
        average = 0.0
        if self._count:
            average = float(self._lengths[self._present].mean())
        relative = self._lengths / np.float32(average or 1)
        self._norms = (_K1 * (1 - _B + _B * relative)).astype(np.float32)


def _ascends(numbers: RowIds) -> bool:
    """Return whether each number is larger than the one before it."""
    return bool((numbers[1:] > numbers[:-1]).all())


def _read_segments(arrays: Mapping[str, Any]) -> Iterator[Segment]:
    """Yield the segments among arrays that a file holds.

    They are checked, so that no search leaves the bounds of an array.
    """
    sizes = arrays["sizes"]
    _check(isinstance(sizes, np.ndarray), "sizes are in pieces")
    _check(sizes.dtype == np.int64 and sizes.ndim == 1, "sizes are of another type")
    for number, size in enumerate(sizes.tolist()):
        terms, starts, texts, counts = (arrays[f"{name} {number}"] for name in _OF_SEGMENTS)
        _check(isinstance(terms, np.ndarray), "terms are in pieces")
        _check(isinstance(starts, np.ndarray), "terms are in pieces")
        types = [array.dtype for array in (terms, starts, texts, counts)]
        _check(types == [np.uint64, np.int64, np.uint16, np.uint8], "postings are of another type")
        dimensions = {array.ndim for array in (terms, starts, texts, counts)}
        _check(dimensions == {1}, "postings are of another shape")
        _check(bool((terms[1:] > terms[:-1]).all()), "terms are not in order")
        is_ascending = bool((starts[1:] > starts[:-1]).all())
        _check(len(starts) == len(terms) + 1 and is_ascending, "postings are not in order")
        _check(starts[0] == 0 and starts[-1] == len(texts) == len(counts), "postings are missing")
        _check(0 <= size <= _MOST_TEXTS, "a segment has another size")
        if isinstance(texts, np.ndarray):
            _check(not len(texts) or int(texts.max()) < size, "a posting names no text")
        yield Segment(terms, starts, texts, counts, size)


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"not a lexical index: {otherwise}")
