"""Decide which lines of a text are its headings, what level they have, and how far they reach.

A line is a heading by evidence only: by a number that continues others, by a word such as "Abstract" or "Chapter", by being
bold, or because several lines of its form stand above running text. A false heading would be the section of all below it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from factoid.text.heading_lines import HeadingLine, Number, heading_line, is_caption, is_notice, is_page_line
from factoid.text.lines import line_starts

STRONG_LEVEL = 7  # of a line in bold in a text with headings: below all of Markdown's
QUESTION_LEVEL = 8

_ROW = 3  # title, section, subsection: more short lines in a row are a list
_SINGLE_TITLE_WORDS = 10  # of the title of a text without other headings
_SHORT_TEXT = 12  # blocks; in a longer one, a single line of its form is no heading
_PER_BLOCKS = 200  # blocks in which at least one heading of a form stands
_LEAD_CHARS = 200
_SHORT_CHARS = 100  # of an author or a date below a title
_UNWRAPPED = 200  # characters of a line that nobody wrapped
_REPEATED = 3  # times: speakers, notes and the heads of pages
_QUESTION_DISTANCE = 6  # blocks between two questions of a series
_QUESTION_WORDS = 25
_QUOTES = ('"', "“", "„", "«", "‘", "'", "—", "–")
_SPOKEN_SHARE = 20  # one block of so many in a story is speech
_SURE_SERIES = 3  # questions of one sentence, beside which some may have two
_LETTER_HEAD, _SIGNATURE = 25, 6  # lines above "Dear …", and below "Yours …"

_SENTENCE_END = re.compile(r"[.!?。！？][\"'”’»)\]]*(?:\s|\Z)")
_SENTENCE_END_WITHIN = re.compile(r"[.!?…。！？][\"'”’»)\]]*\s")
_TERMINATED = re.compile(r"[.!?:;…。！？：；][\"'”’»)\]*_]*\Z|[\"”’»)\]]\Z")
_BULLET = re.compile(r"[-+*•●▪■►‣–—✓☐☑➢➤\uf0b7]\s?|[|>]")
_LABELLED = re.compile(r"[*_]{0,2}(?![a-zß-ÿ])[^\W_][^:\n.!?;,]{0,39}:[*_]{0,2}(?:\s|\Z)")
_SPEAKER = re.compile(r"[*_]{0,2}[^\W\d_a-zß-ÿ][^\s:]*(?: [^\W\d_a-zß-ÿ][^\s:]*){0,3}:[*_]{0,2}(?:\s|\Z)")
_ANSWER = re.compile(r"(?:A|Answer|Antwort|R|Réponse)\s?\d*[.:)]")
_GOES_ON_ASKING = re.compile(r"(?:and|but|so|or|und|aber|oder|et|mais|ou|y|pero|e|ma)\b", re.IGNORECASE)
_ASKED = re.compile(r"(?:(?:Q|Question|Frage|F)\s?\d*[.:)]|\d{1,3}[.)])\s*", re.IGNORECASE)
_ASKING = re.compile(
    r"¿|(?:what|how|why|when|where|who|whom|whose|which|can|could|do|does|did|is|are|was|were|am|may|should|shall|will|would|have|"
    r"has|must|in what|to what|at what|for how|wie|was|warum|wann|wo|wer|welche[rsnm]?|kann|können|muss|müssen|darf|gibt|ist|"
    r"sind|wird|hat|haben|brauche|comment|pourquoi|quand|où|qui|que|quel(?:le)?s?|est-ce|puis-je|come|perché|quando|dove|chi|"
    r"quanto|posso)\b",
    re.IGNORECASE,
)  # fmt: skip
_YES_OR_NO = re.compile(
    r"(?:yes|no|not|never|always|sorry|sure|of course|certainly|definitely|unfortunately|only|ja|nein|nicht|natürlich|leider|nur|"
    r"oui|non|bien sûr|sí|sì)\b",
    re.IGNORECASE,
)
_SALUTATION = re.compile(
    r"(?:Dear|To whom|Hi|Hello|Sehr geehrte|Liebe|Lieber|Guten Tag|Hallo|Chère?|Madame|Monsieur|Estimad|Querid|Gentil|Caro|Cara)"
    r"\b[^\n.?]{0,60}[,:!]?(?:\n|\Z)"
)
_CLOSING = re.compile(
    r"(?:(?:Yours|Kind|Best|Warm|Many thanks|With|Sincerely|Regards|Respectfully|Cordially|Faithfully|Love|Thank you|Mit freundlichen|"
    r"Viele|Herzliche|Beste|Freundliche|Cordialement|Bien à vous|Atentamente|Saludos|Cordiali)\b[^\n.?!:]{0,40}),?\s*(?:\n|\Z)"
)
_SIGNED = re.compile(
    r"(?:sincerely|faithfully|truly|regards|wishes|thanks|grüßen?|grüsse|cordialement|atentamente|saludos|love|vous)\b",
    re.IGNORECASE,
)
_NAME_OF_PART = Number("name", (), True, True)
_APPENDIX = re.compile(r"appendix|annexe?|schedule|exhibit|anhang|anlage|anexo")  # part of no chapter
_VERSE_CHARS = 65
_LOGGED = re.compile(r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d\b")
_TURNS = 4
_TURNS_SHARE = 3  # one block of so many in a conversation is a turn with its speaker
_LOGGED_SHARE = 6  # one block of so many in a log starts with a time


class Line(NamedTuple):
    """A paragraph, an item, a row or code of a text, as a reader sees it.

    Attributes:
        text: What a reader sees, without marks of Markdown; an item with its number or bullet.
        kind: "heading", "paragraph", "item", "row" or "code".
        is_strong: Whether all of it is bold.
        gap: The number of empty lines above it.
        level: Of a heading that is marked as one, from 1.
    """

    text: str
    kind: str = "paragraph"
    is_strong: bool = False
    gap: int = 1
    level: int = 0


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
    has_text_below: bool  # whether anything does


def heading_cuts(paragraph: str) -> list[int]:
    """Find where to cut a paragraph of plain text, so that lines that could be headings stand alone.

    Headings do not always have empty lines around them. A line is cut off if it could be a numbered
    heading, one in capitals or a word such as "Abstract", if a sentence ends above it, and if the
    line below starts with a capital letter, and is longer.

    Returns:
        Places of line starts within the paragraph, in order.
    """
    starts = [0, *(match.end() for match in re.finditer(r"\n", paragraph))]
    lines = [paragraph[start:end].strip() for start, end in pairwise([*starts, len(paragraph)])]
    lines = lines if len(starts) > 1 else []
    cuts: set[int] = set()
    for place, (line, below) in enumerate(pairwise(lines)):
        if len(line) >= len(below) or not below[:1].isupper():
            continue
        if place and not _TERMINATED.search(lines[place - 1]) and starts[place] not in cuts:
            continue
        found = heading_line(line)
        if found and found.form in ("number", "name", "capitals") and not _follows_in_list(lines, place):
            cuts.update((starts[place], starts[place + 1]))
    return sorted(cuts - {0})


def _follows_in_list(lines: Sequence[str], place: int) -> bool:
    """Return whether a line is an item among items: the line below begins with a number or bullet as well."""
    below = lines[place + 1]
    return bool(_BULLET.match(below) or (heading_line(lines[place]) and re.match(r"\(?\w{1,3}[.)]\s", below)))


def find_headings(lines: Sequence[Line]) -> list[Heading]:
    """Find the headings of a text, in order.

    In a text with marked headings, only those, lines in bold and questions are headings. In
    another, lines that give evidence are, too, and the first of them is the title, of level 1.
    """
    levels = {place: line.level for place, line in enumerate(lines) if line.level}
    if levels:
        levels |= {place: STRONG_LEVEL for place, line in enumerate(lines) if place not in levels and _is_lead(line)}
    else:
        levels = _evident(lines)
    levels |= {place: QUESTION_LEVEL for place, line in enumerate(lines) if place not in levels and _asks_in_bold(line)}
    reaches = _questions(lines, levels) | _captions(lines, levels)
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
        headings.append(Heading(place, min(end, reaches.get(place, end)), levels.get(place, QUESTION_LEVEL)))
    return headings


def _is_lead(line: Line) -> bool:
    """Return whether a line is bold and no sentence: it is a heading in any text."""
    text = line.text.strip()
    if not line.is_strong or line.kind not in ("paragraph", "heading") or "\n" in text or len(text) > _LEAD_CHARS:
        return False
    return any(map(str.isalnum, text)) and text[-1] not in ".!?;,…。！？" and not is_caption(text)


def _asks_in_bold(line: Line) -> bool:
    text = line.text.strip()
    return line.is_strong and text[-1:] in ("?", "？") and "\n" not in text and len(text) <= _LEAD_CHARS


# Headings of texts that mark none


def _evident(lines: Sequence[Line]) -> dict[int, int]:
    """Return the levels of lines that give evidence of being headings, by place."""
    candidates = _candidates(lines)
    templates = _templates(lines)
    sure = _in_series(candidates) | {each.place for each in candidates if each.place in templates and each.heads_text}
    proven = set() if _is_conversation(lines) else _proven_forms(candidates, len(lines))
    accepted: dict[int, _Candidate] = {}
    rows: dict[int, list[_Candidate]] = {}
    for candidate in candidates:
        rows.setdefault(candidate.row, []).append(candidate)
    for row in rows.values():
        is_first = row[0].place == 0
        for depth, candidate in enumerate(reversed(row)):
            above = row[-depth - 2] if depth + 1 < len(row) else None
            is_named = above is not None and _names_part(above, candidate)
            if _is_in_reach(row, depth, is_first) and (is_named or _has_evidence(candidate, sure, proven)):
                accepted[candidate.place] = candidate
    title = next((candidate for candidate in candidates if candidate.place == _title_place(lines)), None)
    if title is not None and _is_title(lines, title, bool(accepted)):
        accepted[title.place] = title
    return _levels(accepted, sure & templates, lines)


def _title_place(lines: Sequence[Line]) -> int:
    """Return the place of the first line that is no notice such as "For immediate release"."""
    return next((place for place, line in enumerate(lines) if not is_notice(line.text)), 0)


def _is_title(lines: Sequence[Line], title: _Candidate, has_headings: bool) -> bool:
    """Return whether the first line of a text is its title: an author and a date may stand between it and the text."""
    text = lines[title.place].text
    if title.heads_text or title.heads_list:
        heads_something = True
    elif _LABELLED.match(text):
        return False
    else:
        below = title.place + 1
        while below < len(lines) and _is_short(lines[below]) and below - title.place <= _ROW:
            below += 1
        heads_something = below < len(lines) and _is_running_text(lines[below])
    is_short = len(text.split()) <= _SINGLE_TITLE_WORDS
    return (has_headings and not _LABELLED.match(text)) or (is_short and heads_something)


def _is_short(line: Line) -> bool:
    text = line.text.strip()
    return "\n" not in text and len(text) <= _SHORT_CHARS and not _SENTENCE_END.search(text)


def _candidates(lines: Sequence[Line]) -> list[_Candidate]:
    """Return the lines that could be headings, as they stand."""
    barred = _repeated(lines) | _around_letters(lines)
    if _is_log(lines):
        return []
    templates = _templates(lines)
    title_place = _title_place(lines)
    forms: dict[int, HeadingLine] = {}
    for place, line in enumerate(lines):
        if place in barred or line.kind in ("row", "code") or len(line.text) > _LEAD_CHARS or "\n" in line.text.strip():
            continue
        found = heading_line(line.text, line.is_strong)
        if not found or (line.kind == "item" and not found.number):
            continue
        is_repeated = place == title_place or place in templates
        is_labelled = _LABELLED.match(line.text) is not None and found.form not in ("number", "strong")
        if is_repeated or not (is_labelled or found.is_doubtful):
            forms[place] = found
    candidates = []
    row = 0
    for place, found in forms.items():
        row += place - 1 not in forms
        below = place + 1
        while below < len(lines) and (below in forms or is_page_line(lines[below].text)):
            below += 1
        following = lines[below] if below < len(lines) else None
        above = lines[place - 1] if place else None
        speaks = bool(following and _LABELLED.match(following.text) and _LABELLED.match(lines[place].text))
        heads_text = following is not None and not speaks and _is_running_text(following)
        heads_list = following is not None and not speaks and not heads_text and _is_list(following)
        if following and _is_verse(following) and (place and above and not is_page_line(above.text)):
            heads_text = heads_list = found.form in ("number", "capitals")
        fits = above is None or place - 1 in forms or _may_stand_below(above, lines[place])
        candidates.append(
            _Candidate(place, found, row, fits, place + 1 not in forms, heads_text, heads_list, following is not None)
        )
    return candidates


def _may_stand_below(above: Line, line: Line) -> bool:
    if above.kind in ("item", "row", "code", "heading") or is_page_line(above.text):
        return True
    text = above.text.rstrip()
    if text[-1:] in ",;:：；":
        return False
    return line.gap > 0 or bool(_TERMINATED.search(text)) or len(text) > _UNWRAPPED or line.is_strong


def _is_running_text(line: Line) -> bool:
    if line.kind == "heading":
        return False
    text = line.text.lstrip()
    return bool(_SENTENCE_END.search(text)) and not text[:1].islower() and not is_caption(text)


def _is_list(line: Line) -> bool:
    if line.kind in ("item", "row", "code") or _BULLET.match(line.text) or line_starts(line.text):
        return True
    return "\n" in line.text.strip() or line.text.rstrip().endswith((":", "："))


def _is_verse(line: Line) -> bool:
    """Return whether a block is verse: short lines that all start with a capital letter, and mostly end without a full stop."""
    rows = [row.strip() for row in line.text.strip().split("\n")]
    if len(rows) < 2 or line_starts(line.text) or max(map(len, rows)) > _VERSE_CHARS:
        return False
    capitals = sum(row[:1].isupper() or row[:1] in "\"'“‘" for row in rows)
    ended = sum(row[-1:] in ".!" for row in rows)
    widths = [len(row) for row in rows[:-1]]
    is_ragged = max(widths) - min(widths) > 8 or max(widths) < 50
    return capitals >= 0.9 * len(rows) and ended <= 0.6 * len(rows) and is_ragged


def _repeated(lines: Sequence[Line]) -> set[int]:
    """Return the places of speakers' names, notes, and heads and feet of pages: short lines that come again and again."""
    barred: set[int] = set()
    repeated = _without_numbers(lines)
    again = {place for found in repeated.values() if len(found) > 1 for place in found}
    for text, found in repeated.items():
        exact = Counter(lines[place].text.strip() for place in found).most_common(1)[0]
        in_capitals = exact[0].isupper() and exact[1] >= _REPEATED
        at_pages = sum(_stands_at_page_end(lines, place, again) for place in found)
        if in_capitals or (len(found) >= 2 and at_pages * 3 >= len(found) and any(map(str.isalpha, text))):
            barred.update(found if not in_capitals else [p for p in found if lines[p].text.strip() == exact[0]])
    return barred


