"""Documents into a store at all granularities, with what the demo tells about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tqdm.auto import tqdm

from factoid.demo.data import Question
from factoid.propositions import Propositionizer, Report, decompose
from factoid.split import split_passages, split_sentences
from factoid.store import GRANULARITIES, UnitStore
from factoid.units import Document, Granularity, Unit
from factoid.words import count_words

_BATCH = 16  # documents cut, encoded and committed together
_BELOW = ": "  # a section below its title


@dataclass(slots=True)
class Summary:
    """What is in the store.

    Attributes:
        documents: Their number.
        units: Number of units at each granularity.
        words: Number of words in them.
        headings: Titles and sections, or the names of files without, in order.
        report: What became of the passages in the propositionizer.
    """

    documents: int = 0
    units: dict[Granularity, int] = field(default_factory=lambda: dict.fromkeys(GRANULARITIES, 0))
    words: dict[Granularity, int] = field(default_factory=lambda: dict.fromkeys(GRANULARITIES, 0))
    headings: dict[str, None] = field(default_factory=dict)
    report: Report = field(default_factory=Report)


def index(
    store: UnitStore, documents: Iterable[Document], propositionizer: Propositionizer, *, show_progress: bool = False
) -> Summary:
    """Add documents to a store. `UnitStore.add_documents` is the way to do it outside a demo."""
    summary = Summary()
    with tqdm(unit=" documents", disable=not show_progress) as bar:
        remaining = iter(documents)
        while batch := list(islice(remaining, _BATCH)):
            passages = [passage for document in batch for passage in split_passages(document)]
            sentences = [sentence for passage in passages for sentence in split_sentences(passage)]
            propositions = decompose(passages, propositionizer)
            units = [*passages, *sentences, *propositions.units]
            if units:
                store.add(units)
            summary.documents += len(batch)
            summary.report += propositions.report
            for unit in units:
                summary.units[unit.granularity] += 1
                summary.words[unit.granularity] += count_words(unit.text)
            summary.headings.update(dict.fromkeys(map(_heading, passages)))
            bar.update(len(batch))
    return summary


def headline_questions(summary: Summary, count: int = 3) -> list[Question]:
    """Return some headings as questions, spread evenly over the documents; those of sections, which say more, first."""
    headings = [heading for heading in summary.headings if _BELOW in heading] or list(summary.headings)
    count = min(count, len(headings))
    return [Question(headings[index * len(headings) // count]) for index in range(count)]


def _heading(passage: Unit) -> str:
    heading = _BELOW.join(filter(None, [passage.title, passage.section]))
    name = Path(str(passage.metadata.get("source", ""))).stem
    return heading or name.replace("-", " ").replace("_", " ") or passage.text[:60]
