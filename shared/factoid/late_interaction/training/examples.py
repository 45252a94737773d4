"""Training data: queries with passages and a teacher's scores (AGRaME, §3.1 and §3.3).

Two formats are read: JSON lines with the passages' texts, and ColBERTv2's 64-way format, whose lines name queries and passages by
their numbers in two TSV files, as in MS MARCO.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.atomic import write_file
from factoid.files.lines import filled_lines, located, parse_json, read_records
from factoid.sentences import Span, sentence_spans
from factoid.words import stands_in

_FIELDS = ("query", "passages", "scores", "answers", "sentence_scores")


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """A query with the passages to rank for it.

    Raises:
        InvalidInputError: Texts are empty, scores are not finite, or numbers of passages, sentences and scores differ.
    """

    query: str
    passages: tuple[str, ...]  # at least two, as encoded
    scores: tuple[float, ...]  # the teacher's S_CE(q, passage), unbounded like a cross-encoder's logits
    answers: tuple[str, ...] = ()  # short ones, with which the teacher of sentences can be trained
    # S_CE'(q, sentence) of each sentence of each passage, in the order of `sentence_spans`; None where there are no scores.
    sentence_scores: tuple[tuple[float, ...] | None, ...] | None = None

    def __post_init__(self) -> None:
        if not self.query.strip() or len(self.passages) < 2 or not all(text.strip() for text in self.passages):
            raise InvalidInputError(
                f"expected a query and at least two passages, none of them empty, got {len(self.passages)} passages "
                f"for the query {self.query!r:.60}"
            )
        _check_scores(self.scores, len(self.passages), "scores", "passages")
        if self.sentence_scores is None:
            return
        if len(self.sentence_scores) != len(self.passages):
            raise InvalidInputError(
                f"expected sentence_scores for {len(self.passages)} passages, got {len(self.sentence_scores)}"
            )
        for place, (passage, scores) in enumerate(zip(self.passages, self.sentence_scores, strict=True)):
            if scores is not None:
                _check_scores(scores, len(sentence_spans(passage)), f"sentence_scores[{place}]", "sentences")

    def holds_answer(self, passage: int) -> list[bool]:
        """Return for each sentence of a passage whether it holds an answer as whole words."""
        text = self.passages[passage]
        return [
            any(stands_in(answer, text[start:end]) for answer in self.answers) for start, end in sentence_spans(text)
        ]


def mark_sentence(passage: str, span: Span) -> str:
    """Return a passage with one of its sentences between dollar signs, as the teacher of sentences reads it (§3.3)."""
    start, end = span
    return f"{passage[:start]}${passage[start:end]}${passage[end:]}"


def read_examples(path: str | os.PathLike[str]) -> list[TrainingExample]:
    """Read examples from JSON lines with "query", "passages", "scores", and optionally "answers" and "sentence_scores".

    Raises:
        UnreadableFileError: The file is missing, or a line is not such an example; the message says which line.
    """
    return list(read_records(Path(path), _example, expected="an example"))


def write_examples(path: str | os.PathLike[str], examples: Sequence[TrainingExample]) -> None:
    """Write examples in the format of `read_examples`, all or none."""
    lines = []
    for example in examples:
        fields = {name: getattr(example, name) for name in _FIELDS}
        lines.append(json.dumps({k: v for k, v in fields.items() if v not in ((), None)}, ensure_ascii=False) + "\n")
    write_file(Path(path), lambda file: file.write("".join(lines).encode()))


def read_colbert_examples(
    path: str | os.PathLike[str],
    queries: str | os.PathLike[str],
    collection: str | os.PathLike[str],
    *,
    ways: int | None = None,
    limit: int | None = None,
) -> list[TrainingExample]:
    """Read ColBERTv2's distillation data, such as examples.json of `colbert-ir/colbertv2.0_msmarco_64way`.

    Args:
        path: The examples: lines of `[qid, [pid, score], …]`.
        queries: Lines of a number, a tab and a query.
        collection: Lines of a number, a tab and a passage; anything after a second tab, such as a title, is left out.
        ways: Number of passages of each example to use, from the first, which is the positive; None for all.
        limit: Number of examples to read; None for all.

    Raises:
        UnreadableFileError: A file is missing, a line is not as above, or a number has no text; the message says which line.
    """
    rows: list[tuple[str, str, list[tuple[str, float]]]] = []
    for number, line in filled_lines(Path(path)):
        if limit is not None and len(rows) >= limit:
            break
        place = f"{os.fspath(path)}:{number}"
        with located(place):
            query, ranked = _ranked(parse_json(line))
            rows.append((place, query, ranked[:ways]))
    query_texts = _read_texts(Path(queries), {query for _, query, _ in rows})
    texts = _read_texts(Path(collection), {key for _, _, ranked in rows for key, _ in ranked})
    examples = []
    for place, query, ranked in rows:
        with located(place):
            passages = tuple(_text(texts, key, collection) for key, _ in ranked)
            scores = tuple(score for _, score in ranked)
            examples.append(TrainingExample(_text(query_texts, query, queries), passages, scores))
    return examples


def _example(values: dict[str, Any]) -> TrainingExample:
    query, passages, scores, answers, sentences = (values.get(name) for name in _FIELDS)
    answers = [] if answers is None else [answers] if isinstance(answers, str) else answers
    texts = [*passages, *answers] if isinstance(passages, list) and isinstance(answers, list) else [None]
    if not all(isinstance(text, str) for text in (query, *texts)) or not isinstance(scores, list):
        raise InvalidInputError(
            'expected an object with a string in "query", a list of strings in "passages" and one of numbers in "scores", '
            f'and in "answers", if it is there, strings, got {values!r:.80}'
        )
    if sentences is not None:
        if not isinstance(sentences, list) or not all(row is None or isinstance(row, list) for row in sentences):
            raise InvalidInputError(
                f'expected a list of numbers, or null, for each passage in "sentence_scores", got {sentences!r:.80}'
            )
        sentences = per_passage(sentences)
    return TrainingExample(str(query), tuple(passages or ()), tuple(scores), tuple(answers), sentences)


def _ranked(row: Any) -> tuple[str, list[tuple[str, float]]]:
    pairs = row[1:] if isinstance(row, list) else []
    if not pairs or not _is_key(row[0]) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise InvalidInputError(f"expected [query id, [passage id, score], …], got {row!r:.80}")
    for key, score in pairs:
        if not _is_key(key) or not _is_number(score):
            raise InvalidInputError(f"expected a passage id and its score, got {[key, score]!r:.80}")
    return str(row[0]), [(str(key), float(score)) for key, score in pairs]


def _read_texts(path: Path, keys: set[str]) -> dict[str, str]:
    """Return the texts of a TSV file with these ids."""
    texts = {}
    for number, line in filled_lines(path):
        with located(f"{path}:{number}"):
            try:
                columns = line.decode("utf-8-sig").rstrip("\r\n").split("\t")
            except UnicodeDecodeError as error:
                raise InvalidInputError(f"not UTF-8: {error}. Convert the file, or save it again as UTF-8") from error
            if len(columns) < 2 or not columns[1].strip():
                raise InvalidInputError(f"expected an id, a tab and a text, got {columns!r:.80}")
        if columns[0] in keys:
            texts[columns[0]] = columns[1]
    return texts


def _text(texts: Mapping[str, str], key: str, path: str | os.PathLike[str]) -> str:
    if key not in texts:
        raise UnreadableFileError(f"{os.fspath(path)} has no text with the id {key}")
    return texts[key]


def per_passage(scores: Sequence[Sequence[float] | None]) -> tuple[tuple[float, ...] | None, ...]:
    """Return scores of sentences in the form of a `TrainingExample`, from that of JSON."""
    return tuple(None if row is None else tuple(row) for row in scores)


def _check_scores(scores: Sequence[Any], count: int, name: str, of: str) -> None:
    if len(scores) != count or not all(map(_is_number, scores)):
        raise InvalidInputError(
            f"expected a finite number in {name} for each of {count} {of}, got {list(scores)!r:.80}"
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_key(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
