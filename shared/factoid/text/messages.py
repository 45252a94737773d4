"""Find the messages of a chat: who wrote them, and the time, which is no part of what they say.

Both stand before the message, on its line or on one of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# The time of a message, and who wrote it: "[09:15] Ana:", "5/1/24, 9:15 AM - Ana:"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,3})?)?(?:[ \u202f]?[AaPp]\.?[Mm]\.?)?"
_DATE = r"(?:\d{4}-\d{2}-\d{2}|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|Today|Yesterday)(?:T|,?[ ])"
_MESSAGE = re.compile(
    rf"""^[^\S\n]*+(?P<time>\u200e?(?:
          [\[(](?:{_DATE})?{_CLOCK}Z?[\])][^\S\n]*+(?:[-–][^\S\n]++)?
        | (?P<dated>{_DATE}{_CLOCK}Z?)[^\S\n]++(?:[-–][^\S\n]++)?
        | (?P<bare>{_CLOCK})[^\S\n]++(?:[-–][^\S\n]++)?
      ))(?:From[ ])?+
      (?P<speaker>[^\s:：\[\](){{}}|<>][^\n:：\[\]{{}}|<>]{{0,40}}(?=[:：]\s)
        |<[^\s<>]{{1,30}}>(?=[ ]))""",
    re.MULTILINE | re.VERBOSE,
)
_HAS_CLOCK = re.compile(r"\d:\d\d")
_LONGEST_SPEAKER = 5  # words
_LOG_LEVELS = frozenset(
    "alert critical crit debug emerg err error fatal info notice severe trace verbose warn "
    "warning".split()
)

# A line of its own with the name and the time of a message, in the forms of
#   Slack, Teams    "Ana Meyer  10:32 AM", "Ana Meyer  [10:32 AM]", the time perhaps a line below
#   Teams           "[10:32] Ana Meyer", "[Yesterday 10:32] Meyer, Ana"
#   Discord         "ana — Today at 10:32 AM", "ana — 27/11/2026 10:32"
#   Zoom            "10:32:05 From Ana Meyer to Everyone:"
_HALF = r"[ \u00a0\u202f]?[AaPp]\.?[Mm]\.?"
_TIME_OF_DAY = rf"(?:[01]?\d|2[0-3]):[0-5]\d(?:{_HALF})?"
_DAY = r"""(?:Today|Yesterday|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day
    |\d{4}-\d{2}-\d{2}|\d{1,2}[./-]\d{1,2}(?:[./-]\d{2,4})?
    |[A-Z][a-z]{2,8}[ ]\d{1,2}(?:st|nd|rd|th)?(?:,[ ]\d{4})?)"""
_DATED = rf"{_DAY},?[ ](?:at[ ])?"
_NAME = r"[^\s:：\[\]{}|<>—–][^\n\t:：\[\]{}|<>—–]{0,50}?"
_HEADER = re.compile(
    rf"""^[^\S\n]*+(?:
        (?P<slack>{_NAME})(?:[ ](?=\[|{_DATED}|{_TIME_OF_DAY}(?<=[Mm.])[^\S\n]*$)
            |[ \u00a0]{{2,8}}|\t|[^\S\n]*\n[ \u00a0]{{2,4}})
          (?P<slack_time>\[(?:{_DATED})?{_TIME_OF_DAY}\]|(?:{_DATED})?{_TIME_OF_DAY})
      | (?P<teams_time>\[(?:{_DATED})?{_TIME_OF_DAY}\])[^\S\n]++(?P<teams>{_NAME})
      | (?P<discord>{_NAME})[ ][—–][ ](?P<discord_time>(?:{_DATED})?{_TIME_OF_DAY})
      | (?P<zoom_time>{_CLOCK})[^\S\n]++From[^\S\n]++(?P<zoom>[^\s:][^\n:]{{0,100}}?)[^\S\n]*+:
      )[^\S\n]*$""",
    re.MULTILINE | re.VERBOSE,
)
_TIMED_LINE = re.compile(rf"^\[(?:{_DATED})?{_CLOCK}\]", re.MULTILINE | re.VERBOSE)
# What an app shows below a message or behind it: reactions, replies, that it was edited
_REACTION = r"(?::[\w+-]{1,40}:|[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?)"
_NOTE = re.compile(
    rf"""^[^\S\n]*+(?:
        {_REACTION}[ ]?\d{{1,4}}(?:[^\S\n]+{_REACTION}[ ]?\d{{1,4}})*
      | {_REACTION}
      | (?:Thread[ ]·[ ])?\d{{1,4}}[ ](?:reply|replies)(?:[^\S\n]+Last[ ]reply[^\n]{{0,40}})?
      | (?:View[ ]thread|Last[ ]reply[^\n]{{0,40}}|\(?[Ee]dited\)?|{_TIME_OF_DAY})
      )[^\S\n]*$
      | (?<=\S)[^\S\n]++\(edited\)[^\S\n]*$""",
    re.MULTILINE | re.VERBOSE,
)
_PARTICLES = frozenset("al bin da das de del den der di do dos du el la le ten van von y".split())
_PRONOUNS = re.compile(r"\([a-z]{1,5}(?:/[a-z]{1,5}){1,2}\)")  # "Ana Meyer (she/her)"
_FIRST_PERSON = re.compile(r"\bI(?:['’](?:m|ll|ve|d))? [a-z]")
_RELATIVE_DAY = re.compile(r"Today|Yesterday")
_ELAPSED = re.compile(r"\[?0?0:\d\d\]?\Z")  # since a recording began
_MINUTE = re.compile(r":(\d\d)")
# What a line of a schedule or a timetable begins with.
_EVENTS = frozenset(
    "arrival arrivals arrive boarding break breakfast check-in coffee departure departures depart "
    "dinner doors end finish keynote lunch opening registration session start sunrise sunset "
    "workshop".split()
)
_FEWEST_HEADERS = 2
_MOST_STRANGERS = 3  # speakers of a chat in which nobody speaks twice
_GRID = 5  # minutes: events of a schedule begin at multiples of it


class Header(NamedTuple):
    """A line of its own before a message, with who wrote it and when.

    Attributes:
        start, end: Its span, without white space.
        name_start, name_end: The span of the name.
    """

    start: int
    end: int
    name_start: int
    name_end: int


def timed_messages(text: str) -> list[tuple[int, int]]:
    """Return where the messages of a chat begin that have a time before the speaker.

    For each the place of the time, and that of the speaker.

    Such is "[09:15] Ana: We shipped it." A time without brackets and without a date may belong to a
    schedule ("10:30 Tour: the old town"), unless somebody speaks twice.
    """
    if not _HAS_CLOCK.search(text):
        return []
    messages = [match for match in _MESSAGE.finditer(text) if _is_speaker(match["speaker"])]
    speakers = [match["speaker"] for match in messages]
    has_dialogue = len(set(speakers)) < len(speakers)
    starts = []
    for match in messages:
        has_seconds = (match["bare"] or "").count(":") > 1
        if match["bare"] is None or has_seconds or has_dialogue:
            starts.append((match.start("time"), match.start("speaker")))
    return starts


def _is_speaker(label: str) -> bool:
    """Return whether a label may be somebody's name, and not the level of a line in a log."""
    words = label.split()
    first = words[0].lstrip("~@<")
    is_name = first[:1].isupper() or first[:1] == "+" or label[0] in "<@~"
    is_name = is_name or (first[:1].isalpha() and not first[:1].islower())
    is_log = first.lower().rstrip(">") in _LOG_LEVELS
    return is_name and not is_log and len(words) <= _LONGEST_SPEAKER


def message_headers(text: str, start: int = 0) -> list[Header]:
    """Return the lines with the name and the time of a message that stand above it, in order.

    Lines in a schedule look the same: "Lunch  12:30 PM". Of each form there must be two or more,
    most of them above a message, and something that only chats have: a day such as "Today",
    somebody who says "I", a note of the app, or a time that is no multiple of five minutes. The
    last is not enough for many names of which none comes again: those are stops of a timetable.
    """
    if not _HAS_CLOCK.search(text, start):
        return []
    by_form: dict[str, list[re.Match[str]]] = {}
    for match in _HEADER.finditer(text, start):
        form = _form(match)
        if form == "zoom" or _is_name(match[form], is_handle=form == "discord"):
            by_form.setdefault(form, []).append(match)
    headers = []
    for form, matches in by_form.items():
        if not _are_of_chat(text, matches, form):
            continue
        for match in matches:
            line = match[0]
            begin = match.end() - len(line.lstrip())
            headers.append(Header(begin, begin + len(line.strip()), *match.span(form)))
    return sorted(headers)


def message_parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of a message and of each note of the app in it, such as ":+1: 3"."""
    for note in _NOTE.finditer(text, start, end):
        yield start, note.start()
        yield note.span()
        start = note.end()
    yield start, end


def _form(match: re.Match[str]) -> str:
    for form in ("slack", "teams", "discord"):
        if match[form]:
            return form
    return "zoom"


def _is_name(label: str, *, is_handle: bool) -> bool:
    """Return whether a label may be a name: all of its words begin with a capital letter.

    A handle, as in Discord, is any word.
    """
    name = _PRONOUNS.sub("", label).rstrip()
    words = name.split()
    if is_handle and len(words) == 1:
        return True
    if not words or not _is_speaker(name):
        return False
    is_named = [word in _PARTICLES or not word.lstrip("(@~").islower() for word in words]
    return all(is_named) and name[-1] not in "!?,;"


def _are_of_chat(text: str, matches: Sequence[re.Match[str]], form: str) -> bool:
    """Return whether lines of one form stand above the messages of a chat."""
    times = [match[f"{form}_time"] for match in matches]
    messages = []
    ends = [match.start() for match in matches[1:]]
    for match, end in zip(matches, [*ends, len(text)], strict=True):
        message = text[match.end() : end].strip()
        if message and not _TIMED_LINE.match(message):
            messages.append(message)
    if len(messages) < _FEWEST_HEADERS or 3 * len(messages) < 2 * len(matches):
        return False
    if form == "zoom":
        return True
    if form == "teams" and len(_TIMED_LINE.findall(text)) >= 2 * len(matches):
        return False  # a log, some of whose entries are short
    names = [match[form] for match in matches]
    has_event = any(name.split()[0].lower() in _EVENTS for name in names)
    if has_event or _ELAPSED.match(times[0]):
        return False
    has_dialogue = len(names) <= _MOST_STRANGERS or len(set(names)) < len(names)
    for time in times:
        minute = _MINUTE.search(time)
        is_off_grid = minute is not None and int(minute[1]) % _GRID > 0
        if _RELATIVE_DAY.search(time) or (is_off_grid and has_dialogue):
            return True
    return any(_FIRST_PERSON.search(said) or _NOTE.search(said) for said in messages)
