"""Wikitext as plain text, by replacing markup from the inside out.

Templates show nothing, except those that stand for words.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection
from functools import partial

from factoid.entities.articles.names import canonical_title
from factoid.words import count_words

# Elements whose content is not part of the text.
_DROPPED = (
    "ref|references|gallery|timeline|imagemap|score|graph|mapframe|maplink|templatedata"
    "|templatestyles|syntaxhighlight|"
    "source|pre|includeonly|hiero|table|del|s|strike|inputbox|categorytree|indicator|style|script"
)
_EMPTY = re.compile(rf"<!--.*?(?:-->|\Z)|<(?:{_DROPPED})(?:\s[^<>]*)?/>", re.IGNORECASE | re.DOTALL)
# An element ends before another one of its name, so that one that is never closed costs nothing but
# its tag.
_CONTENT = r"\b[^<>]*>([^<]*+(?:<(?!/?\1\b)[^<]*+)*+)</\1\s*>"
_DROP = re.compile(rf"<({_DROPPED}){_CONTENT}", re.IGNORECASE)
_VERBATIM = re.compile(rf"<(math|chem|ce|nowiki){_CONTENT}", re.IGNORECASE)
_MARKUP = re.compile(r"[]\[{}|'<>=*#:;_~]")
_RAISED = re.compile(r"<sup\b[^<>]*>([\d+−-]+)</sup\s*>", re.IGNORECASE)
_SMALL = str.maketrans("0123456789+−-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_BLOCK = re.compile(
    r"</?(?:blockquote|center|dd|div|dl|dt|h[1-6]|hr|li|ol|p|poem|tr|ul)\b[^<>]*>", re.IGNORECASE
)
_BREAK = re.compile(r"<br\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][^<>]*>|__[A-Z]+__", re.IGNORECASE)

_DEEPEST = 40  # markup in markup; MediaWiki allows as many templates
_TEMPLATE = re.compile(r"\{\{([^{}]*)\}\}")
_TABLE = re.compile(r"^[ \t:*#]*\{\|(?:(?!\{\|).)*?^[ \t]*\|\}", re.MULTILINE | re.DOTALL)
# Letters right after a link belong to it: "[[bus]]es" shows "buses". Only in scripts with spaces
# between words.
_LINK = re.compile(
    r"\[\[([^][|{}<>\n]*)(?:\|((?:[^][]|(?<!\[)\[(?!\[)[^][]*\])*+))?\]\]([a-zß-öø-ÿā-ſά-ώа-џ]*)",
    re.IGNORECASE,
)
_EXTERNAL = re.compile(
    r"\[(?:(?:https?|ftp):)?//[^][\s]++ ?([^][\n]*+)\]|(?:https?|ftp)://[^][\s]*[^][\s.,;)]",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z-]+)?:")  # the same article in another language
_LONGEST = 300  # characters; a longer text of a link is not a name

_HEADING = re.compile(r"(={1,6})(.+)\1")
_ITEM = re.compile(r"[*#:;]+\s*")
_REST_OF_TABLE = ("|", "!", "{|", "{{", "}}")  # of a table or box that was never closed
# Headings of notes and lists that are not part of the article itself, in the languages of the
# largest Wikipedias.
_APPENDICES = frozenset(
    (
        "see also|references|external links|notes|further "
        "reading|bibliography|sources|citations|footnotes|gallery|notes and references|works "
        "cited|einzelnachweise|weblinks|siehe auch|literatur|anmerkungen|quellen|voir aussi|notes "
        "et références|références|liens externes|bibliographie|véase también|referencias|enlaces "
        "externos|bibliografía|notas|note|bibliografia|voci correlate|altri progetti|collegamenti "
        "esterni|ver também|referências|ligações externas|zie ook|bronnen|externe links|см. "
        "также|примечания|литература|ссылки|przypisy|脚注|関連項目|外部リンク|参考文献|参考资料|参见|外部链接"
    ).split("|")
)
_STRAY = re.compile(r"'{2,5}|\{\{+|\}\}+|\[\[+|\]\]+")
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u2060\ufeff]")
# What is left of brackets whose content showed nothing, and spaces before punctuation.
_TIDY = [
    (re.compile(r"\((?:[\s,;:.–—/-]|\bor\b|\band\b|\balso\b)*+\)|\[\s*\]"), ""),
    (re.compile(r"([(\[])[\s,;:]+"), r"\1"),
    (re.compile(r"(?<![\s,;:])[\s,;:]++([)\]])"), r"\1"),
    (re.compile(r"([,;])(?:\s*+[,;])++"), r"\1"),
    (re.compile(r"[,;]\s*+\.(?=\s|$)"), "."),
    (re.compile(r"(?<=[^\s.(])\s++([,;.](?=\s(?!\.)|$))"), r"\1"),
]

# Templates of the English Wikipedia that stand for words of a sentence.
_FIXED = {
    "ndash": "–", "mdash": "—", "snd": " – ", "spaced ndash": " – ", "nbsp": " ", "spaces": " ",
    "·": "·", "'": "'",
}  # fmt: skip
_BEFORE = {
    "circa": "c. ", "c.": "c. ", "floruit": "fl. ", "fl.": "fl. ",
    "hms": "HMS ", "uss": "USS ", "ss": "SS ",
    "us$": "US$", "usd": "US$", "£": "£", "gbp": "£", "€": "€", "eur": "€", "inr": "₹",
}  # fmt: skip
_FIRST = frozenset(
    "nowrap nobr nobold small smaller big large larger sc smallcaps sub abbr ill quote blockquote "
    "cquote quotation math "
    "mvar chem2 ipa linktext text strong em code iast unicode visible-anchor flag flagu".split()
)
_SECOND = frozenset("lang langx native-name rtl-lang".split())
_LAST = frozenset("transl transliteration script".split())
_BETWEEN = {
    "-": "–",
    "–": "–",
    "x": " × ",
    "to": " to ",
    "and": " and ",
    "or": " or ",
    "by": " by ",
}
_UNITS = {
    "sqkm": "km²",
    "km2": "km²",
    "m2": "m²",
    "sqmi": "sq mi",
    "sqft": "sq ft",
    "c": "°C",
    "f": "°F",
}
_DATES = frozenset(
    f"{event} date{rest}"
    for event in ("birth", "death", "start", "end")
    for rest in ("", " and age")
)
_MONTHS = (
    "_ January February March April May June July August September October November "
    "December".split()
)


def strip_tags(wikitext: str) -> str:
    """Return wikitext without comments, notes, tags, and content for pictures or programs.

    Formulas stay as they are written.
    """
    text = _DROP.sub("", _EMPTY.sub("", wikitext))
    text = _VERBATIM.sub(
        lambda part: _MARKUP.sub(lambda mark: f"&#{ord(mark[0])};", " ".join(part[2].split())), text
    )
    text = _RAISED.sub(lambda raised: raised[1].translate(_SMALL), text)
    return _TAG.sub("", _BREAK.sub(" ", _BLOCK.sub("\n\n", text)))


def plain_text(prepared: str, hidden: Collection[str], *, words: int | None = None) -> str:
    """Return a prepared page's text.

    Paragraphs with a blank line between them, headings and list items in lines of their own. It
    ends with the line that brings it to `words` words. `hidden` are the prefixes of links that show
    nothing, in lower case: those of files and categories.
    """
    text = prepared
    before = ""
    for _ in range(_DEEPEST):
        if text == before:
            break
        before = text
        text = _LINK.sub(partial(_link_text, hidden), text)
        text = _TABLE.sub("", _TEMPLATE.sub(_template, text))
    blocks: list[list[str]] = []  # the parts of each
    headings: list[tuple[int, str]] = []  # of sections that are still empty
    # kind of the previous line, level of the current appendix, words
    last = ""
    appendix = 0
    count = 0
    for line in _EXTERNAL.sub(r"\1", text).split("\n"):
        if heading := _HEADING.fullmatch(line.rstrip()):
            level = len(heading[1])
            title = _tidy(heading[2])
            last = ""
            if not appendix or level <= appendix:
                appendix = level if title.strip(" :").lower() in _APPENDICES else 0
                headings = [*(above for above in headings if above[0] < level), (level, title)]
            continue
        item = _ITEM.match(line)
        is_shown = not appendix and not line.lstrip().startswith(_REST_OF_TABLE)
        shown = ""
        if is_shown:
            start = 0
            if item:
                start = item.end()
            shown = _tidy(line[start:])
        if not shown:
            last = "item" if last == "item" else ""
            continue
        kind = "item" if item else "text"
        if headings:
            blocks += [[title] for _, title in headings if title]
            headings = []
        if last == kind:
            separator = " "
            if item:
                separator = "\n"
            blocks[-1] += [separator, shown]
        else:
            blocks.append([shown])
        last = kind
        count = count + count_words(shown)
        if words is not None and count >= words:
            break
    return "\n\n".join(map("".join, blocks))


def links(prepared: str, hidden: Collection[str]) -> list[tuple[str, str]]:
    """Return a prepared page's links, each as its text and its target's title.

    Those in boxes are included.
    """
    pairs = []
    for link in _LINK.finditer(prepared):
        title = _target(link, hidden)
        if (
            title
            and (shown := _tidy(_TEMPLATE.sub(_template, _shown(link))))
            and len(shown) <= _LONGEST
        ):
            pairs.append((shown, title))
    return pairs


def _link_text(hidden: Collection[str], link: re.Match[str]) -> str:
    """Return the text of a link; of one that shows nothing, the letters right after it."""
    if _target(link, hidden) is None:
        return link[3]
    return _shown(link)


def _target(link: re.Match[str], hidden: Collection[str]) -> str | None:
    """Return the title that a link leads to.

    It is "" for a section of its own page, and None for one that shows nothing.
    """
    page = html.unescape(link[1]).partition("#")[0].strip()
    prefix, colon, _ = page.partition(":")
    if colon and (prefix.strip().lower() in hidden or _LANGUAGE.match(page)):
        return None
    return canonical_title(page.lstrip(": "))


def _shown(link: re.Match[str]) -> str:
    page, _, section = link[1].strip().lstrip(":").partition("#")
    return (link[2] or page.replace("_", " ") or section).strip() + link[3]


def _tidy(line: str) -> str:
    """Return a line as prose; "" if it has no word."""
    line = " ".join(_INVISIBLE.sub("", html.unescape(_STRAY.sub("", line))).split())
    for pattern, replacement in _TIDY:
        line = pattern.sub(replacement, line)
    if any(map(str.isalnum, line)):
        return " ".join(line.split())
    return ""


def _template(template: re.Match[str]) -> str:
    """Return what a template shows."""
    name, *parts = template[1].split("|")
    name = " ".join(name.replace("_", " ").lower().split())
    values: list[str] = []
    options: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if equals and key.strip().isdecimal():
            values.append(value.strip())
        elif equals and key.islower():
            options[key.strip()] = value.strip()
        else:
            values.append(part.strip())
    values += [""] * 3
    if name in _FIXED:
        return _FIXED[name]
    if name in _BEFORE:
        return _BEFORE[name] + values[0]
    if name in _FIRST or name.startswith("lang-"):
        return options.get("text") or values[0]
    if name in _SECOND:
        return values[1]
    if name in _LAST:
        return next(filter(None, reversed(values)), "")
    if name in _DATES:
        return _date(values)
    match name:
        case "as of":
            if "lc" in options:
                return f"as of {_date(values)}"
            return f"As of {_date(values)}"
        case "convert" | "cvt":
            return _measure(values)
        case "chem":
            return "".join(values)
        case "val":
            power = f"×10{options['e'].translate(_SMALL)}" if "e" in options else ""
            return f"{values[0]}{power} {options.get('u', options.get('ul', ''))}"
        case "e":
            return f"×10{values[0].translate(_SMALL)}"
        case "frac" | "fraction":
            if values[2]:
                whole, above, below = values[:3]
            elif values[1]:
                whole = ""
                above, below = values[:2]
            else:
                whole = ""
                above = "1"
                below = values[0]
            return f" {whole} {above}/{below}"
        case "nihongo":
            notes = ", ".join(filter(None, values[1:3]))
            if notes:
                return f"{values[0]} ({notes})"
            return values[0]
        case "oldstyledate":
            return f"{values[0]} {values[1]}"
    return ""


def _date(values: list[str]) -> str:
    """Return "14 March 1879" for the values 1879, 3, 14."""
    year, month, day = values[:3]
    if month.isdecimal() and len(month) <= 2 and 1 <= int(month) <= 12:
        month = _MONTHS[int(month)]
    return " ".join(filter(None, (day.lstrip("0"), month, year)))


def _measure(values: list[str]) -> str:
    """Return "12 km" for {{convert|12|km|mi}}.

    The measured value, without its value in other units.
    """
    numbers = values[:1]
    at = 1
    while values[at] in _BETWEEN:
        numbers += [_BETWEEN[values[at]], values[at + 1]]
        at += 2
    unit = _UNITS.get(values[at].lower(), values[at])
    inches = f" {values[at + 1]} in" if unit == "ft" and values[at + 2] == "in" else ""
    return f"{''.join(numbers)} {unit}{inches}"
