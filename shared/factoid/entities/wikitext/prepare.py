"""The quick first pass over a whole page: comments, notes, formulas and HTML tags go; templates and links stay.

One scan from left to right, as MediaWiki's own, so that a comment in a note or a tag in `<nowiki>` means what it does there.
"""

from __future__ import annotations

import re

from factoid.entities.wikitext.formulas import plain_formula, superscript

# Elements whose content is no part of the text.
_DROPPED = (
    "ref references gallery timeline imagemap score graph mapframe maplink templatedata templatestyles syntaxhighlight "
    "source pre includeonly hiero table del s strike inputbox categorytree indicator style script"
).split()
_LITERAL = ["nowiki"]
_FORMULAS = ["math", "chem", "ce"]
_OPENING = re.compile(rf"<!--|<({'|'.join(_DROPPED + _LITERAL + _FORMULAS)})(?=[\s/>])[^<>]*>", re.IGNORECASE)
_RAISED = re.compile(r"<(sup|sub)\b[^<>]*>([^<>]*)</\1\s*>", re.IGNORECASE)
_TAG = re.compile(r"</?([a-z][a-z0-9-]*)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_NEW_LINE = frozenset("blockquote center dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p poem tr ul".split())
BREAK = (
    "\ue001"  # private use: where an element of its own line begins or ends; a line end could break a link or template
)
_SWITCH = re.compile(r"__[^\W\d_]+__")  # __NOTOC__, in the wiki's language
_MARKUP = re.compile(r"[]\[{}|'<>&=*#:;_~]")


def prepare(wikitext: str) -> str:
    """Return a page's wikitext without comments, notes, tags, and what only pictures or programs need."""
    text = _without_elements(wikitext)
    if "<" in text:
        text = _RAISED.sub(_shifted, text)
        text = _TAG.sub(
            lambda tag: BREAK if tag[1].lower() in _NEW_LINE else " " if tag[1].lower() == "br" else "", text
        )
        text = text.replace("<", "&#60;")  # no tag, but the parser would look for its end
    return _SWITCH.sub("", text) if "__" in text else text


def literal(text: str) -> str:
    """Return wikitext that shows a text as it is."""
    return _MARKUP.sub(lambda mark: f"&#{ord(mark[0])};", text)


def _without_elements(wikitext: str) -> str:
    """Drop or replace comments and the elements in which wikitext means something else."""
    kept: list[str] = []
    at = 0
    unclosed: set[str] = set()  # each is looked for only once, so that damaged pages take no longer than others
    while opening := _OPENING.search(wikitext, at):
        kept.append(wikitext[at : opening.start()])
        at = opening.end()
        name = (opening[1] or "").lower()
        if not name:
            end = wikitext.find("-->", at)
            at = len(wikitext) if end < 0 else end + 3
            continue
        if opening[0].endswith("/>") or name in unclosed:
            continue
        closing = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(wikitext, at)
        if closing is None:
            unclosed.add(name)
            continue
        content = wikitext[at : closing.start()]
        at = closing.end()
        if name in _LITERAL:
            kept.append(literal(content))
        elif name in _FORMULAS:
            kept.append(literal(plain_formula(content)))
    kept.append(wikitext[at:])
    return "".join(kept)


def _shifted(match: re.Match[str]) -> str:
    return superscript(match[2]) if match[1].lower() == "sup" else match[2].strip()
