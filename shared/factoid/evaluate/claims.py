"""What Dense X Retrieval says of granularities, held against one comparison.

The paper compares passages, sentences and propositions by their vectors alone. It finds that finer
units put the answer among fewer results (Table 2) and fewer words (Figure 4), from which a reader
answers better (Table 3). Whether that is so for other documents is a question for a test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from factoid.evaluate.comparison import Comparison
from factoid.evaluate.measures import words_read
from factoid.evaluate.statistics import LEVEL, Difference, difference, holm

_MEASURES = {
    "Success@5": "Table 2",
    "Success@20": "Table 2",
    "EM@100": "Table 3",
    "EM@500": "Table 3",
    "within 100 words": "Figure 4",
    "within 200 words": "Figure 4",
    "within 500 words": "Figure 4",
}
# Expected to be better, and than what.
_PAIRS = (("proposition", "passage"), ("sentence", "passage"), ("proposition", "sentence"))
_KINDS = ("passage", "sentence", "proposition")


@dataclass(frozen=True, slots=True)
class Claim:
    """That one granularity is better than another by a measure.

    Attributes:
        measure: The measure, by which the paper finds it.
        place: Where in the paper.
        encoder: The encoder, where there are several.
        finer, coarser: The granularities.
        finer_mean, coarser_mean: Their means here, from 0 to 1.
        difference: The finer less the coarser.
        p: Its p-value, corrected for the number of claims (Holm).
    """

    measure: str
    place: str
    encoder: str
    finer: str
    coarser: str
    finer_mean: float
    coarser_mean: float
    difference: Difference
    p: float

    @property
    def verdict(self) -> str:
        """Whether these questions say so."""
        if self.p > LEVEL:
            return "not told apart here"
        if self.difference.mean > 0:
            return "so it is here"
        return "the other way round here"


def claims(comparison: Comparison) -> list[Claim]:
    """Return the paper's claims that a comparison can judge.

    None where passages, sentences and propositions were not compared by vectors alone.
    """
    pairs = list(_pairs(comparison))
    differences = []
    for measure, _, names in pairs:
        finer, coarser = names[-2:]
        differences.append(
            difference(
                comparison.values(finer, measure),
                comparison.values(coarser, measure),
                comparison.groups,
            )
        )
    p_values = holm([claim_difference.p for claim_difference in differences])
    judged = []
    for (measure, encoder, names), claim_difference, p in zip(
        pairs, differences, p_values, strict=True
    ):
        finer_kind, coarser_kind, finer, coarser = names
        judged.append(
            Claim(
                measure,
                _MEASURES[measure],
                encoder,
                finer_kind,
                coarser_kind,
                comparison.mean(finer, measure),
                comparison.mean(coarser, measure),
                claim_difference,
                p,
            )
        )
    return judged


def _pairs(comparison: Comparison) -> Iterator[tuple[str, str, tuple[str, str, str, str]]]:
    """Yield measures with an encoder, two granularities and the names of their settings."""
    for encoder, names in _alone(comparison).items():
        if len(names) < len(_KINDS):
            continue
        for measure in _MEASURES:
            words = words_read(measure)
            if words is not None and words not in comparison.words_read:
                continue
            for finer, coarser in _PAIRS:
                yield measure, encoder, (finer, coarser, names[finer], names[coarser])


def _alone(comparison: Comparison) -> dict[str, dict[str, str]]:
    """Return by encoder and granularity the setting that compares nothing but these vectors."""
    settings: dict[str, dict[str, str]] = {}
    for tried in comparison.tried:
        description = tried.description
        is_mixed = any(description.get(part) for part in ("passage", "lexical", "fuse", "rerank"))
        if description.get("units") in _KINDS and tried.vectors and not is_mixed:
            by_kind = settings.setdefault(str(description.get("encoder", "")), {})
            by_kind.setdefault(str(description["units"]), tried.name)
    return settings
