"""Find the messages of a chat: who wrote them, behind a time that is no part of what they say."""

from __future__ import annotations

import re

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
