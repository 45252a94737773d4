"""A reader that reads each context once; answers are kept, so that a killed run goes on.

The paper asks a reader with the first 100 and 500 words that each granularity finds (Dense X
Retrieval, §4.4). With a chat model each answer is a request that somebody pays for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.atomic import write_file
from factoid.files.lines import parse_json, read_whole
from factoid.progress import progress_bar
from factoid.readers.reader import Reader

_BLOCK = 32  # answers in a file; a kill loses at most these


class ReaderCache:
    """A reader beside its answers of earlier runs.

    Args:
        reader: Answers what is new, all at once if it has `read_batch`. Its name is part of every
            key (see `reader_name`).
        folder: Holds a JSON file for each block of answers; None to keep nothing after the process.
        progress: Whether to show a bar, as `factoid.progress` does.

    Raises:
        UnreadableFileError: A file in the folder is damaged.
    """

    def __init__(
        self, reader: Reader, folder: Path | None = None, *, progress: bool | None = False
    ) -> None:
        self.reader = reader
        self.name = reader_name(reader)
        self._folder = folder
        self._progress = progress
        self._answers: dict[str, str] = {}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(folder.glob("*.json")):
                self._answers |= _answers_of(path)

    def read_batch(self, questions: Sequence[str], contexts: Sequence[str]) -> list[str]:
        """Return the answer to each question from the context at its place.

        Raises:
            InvalidInputError: The reader returns something other than a string for each question.
        """
        keys = []
        new = {}
        for question, context in zip(questions, contexts, strict=True):
            key = self._key(question, context)
            keys.append(key)
            if key not in self._answers:
                new[key] = (question, context)
        order = list(new)
        with progress_bar(
            show=self._progress, unit=" answers", total=len(order), desc=f"reading ({self.name})"
        ) as bar:
            for start in range(0, len(order), _BLOCK):
                block = order[start : start + _BLOCK]
                pairs = [new[key] for key in block]
                answers = self._ask(pairs)
                self._keep(dict(zip(block, answers, strict=True)))
                bar.update(len(block))
        return [self._answers[key] for key in keys]

    def _ask(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        questions = [question for question, _ in pairs]
        contexts = [context for _, context in pairs]
        in_batches = getattr(self.reader, "read_batch", None)
        if in_batches is not None:
            answers = list(in_batches(questions, contexts))
        else:
            answers = list(map(self.reader.read, questions, contexts))
        if len(answers) != len(pairs) or not all(isinstance(answer, str) for answer in answers):
            raise InvalidInputError(
                f"expected a string from the reader for each of {len(pairs)} questions, got "
                f"{answers!r:.200}"
            )
        return answers

    def _keep(self, answers: dict[str, str]) -> None:
        self._answers |= answers
        if self._folder is None:
            return
        content = json.dumps(answers, ensure_ascii=False).encode()
        name = hashlib.sha256("".join(answers).encode()).hexdigest()[:16]
        write_file(self._folder / f"{name}.json", lambda out: out.write(content))

    def _key(self, question: str, context: str) -> str:
        return hashlib.sha256("\0".join((self.name, question, context)).encode()).hexdigest()[:32]


def reader_name(reader: Reader) -> str:
    """Return what identifies a reader: its `name`, or its class and the name of its model.

    Answers are kept under it, so two readers that answer differently need different names.
    """
    name = getattr(reader, "name", None)
    if name:
        return str(name)
    model = getattr(reader, "llm", None) or getattr(reader, "model", None)
    for attribute in ("model_name", "model", "name_or_path"):
        of_model = getattr(model, attribute, None)
        if isinstance(of_model, str) and of_model:
            model = of_model
            break
    kind = type(reader).__name__
    if isinstance(model, str | Path):
        return f"{kind} {model}"
    return kind


def _answers_of(path: Path) -> dict[str, str]:
    try:
        answers = parse_json(read_whole(path))
    except InvalidInputError as error:
        raise UnreadableFileError(f"{path}: {error}") from error
    if not isinstance(answers, dict) or not all(map(_is_text, answers.values())):
        raise UnreadableFileError(
            f"{path} holds no answers of an earlier run: delete it, or name another cache"
        )
    return answers


def _is_text(value: object) -> bool:
    return isinstance(value, str)
