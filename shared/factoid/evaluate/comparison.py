"""The results of a comparison, question by question, from which tables and tests are made."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Self

import numpy as np

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.evaluate.checks import FEW, Check
from factoid.evaluate.measures import BUDGETS, MEASURE, MEASURES, Answer, answer_of, measure_of
from factoid.evaluate.settings import Setting
from factoid.evaluate.statistics import (
    Difference,
    Recommendation,
    difference,
    holm,
    interval,
    questions_needed,
    recommend,
)
from factoid.files.atomic import write_file
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits
from factoid.files.lines import parse_json, read_whole

_FORMAT = 2
_CEILING = 0.95
_BINS = 5  # of popularity, at most
_RERANKING = 1e15  # bytes, which no setting has: a reranked one is dearer than any other


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is shown.

    Attributes:
        gold: Its answers or quotes.
        group: The document that it was asked about.
        is_generated: Whether a model wrote it.
        popularity: How often what it asks about occurs, if that is known.
    """

    id: str
    text: str
    gold: str
    group: str
    is_generated: bool = False
    popularity: float | None = None


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
        """The order of settings: whether passages are reranked, then bytes of vectors."""
        if self.description.get("rerank"):
            return self.bytes + _RERANKING
        return self.bytes


@dataclass(frozen=True, slots=True)
class Row:
    """A setting's row of the table."""

    tried: Tried
    means: Mapping[str, float]
    low: float  # of the deciding measure's 95 % interval
    high: float
    against: Difference | None  # the deciding measure less the baseline's; None for the baseline
    p: float | None  # of it, corrected for the number of settings (Holm)


