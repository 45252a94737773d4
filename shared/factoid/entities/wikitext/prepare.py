"""The quick first pass over a whole page: comments, notes, formulas and HTML tags go; templates and links stay."""

from __future__ import annotations

import re

# Elements whose content is not part of the text.
_DROPPED = (
    "ref references gallery timeline imagemap score graph mapframe maplink templatedata templatestyles syntaxhighlight "
    "source pre includeonly hiero table del s strike inputbox categorytree indicator style script"
).split()
_FORMULAS = ("math", "chem", "ce")
_SHOWN = (*_FORMULAS, "nowiki")
_ELEMENTS = (*_DROPPED, *_SHOWN)
_OPENING = re.compile(rf"<!--|<({'|'.join(_ELEMENTS)})(?=[\s/>])[^<>]*>", re.IGNORECASE)
_CLOSINGS = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in _ELEMENTS} | {"": re.compile("-->")}
_SMALL = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_NO_BRACES = str.maketrans("", "", "{}")
_RAISABLE = re.compile(r"[0-9+\-−]+|n")
_ORDINAL = re.compile(r"st|nd|rd|th|er|re|e|o|a|TM|SM", re.IGNORECASE)
_RAISED = re.compile(r"<(sup|sub)\b[^<>]*>([^<>]*)</\1\s*>", re.IGNORECASE)
_TAG = re.compile(r"</?([a-z][a-z0-9-]*)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_NEW_LINE = frozenset("blockquote center dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p poem tr ul".split())
# Private use: marks where an element on its own line begins or ends; a line end could break a link or template.
BREAK = "\ue001"
_SWITCH = re.compile(r"__[^\W\d_]+__")  # __NOTOC__, in the wiki's language
_MARKUP = re.compile(r"[]\[{}|'<>&=*#:;_~]")


def prepare(wikitext: str) -> str:
    """Return a page's wikitext without comments, notes, tags, and content for pictures or programs."""
    text = _without_elements(wikitext)
    if "<" in text:
        text = _RAISED.sub(lambda tag: superscript(tag[2]) if tag[1].lower() == "sup" else tag[2].strip(), text)
        text = _TAG.sub(lambda tag: BREAK if tag[1].lower() in _NEW_LINE else " " * (tag[1].lower() == "br"), text)
        text = text.replace("<", "&#60;")  # not a tag, but the parser would look for its end
    return _SWITCH.sub("", text) if "__" in text else text


def superscript(text: str) -> str:
    """Return raised text in its form for plain text: "²" for "2" (as in "10²"), "st" for "st" (as in "21st")."""
    text = text.strip()
    if text.startswith("["):  # the mark of a note
        return ""
    if _RAISABLE.fullmatch(text):
        return text.translate(_SMALL)
    return text if not text or _ORDINAL.fullmatch(text) else f"^{text}"


def _without_elements(wikitext: str) -> str:
    """Drop or replace comments and the elements in which wikitext means something else."""
    parts: list[str] = []
    at = 0
    unclosed: set[str] = set()  # each is searched for only once, so that damaged pages take no longer than others
    while opening := _OPENING.search(wikitext, at):
        parts.append(wikitext[at : opening.start()])
        at = opening.end()
        name = (opening[1] or "").lower()
        if opening[0].endswith("/>") or name in unclosed:
            continue
        closing = _CLOSINGS[name].search(wikitext, at)
        if closing:
            content = wikitext[at : closing.start()]
            at = closing.end()
            if name in _FORMULAS:  # those with commands need LaTeX
                content = "" if "\\" in content else " ".join(content.translate(_NO_BRACES).split())
            if name in _SHOWN:
                parts.append(_MARKUP.sub(lambda mark: f"&#{ord(mark[0])};", content))
        elif name:
            unclosed.add(name)
        else:
            at = len(wikitext)
    return "".join(parts) + wikitext[at:]
