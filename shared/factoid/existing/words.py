"""The words of a collection's passages: BM25 beside a store that has only vectors.

They are read once, at the first search in which words count, and kept in memory, or in a file: BM25
needs the frequencies of the whole collection. So does the scale of an encoder's scores, which is
taken from a sample of the same passages.

The file is a cache, so that a program that starts need not read all passages: one that is damaged,
of another language or of another version is made anew. A program that opens it compares the ids of
the collection's passages with those in the file.
"""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from factoid.existing.contract import DOCUMENT, METADATA, PASSAGE, Row, row_id, to_unit
from factoid.files.arrays import read_arrays, write_arrays
from factoid.files.atomic import HashingWriter, write_file
from factoid.heading_template import encoded_text
from factoid.vectors.lexical import LexicalIndex

_BLOCK = 16_384  # texts that are indexed together
_SAMPLE = 200  # texts of which the scale is taken

_VERSION = 1  # of the file
_STRINGS = "strings"  # the part of the file that is JSON in UTF-8, as an array of bytes

logger = logging.getLogger(__name__)

Passes = Callable[[Mapping[str, Any]], bool]


class Words:
    """BM25 of passages, by their ids.

    Several threads may use it at once.
    """

    def __init__(self, template: str, language: str = "en") -> None:
        self.index = LexicalIndex(language)
        self.sample: dict[str, str] = {}  # texts of some passages by id, evenly chosen
        self._template = template
        self.lock = Lock()  # of the index, while it is read or changed
        self._rows: dict[str, int] = {}  # by passage
        self._passages: list[str] = []  # by row
        self._documents: list[str] = []  # by row
        self._metadata: dict[str, str] = {}  # JSON, by document
        self._of_document: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, passage_id: str) -> int | None:
        """Return the row of a passage in the index; None if it is not known."""
        return self._rows.get(passage_id)

    def row_ids(self) -> dict[str, str]:
        """Return the passages by the ids of their rows in the collection."""
        return {row_id(passage): passage for passage in self._rows}

    # -- In a file --

    def recipe(self) -> dict[str, str]:
        """Return what the index depends on besides the passages."""
        return {"template": self._template, "language": self.index.language}

    def strings(self) -> dict[str, Any]:
        """Return what is known beside the index, as JSON holds it."""
        return {
            "passages": self._passages,
            "documents": self._documents,
            "metadata": self._metadata,
            "sample": self.sample,
        }

    def restore(self, strings: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Take over what `strings` and the index's `arrays` returned.

        Raises:
            ValueError: They do not belong together.
        """
        index = LexicalIndex.from_arrays(self.index.language, arrays)
        passages: list[str] = strings["passages"]
        documents: list[str] = strings["documents"]
        rows = index.rows.tolist()
        if len(passages) != len(documents) or (rows and rows[-1] >= len(passages)):
            raise ValueError("names of passages are missing")
        self.index = index
        self.sample = dict(strings["sample"])
        self._passages = passages
        self._documents = documents
        self._metadata = strings["metadata"]
        for row in rows:
            self._rows[passages[row]] = row
            self._of_document.setdefault(documents[row], []).append(passages[row])

    # -- From the collection --

    def read(self, rows: Iterable[Row]) -> None:
        """Add the passages of a collection, and take a sample of them."""
        chance = random.Random(0)  # noqa: S311 - a sample that is the same each time
        count = 0
        for block in _blocks(rows):
            texts = self.update((), block)
            for row, text in zip(block, texts, strict=True):
                count += 1
                place = chance.randrange(count)
                if count > _SAMPLE and place < _SAMPLE:
                    del self.sample[list(self.sample)[place]]
                    self.sample[str(row.metadata[PASSAGE])] = text

    def update(self, removed: Iterable[str], rows: Sequence[Row]) -> list[str]:
        """Remove passages and add others, and return the texts of these."""
        texts = []
        for row in rows:
            texts.append(encoded_text(to_unit(row), self._template))
        with self.lock:
            replaced = {str(row.metadata[PASSAGE]) for row in rows}
            gone = []
            for passage in {*removed, *replaced}:
                self.sample.pop(passage, None)
                if passage in self._rows:
                    gone.append(self._rows.pop(passage))
            first = len(self._passages)
            for row, text in zip(rows, texts, strict=True):
                passage = str(row.metadata[PASSAGE])
                if len(self.sample) < _SAMPLE:
                    self.sample[passage] = text
                document = str(row.metadata[DOCUMENT])
                self._rows[passage] = len(self._passages)
                self._passages.append(passage)
                self._documents.append(document)
                self._metadata[document] = str(row.metadata[METADATA])
                self._of_document.setdefault(document, []).append(passage)
            numbers = np.arange(first, len(self._passages))
            self.index.update(np.array(gone, np.int64), numbers, texts)
        return texts

    def replace_documents(self, ids: Iterable[str], rows: Sequence[Row]) -> None:
        """Put passages in place of all those of some documents."""
        removed: list[str] = []
        for document in ids:
            removed += self._of_document.pop(document, ())
        self.update(removed, rows)

    def document(self, passage_id: str) -> str | None:
        """Return the document of a passage; None if it is not known."""
        row = self._rows.get(passage_id)
        if row is None:
            return None
        return self._documents[row]

    def best(self, query: str, count: int, passes: Passes | None) -> dict[str, float]:
        """Return the best scores by the words of a query, by passage, best first.

        Args:
            query: The query.
            count: How many at most.
            passes: Tells by the metadata whether a passage may be found; None if all may.
        """
        with self.lock:
            rows = self.index.rows
            scores = self.index.relative_scores(query, self.index.places(rows))
        matching = np.flatnonzero(scores)
        order = matching[np.argsort(-scores[matching], kind="stable")]
        verdicts: dict[str, bool] = {}
        best: dict[str, float] = {}
        for row, score in zip(rows[order].tolist(), scores[order].tolist(), strict=True):
            if len(best) == count:
                break
            document = self._documents[row]
            if passes is not None and document not in verdicts:
                verdicts[document] = passes(json.loads(self._metadata[document]))
            if verdicts.get(document, True):
                best[self._passages[row]] = score
        return best


def _blocks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    block: list[Row] = []
    for row in rows:
        block.append(row)
        if len(block) == _BLOCK:
            yield block
            block = []
    if block:
        yield block


# -- The file --


def save_words(words: Words, path: Path) -> None:
    """Write the words of a collection, whole or not at all."""
    with words.lock:
        arrays = words.index.arrays()
        strings = json.dumps(words.strings()).encode()
        facts = {"version": _VERSION, **words.recipe()}
    arrays[_STRINGS] = np.frombuffer(strings, np.uint8)
    write_file(path, partial(_write, facts, arrays))


def _write(facts: dict[str, Any], arrays: dict[str, NDArray[Any]], out: HashingWriter) -> None:
    write_arrays(cast(BinaryIO, out), facts, arrays)


def load_words(path: Path, template: str, language: str) -> Words | None:
    """Return the words that a file holds; None if there is none, or it cannot be used."""
    words = Words(template, language)
    if not path.exists():
        return None
    try:
        facts, arrays = read_arrays(path)
        expected = {"version": _VERSION, **words.recipe()}
        if facts != expected:
            raise ValueError(f"it was made as {facts}, and {expected} is asked for")
        strings = json.loads(bytes(arrays.pop(_STRINGS)))
        words.restore(strings, arrays)
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.warning("the words in %s cannot be used and are read again: %s", path, error)
        return None
    return words
