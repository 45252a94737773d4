"""Texts with propositions that others wrote for them, as the benchmark of propositionizers reads
them.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from factoid import Granularity
from factoid.encode import SentenceTransformerEncoder, Vectors
from factoid.propositions.ground import content_words
from factoid.units import Unit

HALVES = ("development", "held-out")

_SPAN = re.compile(r"<span class='([^']*)'>(.*?)</span>", re.DOTALL)
_PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_TITLED = re.compile(r"\[(.+?)\]\s+(.*)", re.DOTALL)
_INSERTED = (
    "has-text-info-dark"  # words of the proposition that its passage does not have at that place
)
_HE = re.compile(r"\b(?:[Hh]e|[Ss]he)\b(?!')")
_HIS = re.compile(r"^(?:His|Her)\b")
_SUPPORTED = 0.8  # of a proposition's content words, for a passage with its title to be its passage


@dataclass(frozen=True)
class Example:
    """A sentence or passage, the propositions to compare with, and those that a model wrote for
    it.
    """

    passage: Unit
    references: list[str]
    model: list[str] = field(default_factory=list)

    @property
    def half(self) -> str:
        """By the title's hash, so that all of one title fall together, in every file and on every
        machine.
        """
        return HALVES[hashlib.sha1(self.passage.title.encode()).digest()[-1] % 2]


def read_factscore(folder: Path) -> list[Example]:
    """Return the sentences that have human atomic facts, each as a passage of its own under its
    bio's topic.
    """
    examples = []
    for name in ("InstructGPT", "ChatGPT"):
        file = folder / "labeled_data" / f"{name}.jsonl"
        for line in file.read_text(encoding="utf-8").splitlines():
            bio = json.loads(line)
            for sentence in bio["annotations"] or []:
                human = _facts(sentence, "human-atomic-facts")
                model = _facts(sentence, "model-atomic-facts")
                if human:
                    examples.append(Example(_passage(bio["topic"], sentence["text"]), human, model))
    return examples


def _facts(sentence: dict[str, Any], key: str) -> list[str]:
    return [fact["text"] for fact in sentence.get(key) or []]


def read_densex(folder: Path) -> list[Example]:
    """Return the demo's passages with those of their propositions that some retriever found for
    some question.

    The demo shows propositions with their title, not with their passage: each is given to the
    passage of that title that holds most of its words, and left out where no passage shown holds
    enough. So a passage has some of the Propositionizer's propositions and not all: recall can be
    measured on them, precision cannot.
    """
    shown = []
    for retrievers in json.loads((folder / "data.json").read_text(encoding="utf-8")).values():
        shown += retrievers.values()
    passages = {}
    titled: dict[tuple[str, str], None] = {}  # propositions with their title
    for views in shown:
        for text in views["passage"].values():
            for passage in _own(text):
                passages[passage.id] = passage
        titled |= dict.fromkeys(_listed(views["word"]["proposition"]))
    found: dict[str, dict[str, None]] = {}
    for title, proposition in titled:
        words = content_words(proposition)
        best = ""
        most = -1
        for passage in passages.values():
            held = len(words & (content_words(passage.text) | content_words(title)))
            if passage.title == title and held > most:
                best = passage.id
                most = held
        if best and most >= _SUPPORTED * len(words):
            found.setdefault(best, {})[proposition] = None
    examples = []
    for passage_id, propositions in found.items():
        examples.append(Example(passages[passage_id], list(propositions)))
    return examples


def name_subject(text: str, topic: str) -> str:
    """Write the topic for the first he or she, or his or her at the start, of a text that names no
    part of the topic.
    """
    if any(name in text for name in topic.split()):
        return text
    return _HE.sub(topic, _HIS.sub(f"{topic}'s", text), count=1)


def _own(marked: str) -> Iterator[Unit]:
    """Yield the passage of one view, without the words that the demo inserted into it."""
    text = "".join(inner for kind, inner in _SPAN.findall(marked) if kind != _INSERTED)
    if match := _TITLED.fullmatch(_plain(text)):
        yield _passage(*match.groups())


def _listed(marked: str) -> Iterator[tuple[str, str]]:
    """Yield title and text of the propositions of one view; the last one is cut off where the words
    were used up.
    """
    for paragraph in _PARAGRAPH.findall(marked):
        match = _TITLED.fullmatch(_plain(paragraph))
        if match and not paragraph.rstrip().endswith("..."):
            yield match[1], match[2]


def _plain(marked: str) -> str:
    return " ".join(
        html.unescape(_TAG.sub("", marked)).replace(" .", ".").replace(" ,", ",").split()
    )


def _passage(title: str, text: str) -> Unit:
    text = text.strip()
    return Unit(
        "",
        text,
        Granularity.PASSAGE,
        document_id=title,
        parent_id=title,
        start=0,
        end=len(text),
        title=title,
    )


class KeptEncoder:
    """all-MiniLM-L6-v2, whose vectors are kept in a file: another run encodes only what is new."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._encoder = SentenceTransformerEncoder()
        self._vectors: dict[bytes, Vectors] = {}
        if path.exists():
            with np.load(path, allow_pickle=False) as kept:
                for key, vector in zip(kept["keys"], kept["vectors"], strict=True):
                    self._vectors[key.tobytes()] = vector

    def encode_units(self, texts: list[str]) -> Vectors:
        keys = [hashlib.sha256(text.encode()).digest() for text in texts]
        new = {}
        for key, text in zip(keys, texts, strict=True):
            if key not in self._vectors:
                new[key] = text
        if new:
            self._vectors.update(
                zip(new, self._encoder.encode_units(list(new.values())), strict=True)
            )
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.with_suffix(".part").open("wb") as file:
                rows = np.array([np.frombuffer(key, np.uint8) for key in self._vectors])
                np.savez(file, keys=rows, vectors=np.stack(list(self._vectors.values())))
            self._path.with_suffix(".part").replace(self._path)
        return np.stack([self._vectors[key] for key in keys])
