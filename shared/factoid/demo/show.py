"""The demo's pictures: counts, hits side by side and the table of scores. Each function returns text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from factoid.demo.corpus import BUDGETS, CUTOFFS, Question, Scores, find_answer
from factoid.late_interaction import Citation, CitedAnswer
from factoid.propositions import Report
from factoid.sentences import Span
from factoid.store import GRANULARITIES
from factoid.terminal import WIDTH, count, excerpt, place, plain, wrap
from factoid.units import Granularity, Hit, Unit
from factoid.words import count_words

_INDENT = " " * 6
_WHOLE = 900  # characters: passages of up to some 140 words are shown whole
_SOURCE = 260


def headline(text: str) -> str:
    """Return a line that starts a part of the demo."""
    return f"\n━━ {text} {'━' * (WIDTH - len(text) - 4)}\n"


def counts(units: Sequence[Unit], report: Report) -> str:
    """Return units and words per unit at each granularity, and what became of the propositions."""
    lines = [f"{'':<12}{'units':>8}{'words per unit':>17}"]
    for kind in GRANULARITIES:
        words = [count_words(unit.text) for unit in units if unit.granularity is kind]
        lines.append(f"{kind:<12}{len(words):>8,}{sum(words) / max(len(words), 1):>17.1f}")
    return "\n".join([*lines, "", wrap(str(report))])


def best_unit(kind: Granularity, hit: Hit, question: Question, *, color: bool) -> str:
    """Return the best unit of a passage that was found; of a sentence or proposition also its source there."""
    best = hit.matches[0].unit if hit.matches else hit.unit
    facts = [kind.upper(), f"score {hit.score:.3f}", f"{count_words(best.text)} words"]
    if question.answers:
        facts.append("holds the answer" if find_answer(best.text, question.answers) is not None else "no answer in it")
    lines = ["  " + " · ".join(facts), wrap(place(best), indent=_INDENT)]
    if kind is Granularity.PASSAGE:
        lines.append(wrap(excerpt(best.text, chars=_WHOLE), indent=_INDENT))
    else:
        start, end = best.start - hit.unit.start, best.end - hit.unit.start
        rewritten = plain(best.text) != plain(hit.unit.text[start:end])
        if rewritten:
            lines.append(wrap(plain(best.text), indent=_INDENT))
        source = excerpt(hit.unit.text, start, end, chars=_SOURCE)
        lines.append(wrap(source, indent=_INDENT, first=f"{_INDENT}from: " if rewritten else None, color=color))
    return "\n".join(line for line in lines if line)


def citations(question: str, answer: CitedAnswer, passages: int) -> str:
    """Return an answer with markers, and for each claim the passage and the sentence that it is cited for."""
    note = f"Answer to: {question} The numbers are those of the {count(passages, 'best passage')}, in the order of the search."
    lines = [wrap(note), "", wrap(answer.text, indent=" " * 2)]
    for support, of_unit in groupby(answer.citations, key=attrgetter("support.unit")):
        cited = _widest(list(of_unit))
        lines += ["", *(wrap(f"[{one.number}] {one.claim}", indent=_INDENT, first="  ") for one in cited)]
        lines.append(wrap(place(cited[0].passage), indent=_INDENT))
        lines.append(wrap(plain(support.text), indent=_INDENT, first=f"{_INDENT}from: "))
    return "\n".join(lines)


def _widest(citations: Sequence[Citation]) -> list[Citation]:
    """Return the citations whose claim is no part of the claim of another."""

    def lies_in(spans: Sequence[Span], others: Sequence[Span]) -> bool:
        return all(any(first <= start and end <= last for first, last in others) for start, end in spans)

    return [
        citation
        for citation in citations
        if not any(
            lies_in(citation.spans, other.spans) and not lies_in(other.spans, citation.spans) for other in citations
        )
    ]


def table(scores: Mapping[str, Scores], questions: int) -> str:
    """Return the recall table."""
    heads = [f"R@{cutoff}" for cutoff in CUTOFFS], [str(words) for words in BUDGETS]
    lines = [
        f"{'':<30}{'right passage found':^20}   {'answer within the first … words':>33}",
        f"{'':<30}{''.join(f'{head:>10}' for head in heads[0])}   {''.join(f'{head:>11}' for head in heads[1])}",
    ]
    for name, shares in scores.items():
        recall = "".join(f"{share:>10.1%}" for share in shares.recall)
        within = "".join(f"{share:>11.1%}" for share in shares.within)
        lines.append(f"{name:<30}{recall}   {within}")
    note = (
        f"Over all {questions} questions. R@k: one of the k best passages is of the article asked about and holds an "
        "answer. Within W words: an answer occurs in the first W words of the ranked units. One question is "
        f"{1 / questions:.1%}, so that differences of a few are chance; larger sets stand in docs/ranking.md."
    )
    return "\n".join([*lines, "", wrap(note)])
