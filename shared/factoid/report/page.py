"""The page of a comparison: one file that holds everything, and can be read without its script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from factoid.evaluate.claims import claims
from factoid.evaluate.comparison import Comparison, Tried
from factoid.evaluate.measures import BUDGETS, Answer
from factoid.evaluate.statistics import Recommendation
from factoid.files.atomic import write_file
from factoid.report.figures import by_popularity, cost_and_quality, span, words_curve
from factoid.report.templates import as_html, environment, own_parts

LARGEST = 2_000_000
"""Bytes of a page.

Of more questions than fit, those on which settings agree are shown without texts.
"""

_RESERVE = 120_000  # bytes for all but the questions
_SHOWN = 320  # characters of a text
_READING = 60  # characters of a reader's answer
_BESIDE = ("passage", "sentence", "proposition")
_DECIDING = ("Success@1", "Success@5", "within 100 words")


@dataclass(frozen=True, slots=True)
class BestUnit:
    """The best unit of one kind for a question, as it is shown."""

    kind: str
    setting: str
    text: str  # "" where it is its source
    document: str
    score: float
    parts: str
    before: str
    source: str
    after: str


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question as it is shown.

    Attributes:
        right: "1" or "0" for each setting: whether the deciding measure is more than 0.
        verdicts: For each setting, what became of the question.
        best_units: Side by side, one of each kind; empty where the page has no room for them.
        readings: For each setting, what a reader answered, in words; empty without one, or where
            the page has no room for them.
    """

    number: int
    text: str
    gold: str
    group: str
    is_generated: bool
    right: str
    verdicts: Sequence[str]
    best_units: Sequence[BestUnit]
    readings: Sequence[str]


def render(comparison: Comparison) -> str:
    """Return the page of a comparison as HTML, of at most `LARGEST` bytes for usual texts.

    All that comes from documents, questions and settings is escaped; the page's own policy forbids
    any other script and any request.

    Raises:
        MissingDependencyError: Jinja is not installed.
    """
    pages = environment()
    pages.filters["span"] = span
    template = pages.get_template("question.html")
    questions = _fitting(comparison, template)
    popularity = None
    if comparison.bins:
        popularity = by_popularity(comparison)
    return str(
        pages.get_template("page.html").render(
            comparison=comparison,
            rows=comparison.rows,
            by_measure=recommendations(comparison),
            measures=comparison.measures,
            budgets=BUDGETS,
            claims=claims(comparison),
            popularity=popularity,
            curve=words_curve(comparison),
            costs=cost_and_quality(comparison),
            questions=list(map(as_html, questions)),
            names=_names(comparison),
            advised=_advised(comparison),
            **own_parts(styles=("style.css",), script="script.js"),
        )
    )


def write(comparison: Comparison, path: str | Path) -> None:
    """Write the page of a comparison.

    Raises:
        MissingDependencyError: Jinja is not installed.
    """
    content = render(comparison).encode()
    write_file(Path(path), lambda out: out.write(content))


def recommendations(comparison: Comparison) -> dict[str, Recommendation]:
    """Return the recommendation by each measure that people decide by: they often differ."""
    names = dict.fromkeys((comparison.measure, *_DECIDING))
    return {name: comparison.recommendation_by(name) for name in names}


def _advised(comparison: Comparison) -> Tried:
    name = comparison.recommendation.setting
    by_name = {tried.name: tried for tried in comparison.tried}
    return by_name[name]


# -- Questions --


def _fitting(comparison: Comparison, template: Any) -> list[str]:
    """Return the HTML of each question, with texts where there is room.

    Questions on which settings disagree get theirs first.
    """
    names = _names(comparison)
    disagreed = []
    agreed = []
    views = []
    htmls = []
    room = LARGEST - _RESERVE
    for number in range(len(comparison.asked)):
        view = _view(comparison, number)
        views.append(view)
        short_view = replace(view, best_units=(), readings=())
        without_texts = template.render(question=short_view, names=names)
        htmls.append(without_texts)
        room -= len(without_texts.encode())
        if len(set(view.right)) == 1:
            agreed.append(number)
        else:
            disagreed.append(number)
    for number in [*disagreed, *agreed]:
        with_texts = template.render(question=views[number], names=names)
        room -= len(with_texts.encode()) - len(htmls[number].encode())
        if room < 0:
            break
        htmls[number] = with_texts
    return htmls


def _names(comparison: Comparison) -> list[str]:
    return [tried.name for tried in comparison.tried]


def _view(comparison: Comparison, number: int) -> QuestionView:
    asked = comparison.asked[number]
    right = ""
    verdicts = []
    readings = []
    for tried in comparison.tried:
        answer = comparison.answers[tried.name][number]
        is_right = comparison.values_by_setting[tried.name][number] > 0
        right += str(int(is_right))
        verdicts.append(answer.verdict)
        if answer.readings:
            readings.append(_readings(answer))
    best_units = []
    for kind in _BESIDE:
        setting = _of_kind(comparison, kind)
        if not setting:
            continue
        top = comparison.answers[setting][number].top
        if top is None:
            continue
        text = _cut(top.text)
        source = _cut(top.source)
        after = top.after
        if text == source:
            text = ""
        if len(source) < len(top.source):
            after = ""
        parts = ", ".join(f"{name} {score:.3f}" for name, score in top.parts.items())
        best_units.append(
            BestUnit(
                kind,
                setting,
                text,
                top.document,
                top.score,
                parts,
                top.before,
                source,
                after,
            )
        )
    return QuestionView(
        number + 1,
        asked.text,
        _cut(asked.gold),
        asked.group,
        asked.is_generated,
        right,
        verdicts,
        best_units,
        readings,
    )


def _readings(answer: Answer) -> str:
    """Return what a reader answered, in words."""
    parts = []
    for reading in answer.readings:
        text = reading.text[:_READING] or "nothing"
        parts.append(f"from {reading.words} words “{text}” (F1 {100 * reading.f1:.0f})")
    return ", ".join(parts)


def _of_kind(comparison: Comparison, kind: str) -> str:
    """Return the name of the first setting that compares units of one kind by vectors, or ""."""
    for tried in comparison.tried:
        if tried.description.get("units") == kind and tried.vectors:
            return tried.name
    return ""


def _cut(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    return f"{text[: _SHOWN - 1]}…"
