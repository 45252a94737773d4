"""Find what a model wrote while it thought.

No part of its answer, so nothing there is a proposition or is cited. Models mark it by tags
(`<think>…</think>`, `<thought>`, `[THINK]…[/THINK]`, `<|begin_of_thought|>`), by channels
(`<|channel|>analysis<|message|>…<|channel|>final<|message|>`), or write `analysisWe should …
assistantfinal` where a server dropped the marks of these. The first tag is missing where the prompt
ended with it, the last one where the answer was cut off.
"""

from __future__ import annotations

import re
from typing import NamedTuple

Span = tuple[int, int]

_NAMES = "think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis|inner_monologue"
_TAG = rf"(?:[a-z]{{1,10}}[:_])?(?:{_NAMES}|antthinking)"  # "seed:think", "ant_thinking"
_ASIDE = r"(?:analysis|commentary|thoughts?|thinking|reasoning)"  # channels that are not the answer
_MARKS = re.compile(
    rf"""(?P<fence>^[ \t]*+(?:```|~~~)[^\n`]*+)
      | (?P<open> <(?:{_TAG})(?:\s[^<>\n]{{0,200}}+)?>
                | (?-i:\[(?:THINK|THINKING|THOUGHT|REASONING)\])
                | <\|(?:begin_of_|start_)?(?:{_NAMES})(?:_start|_begin)?\|>
                | ◁(?:{_NAMES})▷ | <unused94>(?=thought\b)
                | <details\s[^<>\n]{{0,200}}?type="reasoning"[^<>\n]{{0,200}}+>
                | (?:<\|start\|>\w{{1,20}}+)?<\|channel\|?>\s*+{_ASIDE}\b
                  (?:[^<\n]{{0,100}}<\|message\|>)?
                | (?-i:\Aanalysis(?=[A-Z])) )
      | (?P<close> </(?:{_TAG})\s*+>
                | (?-i:\[/(?:THINK|THINKING|THOUGHT|REASONING)\])
                | <\|(?:end_of_|end_)(?:{_NAMES})\|> | <\|(?:{_NAMES})_end\|>
                | ◁/(?:{_NAMES})▷ | <unused95>
                | (?:<\|end\|>\s*+)?(?:<\|start\|>\w{{1,20}}+)?<\|channel\|?>\s*+final\b
                  (?:[^<\n]{{0,100}}<\|message\|>)?
                | <\|end\|> | <channel\|>
                | assistantfinal
                | </details> )
      | (?P<turn> <\|return\|> )""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
# what an answer has said before it thinks within a line
_FINISHED = re.compile(r"[.:!?>\])}]\s*\Z|\A\s*\Z")
_BEGINS = re.compile(r"\s*(?:\n|\Z|[\[{])")  # the answer, behind a last tag
# these end nothing that did not begin
_ALL_CLOSE = ("</details>", "<|end|>", "assistantfinal", "<channel|>")


class _Mark(NamedTuple):
    """A tag that begins or ends reasoning."""

    kind: str
    start: int
    end: int
    family: str  # tags of one family end each other


def reasoning_spans(text: str) -> list[Span]:
    """Return where a model's text holds reasoning, with its tags.

    `[start, end)` in characters, in order. Tags in code, and those that a sentence or a quoted text
    speaks of, are none. Reasoning without a last tag reaches to the end; of a last tag without a
    first one, all before it is reasoning. Time is linear.
    """
    spans: list[Span] = []
    opened: _Mark | None = None
    spoken_of: _Mark | None = None  # a first tag that a sentence seems to speak of
    in_code = False
    for match in _MARKS.finditer(text):
        mark = _Mark(str(match.lastgroup), *match.span(), _family(match[0]))
        if mark.kind == "fence":
            in_code = in_code != (opened is None)  # thoughts may hold half a block of code
        elif in_code:
            continue
        elif opened is not None:
            if mark.kind == "close" and mark.family == opened.family:
                spans.append((opened.start, mark.end))
                opened = None
        elif mark.kind == "open":
            if _begins_reasoning(text, mark):
                opened = mark
            else:
                spoken_of = mark
        elif mark.kind == "turn":
            spans.append((mark.start, mark.end))
        elif match[0].lower() in _ALL_CLOSE or not _ends_reasoning(text, mark):
            continue
        elif spoken_of is None or spoken_of.family != mark.family:
            spans = [(0, mark.end)]
        else:
            if "\n" in text[spoken_of.end : mark.start] or _BEGINS.match(text, mark.end):
                spans.append((spoken_of.start, mark.end))
            spoken_of = None
    if opened is not None:
        spans.append((opened.start, len(text)))
    return spans


def without_reasoning(text: str) -> str:
    """Return a model's text without its reasoning: the answer, as it stands."""
    parts = []
    copied = 0
    for start, end in reasoning_spans(text):
        parts.append(text[copied:start])
        copied = end
    return "".join([*parts, text[copied:]])


def open_reasoning(text: str, at: int) -> str:
    """Return the first tag of the reasoning around a place in a text, "" if there is none."""
    start = next((first for first, last in reasoning_spans(text) if first < at < last), None)
    mark = None if start is None else _MARKS.match(text, start)
    if mark:
        return mark[0].lstrip()
    return ""


def _family(tag: str) -> str:
    lower = tag.lower()
    if "channel" in lower or lower in ("<|end|>", "analysis", "assistantfinal"):
        return "channel"
    for family in ("details", "unused"):
        if family in lower:
            return family
    return lower[0]


def _before(text: str, at: int) -> str:
    """Return the part of a line before a place, its last 1000 characters at most."""
    return text[max(text.rfind("\n", 0, at) + 1, at - 1000) : at]


def _begins_reasoning(text: str, mark: _Mark) -> bool:
    """Return whether a first tag is meant as one.

    Not `"The tag <think> …"`, nor one in inline code.
    """
    before = _before(text, mark.start)
    if before.count("`") % 2 or before.count('"') % 2:
        return False
    return mark.family == "channel" or _FINISHED.search(before) is not None


def _ends_reasoning(text: str, mark: _Mark) -> bool:
    """Return whether a last tag without a first one ends what the prompt began."""
    before = _before(text, mark.start)
    if not before.strip() or _BEGINS.match(text, mark.end):
        return before.count("`") % 2 == 0
    return before.count("`") % 2 == 0 and before.count('"') % 2 == 0