def _is_log(lines: Sequence[Line]) -> bool:
    return _LOGGED_SHARE * sum(_LOGGED.match(line.text) is not None for line in lines) >= len(lines) > 0


def _is_conversation(lines: Sequence[Line]) -> bool:
    turns = sum(_SPEAKER.match(line.text) is not None and line.kind == "paragraph" for line in lines)
    return turns >= _TURNS and _TURNS_SHARE * turns >= len(lines)


def _templates(lines: Sequence[Line]) -> set[int]:
    """Return the places of lines that come again with another number: "Ticket 17", "Ticket 18"."""
    places: set[int] = set()
    for text, found in _without_numbers(lines).items():
        if "#" in text and len({lines[place].text for place in found}) > 1:
            places.update(found)
    return places


def _without_numbers(lines: Sequence[Line]) -> dict[str, list[int]]:
    """Return the places of short lines, by their words with a sign for each number."""
    places: dict[str, list[int]] = {}
    for place, line in enumerate(lines):
        if len(line.text) <= _LEAD_CHARS:
            words = re.sub(r"\b\d+\b", "#", line.text).casefold().split()
            places.setdefault(" ".join(words), []).append(place)
    return places


def _stands_at_page_end(lines: Sequence[Line], place: int, again: set[int]) -> bool:
    """Return whether a line interrupts a sentence, or stands beside the number of a page."""
    before = after = place
    while before in again:
        before -= 1
    while after in again:
        after += 1
    above = lines[before] if before >= 0 else None
    below = lines[after] if after < len(lines) else None
    if (above and is_page_line(above.text)) or (below and is_page_line(below.text)):
        return True
    if below is None or above is None or below.kind != "paragraph" or above.kind != "paragraph":
        return False
    return below.text[:1].islower() and not _TERMINATED.search(above.text.rstrip())


