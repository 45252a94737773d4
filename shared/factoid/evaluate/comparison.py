"""What a comparison found, question by question; all tables and tests are made from it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Self

import numpy as np

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.evaluate.checks import Check
from factoid.evaluate.measures import BUDGETS, MEASURE, MEASURES, Answer, answer_of, measure_of
from factoid.evaluate.statistics import (
    Difference,
    Recommendation,
    difference,
    holm,
    interval,
    recommend,
)
from factoid.files.atomic import write_file
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits
from factoid.files.lines import parse_json, read_whole

_FORMAT = 1
_CEILING = 0.95


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is shown.

    Attributes:
        gold: Its answers or quotes.
        group: The document that it was asked about.
    """

    id: str
    text: str
    gold: str
    group: str
    is_generated: bool = False


@dataclass(frozen=True, slots=True)
class Tried:
    """A setting that was tried.

    Attributes:
        name: Its name.
        description: What identifies it, as JSON.
        code: The lines of Python that apply it, or "".
        units: How many units are compared.
        vectors: How many vectors are kept.
        bytes: Their size in memory.
        index_seconds: The time to encode the units, and to make propositions where it needs them.
        search_ms: The time of a search, in batches, in milliseconds; queries are encoded before.
        context_words: The mean number of words in the five best results.
    """

    name: str
    description: Mapping[str, Any]
    code: str
    units: int
    vectors: int
    bytes: int
    index_seconds: float
    search_ms: float
    context_words: float

    @property
    def cost(self) -> float:
        """What settings are ordered by: the bytes of vectors, above all whether passages are reranked."""
        return self.bytes + (1e15 if self.description.get("rerank") else 0)


@dataclass(frozen=True, slots=True)
class Row:
    """A setting's row of the table."""

    tried: Tried
    means: Mapping[str, float]
    low: float  # of the deciding measure's 95 % interval
    high: float
    against: Difference | None  # the deciding measure less the baseline's; None for the baseline
    p: float | None  # of it, corrected for the number of settings (Holm)