@dataclass(frozen=True, slots=True)
class Bin:
    """Questions about things that occur about equally often.

    Attributes:
        low, high: The least and the greatest popularity.
        questions: How many there are.
        means: By setting, the deciding measure.
        against: By setting, the difference from the baseline; of the baseline there is none.
    """

    low: float
    high: float
    questions: int
    means: Mapping[str, float]
    against: Mapping[str, Difference]


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
        return list(map(value, self.answers[setting]))

    def mean(self, setting: str, measure: str | None = None) -> float:
        """Return the mean of a measure over all questions."""
        return float(np.mean(self.values(setting, measure)))

    @property
    def words_read(self) -> list[int]:
        """The numbers of words that a reader got; empty without one."""
        first = self.answers[self.baseline][0]
        return [reading.words for reading in first.readings]

    @property
    def measures(self) -> list[str]:
        """The measures of the table: first the one that decides."""
        of_reader = []
        for words in self.words_read:
            of_reader += [f"EM@{words}", f"F1@{words}"]
        return list(dict.fromkeys((self.measure, *MEASURES, *of_reader)))

    @property
    def generated(self) -> int:
        """How many questions a model wrote."""
        return sum(question.is_generated for question in self.asked)

    @cached_property
    def rows(self) -> list[Row]:
        """The table, in the order of the settings."""
        base = self.values(self.baseline)
        differences: dict[str, Difference] = {}
        for tried in self.tried:
            if tried.name != self.baseline:
                values = self.values(tried.name)
                differences[tried.name] = difference(values, base, self.groups)
        corrected = holm([compared.p for compared in differences.values()])
        p_values = dict(zip(differences, corrected, strict=True))
        rows = []
        for tried in self.tried:
            means = {measure: self.mean(tried.name, measure) for measure in self.measures}
            low, high = interval(self.values(tried.name), self.groups)
            rows.append(
                Row(
                    tried,
                    means,
                    low=max(low, 0),
                    high=min(high, 1),
                    against=differences.get(tried.name),
                    p=p_values.get(tried.name),
                )
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
        values = {}
        costs = {}
        for tried in self.tried:
            values[tried.name] = self.values(tried.name, measure)
            costs[tried.name] = tried.cost
        return recommend(values, self.groups, costs)

    @property
    def doubts(self) -> list[Check]:
        """The checks, and whether nearly all questions are answered by every setting."""
        doubts = list(self.checks)
        lowest = min(map(np.mean, self.values_by_setting.values()))
        if lowest >= _CEILING:
            message = (
                f"{self.measure} is at least {100 * lowest:.0f} % with every setting, so it hardly "
                "tells them apart: decide by Success@1 or by words of context, or ask harder "
                "questions."
            )
            doubts.append(Check("ceiling", message))
        if self._needed:
            doubts.append(Check("not settled", f"{self._needed[0].upper()}{self._needed[1:]}."))
        return doubts

    @cached_property
    def _needed(self) -> str:
        """How many questions would tell the cheapest setting from the best one, in words, or ""."""
        advice = self.recommendation
        if advice.difference is None:
            return ""
        values = self.values_by_setting
        needed = questions_needed(values[advice.setting], values[advice.best], self.groups)
        if needed is None:
            return ""
        points = 100 * abs(advice.difference.mean)
        needed = max(_round_up(needed), 2 * len(self.asked))
        return (
            f"about {needed:,} questions would show whether the {points:.1f} points between "
            f"{advice.setting} and {advice.best} are more than chance"
        )

    @cached_property
    def bins(self) -> list[Bin]:
        """The questions by popularity, in bins of equal size (Dense X Retrieval, Figures 3 and 6).

        Empty where popularity is not given of enough questions for two bins.
        """
        known = []
        for number, question in enumerate(self.asked):
            if question.popularity is not None:
                known.append((question.popularity, number))
        count = min(_BINS, len(known) // FEW)
        if count < 2:
            return []
        known.sort()
        bins: dict[int, list[tuple[float, int]]] = {}
        place = 0
        for rank, (popularity, number) in enumerate(known):
            # Equal popularity stays together.
            if not rank or popularity > known[rank - 1][0]:
                place = rank * count // len(known)
            bins.setdefault(place, []).append((popularity, number))
        if len(bins) < 2:
            return []
        return list(map(self._bin, bins.values()))

    def _bin(self, members: Sequence[tuple[float, int]]) -> Bin:
        numbers = [number for _, number in members]
        groups = [self.groups[number] for number in numbers]
        values = {}
        for name, of_all in self.values_by_setting.items():
            values[name] = [of_all[number] for number in numbers]
        means = {name: float(np.mean(scores)) for name, scores in values.items()}
        against = {}
        for name, scores in values.items():
            if name != self.baseline:
                against[name] = difference(scores, values[self.baseline], groups)
        return Bin(members[0][0], members[-1][0], len(members), means, against)

    @cached_property
    def curves(self) -> dict[str, list[float]]:
        """By setting, the share of questions answered within the first words of `BUDGETS`."""
        curves = {}
        for tried in self.tried:
            shares = []
            for words in BUDGETS:
                shares.append(self.mean(tried.name, f"within {words} words"))
            curves[tried.name] = shares
        return curves

    @property
    def sentence(self) -> str:
        """The recommendation in words."""
        advice = self.recommendation
        share = f"{100 * self.mean(advice.setting):.1f} %"
        best_share = f"{100 * self.mean(advice.best):.1f} %"
        documents = _count(len(set(self.groups)), "document")
        of = f"{self._questions} about {documents}"
        if len(self.asked) < FEW and len(advice.level) > 1:
            return self._too_few(of)
        text = f"Use {advice.setting}: {self.measure} is {share} on {of}"
        if advice.difference is None:
            text += ", the highest of all settings"
        else:
            low = 100 * advice.difference.low
            high = 100 * advice.difference.high
            text += (
                f", and {best_share} with {advice.best}, which these questions "
                f"cannot tell apart (difference {100 * advice.difference.mean:+.1f} points, "
                f"95 % interval {low:+.1f} to {high:+.1f})"
            )
        others = len(advice.level) - 1
        if others == 1 and advice.difference is None:
            text += f", and cheaper than {advice.level[1]}, "
            text += "which these questions cannot tell from it"
        elif others and advice.difference is None:
            text += f", and cheaper than the {others} that these questions cannot tell from it"
        elif others > 1:
            text += f"; it is the cheapest of {others + 1} such settings"
        return f"{text}."

    @property
    def _questions(self) -> str:
        """The number of questions, and who wrote them if it was a model."""
        questions = _count(len(self.asked), "question")
        if self.generated == len(self.asked):
            return f"{questions} written by a model"
        if self.generated:
            return f"{questions} ({self.generated:,} of them written by a model)"
        return questions

    def _too_few(self, of: str) -> str:
        """Return what to do where there are too few questions to choose by."""
        advice = self.recommendation
        text = f"{of} cannot tell {len(advice.level)} of {len(self.tried)} settings apart: "
        default = Setting(name="default").record()
        defaults = [tried.name for tried in self.tried if tried.description == default]
        if defaults:
            text += f"keep {defaults[0]}, the default, until there are more questions. "
        else:
            text += "do not choose by them. "
        needed = self._needed
        if not needed:
            needed = f"at least {FEW}, better 200, are needed"
        text += f"{needed[0].upper()}{needed[1:]}"
        means = {self.mean(tried.name) for tried in self.tried}
        if len(means) == 1:
            return f"{text}; so far {self.measure} is the same with all settings."
        return f"{text}; so far {self.measure} is highest with {advice.best}."

    # -- Keeping it --

    def to_csv(self) -> str:
        """Return a line for each question and setting: for a spreadsheet, or another test."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        head = ["question", "text", "document", "written by a model", "popularity", "setting"]
        head += ["rank", "words", *self.measures]
        writer.writerow(head)
        measures = list(map(measure_of, self.measures))
        for tried in self.tried:
            for asked, answer in zip(self.asked, self.answers[tried.name], strict=True):
                scores = [measure(answer) for measure in measures]
                row: list[object] = [asked.id, asked.text, asked.group]
                row += [int(asked.is_generated), asked.popularity]
                row += [tried.name, answer.first, answer.words]
                writer.writerow([*map(_cell, row), *scores])
        return out.getvalue()

    def changes(self, earlier: Comparison) -> list[str]:
        """Return what differs from an earlier comparison, a line each.

        First comes what the numbers depend on, then the numbers.
        """
        lines = []
        for key in dict.fromkeys((*earlier.manifest, *self.manifest)):
            old = earlier.manifest.get(key, "nothing")
            new = self.manifest.get(key, "nothing")
            if old != new:
                lines.append(f"{key}: {old} → {new}")
        for tried in self.tried:
            if tried.name not in earlier.answers:
                lines.append(f"{tried.name}: new")
                continue
            old_mean = earlier.mean(tried.name, self.measure)
            new_mean = self.mean(tried.name, self.measure)
            if old_mean != new_mean:
                change = f"{100 * old_mean:.1f} % → {100 * new_mean:.1f} %"
                lines.append(f"{tried.name}: {self.measure} {change}")
        for name in earlier.answers:
            if name not in self.answers:
                lines.append(f"{name}: gone")
        return lines

    def to_json(self) -> str:
        """Return the whole comparison as JSON."""
        answers = {}
        for name, answers_of_setting in self.answers.items():
            answers[name] = list(map(asdict, answers_of_setting))
        record = {
            "format": _FORMAT,
            "measure": self.measure,
            "baseline": self.baseline,
            "manifest": dict(self.manifest),
            "checks": list(map(asdict, self.checks)),
            "settings": list(map(asdict, self.tried)),
            "questions": list(map(asdict, self.asked)),
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
            answers = {}
            for name, answers_of_setting in record["answers"].items():
                answers[name] = tuple(map(answer_of, answers_of_setting))
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
        head.append("MB of vectors")
        lines = [_html_row("th", head)]
        for row in self.rows:
            cells = [row.tried.name]
            cells += [f"{100 * mean:.1f}" for mean in row.means.values()]
            against = ""
            p = ""
            if row.against is not None and row.p is not None:
                mean = f"{100 * row.against.mean:+.1f}"
                against = f"{mean} [{100 * row.against.low:+.1f}, {100 * row.against.high:+.1f}]"
                p = f"{row.p:.3f}"
            cells += [against, p, f"{row.tried.bytes / 1e6:.1f}"]
            lines.append(_html_row("td", cells))
        return f"<p><b>{escape(self.sentence)}</b></p><table>{''.join(lines)}</table>"


def _html_row(element: str, cells: Sequence[str]) -> str:
    content = "".join(f"<{element}>{escape(cell)}</{element}>" for cell in cells)
    return f"<tr>{content}</tr>"


def _cell(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value


def _round_up(number: int) -> int:
    """Return a number of two digits and zeros that is no smaller."""
    unit: int = 10 ** max(len(str(number)) - 2, 0)
    return -(-number // unit) * unit


def _count(number: int, noun: str) -> str:
    if number != 1:
        noun += "s"
    return f"{number:,} {noun}"
