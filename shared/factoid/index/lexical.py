"""A lexical index: rank rows of texts by the words that they share with a query (BM25), with tantivy."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from factoid._optional import require
from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.index.vector_index import RowIds
from factoid.words import UNSPACED

LANGUAGES = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish", "fi": "finnish",
    "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish", "ta": "tamil", "tr": "turkish", "": "",
}  # fmt: skip
"""The languages that have a stemmer, and "" for all others."""

_UNSPACED_RUN = re.compile(rf"(?:{UNSPACED.pattern}|[\uac00-\ud7af])+")
_WRITER_BYTES = 64_000_000
_TEXT, _ROW = "text", "row"
Bytes = NDArray[np.uint8]
_LONGEST = 100  # bytes of a word: longer ones are data
BEST = 4096  # texts in an answer
_ENOUGH = 0.5  # of the score of a text with all words of the query: the best text counts less if it has less
_FEW = 4096  # rows that a query lists one by one; more are masked after a wider search
_STOP_WORDS = (
    "a an the and or of in on at by for from to with as is are was were be been am do does did has have had it its this that "
    "these those there i me my you your we our they their he she his her what which who whom whose when where why how can "
    "could would should will shall may might must please tell give"
).split()


class LexicalIndex:
    """Texts by row, ranked by BM25 (k1 1.2, b 0.75). Reads may run in several threads at once, but not during `update`.

    Words are runs of letters and digits, lower-cased, stemmed in the given language, without accents. Scripts without
    spaces, and Korean, are indexed by characters and pairs of them. Words common to all questions do not count in a query that
    has others. Word statistics include removed texts until the engine merges its segments.

    Args:
        language: A code of `LANGUAGES`, or "" for no stemmer.
        files: The result of another index's `files`, to read that index.
        on_disk: Keep the index in a temporary folder, which `files` needs, instead of in memory.

    Raises:
        InvalidInputError: The language is unknown.
        MissingDependencyError: tantivy is not installed.
        ValueError: The files are damaged, or from another version of tantivy.
    """

    def __init__(
        self, language: str = "en", *, files: Mapping[str, Bytes] | None = None, on_disk: bool = False
    ) -> None:
        tantivy = require("tantivy", extra="lexical")
        stemmer = LANGUAGES[check_language(language)]
        self.language = language
        self._folder: Path | None = None
        if on_disk or files is not None:
            self._folder = Path(mkdtemp(prefix="factoid-lexical-"))
            finalize(self, _remove, self._folder, os.getpid())
            for name, content in (files or {}).items():
                content.tofile(self._folder / name)
        schema = tantivy.SchemaBuilder().add_integer_field(_ROW, indexed=True, fast=True)
        self._schema = schema.add_text_field(_TEXT, tokenizer_name=_TEXT, index_option="freq").build()
        self._index = tantivy.Index(self._schema, path=self._folder and str(self._folder))
        self._words = _analyzer(stemmer)
        self._content_words = _analyzer(stemmer, _STOP_WORDS if stemmer == "english" else ())
        self._index.register_tokenizer(_TEXT, self._words)
        self._searcher = self._index.searcher()

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    def update(self, removed: RowIds, rows: RowIds, texts: Iterable[str]) -> None:
        """Remove rows, then add rows with their texts, in one step. Unknown rows are ignored."""
        import tantivy

        writer = self._index.writer(_WRITER_BYTES, 1)
        for row in removed.tolist():
            writer.delete_documents_by_term(_ROW, row)
        for row, text in zip(rows.tolist(), texts, strict=True):
            document = tantivy.Document()
            document.add_integer(_ROW, row)
            document.add_text(_TEXT, _spaced(text))
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()

    def ask(self, query: str, k: int = BEST, *, allowed: RowIds | None = None) -> Answer:
        """Return the k best texts for a query, any text without syntax, among the allowed rows, ascending; None for all."""
        words = self.words(query)
        rows, scores = self.search(words, k, allowed=allowed)
        highest = float(scores.max(initial=_ENOUGH * self.expected_score(words)))
        return Answer(self, words, rows, scores / highest, highest)

    def words(self, query: str) -> list[str]:
        """Return the words of a query that count, each once. A query is any text, without syntax."""
        spaced = _spaced(query, query=True)
        return list(dict.fromkeys(self._content_words.analyze(spaced) or self._words.analyze(spaced)))

    def search(self, words: Sequence[str], k: int, *, allowed: RowIds | None = None) -> tuple[RowIds, Vectors]:
        """Return the rows of the k best texts that have some of the words, and their scores above 0, best first.

        Only rows in `allowed`, ascending, take part; None for all.
        """
        query = self._any_of(_TEXT, words, "freq")
        if allowed is not None and len(allowed) <= _FEW:
            return self._best(self._among(allowed, query), k)
        width = k
        while True:
            rows, scores = self._best(query, width)
            if allowed is None or not len(rows):
                return rows, scores
            at = np.minimum(np.searchsorted(allowed, rows), len(allowed) - 1)
            chosen = allowed[at] == rows
            if chosen.sum() >= k or len(rows) < width:
                return rows[chosen][:k], scores[chosen][:k]
            width *= 4

    def scores(self, words: Sequence[str], rows: RowIds) -> Vectors:
        """Return the score of each row, 0 for one that has none of the words. Shape: (n,), float32."""
        query = self._any_of(_TEXT, words, "freq")
        scores = np.zeros(len(rows), np.float32)
        order = np.argsort(rows)
        for start in range(0, len(rows), _FEW):
            block = order[start : start + _FEW]
            some = rows[block]
            matching, values = self._best(self._among(some, query), len(some))
            scores[block[np.searchsorted(some, matching)]] = values
        return scores

    def expected_score(self, words: Sequence[str]) -> float:
        """Return the score of a text of average length that would have each of the words once."""
        score, texts = 0.0, self._searcher.num_docs
        for word in words:
            frequency = self._searcher.doc_freq(_TEXT, word)
            others = max(0, texts - frequency)  # removed texts count in the frequency until segments merge
            score += math.log1p((others + 0.5) / (frequency + 0.5))
        return score

    def files(self) -> dict[str, Bytes]:
        """Return the files of an index on disk by name, to pass to another one."""
        if self._folder is None:
            raise InvalidInputError("an index in memory has no files: it needs on_disk=True")
        files = (file for file in self._folder.iterdir() if not file.name.endswith(".lock"))
        return {file.name: np.fromfile(file, np.uint8) for file in sorted(files)}

    def _any_of(self, field: str, values: Iterable[str | int], *options: str) -> Any:
        from tantivy import Occur, Query

        return Query.boolean_query(
            [(Occur.Should, Query.term_query(self._schema, field, value, *options)) for value in values]
        )

    def _among(self, rows: RowIds, query: Any) -> Any:
        from tantivy import Occur, Query

        # A `term_set_query` would walk past all rows of the index.
        among = Query.const_score_query(self._any_of(_ROW, rows.tolist()), 0.0)
        return Query.boolean_query([(Occur.Must, among), (Occur.Must, query)])

    def _best(self, query: Any, k: int) -> tuple[RowIds, Vectors]:
        count = min(k, self._searcher.num_docs)
        hits = self._searcher.search(query, count, count=False).hits if count else []
        if not hits:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        values, addresses = zip(*hits, strict=True)
        rows = np.array(self._searcher.fast_field_values(_ROW, addresses), np.int64)
        scores = np.array(values, np.float32)
        order = np.lexsort((rows, -scores))
        return rows[order], scores[order]


class Answer(NamedTuple):
    """The best texts for a query."""

    lexical: LexicalIndex
    words: Sequence[str]  # of the query
    rows: RowIds  # best first
    shares: Vectors  # scores, divided by the highest, or by half the score of a text with all words if that is more
    highest: float

    def add(self, totals: Vectors, rows: RowIds, scale: float, best: Callable[[Vectors], RowIds], k: int) -> Vectors:
        """Add `scale` times the shares of rows, ascending, to their totals, and return these shares. Shape: (rows,).

        A share is exact, or else 0 and that of a row that it could not lift among the k best. `best` returns the positions of at
        least k totals, best first, if there are as many.
        """
        shares = np.zeros(len(rows), np.float32)
        at = np.minimum(np.searchsorted(rows, self.rows), len(rows) - 1)
        known = rows[at] == self.rows
        at = at[known]
        shares[at] = self.shares[known]
        totals += scale * shares
        if len(self.rows) == BEST:  # others may have some of the words
            order = best(totals)
            reached = totals[order[k - 1]] if len(order) >= k else -np.inf
            possible = totals + scale * self.shares[-1] >= reached
            possible[at] = False
            shares[possible] = self.lexical.scores(self.words, rows[possible]) / self.highest
            totals[possible] += scale * shares[possible]
        return shares


def _spaced(text: str, *, query: bool = False) -> str:
    """Return a text with spaces between the characters, and pairs of characters, of scripts without spaces.

    A query of two or more characters consists of pairs only.
    """

    def pairs(match: re.Match[str]) -> str:
        run = match[0]
        both = list(map("".join, pairwise(run)))
        return f" {' '.join(both if query and both else [*run, *both])} "

    return text if text.isascii() else _UNSPACED_RUN.sub(pairs, text)


@cache
def has_tantivy() -> bool:
    """Return whether tantivy is installed, so that words can be searched."""
    return find_spec("tantivy") is not None


def check_language(language: str) -> str:
    """Return a language if it is one of `LANGUAGES`; raise InvalidInputError otherwise."""
    if language not in LANGUAGES:
        raise InvalidInputError(
            f"unknown language {language!r}: expected one of {', '.join(map(repr, LANGUAGES))}; '' does without a stemmer, and "
            "scripts without spaces need none"
        )
    return language


def _analyzer(stemmer: str, stop_words: Sequence[str] = ()) -> Any:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(_LONGEST)).filter(Filter.lowercase())
    if stop_words:
        builder = builder.filter(Filter.custom_stopword(list(stop_words)))
    if stemmer:
        builder = builder.filter(Filter.stemmer(stemmer))
    return builder.filter(Filter.ascii_fold()).build()


def _remove(folder: Path, process: int) -> None:
    """Remove a temporary folder, unless this is a fork of the process that made it."""
    if os.getpid() == process:
        rmtree(folder, ignore_errors=True)