@dataclass(frozen=True)
class Comparison:
    """Settings compared on the same questions.

    Attributes:
        tried: The settings, in the order in which they were named.
        asked: The questions.
        answers: By setting, what it found for each question.
        checks: Doubts.
        manifest: Hashes, versions and the command: equal hashes, equal numbers.
        baseline: The setting that the others are compared with.
        measure: The measure that decides.
    """

    tried: tuple[Tried, ...]
    asked: tuple[Asked, ...]
    answers: Mapping[str, tuple[Answer, ...]]
    checks: tuple[Check, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)
    baseline: str = ""
    measure: str = MEASURE

    def __post_init__(self) -> None:
        measure_of(self.measure)
        if self.baseline not in self.answers:
            raise InvalidInputError(
                f"the baseline must be one of {', '.join(self.answers)}, got {self.baseline!r}"
            )

    @property
    def groups(self) -> list[str]:
        """The document of each question, by which it is resampled."""
        return [question.group for question in self.asked]

    def values(self, setting: str, measure: str | None = None) -> list[float]:
        """Return a measure of each question, from 0 to 1."""
        value = measure_of(measure or self.measure)
        return [value(answer) for answer in self.answers[setting]]

    @cached_property
    def rows(self) -> list[Row]:
        """The table, in the order of the settings."""
        base = self.values(self.baseline)
        differences: dict[str, Difference] = {}
        for tried in self.tried:
            if tried.name != self.baseline:
                values = self.values(tried.name)
                differences[tried.name] = difference(values, base, self.groups)
        corrected = holm([found.p for found in differences.values()])
        p_values = dict(zip(differences, corrected, strict=True))
        rows = []
        for tried in self.tried:
            means = {
                measure: float(np.mean(self.values(tried.name, measure)))
                for measure in dict.fromkeys((self.measure, *MEASURES))
            }
            low, high = interval(self.values(tried.name), self.groups)
            compared = differences.get(tried.name)
            rows.append(
                Row(tried, means, max(low, 0), min(high, 1), compared, p_values.get(tried.name))
            )
        return rows

    @cached_property
    def values_by_setting(self) -> dict[str, list[float]]:
        """By setting, the deciding measure of each question."""
        return {tried.name: self.values(tried.name) for tried in self.tried}

    @cached_property
    def recommendation(self) -> Recommendation:
        """The cheapest setting that is not worse than the best."""
        return self.recommendation_by(self.measure)

    def recommendation_by(self, measure: str) -> Recommendation:
        """Return the recommendation by another measure."""
        values = {tried.name: self.values(tried.name, measure) for tried in self.tried}
        costs = {tried.name: tried.cost for tried in self.tried}
        return recommend(values, self.groups, costs)

    @property
    def doubts(self) -> list[Check]:
        """The checks, and whether nearly all questions are answered by every setting."""
        lowest = min(np.mean(values) for values in self.values_by_setting.values())
        if lowest < _CEILING:
            return list(self.checks)
        message = (
            f"{self.measure} is at least {100 * lowest:.0f} % with every setting, so it hardly tells "
            "them apart: decide by Success@1 or by words of context, or ask harder questions."
        )
        return [*self.checks, Check("ceiling", message)]

    @cached_property
    def curves(self) -> dict[str, list[float]]:
        """By setting, the share of questions answered within the first words of `BUDGETS`."""
        return {
            tried.name: [
                float(np.mean(self.values(tried.name, f"within {words} words")))
                for words in BUDGETS
            ]
            for tried in self.tried
        }

    @property
    def sentence(self) -> str:
        """The recommendation in words."""
        advice = self.recommendation
        means = {row.tried.name: row.means[self.measure] for row in self.rows}
        share = f"{100 * means[advice.setting]:.1f} %"
        documents = _count(len(set(self.groups)), "document")
        of = f"{_count(len(self.asked), 'question')} about {documents}"
        text = f"Use {advice.setting}: {self.measure} is {share} on {of}"
        if advice.difference is None:
            text += ", the highest of all settings"
        else:
            low, high = 100 * advice.difference.low, 100 * advice.difference.high
            text += (
                f", and {100 * means[advice.best]:.1f} % with {advice.best}, which these questions "
                f"cannot tell apart (difference {100 * advice.difference.mean:+.1f} points, "
                f"95 % interval {low:+.1f} to {high:+.1f})"
            )
        others = len(advice.level) - 1
        if others and advice.difference is None:
            text += f", and cheaper than the {others} that these questions cannot tell from it"
        elif others > 1:
            text += f"; it is the cheapest of {others + 1} such settings"
        return f"{text}."

    # -- Keeping it --

    def to_csv(self) -> str:
        """Return a line for each question and setting: for a spreadsheet, or another test."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        names = list(dict.fromkeys((self.measure, *MEASURES)))
        writer.writerow(["question", "text", "document", "setting", "rank", "words", *names])
        for tried in self.tried:
            for asked, answer in zip(self.asked, self.answers[tried.name], strict=True):
                scores = [measure_of(name)(answer) for name in names]
                row = [asked.id, asked.text, asked.group, tried.name, answer.first, answer.words]
                writer.writerow([*map(_cell, row), *scores])
        return out.getvalue()

    def changes(self, earlier: Comparison) -> list[str]:
        """Return what differs from an earlier comparison, a line each: first what numbers depend on, then numbers."""
        lines = []
        for key in dict.fromkeys((*earlier.manifest, *self.manifest)):
            before, now = (record.manifest.get(key, "nothing") for record in (earlier, self))
            if before != now:
                lines.append(f"{key}: {before} → {now}")
        for tried in self.tried:
            if tried.name not in earlier.answers:
                lines.append(f"{tried.name}: new")
                continue
            before = float(np.mean(earlier.values(tried.name, self.measure)))
            now = float(np.mean(self.values(tried.name)))
            if before != now:
                change = f"{100 * before:.1f} % → {100 * now:.1f} %"
                lines.append(f"{tried.name}: {self.measure} {change}")
        lines += [f"{name}: gone" for name in earlier.answers if name not in self.answers]
        return lines

    def to_json(self) -> str:
        """Return the whole comparison as JSON."""
        answers = {
            name: [asdict(answer) for answer in found] for name, found in self.answers.items()
        }
        record = {
            "format": _FORMAT,
            "measure": self.measure,
            "baseline": self.baseline,
            "manifest": dict(self.manifest),
            "checks": [asdict(check) for check in self.checks],
            "settings": [asdict(tried) for tried in self.tried],
            "questions": [asdict(question) for question in self.asked],
            "answers": answers,
        }
        return json.dumps(record, ensure_ascii=False, indent=None, separators=(",", ":"))

    def save(self, path: str | Path) -> None:
        """Write the comparison as JSON, from which pages are made and others' tests can start."""
        content = self.to_json().encode()
        write_file(Path(path), lambda out: out.write(content))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the comparison of a JSON text.

        Raises:
            InvalidInputError: It is no comparison of this version.
        """
        record = parse_json(text)
        try:
            if record["format"] != _FORMAT:
                raise InvalidInputError(
                    f"a comparison of format {record['format']!r}: run it again"
                )
            answers = {
                name: tuple(answer_of(answer) for answer in found)
                for name, found in record["answers"].items()
            }
            return cls(
                tried=tuple(Tried(**setting) for setting in record["settings"]),
                asked=tuple(Asked(**question) for question in record["questions"]),
                answers=answers,
                checks=tuple(Check(**check) for check in record["checks"]),
                manifest=record["manifest"],
                baseline=record["baseline"],
                measure=record["measure"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError(
                "not the JSON of a comparison: expected the results that factoid compare wrote"
            ) from error

    @classmethod
    def load(cls, path: str | Path, limits: ReadLimits = DEFAULT_LIMITS) -> Self:
        """Return the comparison that a file holds.

        Raises:
            UnreadableFileError: The file cannot be read, or holds something else.
        """
        try:
            return cls.from_json(read_whole(Path(path), limits))
        except InvalidInputError as error:
            raise UnreadableFileError(f"{path}: {error}") from error

    def _repr_html_(self) -> str:
        """Return the sentence and the table for a notebook."""
        head = ["setting", *self.rows[0].means, f"{self.measure} − {self.baseline}", "p (Holm)"]
        lines = ["".join(f"<th>{escape(name)}</th>" for name in [*head, "MB of vectors"])]
        for row in self.rows:
            cells = [row.tried.name, *(f"{100 * mean:.1f}" for mean in row.means.values())]
            against, p = "", ""
            if row.against is not None and row.p is not None:
                found = row.against
                against = (
                    f"{100 * found.mean:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"
                )
                p = f"{row.p:.3f}"
            cells += [against, p, f"{row.tried.bytes / 1e6:.1f}"]
            lines.append("".join(f"<td>{escape(cell)}</td>" for cell in cells))
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<p><b>{escape(self.sentence)}</b></p><table>{body}</table>"


def _cell(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula."""
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