def _around_letters(lines: Sequence[Line]) -> set[int]:
    """Return the places of the head of a letter, and of names below its end."""
    barred: set[int] = set()
    for place, line in enumerate(lines[:_LETTER_HEAD]):
        if _SALUTATION.match(line.text) and line.text.split("\n")[0].rstrip()[-1:] in ",:!":
            barred.update(range(place + 1))
            break
    for place, line in enumerate(lines):
        if (closing := _CLOSING.match(line.text)) and _SIGNED.search(closing[0]):
            barred.update(range(place, place + _SIGNATURE))
    return barred


def _in_series(candidates: Sequence[_Candidate]) -> set[int]:
    """Return the places of numbered lines whose number is sure, or comes after or before another of its series."""
    sure: set[int] = set()
    by_style: dict[str, list[_Candidate]] = {}
    for candidate in candidates:
        if number := candidate.line.number:
            if number.is_sure:
                sure.add(candidate.place)
            by_style.setdefault(number.style, []).append(candidate)
    for series in by_style.values():
        for place, candidate in enumerate(series):
            value = candidate.line.number.value if candidate.line.number else ()
            later = [other.line.number.value for other in series[place + 1 :] if other.line.number]
            continues = value and (*value[:-1], value[-1] + 1) in later
            if continues:
                wanted = (*value[:-1], value[-1] + 1)
                following = next(
                    other for other in series[place + 1 :] if other.line.number and other.line.number.value == wanted
                )
                sure.update((candidate.place, following.place))
    return sure


