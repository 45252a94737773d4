"""The encyclopedia and its questions: from the installed package, or from `examples/data` of a checkout."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import factoid
from factoid.errors import UnreadableFileError
from factoid.files import read_documents
from factoid.units import Document


@dataclass(frozen=True, slots=True)
class Question:
    """A question; with the accepted answers, and the title of the article that holds them, where they are known."""

    text: str
    answers: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class Encyclopedia:
    """Articles, and questions about them."""

    documents: list[Document]
    questions: list[Question]


def find_data() -> Path:
    """Return the folder of the demo's data.

    Raises:
        UnreadableFileError: It is neither in the installed package nor beside its source code.
    """
    package = Path(factoid.__file__).parent
    for folder in (package / "demo_data", package.parents[1] / "examples" / "data"):
        if (folder / "questions.jsonl").is_file():
            return folder
    message = f"the demo's encyclopedia is not in {package}: install factoid again, or show your own files with --docs"
    raise UnreadableFileError(message)


def load_encyclopedia(folder: Path) -> Encyclopedia:
    """Read `encyclopedia/*.md` and `questions.jsonl`."""
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return Encyclopedia(list(read_documents([folder / "encyclopedia"])), list(_questions(lines)))


def _questions(lines: Iterable[str]) -> Iterable[Question]:
    for line in lines:
        record = json.loads(line)
        yield Question(record["question"], tuple(record["answers"]), record["title"])
