"""Remove citation marks such as `[1]` from a sentence, and put others in.

What looks like a mark may be a part of the sentence: an index, a power, a list of numbers, or the
number of an equation or source that the sentence speaks of. Most patterns tell these apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# Inline code; or a run of marks with the space before it: numbers in brackets, unless they index a
# letter, which may be a link or its text, `[[1]](url)`, and may name a place, `[1, p. 3]`; a source
# in round brackets, `(source 1)`; marks of footnotes, `[^note]`; those of Bing, `[^1^]`, and of
# OpenAI's assistants, `【4:0†source】`. An image, `![1](url)`, is no mark. What joins the marks of
# a run, "[1]-[3]", or surrounds it alone, "([1])", goes with it.
_NUMBER = r"[1-9]\d{0,2}"
_TARGET = r"""\([^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*+(?:\s+(?:"[^"\n]*+"|'[^'\n]*+'))?\)"""
_SOURCE = r"""(?:sources?|documents?|docs?|citations?|cite|passages?|references?|refs?|chunks?
    |snippets?|excerpts?|contexts?)[.:]?[\ ]{0,2}\#?"""
_PLACE = r"""(?:,\s?(?:pp?\.|pages?|ll?\.|lines?|sec\.|sections?|§§?|paras?\.?|ch\.|chapters?)
    \s?\d+(?:[.–-]\d+)*+ | †[^\[\]\n]{0,60})"""
_NUMBERS = rf"{_NUMBER}{_PLACE}?(?:(?:\s?[,;、–-]\s?|,?\s(?:and|&)\s){_NUMBER}{_PLACE}?)*+"
_BRACKETS = rf"""(?:
    \[[\ ]?(?:\^|\#|{_SOURCE})?{_NUMBERS}[\ ]?\]
  | \[\^{_NUMBERS}\^\]
  | (?<=[\w.,;:!?)])\[\^[a-z][\w-]{{1,30}}\]
  | \[\^[a-z][\w-]{{1,30}}\](?=\s*(?:[.,;:!?]|\Z|\n)) )"""
_IMAGE = r"(?<=!)\[[^]\n]*+\]{1,2}\("
_MARK = rf"""(?!{_IMAGE})(?:
    \[(?:{_BRACKETS}|\\\[{_NUMBER}\\\])\](?:{_TARGET})?
  | {_BRACKETS}(?:(?=\([^()\s]*[:/.\#]){_TARGET})?+(?![(:\]])
  | \^(?:{_BRACKETS})++\^ | [［〔]{_NUMBERS}[］〕]
  | [(（]{_SOURCE}{_NUMBERS}[)）]
  | :contentReference\[oaicite:\d{{1,3}}\](?:\{{index=\d{{1,3}}\}})?
  | \ue200cite(?:\ue202\w{{1,40}})++\ue201
  | 【\d{{1,3}}(?::\d{{1,3}})?(?:†[^【】\n]{{0,60}})?】 )"""
# Commas and "and" join marks at the end of a clause: "[1], [2] and [3]."
_CLAUSE_END = r"(?=[*\"”]*+(?:[ \t]*(?:[.,;:!?)]|\Z|\n)|[ ](?:and|or|&)[ ]\[))"
_JOINED = rf"""(?:[ \t]?[/–—-][ \t]?{_MARK}
  | (?:[,;][ \t]?|,?[ ](?:and|or|&)[ ]){_MARK}{_CLAUSE_END})"""
_RUN = rf"{_MARK}{_JOINED}*+"
# Raised numbers behind a word or a full stop, but no powers: "sank¹", not "5 m²", "x²", "sin²".
_RAISED = r"[¹²³⁴-⁹][⁰¹²³⁴-⁹]{0,2}"
_LONG_WORD = r"[^\W\d_]{4}"
_FOOTNOTE = rf"""(?<![ \t])[ \t]?
    (?:(?<={_LONG_WORD})|(?<={_LONG_WORD}[ ])|(?<=[.,;:!?"”])|(?<=[.!?][ ]))
    (?<!\bfeet)(?<!miles)(?<!metres)(?<!meters)(?<!inches)(?<!yards)
    (?:{_RAISED}(?:[ ]?[,⁻⁾]?[ ]?{_RAISED})*+(?![\w⁺⁻])
      | <sup>{_NUMBER}(?:[,–-]\s?{_NUMBER})*+</sup>)"""
_MARKER = re.compile(
    rf"""(?P<code>`[^`]*`)
      | (?P<space>(?<![ \t])[ \t]++ | (?<!\b[A-Za-z]))
        (?: \({_RUN}\) | （{_RUN}） | <sup>\s?{_RUN}\s?</sup> | {_RUN} )
      | {_FOOTNOTE}""",
    re.VERBOSE | re.IGNORECASE,
)
# Before and after a list of numbers or an index, which are no marks: "x = [1]", "my_list[1]".
_BEFORE_A_LIST = re.compile(r"(?:[=\[{(]|\s[+*/]|\breturn)[ \t]*\Z", re.IGNORECASE)
_AFTER_A_LIST = re.compile(r"[ \t]*(?:=|[+*/][ \t])|\.[a-z_]+\(")
_INDEXED = re.compile(r"(?:[a-z0-9_]\([^()]*\)|_\w*|[a-z0-9_]\()\Z", re.ASCII | re.IGNORECASE)
# the same for several numbers in one pair of brackets: "the list [1, 2, 3]"
_SEVERAL = re.compile(rf"[ \t]*\[{_NUMBER}(?:(?:,[ ]?|-){_NUMBER})+\]")
_BEFORE_SEVERAL = re.compile(
    r"""(?:\b(?:lists?|arrays?|vectors?|tuples?|matrix|sequences?|intervals?|ranges?|indices
        |elements|integers|returns?|returned|gives|prints|printed|outputs|contains|equals
        |is|are|be|becomes|to|in|of|from|by|between|than)
      | \bthe\ (?:numbers|values|set|scale|digits|keys|rows|columns|input|output|result)
      | \b(?:on\ a|a)\ scale
      | (?<!source)(?<!sources)(?<!references)(?<!citations):)[ \t]*\Z""",
    re.IGNORECASE | re.VERBOSE,
)
_PREDICATE = re.compile(r"[ \t]+[a-z]")  # what follows a list that is a sentence's subject
# Before numbers that a sentence speaks of: "Eq. [2]", "see [3]".
_NAMED = re.compile(
    r"""(?:\b(?:eqs?|eqns?|figs?|refs?|tabs?|secs?|sects?|chaps?|apps?|nos?|vols?|pp?|defs?|props?
        |thms?|alg)\.
      | \b(?:equation|figure|reference|table|section|chapter|appendix|theorem|lemma|definition
        |proposition|corollary|algorithm|example|exercise|problem|step|item|line|page|note|footnote
        |number|option|rule|article|clause|paragraph|part|level
        |source|passage|document|context|excerpt|citation|paper)s?
      | \b(?:see|cf\.|per|according\ to|as\ in|shown\ in|described\ in))[ \t]*\Z""",
    re.IGNORECASE | re.VERBOSE,
)
_NAMED_BEFORE = 20  # characters that hold any of these
CLOSERS = "\"'”’»*_"  # what may stand behind the final punctuation
_FINAL = ".!?…‽؟۔।。！？｡:;,"


def without_markers(sentence: str) -> str:
    """Return a sentence without citation marks such as `[1]`, `[2, 3]` or `[4]–[6]`.

    The spaces before them go with them. Inline code stays, and so do numbers that are a part of the
    sentence, as in "see Eq. [2]" or "the list [1, 2, 3]".
    """
    return _MARKER.sub(_unmarked, sentence).lstrip(" \t")


def _unmarked(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - _NAMED_BEFORE) : match.start()]
    marks = match[0].lstrip(" \t")
    is_plain = marks[0] != "【" and not marks.startswith("[[")
    if match["code"] or (is_plain and _NAMED.search(before)) or _is_list(match, before):
        return match[0]
    return ""


def _is_list(match: re.Match[str], before: str) -> bool:
    """Return whether numbers in brackets are a list or an index that the sentence speaks of."""
    marks = match[0]
    if marks[0] in "[(" and _INDEXED.search(before + marks[: marks.index("[")]):
        return True
    if marks.lstrip(" \t")[0] != "[":
        return False
    if _BEFORE_A_LIST.search(before) or _AFTER_A_LIST.match(match.string, match.end()):
        return True
    if not _SEVERAL.fullmatch(marks):
        return False
    is_subject = not before.strip() and _PREDICATE.match(match.string, match.end())
    return bool(is_subject or _BEFORE_SEVERAL.search(before))


def with_markers(sentence: str, numbers: Sequence[int]) -> tuple[str, int]:
    """Return a sentence with marks such as ` [1][3]`, and the place of the space before them.

    They stand before its final punctuation. Without numbers the sentence is as it was, and the
    place is where marks would stand.
    """
    body = sentence.rstrip(CLOSERS)
    core = body.rstrip(_FINAL).rstrip()
    place = len(core) if core and core != body.rstrip() else len(sentence)
    markers = "".join(f"[{number}]" for number in numbers)
    if markers:
        sentence = f"{sentence[:place]} {markers}{sentence[place:]}"
    return sentence, place