def _proven_forms(candidates: Sequence[_Candidate], blocks: int) -> set[str]:
    """Return the forms of which enough lines stand as headings do."""
    numbers = Counter(candidate.row for candidate in candidates)
    total: Counter[str] = Counter()
    standing: Counter[str] = Counter()
    for candidate, following in zip_longest(candidates, candidates[1:]):
        form = candidate.line.form
        forms = ("title", "plain") if form == "word" else (form,)
        is_above_others = not candidate.is_last and following is not None and following.line.form != form
        if candidate.place == 0 or not (candidate.is_last or is_above_others or form == "number"):
            continue
        heads_something = candidate.heads_text or (candidate.heads_list and form == "capitals")
        stands = candidate.fits and heads_something and numbers[candidate.row] <= _ROW
        total.update(forms)
        standing.update(forms if stands else ())
    wanted = 1 if blocks <= _SHORT_TEXT else max(2, blocks // _PER_BLOCKS)
    proven = {form for form, number in standing.items() if number >= wanted and 2 * number >= total[form]}
    if standing["number"] > 1 and standing["plain"] <= wanted:
        proven.discard("plain")  # the text has headings of another form
    return proven


def _is_in_reach(row: Sequence[_Candidate], depth: int, is_first: bool) -> bool:
    """Return whether a line of a row can be above the text below the row, counted from the last line of the row.

    A short row is a path of headings. Of a longer one, such as a table of contents, the last line is a heading if it is
    numbered or a word such as "Abstract"; so is the number that it is a part of. Below a title may stand its author.
    """
    candidate = row[len(row) - 1 - depth]
    is_marked = candidate.line.form in ("number", "name", "strong")
    if len(row) <= _ROW + is_first and (not is_first or depth == 0 or is_marked):
        return True
    if depth == 0:
        return is_marked
    last = row[-1].line.number
    number = candidate.line.number
    return depth <= _ROW and bool(last and number and last.value[: len(number.value)] == number.value != last.value)


def _has_evidence(candidate: _Candidate, sure: set[int], proven: set[str]) -> bool:
    heads_something = candidate.heads_text or candidate.heads_list
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
    """Return whether a line is the name of the part whose number stands above it: "CHAPTER IV", "The Storm"."""
    is_part = above.line.number is not None and above.line.number.has_word
    return (
        is_part
        and candidate.line.form in ("capitals", "title", "word")
        and (candidate.heads_text or candidate.heads_list)
    )


def _levels(accepted: dict[int, _Candidate], templates: set[int], lines: Sequence[Line]) -> dict[int, int]:
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
    styles = Counter(candidate.line.number.style for candidate in accepted.values() if candidate.line.number)
    for place in sorted(accepted):
        line = accepted[place].line
        number = line.number
        is_of_series = (number and styles[number.style] > 1) or line.form == "name" or place in templates
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
        rank = 0 if place in templates else _rank(lines[place])
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


# Captions and questions


def _captions(lines: Sequence[Line], levels: dict[int, int]) -> dict[int, int]:
    """Return where the rows end that stand right below a caption, by the caption's place: it heads nothing else."""
    reaches: dict[int, int] = {}
    for place, line in enumerate(lines):
        if place in levels or len(line.text) > _LEAD_CHARS or "\n" in line.text.strip() or not is_caption(line.text):
            continue
        end = place + 1
        while end < len(lines) and (lines[end].kind == "row" or lines[end].text.startswith("|")):
            end += 1
        if end > place + 1:
            reaches[place] = end
    return reaches


def _questions(lines: Sequence[Line], levels: dict[int, int]) -> dict[int, int]:
    """Return where the answer of each question ends, by the question's place.

    Questions of one form that come again and again reach to the next one, the last of them as far as the longest before it.
    A single one in a text with headings reaches over one block.
    """
    asked = [place for place in range(len(lines)) if place not in levels and _is_question(lines, place)]
    asked = [place for place in asked if not (place + 1 in asked or place + 1 in levels)]
    quoted = sum(line.text[:1] in _QUOTES for line in lines)
    is_story = quoted * _SPOKEN_SHARE >= len(lines)
    is_marked = any(line.level for line in lines)
    reaches: dict[int, int] = {}
    series: list[int] = []
    for place, following in zip_longest(asked, asked[1:]):
        series.append(place)
        if following is not None and following - place <= _QUESTION_DISTANCE:
            continue
        reaches |= _reaches(lines, series, is_marked, bool(levels) and not is_story)
        series = []
    return reaches


def _reaches(lines: Sequence[Line], series: Sequence[int], is_marked: bool, is_structured: bool) -> dict[int, int]:
    single = [place for place in series if not _has_two_sentences(lines[place])]
    if len(single) < _SURE_SERIES:
        series = single
    asking = [place for place in series if _ASKING.match(_without_mark(lines[place]))]
    if len(series) > 1 and 3 * len(asking) >= 2 * len(series):
        lengths = [following - place for place, following in pairwise(series)]
        return {place: place + length for place, length in zip(series, [*lengths, max(lengths)], strict=True)}
    if not is_structured:
        return {}
    answered = [place for place in asking if is_marked or _YES_OR_NO.match(lines[place + 1].text)]
    return {place: place + 2 for place in answered if place in single}


def _has_two_sentences(line: Line) -> bool:
    return _SENTENCE_END_WITHIN.search(_without_mark(line)) is not None


def _without_mark(line: Line) -> str:
    return _ASKED.sub("", line.text.strip(), count=1)


def _is_question(lines: Sequence[Line], place: int) -> bool:
    line = lines[place]
    text = line.text.strip()
    if line.kind not in ("paragraph", "heading", "item") or text[-1:] not in ("?", "？") or len(text) > _LEAD_CHARS:
        return False
    is_labelled = _ASKED.match(text) is not None
    opening = _without_mark(line)
    if (
        not opening
        or opening[0].islower()
        or _GOES_ON_ASKING.match(opening)
        or _BULLET.match(text)
        or opening[0] in "\"'“„«‘([—–"
    ):
        return False
    sentences = len(_SENTENCE_END_WITHIN.findall(opening)) + 1
    if sentences > 2 or len(opening.split()) > _QUESTION_WORDS:
        return False
    if _LABELLED.match(text) and not is_labelled:
        return False
    following = lines[place + 1] if place + 1 < len(lines) else None
    if following is None or following.text[:1].islower() or _is_verse(following):
        return False
    speaks = _SPEAKER.match(following.text) or (following.text.isupper() and not _TERMINATED.search(following.text))
    return not speaks or _ANSWER.match(following.text) is not None
