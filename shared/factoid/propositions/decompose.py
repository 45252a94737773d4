"""Decompose passages into grounded propositions: nothing is lost, nothing unsupported is kept."""

from __future__ import annotations

import asyncio
import logging
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Literal, get_args

from factoid.errors import InvalidInputError
from factoid.propositions.ground import Read, Source, is_supported
from factoid.propositions.lists_and_tables import Surroundings
from factoid.propositions.parse import mended
from factoid.propositions.protocol import (
    NoPropositions,
    Propositionizer,
    Report,
    check_outputs,
    check_propositionizer,
)
from factoid.propositions.rows import RecordFact, record_facts
from factoid.text.reading import Sentence
from factoid.units import LINES, PROPOSITIONS, Granularity, Unit, child_unit
from factoid.words import without_traceless

Policy = Literal["drop", "keep", "sentence"]
# of an item, at its start
_NUMBER = re.compile(r"\(?(?:\d{1,3}|[a-z]|[ivx]{1,5}|[A-Z](?=\)))(?:[.)]|(?<=\d)-)[ \t]+(?=\S)")
_WORD = re.compile(r"\w")  # marks alone, as in "[ … ]", are not a proposition
# Why a sentence replaces a proposition although nothing failed.
UNCOVERED = "uncovered sentence"
UNSUPPORTED = "unsupported proposition"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The propositions of passages, and counts of how they came about.

    Attributes:
        units: Propositions, and the sentences that replace some.
        transient_failures: Passages that failed for a reason that may pass, such as a server that
            is down.
    """

    units: list[Unit] = field(default_factory=list)
    report: Report = field(default_factory=Report)
    transient_failures: list[Unit] = field(default_factory=list)

    def __add__(self, other: Decomposition) -> Decomposition:
        return Decomposition(
            self.units + other.units,
            self.report + other.report,
            self.transient_failures + other.transient_failures,
        )


def decompose(
    passages: Sequence[Unit],
    propositionizer: Propositionizer,
    *,
    unsupported: Policy = "drop",
    log: bool = True,
) -> Decomposition:
    """Decompose passages into propositions with spans, and count what happened.

    The spans are those that they come from. A passage whose decomposition fails is represented by
    its sentences, and a sentence that no proposition covers is added unchanged; both have
    `fallback` in their metadata.

    Args:
        passages: Passages, as `split_passages` returns them.
        propositionizer: Any object with a `propositionize` method.
        unsupported: What to do with a proposition whose names, numbers or content words are not in
            its passage, title or section: "drop" it, "keep" it, or replace it with the "sentence"
            it comes from.
        log: Log the counts.

    Raises:
        InvalidInputError: The policy is unknown, or an argument is no propositionizer.
        PropositionizerError: The propositionizer did not return one list of strings for each
            passage.
    """
    passages, asked = _asked(passages, propositionizer, unsupported)
    outputs = propositionizer.propositionize(asked) if asked else []
    level = _log_level(propositionizer) if log else logging.NOTSET
    return ground_outputs(
        passages,
        _with_written(passages, asked, outputs),
        unsupported=unsupported,
        failures_at=level,
    )


async def adecompose(
    passages: Sequence[Unit], propositionizer: Propositionizer, *, unsupported: Policy = "drop"
) -> Decomposition:
    """Do the same as `decompose` without blocking the event loop."""
    passages, asked = _asked(passages, propositionizer, unsupported)
    outputs: list[list[str]] = []
    if asked and hasattr(propositionizer, "apropositionize"):
        outputs = await propositionizer.apropositionize(asked)
    elif asked:
        outputs = await asyncio.to_thread(propositionizer.propositionize, asked)
    written = _with_written(passages, asked, outputs)
    level = _log_level(propositionizer)
    return await asyncio.to_thread(
        ground_outputs, passages, written, unsupported=unsupported, failures_at=level
    )


def ground_outputs(
    passages: Sequence[Unit],
    outputs: Sequence[Sequence[str]],
    *,
    unsupported: Policy = "drop",
    failures_at: int = logging.WARNING,
) -> Decomposition:
    """Turn the propositionizer's texts into units, one list of texts for each passage.

    The counts are logged: at level INFO, and where passages failed at `failures_at`; `NOTSET` logs
    nothing.
    """
    units: list[Unit] = []
    transient_failures: list[Unit] = []
    report = Report()
    for passage, texts in zip(passages, outputs, strict=True):
        propositions, counts = _ground_passage(passage, texts, unsupported)
        units += propositions
        report += counts
        if counts.transient:
            transient_failures.append(passage)
    if failures_at != logging.NOTSET:
        level = logging.INFO
        if report.failures:
            level = failures_at
        logger.log(level, "%s", report)
    return Decomposition(units, report, transient_failures)


def _log_level(propositionizer: Propositionizer) -> int:
    """Return the level at which failures are logged.

    A warning, but for rules, which are made to leave some texts alone.
    """
    if getattr(propositionizer, "costly", True):
        return logging.WARNING
    return logging.INFO


def check_policy(policy: str) -> None:
    """Reject anything but a policy for unsupported propositions."""
    if policy not in get_args(Policy):
        raise InvalidInputError(
            f"unsupported must be one of {', '.join(get_args(Policy))}, got {policy!r}"
        )


def _asked(
    passages: Iterable[Unit], propositionizer: Propositionizer, policy: Policy
) -> tuple[list[Unit], list[Unit]]:
    """Return the passages of `decompose`, and those for the propositionizer.

    The arguments are checked.
    """
    check_policy(policy)
    check_propositionizer(propositionizer)
    passages = list(passages)
    return passages, [passage for passage in passages if not _is_written(passage)]


def _is_written(passage: Unit) -> bool:
    """Return whether a passage needs no model: its lines are propositions, or it is blank."""
    return passage.metadata.get(PROPOSITIONS) == LINES or not passage.text.strip()


def _with_written(
    passages: Sequence[Unit], asked: Sequence[Unit], outputs: Sequence[Sequence[str]]
) -> list[Sequence[str]]:
    """Return the propositions of all passages.

    Outputs for those in `asked`, and the lines of the others.
    """
    check_outputs(outputs, len(asked))
    answers = iter(outputs)
    result: list[Sequence[str]] = []
    for passage in passages:
        if _is_written(passage):
            result.append(passage.text.splitlines())
        else:
            result.append(next(answers))
    return result


def _ground_passage(
    passage: Unit, texts: Sequence[str], policy: Policy
) -> tuple[list[Unit], Report]:
    source = Source(passage)
    sentences = source.sentences
    cleaned = [" ".join(mended(text).split()) for text in texts]
    distinct = [text for text in dict.fromkeys(cleaned) if _WORD.search(text)]
    if not distinct:
        return _ground_failure(passage, texts, sentences)
    # Units with the index of the sentence that they come from, -1 for none.
    placed: list[tuple[int, Unit]] = []
    unsupported = 0
    for text in distinct:
        supported = is_supported(text, source.known)
        unsupported += not supported
        if not supported and policy == "drop":
            continue
        index, start, end = source.align(text)
        if not supported and policy == "sentence":
            if sentences:
                placed.append((index, _stand_in(passage, sentences[max(index, 0)], UNSUPPORTED)))
            continue
        if (
            index >= 0
            and sentences[index].sentence.block.kind == "code"
            and _is_all_of(text, sentences[index])
        ):
            code = sentences[index].sentence  # with its lines and its indentation
            text = code.visible.text
            start = code.start
            end = code.end
        placed.append((index, child_unit(passage, text, Granularity.PROPOSITION, start, end)))
    uncovered = source.uncovered([unit.text for _, unit in placed])
    missed = [index for index in uncovered if _WORD.search(sentences[index].text)]
    placed += [(index, _stand_in(passage, sentences[index], UNCOVERED)) for index in missed]
    placed = _with_surroundings(passage, sentences, placed)
    # stable: reading order by sentence, then the propositionizer's order
    placed.sort(key=itemgetter(0))
    units: dict[str, Unit] = {}
    for _, placed_unit in placed:
        unit = _as_seen(passage, placed_unit)
        # a proposition takes precedence over a stand-in
        if unit.id not in units or unit.metadata == passage.metadata:
            units[unit.id] = unit
    report = Report(
        passages=1,
        propositions=len(units),
        unsupported=unsupported,
        uncovered=len(missed),
        duplicates=len(cleaned) - len(distinct),
        cached=int(getattr(texts, "cached", False)),
    )
    return list(units.values()), report


def _ground_failure(
    passage: Unit, texts: Sequence[str], sentences: Sequence[Read]
) -> tuple[list[Unit], Report]:
    """Represent a passage without propositions by its sentences."""
    reason = "empty output"
    if isinstance(texts, NoPropositions):
        reason = texts.reason
    stand_ins = []
    for index, sentence in enumerate(sentences):
        stand_ins.append((index, _stand_in(passage, sentence, reason)))
    units = [unit for _, unit in _with_surroundings(passage, sentences, stand_ins)]
    failures = {}
    if sentences:
        failures[reason] = 1
    report = Report(
        passages=1,
        propositions=len(units),
        failures=failures,
        cached=int(getattr(texts, "cached", False)),
        transient=int(bool(sentences) and getattr(texts, "transient", False)),
    )
    return units, report


def _as_seen(passage: Unit, unit: Unit) -> Unit:
    """Return a proposition without the characters that leave no trace, such as soft hyphens."""
    text = without_traceless(unit.text)
    if text == unit.text:
        return unit
    seen = child_unit(passage, text, unit.granularity, unit.start, unit.end)
    return replace(seen, metadata=unit.metadata)


def _with_surroundings(
    passage: Unit, sentences: Sequence[Read], placed: Sequence[tuple[int, Unit]]
) -> list[tuple[int, Unit]]:
    """Add what it goes on from to what stands as it is in the passage.

    Items of lists get what leads to them, rows the names of columns.
    """
    if facts := record_facts(passage):
        return _with_facts(passage, sentences, placed, facts)
    surroundings = Surroundings([read.sentence for read in sentences])
    if not surroundings.needed:
        return list(placed)
    placed = [*placed, *_said_again(passage, surroundings, sentences, placed)]
    literal = {index for index, unit in placed if _is_literal(unit, index, sentences)}
    repeated = set().union(*(surroundings.repeats.get(index, set()) for index in literal))
    rows: set[int] = set()  # written
    units: list[tuple[int, Unit]] = []
    for index, unit in placed:
        if not _is_literal(unit, index, sentences):
            units.append((index, unit))
        elif index in repeated:
            continue
        elif index in surroundings.facts:
            if index not in rows:
                rows.add(index)
                for text, start, end in surroundings.facts[index]:
                    # A row of one cell may stand as it is said, between marks of emphasis.
                    words = passage.text.find(text, start - passage.start, end - passage.start)
                    if words >= 0:
                        start = passage.start + words
                        end = start + len(text)
                    fact = child_unit(passage, text, Granularity.PROPOSITION, start, end)
                    units.append((index, replace(fact, metadata=unit.metadata)))
        elif index in surroundings.leads:
            sentence = sentences[index].sentence
            leads = surroundings.leads[index]
            text = unit.text
            start = unit.start
            end = unit.end
            if sentence.text[-1] not in ".!?":  # a fragment is one with all its parts
                text = sentence.text
                start = sentence.start
                end = sentence.end
            text = f"{leads} {_without_number(text, sentence)}"
            item = child_unit(passage, text, Granularity.PROPOSITION, start, end)
            units.append((index, replace(item, metadata=unit.metadata)))
        else:
            units.append((index, unit))
    return units


def _said_again(
    passage: Unit,
    surroundings: Surroundings,
    sentences: Sequence[Read],
    placed: Sequence[tuple[int, Unit]],
) -> list[tuple[int, Unit]]:
    """Return units for items and rows that have the words of another one.

    They go on from something else.
    """
    by_sentence: dict[int, list[Unit]] = {}
    for index, unit in placed:
        if _is_literal(unit, index, sentences):
            by_sentence.setdefault(index, []).append(unit)
    by_text = {sentences[index].text: index for index in by_sentence}
    units: list[tuple[int, Unit]] = []
    for index in sorted({*surroundings.leads, *surroundings.facts}):
        twin = by_text.get(sentences[index].text)
        if twin is None or index in by_sentence:
            continue
        sentence = sentences[index].sentence
        for unit in by_sentence[twin]:
            again = child_unit(
                passage, unit.text, Granularity.PROPOSITION, sentence.start, sentence.end
            )
            units.append((index, replace(again, metadata=unit.metadata)))
    return units


def _with_facts(
    passage: Unit,
    sentences: Sequence[Read],
    placed: Sequence[tuple[int, Unit]],
    facts: Sequence[RecordFact],
) -> list[tuple[int, Unit]]:
    """Replace the lines of a row that stand as they are by propositions about the row."""
    rewritten = [(index, unit) for index, unit in placed if not _is_literal(unit, index, sentences)]
    if len(rewritten) == len(placed):
        return rewritten
    starts = [read.sentence.start for read in sentences]
    units: list[tuple[int, Unit]] = []
    for fact in facts:
        unit = child_unit(passage, fact.text, Granularity.PROPOSITION, fact.start, fact.end)
        units.append((max(bisect_right(starts, fact.start) - 1, 0), unit))
    return [*units, *rewritten]


def _is_literal(unit: Unit, index: int, sentences: Sequence[Read]) -> bool:
    return index >= 0 and any(
        unit.text.rstrip(".") in text for text, _ in sentences[index].readings
    )


def _without_number(item: str, sentence: Sentence) -> str:
    """Return a text of an item without the number that the item begins with."""
    block = sentence.block
    number = block.visible.text[: block.number]
    if number and item.startswith(number):
        return item[len(number) :]
    if written := _NUMBER.match(item):
        return item[written.end() :]
    return item


def _is_all_of(text: str, read: Read) -> bool:
    """Return whether a text is a whole sentence, in its source or as a reader sees it."""
    return any(text == reading for reading, _ in read.readings)


def _stand_in(passage: Unit, read: Read, reason: str) -> Unit:
    """Return a proposition with a sentence as a reader sees it."""
    sentence = read.sentence
    unit = child_unit(passage, sentence.text, Granularity.PROPOSITION, sentence.start, sentence.end)
    return replace(unit, metadata={"fallback": reason, **passage.metadata})
