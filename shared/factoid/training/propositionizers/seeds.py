"""Pairs of passages and propositions to learn from (Dense X Retrieval, §3).

The paper prompted GPT-4 for 42 thousand passages and filtered the pairs, without saying how. Here a
pair is kept if it is what the trained model should write: a list of propositions that the passage
supports and that cover it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from factoid.files.atomic import write_file
from factoid.files.lines import read_records
from factoid.propositions.decompose import ground_outputs
from factoid.propositions.protocol import NoPropositions, Propositionizer
from factoid.split import split_sentences
from factoid.units import Document, Granularity, Unit, child_unit

_FIELDS = ("text", "title", "section", "document_id", "propositionizer")


@dataclass(frozen=True, slots=True)
class SeedPair:
    """A passage, its propositions, and the name of their propositionizer."""

    passage: Unit
    propositions: tuple[str, ...]
    propositionizer: str = ""


@dataclass(frozen=True, slots=True)
class Seeds:
    """Pairs that were kept, and the number of passages dropped, by reason."""

    pairs: list[SeedPair]
    dropped: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.dropped.items())
        text = f"{len(self.pairs)} pairs kept, {sum(self.dropped.values())} dropped"
        if reasons:
            text += f" ({reasons})"
        return text


def make_seeds(
    passages: Sequence[Unit],
    propositionizer: Propositionizer,
    *,
    min_coverage: float = 0.8,
    max_unsupported: float = 0.0,
) -> Seeds:
    """Decompose passages, and keep the pairs that are suitable for training.

    Args:
        passages: Passages, as `split_passages` returns them.
        propositionizer: The propositionizer to learn from; with a `CachedPropositionizer`, an
            interrupted run can resume.
        min_coverage: Least share of a passage's sentences that its propositions must cover.
        max_unsupported: Largest share of propositions with names, numbers or words that the passage
            does not hold.
    """
    outputs = propositionizer.propositionize(passages) if passages else []
    source = str(getattr(propositionizer, "name", type(propositionizer).__name__))
    pairs: list[SeedPair] = []
    dropped: Counter[str] = Counter()
    for passage, texts in zip(passages, outputs, strict=True):
        propositions = tuple(filter(None, dict.fromkeys(" ".join(text.split()) for text in texts)))
        report = ground_outputs([passage], [propositions], unsupported="keep").report
        sentences = len(split_sentences(passage))
        if not propositions:
            reason = "empty output"
            if isinstance(texts, NoPropositions):
                reason = texts.reason
            dropped[reason] += 1
        elif report.unsupported > max_unsupported * len(propositions):
            dropped["unsupported propositions"] += 1
        elif sentences - report.uncovered < min_coverage * sentences:
            dropped["low coverage"] += 1
        else:
            pairs.append(SeedPair(passage, propositions, source))
    return Seeds(pairs, dict(sorted(dropped.items())))


def write_pairs(path: str | os.PathLike[str], pairs: Sequence[SeedPair]) -> None:
    """Write pairs as JSON lines, all or none."""
    lines = []
    for pair in pairs:
        fields = {}
        for name in ("document_id", "title", "section", "text"):
            fields[name] = getattr(pair.passage, name)
        record = {
            **fields,
            "propositionizer": pair.propositionizer,
            "propositions": pair.propositions,
        }
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    write_file(Path(path), lambda file: file.write("".join(lines).encode()))


def read_pairs(path: str | os.PathLike[str]) -> list[SeedPair]:
    """Read pairs from `write_pairs`, or your own.

    "text" and "propositions" are required, the rest is optional.

    Raises:
        UnreadableFileError: The file is missing or a line is not such a record.
    """
    expected = 'an object with a string in "text" and some in "propositions"'
    return list(read_records(Path(path), _pair, expected=expected))


def _pair(values: dict[str, Any]) -> SeedPair:
    text, title, section, key, propositionizer = fields = [
        values.get(name) or "" for name in _FIELDS
    ]
    propositions = values["propositions"]
    if not isinstance(propositions, list) or not all(
        isinstance(value, str) for value in (*fields, *propositions)
    ):
        raise TypeError("a field of another type")
    if not propositions or not all(value.strip() for value in (text, *propositions)):
        raise ValueError("an empty text")
    key = key or title or hashlib.sha256(text.encode()).hexdigest()
    document = Document(text, title, section, key)
    passage = child_unit(document, text, Granularity.PASSAGE, 0, len(text))
    return SeedPair(passage, tuple(propositions), propositionizer)
