"""Decide which questions of a text are headings, and how far their answers reach."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise, zip_longest

from factoid.text.heading_context import (
    BULLET,
    LABELLED,
    SPEAKER,
    Line,
    is_single,
    is_story,
    is_terminated,
    is_verse,
)

_DISTANCE = 6  # blocks from a question to the next of a series
_PAIR_DISTANCE = 3  # if there are only two
_WORDS = 25
_SURE_SERIES = 3  # questions of one sentence, beside which some may have two

_SENTENCE_END_WITHIN = re.compile(r"[.!?…。！？][\"'”’»)\]]*\s")
_MARK = re.compile(r"(?:(?:Q|Question|Frage|F)\s?\d*[.:)]|\d{1,3}[.)])\s*", re.IGNORECASE)
_ANSWER = re.compile(r"(?:A|Answer|Antwort|R|Réponse)\s?\d*[.:)]")
_GOES_ON = re.compile(r"(?:and|but|so|or|und|aber|oder|et|mais|ou|y|pero|e|ma)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"¿|(?:what|how|why|when|where|who|whom|whose|which|can|could|do|does|did|is|are|was|were|am|"
    r"may|should|shall|will|would|have|has|must|in what|to what|at what|for how|wie|warum|wann|wo|"
    r"wer|welche[rsnm]?|kann|können|muss|müssen|darf|gibt|ist|sind|wird|hat|haben|brauche|comment|"
    r"pourquoi|quand|où|qui|que|quel(?:le)?s?|est-ce|puis-je|come|perché|quando|dove|chi|quanto|"
    r"posso)\b",
    re.IGNORECASE,
)
_YES_OR_NO = re.compile(
    r"(?:yes|no|not|never|always|sorry|sure|of course|certainly|definitely|unfortunately|only|ja|"
    r"nein|nicht|natürlich|leider|nur|oui|non|bien sûr|sí|sì)\b",
    re.IGNORECASE,
)


def answer_ends(lines: Sequence[Line], levels: Mapping[int, int]) -> dict[int, int]:
    """Find the questions that are headings of their answers, and the first line below each answer.

    Questions of a series, as in an interview, reach to the next one, the last of them as far as
    the longest above it. A single one heads one block, if the text has marked headings, or if it
    has other headings and the answer starts with a word such as "Yes". What somebody asks in a
    story or a speech heads nothing.

    Args:
        lines: The blocks of a text.
        levels: The levels of its other headings, by their place.
    """
    others = [place for place in range(len(lines)) if place not in levels]
    questions = [place for place in others if _is_question(lines, place)]
    taken = {*questions, *levels}
    asked = [place for place in questions if place + 1 not in taken]
    is_marked = any(line.level for line in lines)
    ends: dict[int, int] = {}
    series: list[int] = []
    for place, following in zip_longest(asked, asked[1:]):
        series.append(place)
        if following is not None and following - place <= _DISTANCE:
            continue
        if in_series := _series_ends(lines, series):
            ends |= in_series
        elif levels and not is_story(lines):
            for place in series:
                if not _asks(lines[place]) or _has_two_sentences(lines[place]):
                    continue
                if is_marked or _YES_OR_NO.match(lines[place + 1].text):
                    ends[place] = place + 2
        series = []
    return ends


def _series_ends(lines: Sequence[Line], places: Sequence[int]) -> dict[int, int]:
    """Return where the answers of a series of questions end; none if they are no series."""
    series = [place for place in places if not _has_two_sentences(lines[place])]
    if len(series) >= _SURE_SERIES:
        series = list(places)
    asking = [place for place in series if _asks(lines[place])]
    if len(series) < 2 or 3 * len(asking) < 2 * len(series):
        return {}
    lengths = [following - place for place, following in pairwise(series)]
    if len(series) == 2 and lengths[0] > _PAIR_DISTANCE:
        return {}
    lengths.append(max(lengths))
    return {place: place + length for place, length in zip(series, lengths, strict=True)}


def _is_question(lines: Sequence[Line], place: int) -> bool:
    """Return whether a line could be the question that the block below it answers."""
    line = lines[place]
    text = line.text.strip()
    if (
        line.kind not in ("paragraph", "heading", "item")
        or not is_single(line)
        or text[-1:] not in ("?", "？")
    ):
        return False
    words = _without_mark(line)
    if (
        not words
        or words[0].islower()
        or words[0] in "\"'“„«‘([—–"
        or BULLET.match(text)
        or _GOES_ON.match(words)
    ):
        return False
    if len(_SENTENCE_END_WITHIN.findall(words)) > 1 or len(words.split()) > _WORDS:
        return False
    if LABELLED.match(text) and not _MARK.match(text):
        return False
    return place + 1 < len(lines) and _may_answer(lines[place + 1])


def _may_answer(line: Line) -> bool:
    if line.text[:1].islower() or is_verse(line):
        return False
    is_name = line.text.isupper() and not is_terminated(line.text)
    is_turn = SPEAKER.match(line.text) is not None and not _ANSWER.match(line.text)
    return not is_name and not is_turn


def _asks(line: Line) -> bool:
    return _ASKS.match(_without_mark(line)) is not None


def _has_two_sentences(line: Line) -> bool:
    return _SENTENCE_END_WITHIN.search(_without_mark(line)) is not None


def _without_mark(line: Line) -> str:
    return _MARK.sub("", line.text.strip(), count=1)
