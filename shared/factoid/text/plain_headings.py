"""Decide which lines of a text are its headings, what level they have, and how far they reach.

A line is a heading by evidence only: by a number that goes on from others, by a word such as
"Abstract" or "Chapter", by being bold, or because several lines of its form stand above running
text. A false heading would be the section of all that is below it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from factoid.text.heading_context import (
    BULLET,
    LABELLED,
    around_letters,
    is_author,
    is_conversation,
    is_list,
    is_log,
    is_running_text,
    is_single,
    is_terminated,
    is_verse,
    may_stand_below,
    repeated,
    templates,
)
from factoid.text.heading_context import Line as Line
from factoid.text.heading_lines import (
    HeadingLine,
    Number,
    heading_line,
    is_caption,
    is_notice,
    is_page_line,
    is_part_number,
)
from factoid.text.heading_questions import answer_ends

STRONG_LEVEL = 7  # of a line in bold in a text with headings: below all of Markdown's
QUESTION_LEVEL = 8

_ROW = 3  # title, section, subsection: more short lines in a row are a list
_SINGLE_TITLE_WORDS = 10  # of the title of a text without other headings
_SHORT_TEXT = 12  # blocks; in a longer one, a single line of its form is no heading
_FEW_MARKED = 2  # headings of a text in which others need no marks
_PER_BLOCKS = 12  # blocks in which at least one heading stands: captions of pictures are fewer
_PER_BLOCKS_SURE = 100  # the same, in capitals or in a text with headings that are sure
_SURE_HEADINGS = 3

_NAME_OF_PART = Number("name", (), True, True)
_APPENDIX = re.compile(
    r"appendix|annexe?|schedule|exhibit|anhang|anlage|anexo"
)  # part of no chapter
_SHORT_LINE = (
    40  # characters of a numbered heading above a short sentence: wrapped lines are longer
)
_DIGIT = re.compile(r"\d")
_NUMBERED_ITEM = re.compile(r"\(?\w{1,3}[.)]\s")


class Heading(NamedTuple):
    """A heading.

    Attributes:
        place: Its place among the lines.
        end: The place of the first line after it that is not under it.
        level: From 1. Levels grow with depth, and some may be left out.
    """

    place: int
    end: int
    level: int


class _Candidate(NamedTuple):
    """A line that could be a heading, and how it stands."""

    place: int
    line: HeadingLine
    row: int  # number of its row: candidates without anything between them
    fits: bool  # into the text above it
    is_last: bool  # of its row
    heads_text: bool  # whether running text stands below its row
    heads_list: bool  # whether a list, a table or short lines do
    heads_line: bool  # whether a single line that is no sentence does
    has_text_below: bool  # whether anything does


def heading_cuts(paragraph: str) -> list[int]:
    """Find where to cut a paragraph so that lines that could be headings stand alone.

    Headings do not always have empty lines around them. A line is cut off if it could be a numbered
    heading, one in capitals or a word such as "Abstract", if a sentence ends above it, and if the
    line below starts with a capital letter, and is longer or, below a number, a sentence. The
    number of a part and its name ("Chapter 1", "The Storm") are two headings.

    Returns:
        Places of line starts within the paragraph, in order.
    """
    if "\n" not in paragraph:
        return []
    starts = [0]
    lines = []
    for line in paragraph.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
        lines.append(line.strip())
    cuts: set[int] = set()
    for place in range(len(lines) - 1):
        is_apart = place == 0 or is_terminated(lines[place - 1]) or starts[place] in cuts
        if not is_apart:
            continue
        if _numbers_part(lines, place):
            cuts.update(starts[place : place + 3])
        elif _may_head(lines, place):
            cuts.update((starts[place], starts[place + 1]))
    return sorted(cuts - {0, starts[-1]})


def _numbers_part(lines: Sequence[str], place: int) -> bool:
    """Return whether a line is the number of a part, and the line below the name of the part."""
    if not is_part_number(lines[place]):
        return False
    name = heading_line(lines[place + 1])
    return name is not None and name.form in ("capitals", "title", "word")


def _may_head(lines: Sequence[str], place: int) -> bool:
    """Return whether a line could be the heading of the line below."""
    line = lines[place]
    below = lines[place + 1]
    if not below[:1].isupper() or below.isupper():
        return False
    heading = heading_line(line)
    if heading is None or heading.form not in ("number", "name", "capitals"):
        return False
    is_shorter = len(line) < len(below)
    is_numbered = heading.form == "number" and len(line) <= _SHORT_LINE
    heads_sentence = is_numbered and below.endswith((".", "!", "?"))
    return (is_shorter or heads_sentence) and not _follows_in_list(lines, place)


def _follows_in_list(lines: Sequence[str], place: int) -> bool:
    """Return whether a line is an item among items.

    The line below begins with a number or bullet as well.
    """
    below = lines[place + 1]
    return bool(BULLET.match(below) or (heading_line(lines[place]) and _NUMBERED_ITEM.match(below)))


def find_headings(lines: Sequence[Line], is_plain: bool = True) -> list[Heading]:
    """Find the headings of a text, in order.

    Headings are those that are marked, lines in bold, and questions with their answers; in a plain
    text also lines that give evidence, and the first of them is the title, of level 1. If more than
    a title or two are marked, there are no others.

    Args:
        lines: The blocks of a text.
        is_plain: Whether the text is no Markdown, or Markdown without headings.
    """
    if not any(line.level or is_single(line) for line in lines):
        return []
    marked = {place: line.level for place, line in enumerate(lines) if line.level}
    levels = marked
    if not marked or (is_plain and len(marked) <= _FEW_MARKED):
        levels = _below_marked(_evident(lines), marked)
    strong = {place: STRONG_LEVEL for place, line in enumerate(lines) if _is_lead(line)}
    asking = {place: QUESTION_LEVEL for place, line in enumerate(lines) if _asks_in_bold(line)}
    levels = strong | asking | levels
    reaches = answer_ends(lines, levels) | _captions(lines, levels)
    ends = {}
    order = sorted([*levels, *reaches])
    open_places: list[int] = []
    for place in order:
        level = levels.get(place, QUESTION_LEVEL)
        while open_places and levels.get(open_places[-1], QUESTION_LEVEL) >= level:
            ends[open_places.pop()] = place
        open_places.append(place)
    headings = []
    for place in order:
        end = ends.get(place, len(lines))
        headings.append(
            Heading(place, min(end, reaches.get(place, end)), levels.get(place, QUESTION_LEVEL))
        )
    return headings


def _below_marked(evident: Mapping[int, int], marked: Mapping[int, int]) -> dict[int, int]:
    """Return the levels of all headings.

    Headings found by evidence are below the marked one above them.
    """
    levels: dict[int, int] = {}
    above = 1
    for place in sorted({*evident, *marked}):
        if place in marked:
            above = levels[place] = marked[place]
        else:
            levels[place] = evident[place] + above - 1
    return levels


def _is_lead(line: Line) -> bool:
    """Return whether a line is bold and no sentence: it is a heading in any text."""
    text = line.text.strip()
    if not line.is_strong or line.kind not in ("paragraph", "heading") or not is_single(line):
        return False
    return any(map(str.isalnum, text)) and text[-1] not in ".!?;,…。！？" and not is_caption(text)


def _asks_in_bold(line: Line) -> bool:
    text = line.text.strip()
    return line.is_strong and text[-1:] in ("?", "？") and is_single(line)


def _captions(lines: Sequence[Line], levels: Mapping[int, int]) -> dict[int, int]:
    """Return where the rows end that stand right below a caption, by the caption's place.

    The caption heads nothing else.
    """
    reaches: dict[int, int] = {}
    for place, line in enumerate(lines):
        if place in levels or not is_single(line) or not is_caption(line.text):
            continue
        end = place + 1
        while end < len(lines) and (lines[end].kind == "row" or lines[end].text.startswith("|")):
            end += 1
        if end > place + 1:
            reaches[place] = end
    return reaches


# Headings of texts that mark none


def _evident(lines: Sequence[Line]) -> dict[int, int]:
    """Return the levels of lines that give evidence of being headings, by place."""
    numbered_again = templates(lines)
    candidates = _candidates(lines, numbered_again)
    heading_text = {candidate.place for candidate in candidates if candidate.heads_text}
    expected = heading_text & numbered_again
    sure = _in_series(candidates) | expected
    proven: set[str] = set()
    if not is_conversation(lines):
        proven = _proven_forms(candidates, len(lines))
    accepted: dict[int, _Candidate] = {}
    rows: dict[int, list[_Candidate]] = {}
    for candidate in candidates:
        rows.setdefault(candidate.row, []).append(candidate)
    for row in rows.values():
        is_first = row[0].place == 0
        for depth, candidate in enumerate(reversed(row)):
            is_topmost = depth + 1 == len(row)
            is_named = not is_topmost and _names_part(row[-depth - 2], candidate)
            if _is_in_reach(row, depth, is_first) and (
                is_named or _has_evidence(candidate, sure, proven)
            ):
                accepted[candidate.place] = candidate
    title_place = _title_place(lines)
    has_headings = bool(accepted)
    for candidate in candidates:
        if candidate.place == title_place and _is_title(lines, candidate, has_headings):
            accepted[title_place] = candidate
    return _levels(accepted, expected, lines)


def _title_place(lines: Sequence[Line]) -> int:
    """Return the place of the first line that is no notice such as "For immediate release"."""
    for place, line in enumerate(lines):
        if not is_notice(line.text):
            return place
    return 0


def _is_title(lines: Sequence[Line], title: _Candidate, has_headings: bool) -> bool:
    """Return whether the first line of a text is its title.

    An author and a date may stand between it and the text.
    """
    text = lines[title.place].text
    if title.heads_text or title.heads_list:
        heads_something = True
    elif LABELLED.match(text):
        return False
    else:
        below = title.place + 1
        while below < len(lines) and is_author(lines[below]) and below - title.place <= _ROW:
            below += 1
        heads_something = below < len(lines) and is_running_text(lines[below])
    is_short = len(text.split()) <= _SINGLE_TITLE_WORDS
    return (has_headings and not LABELLED.match(text)) or (is_short and heads_something)


def _candidates(lines: Sequence[Line], numbered_again: set[int]) -> list[_Candidate]:
    """Return the lines that could be headings, as they stand."""
    if is_log(lines):
        return []
    barred = repeated(lines) | around_letters(lines)
    title_place = _title_place(lines)
    forms: dict[int, HeadingLine] = {}
    for place, line in enumerate(lines):
        if (
            place in barred
            or line.kind in ("row", "code", "image", "heading")
            or not is_single(line)
        ):
            continue
        heading = heading_line(line.text, line.is_strong)
        if not heading or (line.kind == "item" and not heading.number):
            continue
        is_labelled = LABELLED.match(line.text) is not None and heading.form not in (
            "number",
            "strong",
        )
        above = lines[place - 1] if place else None
        if above is not None and _is_right_below(line, heading, above, forms.get(place - 1)):
            continue
        is_expected = place == title_place or place in numbered_again
        if is_expected or not (is_labelled or heading.is_doubtful):
            forms[place] = heading
    below = _below_rows(lines, forms)
    candidates = []
    row = 0
    for place, heading in forms.items():
        row += place - 1 not in forms
        candidates.append(_candidate(lines, place, heading, row, below[place], forms))
    return candidates


def _is_right_below(
    line: Line, heading: HeadingLine, above: Line, above_heading: HeadingLine | None
) -> bool:
    """Return whether a line is what stands below a heading in capitals, without an empty line."""
    if above_heading is None or above_heading.form != "capitals" or line.gap > 0:
        return False
    return heading.form in ("title", "word", "plain") and not is_part_number(above.text)


def _below_rows(lines: Sequence[Line], forms: Mapping[int, HeadingLine]) -> dict[int, Line | None]:
    """Return the block below the row of each line that could be a heading."""
    below: dict[int, Line | None] = {}
    following: Line | None = None
    for place in range(len(lines) - 1, -1, -1):
        if place in forms:
            below[place] = following
        elif not is_page_line(lines[place].text):
            following = lines[place]
    return below


def _candidate(
    lines: Sequence[Line],
    place: int,
    heading: HeadingLine,
    row: int,
    following: Line | None,
    forms: Mapping[int, HeadingLine],
) -> _Candidate:
    line = lines[place]
    above = lines[place - 1] if place else None
    speaks = following is not None and bool(
        LABELLED.match(following.text) and LABELLED.match(line.text)
    )
    heads_text = heads_list = heads_line = False
    if following is not None and not speaks:
        heads_text = is_running_text(following)
        heads_list = not heads_text and is_list(following)
        heads_line = not (heads_text or heads_list) and _heads_line(heading, line, following)
        if above is not None and not is_page_line(above.text) and is_verse(following):
            heads_text = heads_list = heading.form in ("number", "capitals")
    fits = above is None or place - 1 in forms or may_stand_below(line, above)
    is_last = place + 1 not in forms
    return _Candidate(
        place,
        heading,
        row,
        fits,
        is_last,
        heads_text,
        heads_list,
        heads_line,
        following is not None,
    )


def _heads_line(heading: HeadingLine, line: Line, following: Line) -> bool:
    """Return whether a line in capitals may head a line that is no sentence, as in a résumé.

    Names above what somebody is, as at the end of a letter, have several words.
    """
    if heading.form != "capitals" or not is_single(following):
        return False
    return " " not in line.text.strip() or _DIGIT.search(following.text) is not None


def _in_series(candidates: Sequence[_Candidate]) -> set[int]:
    """Return the places of numbers that are sure or belong to a series.

    A number belongs to one if it comes right after or before another of it.
    """
    sure: set[int] = set()
    latest: dict[tuple[str, tuple[int, ...]], int] = {}  # the last place of each number
    for candidate in candidates:
        number = candidate.line.number
        if number is None:
            continue
        if number.is_sure:
            sure.add(candidate.place)
        if number.value:
            before = (*number.value[:-1], number.value[-1] - 1)
            if (number.style, before) in latest:
                sure.update((candidate.place, latest[number.style, before]))
        latest[number.style, number.value] = candidate.place
    return sure


def _proven_forms(candidates: Sequence[_Candidate], blocks: int) -> set[str]:
    """Return the forms of which enough lines stand as headings do."""
    numbers = Counter(candidate.row for candidate in candidates)
    total: Counter[str] = Counter()
    standing: Counter[str] = Counter()
    for candidate, following in zip_longest(candidates, candidates[1:]):
        form = candidate.line.form
        forms = ("title", "plain") if form == "word" else (form,)
        is_above_others = (
            not candidate.is_last and following is not None and following.line.form != form
        )
        if candidate.place == 0 or not (candidate.is_last or is_above_others or form == "number"):
            continue
        heads_something = candidate.heads_text or (candidate.heads_list and form == "capitals")
        stands = candidate.fits and heads_something and numbers[candidate.row] <= _ROW
        if stands or not candidate.heads_line:  # whether it does is shown by others
            total.update(forms)
        if stands:
            standing.update(forms)
    has_sure = standing["name"] + standing["number"] >= _SURE_HEADINGS
    wanted: Counter[str] = Counter()
    for form in total:
        if blocks <= _SHORT_TEXT:
            wanted[form] = 1
            continue
        per_blocks = _PER_BLOCKS
        if has_sure or form == "capitals":
            per_blocks = _PER_BLOCKS_SURE
        wanted[form] = max(2, blocks // per_blocks)
    proven = set()
    for form, number in standing.items():
        if number >= wanted[form] and 2 * number >= total[form]:
            proven.add(form)
    if standing["number"] > 1 and standing["plain"] <= wanted["plain"]:
        proven.discard("plain")  # the text has headings of another form
    return proven


def _is_in_reach(row: Sequence[_Candidate], depth: int, is_first: bool) -> bool:
    """Return whether a line of a row can be a heading of the text below the row.

    A short row is a path of headings. Of a longer one, such as a table of contents, the last line
    is a heading if it is numbered or a word such as "Abstract"; so is the number that it is a part
    of. Below a title may stand its author.

    Args:
        row: Lines without anything between them.
        depth: Which of them, counted from the last.
        is_first: Whether the row starts the text.
    """
    candidate = row[len(row) - 1 - depth]
    is_marked = candidate.line.form in ("number", "name", "strong")
    if len(row) <= _ROW + is_first and (not is_first or depth == 0 or is_marked):
        return True
    if depth == 0:
        return is_marked
    last = row[-1].line.number
    number = candidate.line.number
    return depth <= _ROW and bool(
        last and number and last.value[: len(number.value)] == number.value != last.value
    )


def _has_evidence(candidate: _Candidate, sure: set[int], proven: set[str]) -> bool:
    heads_something = candidate.heads_text or candidate.heads_list or candidate.heads_line
    form = candidate.line.form
    if form == "strong":
        return True
    if form == "name":
        return candidate.has_text_below
    if not heads_something or not candidate.fits:
        return False
    if form == "number" or candidate.place in sure:
        return candidate.place in sure
    forms = {"title", "plain"} if form == "word" else {form}
    return bool(forms & proven)


def _names_part(above: _Candidate, candidate: _Candidate) -> bool:
    """Return whether a line is the name of the part whose number stands above it.

    "The Storm" is such a line below "CHAPTER IV".
    """
    is_part = above.line.number is not None and above.line.number.has_word
    return (
        is_part
        and candidate.line.form in ("capitals", "title", "word")
        and (candidate.heads_text or candidate.heads_list)
    )


def _levels(
    accepted: Mapping[int, _Candidate], expected: set[int], lines: Sequence[Line]
) -> dict[int, int]:
    """Return the levels of headings by place.

    The first line of the text is its title, of level 1. Numbers say how deep a heading is; one
    without a number between two parts of a number is as deep as they are. In capitals is above
    other forms, and headings without text between them are below each other.
    """
    levels: dict[int, int] = {}
    title_place = _title_place(lines)
    depths: dict[str, int] = {}  # of styles of numbers
    numbered: list[Number] = []  # those above
    unnumbered: list[int] = []  # ranks of forms of those above
    between: list[int] = []  # places since the last numbered one
    styles = Counter(
        candidate.line.number.style for candidate in accepted.values() if candidate.line.number
    )
    for place in sorted(accepted):
        line = accepted[place].line
        number = line.number
        is_of_series = (
            (number and styles[number.style] > 1) or line.form == "name" or place in expected
        )
        if place == title_place and not (is_of_series and len(accepted) > 1):
            levels[place] = 1
            continue
        if number:
            parent = _parent(numbered, number, depths)
            del numbered[parent:]
            depths[number.style] = parent
            level = 2 + len(numbered)
            if numbered and between:
                levels |= {other: levels[other] + level - 2 for other in between}
            numbered.append(number)
            levels[place] = level
            between = []
            unnumbered = []
            continue
        rank = 0 if place in expected else _rank(lines[place])
        follows = levels.get(place - 1, 0) > 1 and place - 1 in between
        while unnumbered and (unnumbered[-1] > rank or (unnumbered[-1] == rank and not follows)):
            unnumbered.pop()
        if place - 1 in accepted and _names_part(accepted[place - 1], accepted[place]):
            levels[place] = 2 + len(numbered)
            numbered.append(_NAME_OF_PART)
            continue
        levels[place] = 2 + len(unnumbered)
        unnumbered.append(rank)
        between.append(place)
    return levels


def _rank(line: Line) -> int:
    """Return how deep a heading without a number is by its form, 0 for the outermost."""
    if line.text.isupper():
        return 0
    return 1 if line.is_strong else 2


def _parent(numbered: Sequence[Number], number: Number, depths: dict[str, int]) -> int:
    """Return how many of the numbered headings above stay above a new one."""
    value = number.value
    for depth in range(len(numbered), 0, -1):
        above = numbered[depth - 1].value
        if 0 < len(above) < len(value) and value[: len(above)] == above:
            return depth
    if len(value) > 1 or _APPENDIX.match(number.style):
        return 0
    for depth, other in enumerate(numbered):
        if other.style == number.style or (number.has_word and not other.has_word):
            return depth
    if number.style in depths:
        return min(depths[number.style], len(numbered))  # goes on in another part
    return len(numbered) if value in ((1,), ()) else 0
