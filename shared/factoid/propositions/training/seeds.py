"""Seed pairs: passages with the propositions that a propositionizer to be learned from wrote (Dense X Retrieval, §3).

The paper prompted GPT-4 for 42 thousand passages and filtered the pairs, without saying how. Here a pair is kept if it is
what the trained model shall write: a list of propositions that the passage supports and that cover it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.propositions.decompose import ground
from factoid.propositions.protocol import NoPropositions, Propositionizer
from factoid.split import split_sentences
from factoid.units import Granularity, Unit, make_unit

_FIELDS = ("document_id", "title", "section", "text", "propositionizer")


@dataclass(frozen=True, slots=True)
class SeedPair:
    """A passage, its propositions, and the name of what wrote them."""

    passage: Unit
    propositions: tuple[str, ...]
    propositionizer: str = ""


@dataclass(frozen=True, slots=True)
class Seeds:
    """Pairs that were kept, and how many passages were dropped, by reason."""

    pairs: list[SeedPair]
    dropped: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.dropped.items())
        return f"{len(self.pairs)} pairs kept, {sum(self.dropped.values())} dropped{f' ({reasons})' if reasons else ''}"


def make_seeds(
    passages: Sequence[Unit],
    propositionizer: Propositionizer,
    *,
    min_coverage: float = 0.8,
    max_unsupported: float = 0.0,
) -> Seeds:
    """Have passages decomposed, and keep the pairs that are fit to learn from.

    Give a `CachedPropositionizer` and an interrupted run goes on where it ended.

    Args:
        passages: Passages, as `split_passages` gives them.
        propositionizer: What is to be learned from.
        min_coverage: Least share of a passage's sentences that its propositions must cover.
        max_unsupported: Largest share of propositions with names, numbers or words that the passage does not hold.

    Raises:
        InvalidInputError: A share is not within 0 and 1.
        PropositionizerError: What the propositionizer raises.
    """
    for name, share in (("min_coverage", min_coverage), ("max_unsupported", max_unsupported)):
        if not 0 <= share <= 1:
            message = f"expected {name} from 0 to 1, got {share}"
            raise InvalidInputError(message)
    outputs = propositionizer.propositionize(passages) if passages else []
    source = str(getattr(propositionizer, "name", type(propositionizer).__name__))
    pairs: list[SeedPair] = []
    dropped: Counter[str] = Counter()
    for passage, texts in zip(passages, outputs, strict=True):
        propositions = tuple(filter(None, dict.fromkeys(" ".join(text.split()) for text in texts)))
        if not propositions:
            reason = texts.reason if isinstance(texts, NoPropositions) else "empty output"
        else:
            reason = _fault(passage, propositions, min_coverage, max_unsupported)
        if reason:
            dropped[reason] += 1
        else:
            pairs.append(SeedPair(passage, propositions, source))
    return Seeds(pairs, dict(sorted(dropped.items())))


def split_held_out(pairs: Sequence[SeedPair], count: int) -> tuple[list[SeedPair], list[SeedPair]]:
    """Split pairs for training and evaluation, so that no document has pairs on both sides.

    Which documents are held out depends on their ids alone.

    Args:
        pairs: All pairs.
        count: About how many to hold out; a tenth of all pairs at most.

    Returns:
        The pairs for training, and those held out.

    Raises:
        InvalidInputError: There are no pairs for training, or all are of one document and some shall be held out.
    """
    sizes = Counter(pair.passage.document_id for pair in pairs)
    if not sizes or (count > 0 and len(sizes) == 1):
        message = f"expected pairs of two documents at least, one of them to be held out, got {len(pairs)} pairs of "
        message += f"{len(sizes)}: give more documents, or hold out 0"
        raise InvalidInputError(message)
    wanted = min(count, max(len(pairs) // 10, 1))
    held: set[str] = set()
    for document in sorted(sizes, key=lambda own: hashlib.sha256(own.encode()).digest())[:-1]:
        if sum(sizes[own] for own in held) >= wanted:
            break
        held.add(document)
    training = [pair for pair in pairs if pair.passage.document_id not in held]
    return training, [pair for pair in pairs if pair.passage.document_id in held]


def write_pairs(path: str | os.PathLike[str], pairs: Sequence[SeedPair]) -> None:
    """Write pairs as JSON lines, all or none."""
    target = Path(path)
    part = target.with_name(f".{target.name}.part")
    with part.open("w", encoding="utf-8") as file:
        for pair in pairs:
            passage = pair.passage
            values = (passage.document_id, passage.title, passage.section, passage.text, pair.propositionizer)
            record = {**dict(zip(_FIELDS, values, strict=True)), "propositions": pair.propositions}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    part.replace(target)


def read_pairs(path: str | os.PathLike[str]) -> list[SeedPair]:
    """Read pairs that `write_pairs` wrote, or your own: "text" and "propositions" are needed, the rest may be absent.

    Raises:
        UnreadableFileError: The file is missing or a line is not such a record.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{os.fspath(path)} cannot be read: {error}"
        raise UnreadableFileError(message) from error
    return [_pair(line, f"{os.fspath(path)}:{number}") for number, line in enumerate(lines, 1) if line.strip()]


def _fault(passage: Unit, propositions: Sequence[str], min_coverage: float, max_unsupported: float) -> str:
    """Return why a pair is not fit to learn from; empty if it is."""
    report = ground([passage], [propositions], unsupported="keep").report
    sentences = len(split_sentences(passage))
    if report.unsupported > max_unsupported * len(propositions):
        return "unsupported propositions"
    if sentences - report.uncovered < min_coverage * sentences:
        return "low coverage"
    return ""


def _pair(line: str, place: str) -> SeedPair:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        message = f"{place}: not JSON: {error}"
        raise UnreadableFileError(message) from error
    texts = record.get("propositions") if isinstance(record, dict) else None
    fields = {name: record.get(name) or "" for name in _FIELDS} if isinstance(record, dict) else {}
    if (
        not texts
        or not isinstance(texts, list)
        or not all(isinstance(text, str) and text.strip() for text in texts)
        or not all(isinstance(value, str) for value in fields.values())
        or not fields["text"].strip()
    ):
        message = f'{place}: expected an object with a string in "text" and some in "propositions", got {line:.80}'
        raise UnreadableFileError(message)
    text = fields["text"]
    document = fields["document_id"] or fields["title"] or hashlib.sha256(text.encode()).hexdigest()
    passage = make_unit(
        text,
        Granularity.PASSAGE,
        document_id=document,
        parent_id=document,
        start=0,
        end=len(text),
        title=fields["title"],
        section=fields["section"],
    )
    return SeedPair(passage, tuple(texts), fields["propositionizer"])
