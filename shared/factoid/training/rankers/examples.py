"""Training data: queries with passages and a teacher's scores (AGRaME, §3.1 and §3.3).

Two formats are read: JSON lines with the passages' texts, and ColBERTv2's 64-way format, whose
lines name queries and passages by their numbers in two TSV files, as in MS MARCO.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.atomic import write_file
from factoid.files.lines import filled_lines, read_records
from factoid.sentences import Span, sentence_spans
from factoid.words import stands_in

_FIELDS = ("query", "passages", "scores", "answers", "sentence_scores")


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """A query with the passages to rank for it.

    Raises:
        InvalidInputError: Texts are empty, or numbers of passages, sentences and scores differ.

    Attributes:
        passages: At least two passages, as they are encoded.
        scores: The teacher's S_CE(q, passage), unbounded like a cross-encoder's logits.
        answers: Short answers, with which the teacher of sentences can be trained.
        sentence_scores: S_CE'(q, sentence) of each sentence of each passage, in the order of
            `sentence_spans`; None where there are no scores.
    """

    query: str
    passages: tuple[str, ...]
    scores: tuple[float, ...]
    answers: tuple[str, ...] = ()
    sentence_scores: tuple[tuple[float, ...] | None, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.passages) < 2 or not all(text.strip() for text in (self.query, *self.passages)):
            raise InvalidInputError(
                f"expected a query and at least two passages, none of them empty, got {self!r:.200}"
            )
        if len(self.scores) != len(self.passages):
            raise InvalidInputError(
                f"expected scores for {len(self.passages)} passages, got {len(self.scores)}"
            )
        if self.sentence_scores is None:
            return
        if len(self.sentence_scores) != len(self.passages):
            count = f"{len(self.passages)} passages, got {len(self.sentence_scores)}"
            raise InvalidInputError(f"expected sentence_scores for {count}")
        for passage, scores in zip(self.passages, self.sentence_scores, strict=True):
            if scores is not None and len(scores) != len(sentence_spans(passage)):
                raise InvalidInputError(
                    f"expected sentence_scores for each sentence of {passage!r:.60}, got "
                    f"{len(scores)}"
                )

    def holds_answer(self, passage: int) -> list[bool]:
        """Return for each sentence of a passage whether it holds an answer as whole words."""
        text = self.passages[passage]
        answered = []
        for start, end in sentence_spans(text):
            answered.append(any(stands_in(answer, text[start:end]) for answer in self.answers))
        return answered


def mark_sentence(passage: str, span: Span) -> str:
    """Return a passage with one of its sentences between dollar signs (§3.3).

    The teacher of sentences reads it so.
    """
    start, end = span
    return f"{passage[:start]}${passage[start:end]}${passage[end:]}"


def read_examples(path: str | os.PathLike[str]) -> list[TrainingExample]:
    """Read examples from JSON lines.

    They have "query", "passages", "scores", and optionally "answers" and "sentence_scores".

    Raises:
        UnreadableFileError: The file is missing, or a line is not such an example; the message says
            which line.
    """
    expected = (
        'an object with a string in "query", strings in "passages" and "answers", and numbers in '
        '"scores"'
    )
    return list(read_records(Path(path), _example, expected=expected))


def write_examples(path: str | os.PathLike[str], examples: Sequence[TrainingExample]) -> None:
    """Write examples in the format of `read_examples`, all or none."""
    lines = []
    for example in examples:
        fields = {name: getattr(example, name) for name in _FIELDS}
        lines.append(
            json.dumps({k: v for k, v in fields.items() if v not in ((), None)}, ensure_ascii=False)
            + "\n"
        )
    write_file(Path(path), lambda file: file.write("".join(lines).encode()))


def read_colbert_examples(
    path: str | os.PathLike[str],
    queries: str | os.PathLike[str],
    collection: str | os.PathLike[str],
    *,
    ways: int | None = None,
) -> list[TrainingExample]:
    """Read ColBERTv2's distillation data.

    Such is examples.json of `colbert-ir/colbertv2.0_msmarco_64way`.

    Args:
        path: The examples: lines of `[qid, [pid, score], …]`.
        queries: Lines of a number, a tab and a query.
        collection: Lines of a number, a tab and a passage; anything after a second tab, such as a
            title, is left out.
        ways: Number of passages of each example to use, from the first, which is the positive; None
            for all.

    Raises:
        UnreadableFileError: A file is missing or not as above, or a number has no text.
    """
    try:
        rows = [json.loads(line) for _, line in filled_lines(Path(path))]
        query_texts = _texts(queries, {str(query) for query, *_ in rows})
        needed: set[str] = set()
        for _, *ranked in rows:
            needed.update(str(key) for key, _ in ranked[:ways])
        texts = _texts(collection, needed)
        examples = []
        for query, *ranked in rows:
            keys, scores = zip(*ranked[:ways], strict=True)
            passages = tuple(texts[str(key)] for key in keys)
            examples.append(
                TrainingExample(query_texts[str(query)], passages, tuple(map(float, scores)))
            )
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        files = f"{os.fspath(path)}, {os.fspath(queries)} and {os.fspath(collection)}"
        raise UnreadableFileError(
            f"{files} are not in ColBERTv2's format, or lack an id: {error!r}"
        ) from error
    return examples


def _texts(path: str | os.PathLike[str], keys: set[str]) -> dict[str, str]:
    """Return the texts of a TSV file with these ids."""
    rows = (
        line.decode("utf-8-sig").rstrip("\r\n").split("\t") for _, line in filled_lines(Path(path))
    )
    texts = {}
    for columns in rows:
        if columns[0] in keys:
            texts[columns[0]] = columns[1]
    return texts


def _example(values: dict[str, Any]) -> TrainingExample:
    query, passages, scores, answers, sentences = map(values.get, _FIELDS)
    answers = [answers] if isinstance(answers, str) else answers or []
    if not isinstance(passages, list) or not all(
        isinstance(text, str) for text in (query, *passages, *answers)
    ):
        raise TypeError("a field of another type")
    rows = sentences and tuple(row and tuple(map(float, row)) for row in sentences)
    return TrainingExample(
        str(query), tuple(passages), tuple(map(float, scores or ())), tuple(answers), rows
    )
