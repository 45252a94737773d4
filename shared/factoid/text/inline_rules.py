"""Parse the inside of a paragraph, a heading or a cell in Markdown, with the place of each token.

markdown-it-py parses it; its tokens have no places, so the state of the parser notes them. Rules of
our own read what a reader sees of images, and what CommonMark does not have: formulas, footnotes,
citations, links of wikis, roles of MyST, struck out and marked text, raised and lowered text, keys,
and emoji.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from factoid.text.emoji import EMOJI
from factoid.words import RAISED

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_DEEPEST = 20  # links within each other
_ADDRESS = r"[A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\x00-\x20]{0,2000}"
_MAIL = r"[\w.!#$%&'*+/=?^`{|}~-]{1,100}@[\w.-]{1,200}"
_AUTOLINK = re.compile(rf"<({_ADDRESS}|{_MAIL})>")
# A formula: nothing in it is Markdown. Prices ("$5 and $6") are none, nor are brackets that
# converters escape ("\[1\]").
_FORMULA = re.compile(
    r"""\$\$(?!\$)[^$]{1,2000}+\$\$
      | \$(?![\s$])(?:[^$\n\\`]|\\[^\n]|\n(?!\n)){0,500}+(?<!\s)\$(?![\w$])
      | \\\((?:[^\\\n]|\\[^)\n]|\n(?!\n)){1,1000}+\\\)
      | \\\[(?=\s|(?:[^\\\n]|\\[^\]\n]){0,1000}?(?:[=^+<>{}]|\\[A-Za-z]))
        (?:[^\\\n]|\\[^\]\n]|\n(?!\n)){1,1000}+\\\]""",
    re.VERBOSE,
)
_FOOTNOTE = re.compile(r"\[\^[^\s\[\]]{1,60}\](?!\()")
_WIKI_LINK = re.compile(
    r"!?\[\[(?!\s|\d+\]\])([^\[\]|\n]{1,200})(?:\|([^\[\]|\n]{1,200}))?\]\](?!\()"
)
_PICTURE = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|bmp|avif|pdf|mp[34]|webm|mov)\s*\Z", re.IGNORECASE
)
_ROLE = re.compile(r"\{([a-z][\w:.+-]{0,40})\}(`+)(?!`)(.{1,500}?)(?<!`)\2(?!`)", re.DOTALL)
_ROLE_TARGET = re.compile(r"\s*<[^<>]{1,300}>\Z")
_PAIR = re.compile(
    r"""(?P<mark>(?P<sign>[~=^])(?P=sign))(?!\s|(?P=sign))
      (?:(?!(?P=mark))[^\n`]|`(?:[^`\n]{1,300}`)?+|\n(?!\n)){1,9000}?
      (?<!\s)(?<!(?P=sign))(?P=mark)(?!(?P=sign))""",
    re.VERBOSE,
)
# Lowered and raised text, which is short and follows a word: "H~2~O", "5 m^2^".
_LOWERED = re.compile(
    r"(?<=[A-Za-z)\]])~(\d{1,4}(?=~[A-Z(\[])|[A-Za-z0-9+-]{1,5}(?=~(?![\w~])))~(?!~)"
)
_RAISED = re.compile(r"(?<=[\w)\]])\^([A-Za-z0-9+−–-]{1,10})\^(?![\w^])")
_RAISED_NUMBER = re.compile(r"[\d+−–-]+")
_PATH_SIGN = re.compile(r"[/\\@]\S{0,100}\Z")
# Sources in brackets, in Pandoc's way: "[see @smith2001, p. 5; @doe]".
_SOURCES = re.compile(r"\[([^\[\]]{2,500})\](?![(\[:])")
_SOURCE = re.compile(
    r"\s*(?:[^@]*\s)?-?@(?P<key>\{[^{}]+\}|\w[\w:.#$%&+?<>~/-]*)(?P<place>[,\s][^@]*)?"
)
_SEE = re.compile(r"\s*(?:-@|(?:see|cf\.|e\.g\.,?|compare)\s)", re.IGNORECASE)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_PLACE = re.compile(
    r"[,\s]\s*(?:pp?|chaps?|ch|secs?|sect|figs?|vols?|lines?|n)\b\.?\s*\d|[,\s]\s*[§¶]"
)
_KEYS = re.compile(r"\+\+([a-z0-9]{1,20}(?:[+-][a-z0-9]{1,20}){0,5})\+\+")
# A sign of multiplication, patterns for files and for texts, and names of Python.
_NO_EMPHASIS = re.compile(
    r"""(?<=[A-Za-z0-9)])\*(?=[A-Za-z0-9(])
      | (?:(?<=[/\\.=^$|@\#%])\*|(?<=[/\\.^$@\#%])\*{2,3})(?=[^\W_]|_\w|\.\w|[/$?\\@\#])
      | (?<=\])\*(?=[$?/\\])
      | \*\*?(?=/)
      | \*(?=\.[A-Za-z0-9]{1,10}(?![\w*]))
      | (?<![A-Za-z0-9_])__(?:all|call|class|contains|del|dict|doc|enter|eq|exit|file|future|getattr
        |getitem|hash|init|iter|len
        |main|module|name|new|next|post_init|repr|setattr|setitem|slots|str
          |version)__(?![A-Za-z0-9_])""",
    re.VERBOSE,
)
_PART_OF_WORD = re.compile(r"(?<![\w*\\/=)\]}])\*[^\W\d_]{2,}\Z")
_REST_OF_WORD = re.compile(r"\*[^\W\d_]{2,}+(?![\w*(/]|\.\w)")
_LONGEST_PART = 50  # characters of a word that are marked
# Paths of Windows and addresses, in which marks and backslashes are what they are.
_PATH = re.compile(
    r"""(?:(?<=\b[A-Za-z]:)\\|(?<![^\s("'])\\\\[\w.-]{1,60}\\)
      (?:[^\s<>"|?`*\\]|\\\**|\*(?=\.\w)|[ ](?=[\w.()-]{1,30}\\)){0,300}(?<=[\w\\$%])""",
    re.VERBOSE,
)
_URL = re.compile(
    r"""(?:(?<=\bhttp)|(?<=\bhttps)|(?<=\bftp))://[^\s<>\[\]`"'*_~\\&]++
      (?:[*_~]++(?=[\w/?=\#%])[^\s<>\[\]`"'*_~\\&]++)*+""",
    re.VERBOSE,
)
_DATA = re.compile(
    r"(?<=\bdata)(:\w{1,20}/[\w.+-]{1,60})(?:;[\w=-]{1,40})*;base64,[A-Za-z0-9+/=]{40,}+"
)
# A picture whose data CommonMark does not take for the target of a link: cut off, wrapped, or
# written with spaces.
_DATA_IMAGE = re.compile(
    r"""!\[([^\[\]\n]{0,1000}+)\]\(\s*+<?data:
      (?:image/svg\+xml[^\n<]{0,60}+<svg[^\n]{0,5000}?</svg>[^\s)]*+
        |[A-Za-z0-9+/=%_.,;:-]++(?:\s++[A-Za-z0-9+/=%]{40,}+)*+(?:\s++[A-Za-z0-9+/]*+={1,2})?+)
      (?:\s*+>?\s*+(?:"[^"\n]{0,300}"\s*+)?\))?+""",
    re.VERBOSE,
)
# Roles of reStructuredText, which have a colon at both ends.
_COLON_ROLE = re.compile(
    r"""(?<![\w:]):((?:[a-z]{1,10}:[a-z]{1,12})|ref|doc|math|code|class|func|meth|mod|attr|exc|term
      |option|file|samp|command
      |kbd|guilabel|menuselection|envvar|program|abbr|numref|eq|sub|sup|pep|rfc|download|any|obj
        |const|literal):
      (`)(?!`)([^`\n]{1,500})\2(?!`)""",
    re.VERBOSE,
)
_WIDE = re.compile(
    r"[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef]"
)
_BETWEEN_LINES = re.compile(r"(?<![\w`])__(?=[^\s_])[^_\n]{1,200}(?<=[^\s_])__(?![\w`])")
_IMAGE_SIZE = re.compile(r"\|\d{1,5}(?:x\d{1,5})?\Z|(?<=!\[)\d{1,5}x\d{1,5}\Z")  # of Obsidian
_LONGEST_SIZE = 12
# A regular expression in prose: what it escapes is escaped, and not Markdown.
_PATTERN = re.compile(r"\\[dwsDWSB](?![A-Za-z])")
_WORD_BEFORE = re.compile(r"\S*\Z")
_WORD_BEHIND = re.compile(r"\S*")
_LONGEST_PATTERN = 50
_SENTENCE_END = re.compile(r"[.!?:]\*\*[^\W\d_]")
_BOLD_SENTENCE = re.compile(r"(?<![\w*\\/=.)\]}])\*\*(?=[^\W_])[^*\n]{1,250}\Z")
_LONGEST_BOLD = 260
_LONGEST_LABEL = 5000  # characters of the text of a link
_LABEL = re.compile(r"\[(?=[^\[\]\n]*[A-Za-z]{2})[\w.:/#-]{2,200}\]")
_EMOJI = re.compile(r"(?<![\w:]):([a-z0-9_+-]{1,40}):(?![\w`])")


def positioned(content: str, references: Mapping[str, Any]) -> list[tuple[Token, int]]:
    """Parse a stretch of Markdown, and return its tokens with their places in it."""
    parser = _parser()
    state = _state_class()(content, parser, {"references": references}, [])
    parser.inline.tokenize(state)
    for rule in parser.inline.ruler2.getRules(""):
        rule(state)
    _name_outer_marks(state.tokens)
    return list(zip(state.tokens, state.places, strict=True))


def _name_outer_marks(tokens: Sequence[Token]) -> None:
    """Say of the outer one of two marks of emphasis, which has lost its text, whether it opens."""
    for before, after in pairwise(tokens):
        if before.type == "text" and not before.content and after.type == "strong_open":
            before.meta["opens"] = True


@cache
def _state_class() -> type[Any]:
    from markdown_it.rules_inline import StateInline

    class PositionedState(StateInline):
        """Notes the place of each token in the source, in `places`."""

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.places: list[int] = []
            self.pending_start = 0
            self.pushed_at = -1  # where the last token was pushed
            self.pushed = 0  # how many were pushed there

        def append_pending(self, text: str) -> None:
            if not self._pending and not self._pending_buffer:
                self.pending_start = self.pos
            super().append_pending(text)

        def pushPending(self) -> Token:  # noqa: N802
            self.places.append(self.pending_start)
            return super().pushPending()

        def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
            token = super().push(ttype, tag, nesting)
            # The marks of emphasis in a row are pushed one by one from the place of the first.
            is_next_mark = ttype == "text" and self.pos == self.pushed_at
            self.pushed = self.pushed + 1 if is_next_mark else 0
            self.pushed_at = self.pos if ttype == "text" else -1
            self.places.append(self.pos + self.pushed)
            return token

        def scanDelims(self, start: int, canSplitWord: bool) -> Any:  # noqa: N802, N803
            """Take full stops of scripts without spaces for letters, and those before a word.

            Otherwise no bold text could end behind one.
            """
            delimiters = super().scanDelims(start, canSplitWord)
            end = start + delimiters.length
            before = self.src[start - 1 : start]
            after = self.src[end : end + 1]
            if self.src[start] != "*" or not before.strip() or not after.strip():
                return delimiters
            if _SENTENCE_END.fullmatch(self.src, start - 1, end + 1):  # "**One.**Two"
                return delimiters._replace(can_open=True, can_close=True)
            if _WIDE.match(before) or _WIDE.match(after):
                return delimiters._replace(can_open=True, can_close=True)
            return delimiters

    return PositionedState


# Rules


def _image(state: Any, silent: bool) -> bool:
    """Read an image as the text in its brackets.

    The rule of markdown-it would parse this text as often as it is nested.
    """
    from markdown_it.helpers import parseLinkLabel
    from markdown_it.rules_inline import image

    start, end_of_range = state.pos, state.posMax
    if not state.src.startswith("![", start):
        return False
    label_end = parseLinkLabel(state, start + 1, False)
    if label_end < 0:
        return False
    if not image(state, True):
        match = _DATA_IMAGE.match(state.src, start, state.posMax)
        return match is not None and _show(state, silent, match, 1)
    end = state.pos
    if not silent:
        size = _IMAGE_SIZE.search(state.src, max(start, label_end - _LONGEST_SIZE), label_end)
        state.pos, state.posMax = start + 2, label_end
        token = state.push("image_open", "img", 1)
        token.meta["start"] = start
        state.md.inline.tokenize(state)
        token = state.push("image_close", "img", -1)
        token.meta["end"] = end
        token.meta["size"] = len(size[0]) if size else 0
        state.pos, state.posMax = end, end_of_range
    return True


def _note(state: Any, silent: bool) -> bool:
    """Read a footnote that stands in its sentence, "^[…]", as text behind a space."""
    from markdown_it.helpers import parseLinkLabel

    start, end_of_range = state.pos, state.posMax
    if (
        not state.src.startswith("^[", start)
        or not _may_close(state, start)
        or not state.src[max(0, start - 1) : start].strip()
    ):
        return False
    label_end = parseLinkLabel(state, start + 1, False)
    if label_end < 0 or " " not in state.src[start:label_end]:
        return False
    if not silent:
        state.push("note_open", "", 1)
        state.pos, state.posMax = start + 2, label_end
        state.md.inline.tokenize(state)
        token = state.push("note_close", "", -1)
        token.meta["end"] = label_end + 1
    state.pos, state.posMax = label_end + 1, end_of_range
    return True


def _literal(state: Any, silent: bool) -> bool:
    """Read a path of Windows or an address as it is, and data in the text as what they are."""
    character = state.src[state.pos]
    if character == "\\":
        match = _PATH.match(state.src, state.pos, state.posMax)
        if match is None and _is_in_pattern(state):
            if not silent:
                state.append_pending(state.src[state.pos : state.pos + 2])
            state.pos += 2
            return True
    elif character == ":":
        match = _URL.match(state.src, state.pos, state.posMax) or _DATA.match(
            state.src, state.pos, state.posMax
        )
    else:
        return False
    return match is not None and _show(state, silent, match, match.re.groups)


def _is_in_pattern(state: Any) -> bool:
    """Return whether an escape is a part of a regular expression, which has others."""
    start = state.pos
    following = state.src[start + 1 : start + 2]
    if start + 2 > state.posMax or not following.strip() or following.isalnum():
        return False
    before = _WORD_BEFORE.search(state.src, max(0, start - _LONGEST_PATTERN), start)
    behind = _WORD_BEHIND.match(state.src, start, start + _LONGEST_PATTERN)
    word = (before[0] if before else "") + (behind[0] if behind else "")
    return _PATTERN.search(word) is not None


def _may_close(state: Any, start: int) -> bool:
    """Return whether a bracket may be closed.

    Without this check, the parser would go on to the end of the text for each bracket.
    """
    source: str = state.src
    return source.find("]", start, start + _LONGEST_LABEL) >= 0


def _link(state: Any, silent: bool) -> bool:
    from markdown_it.rules_inline import link

    start = state.pos
    first = len(state.tokens) + bool(state.pending)
    if state.src[start] != "[" or not _may_close(state, start):
        return False
    if not link(state, silent):
        return _undefined_reference(state, silent)
    if not silent:
        state.tokens[first].meta["start"] = start
        state.tokens[-1].meta["end"] = state.pos
    return True


def _undefined_reference(state: Any, silent: bool) -> bool:
    """Read `[text][label]` whose label another file defines, as plugins of MkDocs do."""
    from markdown_it.helpers import parseLinkLabel

    start, end_of_range = state.pos, state.posMax
    if "labels" not in state.env:  # looked for once
        state.env["labels"] = "][" in state.src
    if state.src[start] != "[" or not state.env["labels"]:
        return False
    if state.src[start - 1 : start].isalnum() or state.src[start - 1 : start] in ("]", ")"):
        return False  # an index, as in "a[i][j]"
    label_end = parseLinkLabel(state, start, not state.linkLevel)
    label = _LABEL.match(state.src, label_end + 1, end_of_range) if label_end > start + 1 else None
    if label is None:
        return False
    if not silent:
        token = state.push("link_open", "a", 1)
        token.meta["start"] = start
        state.pos, state.posMax = start + 1, label_end
        state.places[-1] = start + 1
        state.linkLevel += 1
        state.md.inline.tokenize(state)
        state.linkLevel -= 1
        token = state.push("link_close", "a", -1)
        token.meta["end"] = label.end()
    state.pos, state.posMax = label.end(), end_of_range
    return True


def _emphasis(state: Any, silent: bool) -> bool:
    """Leave "4*5*6" and "__init__" as they are.

    CommonMark takes them for emphasis, but their authors do not.
    """
    from markdown_it.rules_inline import emphasis

    match = _NO_EMPHASIS.match(state.src, state.pos, state.posMax)
    if match and (_ends_part_of_word(state) or _ends_sentence(state)):
        match = None
    if match and (match[0] == "*" or not _is_bold_by_lines(state)):
        if not silent:
            state.append_pending(match[0])
        state.pos = match.end()
        return True
    return emphasis.tokenize(state, silent)


def _ends_part_of_word(state: Any) -> bool:
    """Return whether an asterisk within a word ends what one before the word began: "*un*clear"."""
    before = state.src[max(0, state.pos - _LONGEST_PART) : state.pos]
    return (
        _PART_OF_WORD.search(before) is not None
        and _REST_OF_WORD.match(state.src, state.pos, state.posMax) is not None
    )


def _ends_sentence(state: Any) -> bool:
    """Return whether asterisks end a sentence in bold right before the next one: "**One.**Two"."""
    if not _SENTENCE_END.match(state.src, state.pos - 1, state.posMax):
        return False
    before = state.src[max(0, state.pos - _LONGEST_BOLD) : state.pos]
    return _BOLD_SENTENCE.search(before) is not None


def _is_bold_by_lines(state: Any) -> bool:
    """Return whether a text has words between double underscores that are no names of Python.

    If it has, all words between such underscores are bold.
    """
    if "underscores" not in state.env:
        words = _BETWEEN_LINES.finditer(state.src)
        state.env["underscores"] = any(
            not _NO_EMPHASIS.match(state.src, word.start()) for word in words
        )
    return bool(state.env["underscores"])


def _backticks(state: Any, silent: bool) -> bool:
    from markdown_it.rules_inline import backtick

    if not backtick(state, silent):
        return False
    if not silent and state.tokens and state.tokens[-1].type == "code_inline" and not state.pending:
        state.tokens[-1].meta.setdefault("end", state.pos)
    return True


def _autolink(state: Any, silent: bool) -> bool:
    match = _AUTOLINK.match(state.src, state.pos, state.posMax)
    return match is not None and _show(state, silent, match, 1)


def _formula(state: Any, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    match = _FORMULA.match(state.src, state.pos, state.posMax)
    return match is not None and _push(state, silent, "formula", match.end())


def _footnote(state: Any, silent: bool) -> bool:
    match = _FOOTNOTE.match(state.src, state.pos, state.posMax)
    return match is not None and _push(state, silent, "hidden", match.end())


def _sources(state: Any, silent: bool) -> bool:
    """Hide sources that a sentence cites, unless they may be somebody's name: "[@ann]"."""
    match = _SOURCES.match(state.src, state.pos, state.posMax)
    if match is None or "@" not in match[1]:
        return False
    parts = [_SOURCE.fullmatch(part) for part in match[1].split(";")]
    is_meant = len(parts) > 1
    for part in parts:
        if part is None:
            return False
        has_place = _PLACE.match(part["place"] or "") is not None
        has_year = _YEAR.search(part["key"]) is not None
        is_meant = is_meant or has_place or has_year or _SEE.match(part[0]) is not None
    return is_meant and _push(state, silent, "hidden", match.end())


def _lowered_or_raised(state: Any, silent: bool) -> bool:
    """Read "H~2~O" and "5 m^2^" as HTML's `<sub>` and `<sup>`; paths keep their marks."""
    character = state.src[state.pos]
    if character == "^":
        match = _RAISED.match(state.src, state.pos, state.posMax)
    elif character == "~" and not _PATH_SIGN.search(state.src, max(0, state.pos - 60), state.pos):
        match = _LOWERED.match(state.src, state.pos, state.posMax)
    else:
        return False
    if match is None:
        return False
    is_shown = _show(state, silent, match, 1)
    if not silent and character == "^" and _RAISED_NUMBER.fullmatch(match[1]):
        state.tokens[-1].content = match[1].translate(RAISED)
    return is_shown


def _wiki_link(state: Any, silent: bool) -> bool:
    match = _WIKI_LINK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if match[0].startswith("!") and _PICTURE.search(match[1]):
        return _push(state, silent, "hidden", match.end())
    # Some wikis write the text first, some the page.
    has_text_first = match[2] and not re.search(r"\s", match[2]) and re.search(r"\s", match[1])
    return _show(state, silent, match, 1 if not match[2] or has_text_first else 2)


def _role(state: Any, silent: bool) -> bool:
    role = _COLON_ROLE if state.src[state.pos] == ":" else _ROLE
    match = role.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if match[1] == "math":
        return _push(state, silent, "formula", match.end())
    target = _ROLE_TARGET.search(match[3])
    length = target.start() if target and target.start() else len(match[3])
    return _show(state, silent, match, 3, length)


def _keys(state: Any, silent: bool) -> bool:
    match = _KEYS.match(state.src, state.pos, state.posMax)
    return match is not None and _show(state, silent, match, 1)


def _emoji(state: Any, silent: bool) -> bool:
    match = _EMOJI.match(state.src, state.pos, state.posMax)
    sign = EMOJI.get(match[1]) if match else None
    if match is None or sign is None:
        return False
    if not silent:
        token = state.push("sign", "", 0)
        token.content = sign
        token.meta = {"end": match.end()}
    state.pos = match.end()
    return True


def _pair(state: Any, silent: bool) -> bool:
    """Read text that is struck out or marked: the marks are hidden.

    What is between them is read on; `struck_to` in the token says where what is struck out ends.
    """
    closers = state.env.setdefault("pairs", {})
    if mark := closers.get(state.pos):
        if not silent:
            token = state.push("pair_close", "", 0)
            token.markup = mark
        state.pos += len(mark)
        return True
    match = _PAIR.match(state.src, state.pos, state.posMax)
    if match is None or state.src.endswith(match["sign"], 0, state.pos):
        return False
    mark = match["mark"]
    if not silent:
        closers[match.end() - len(mark)] = mark
        token = state.push("pair_open", "", 0)
        token.markup = mark
        if mark == "~~":
            token.meta["struck_to"] = match.end() - len(mark)
    state.pos += len(mark)
    return True


def _show(
    state: Any, silent: bool, match: re.Match[str], group: int, length: int | None = None
) -> bool:
    """Push a token of which a reader sees only one group of a match, or its first characters."""
    if not silent:
        start = match.start(group)
        token = state.push("shown", "", 0)
        token.content = match[group] if length is None else match[group][:length]
        token.meta = {"start": start, "end": match.end()}
    state.pos = match.end()
    return True


def _push(state: Any, silent: bool, kind: str, end: int) -> bool:
    if not silent:
        token = state.push(kind, "", 0)
        token.meta = {"end": end}
    state.pos = end
    return True


def _is_valid(url: str) -> bool:  # noqa: ARG001
    """Take any target for a link: none is opened, and a picture may be data."""
    return True


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST})
    parser.inline.ruler2.disable("fragments_join")
    parser.validateLink = _is_valid  # type: ignore[method-assign]
    ruler = parser.inline.ruler
    ruler.at("link", _link)
    ruler.at("image", _image)
    ruler.at("backticks", _backticks)
    ruler.at("emphasis", _emphasis)
    ruler.at("autolink", _autolink)
    ruler.before("escape", "formula", _formula)
    ruler.before("escape", "literal", _literal)
    ruler.before("link", "note", _note)
    ruler.before("link", "footnote", _footnote)
    ruler.before("link", "sources", _sources)
    ruler.before("link", "raised", _lowered_or_raised)
    ruler.before("link", "wiki_link", _wiki_link)
    ruler.before("link", "role", _role)
    ruler.before("link", "pair", _pair)
    ruler.before("link", "keys", _keys)
    ruler.before("link", "emoji", _emoji)
    return parser
