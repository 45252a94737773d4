"""Passages into grounded propositions: nothing is lost, nothing unsupported is kept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from factoid.errors import InvalidInputError
from factoid.propositions.ground import (
    Source,
    align,
    content_tokens,
    context_words,
    is_supported,
    source_words,
    uncovered,
)
from factoid.propositions.protocol import (
    NoPropositions,
    Propositionizer,
    Report,
    apropositions,
    check_outputs,
    check_passages,
    check_propositionizer,
)
from factoid.split import split_sentences
from factoid.units import Granularity, Unit, make_unit

Policy = Literal["drop", "keep", "sentence"]
UNCOVERED, UNSUPPORTED = (
    "uncovered sentence",
    "unsupported proposition",
)  # why a sentence stands in, where nothing failed

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The propositions of some passages, and the account of how they came about.

    Attributes:
        units: Propositions, and the sentences that stand in for some.
        report: The counts.
        retry: Passages that fell back to their sentences for a reason that another try may mend.
    """

    units: list[Unit] = field(default_factory=list)
    report: Report = field(default_factory=Report)
    retry: list[Unit] = field(default_factory=list)


def propositionize(
    passages: Sequence[Unit], propositionizer: Propositionizer, *, unsupported: Policy = "drop"
) -> list[Unit]:
    """Decompose passages into propositions with the spans that they came from.

    A passage whose decomposition fails is represented by its sentences, and a sentence that no proposition covers is
    added as it stands; both carry `fallback` in their metadata. Use `decompose` to get the counts.

    Args:
        passages: Passages, as `split_passages` gives them.
        propositionizer: Any object with a `propositionize` method.
        unsupported: What becomes of a proposition with names, numbers or content words that are not in its passage,
            title or section: left out, kept, or replaced by the sentence it came from.

    Raises:
        InvalidInputError: Unknown policy, something else than passages, or no propositionizer.
        PropositionizerError: The propositionizer did not return one list of strings for each passage.
    """
    return decompose(passages, propositionizer, unsupported=unsupported).units


def decompose(
    passages: Sequence[Unit], propositionizer: Propositionizer, *, unsupported: Policy = "drop"
) -> Decomposition:
    """Do as `propositionize`, and return the counts with the units."""
    _check(passages, propositionizer, unsupported)
    return ground(passages, propositionizer.propositionize(passages) if passages else [], unsupported=unsupported)


async def adecompose(
    passages: Sequence[Unit], propositionizer: Propositionizer, *, unsupported: Policy = "drop"
) -> Decomposition:
    """Do as `decompose`, without blocking the event loop."""
    _check(passages, propositionizer, unsupported)
    outputs = await apropositions(propositionizer, passages) if passages else []
    return await asyncio.to_thread(ground, passages, outputs, unsupported=unsupported)


def ground(
    passages: Sequence[Unit], outputs: Sequence[Sequence[str]], *, unsupported: Policy = "drop"
) -> Decomposition:
    """Turn the propositionizer's texts into units, one list of texts for each passage."""
    check_outputs(outputs, len(passages))
    units: list[Unit] = []
    report = Report()
    retry: list[Unit] = []
    for passage, texts in zip(passages, outputs, strict=True):
        own, account = _ground_passage(passage, texts, unsupported)
        units.extend(own)
        report += account
        if account.transient:
            retry.append(passage)
    if report.failures:
        logger.warning("%s", report)
    else:
        logger.info("%s", report)
    return Decomposition(units, report, retry)


def check_policy(policy: str) -> None:
    """Refuse what is not a policy for unsupported propositions."""
    if policy not in get_args(Policy):
        message = f"unsupported must be one of {', '.join(get_args(Policy))}, got {policy!r}"
        raise InvalidInputError(message)


def _check(passages: Sequence[Unit], propositionizer: Propositionizer, policy: Policy) -> None:
    check_policy(policy)
    check_passages(passages)
    check_propositionizer(propositionizer)


def _ground_passage(passage: Unit, texts: Sequence[str], policy: Policy) -> tuple[list[Unit], Report]:
    sources = [Source(sentence, content_tokens(sentence.text)) for sentence in split_sentences(passage)]
    cleaned = [" ".join(_mended(text).split()) for text in texts]
    distinct = [text for text in dict.fromkeys(cleaned) if text]
    cached = int(getattr(texts, "cached", False))
    if not distinct:
        reason = texts.reason if isinstance(texts, NoPropositions) else "empty output"
        failed = [_stand_in(passage, source.sentence, reason) for source in sources]
        transient = int(bool(sources) and getattr(texts, "transient", False))
        return failed, Report(1, len(failed), {reason: 1} if sources else {}, cached=cached, transient=transient)
    known, context = source_words(passage), context_words(passage)
    placed: list[tuple[int, Unit]] = []
    refused = 0
    for text in distinct:
        index, start, end = align(text, sources, context) if sources else (-1, passage.start, passage.end)
        if not is_supported(text, known):
            refused += 1
            if policy == "drop":
                continue
            if policy == "sentence":
                if sources:
                    placed.append((index, _stand_in(passage, sources[max(index, 0)].sentence, UNSUPPORTED)))
                continue
        placed.append((index, _proposition(passage, text, start, end)))
    missed = uncovered(sources, [unit.text for _, unit in placed])
    placed += [(index, _stand_in(passage, sources[index].sentence, UNCOVERED)) for index in missed]
    placed.sort(key=lambda pair: pair[0])  # stable: reading order by sentence, the propositionizer's within one
    units: dict[str, Unit] = {}
    for _, unit in placed:
        if unit.id not in units or unit.metadata == passage.metadata:  # what was said counts before a stand-in for it
            units[unit.id] = unit
    return list(units.values()), Report(1, len(units), {}, refused, len(missed), len(cleaned) - len(distinct), cached)


def _mended(text: str) -> str:
    """Replace lone surrogates, which models write as broken JSON escapes and no encoder takes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _proposition(passage: Unit, text: str, start: int, end: int, fallback: str = "") -> Unit:
    return make_unit(
        text,
        Granularity.PROPOSITION,
        document_id=passage.document_id,
        parent_id=passage.id,
        start=start,
        end=end,
        title=passage.title,
        section=passage.section,
        metadata={"fallback": fallback, **passage.metadata} if fallback else passage.metadata,
    )


def _stand_in(passage: Unit, sentence: Unit, reason: str) -> Unit:
    """Return a proposition that is a sentence as it stands."""
    return _proposition(passage, sentence.text, sentence.start, sentence.end, reason)
