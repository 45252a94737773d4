"""Decide whether a text is Markdown, reStructuredText or plain.

The metadata of the text decide, else what stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import PurePath
from typing import Any, Literal, cast, get_args

from factoid.text.html.tags import TAGS

Markup = Literal["markdown", "rst", "plain"]

MARKUP = "markup"  # the key in a document's metadata that says which it is, before all others

_TYPES: dict[str, Markup] = {
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/html": "markdown",
    "text/x-rst": "rst",
    "text/prs.fallenstein.rst": "rst",
    "text/plain": "plain",
    "text/csv": "plain",
    "application/json": "plain",
}
_ENDINGS: dict[str, Markup] = {
    **dict.fromkeys(
        (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd", ".ipynb"), "markdown"
    ),
    **dict.fromkeys(
        (
            *(".txt", ".text", ".csv", ".tsv", ".log", ".srt", ".vtt", ".json", ".jsonl"),
            *(".adoc", ".asciidoc", ".org", ".wiki", ".mediawiki", ".textile"),
        ),
        "plain",
    ),
    ".rst": "rst",
}
_CONTENT_TYPES = ("content_type", "file_type")
_PLACES = ("source", "file_name", "filename", "file_path", "path")
# The keys of the metadata that say what a text is.
MARKUP_KEYS = (MARKUP, *_CONTENT_TYPES, *_PLACES)
_SHOWN = 200_000  # characters in which evidence is looked for

# Each is something that hardly stands in plain text. Marks of emphasis stand around words, not
# within them; a name in Python ("__init__") has them as well, but no space.
_EVIDENCE = re.compile(
    rf"""^[ ]{{0,3}}\#{{1,6}}[ \t]+\S
      | ^[ ]{{0,3}}(?:`{{3,}}+|~{{3,}}+)[^`\n]*$
      | ^[ \t>]*+\|?[ \t]*+:?-{{2,}}+:?[ \t]*+(?:\|[ \t]*+:?-{{2,}}+:?[ \t]*+)++\|?[ \t]*$
      | ^[ \t>]*\|[ \t]*:?-{{2,}}:?[ \t]*\|[ \t]*$
      | ^[ ]{{0,3}}\[[^\]\n]{{1,200}}\]:[ \t]*\S
      | ^[ ]{{0,3}}>[ ]?\S[^\n]*$
      | ^[ \t]{{0,8}}(?:[-*+]|\d{{1,3}}[.)])[ ]\[[ xX]\][ ]\S
      | ^[^\s:|][^\n:]{{0,100}}\n:[ ]{{1,3}}\S
      | ^[ ]{{0,3}}(?::::|!!![ ]|\?\?\?\+?[ ]|===[!+]?[ ]"|///[ ]|\{{%|\{{\{{[<%]|\{{\*[ ]
        |\{{:[ ]?[a-z.\#]|\*\[\w+\]:[ ])
      | ^[ ]{{0,3}}(?:\[\[_TOC_\]\]|\[TOC\])[ \t]*$
      | ^[ ]{{0,3}}(?:</(?-i:[A-Z])[A-Za-z.]{{1,40}}>
        |<(?-i:[A-Z])[\w.]{{1,40}}(?:\s[^<>\n]{{0,300}})?/>)[ \t]*$
      | \A(?:---|\+\+\+)[ \t]*\r?\n["'\w]
      | !?\[[^\]\n]{{0,300}}\]\((?:<[^<>\n]*>
        |[^()\s]*[/.\#:][^()\s]*)(?:[ ]+(?:"[^"\n]*"|'[^'\n]*'))?\)
      | (?<![\w\])])!?\[[^\]\n]{{0,300}}\]\([^()\s]+(?:[ ]+(?:"[^"\n]*"|'[^'\n]*'))?\)
      | !?\[\[[^\[\]|\n]{{1,200}}\|[^\[\]|\n]{{1,200}}\]\]
      | <(?:https?://|mailto:)[^<>\s]{{1,2000}}>
      | <[\w.+-]{{1,64}}@[\w-]{{1,64}}\.[\w.-]{{1,100}}>
      | &(?:\#\d{{2,6}}|\#x[0-9a-f]{{2,6}}|[a-z]{{2,8}}[0-9]{{0,2}});
      | !\[[^\]\n]{{0,300}}\]\(data:
      | \bdata:image/[\w+.-]{{1,20}};base64,
      | \[\^[^\]\s]{{1,60}}\](?!\()
      | (?<=[\w.,;:!?)])\^\[(?=\S)[^\[\]\n]{{1,300}}\s[^\[\]\n]{{1,300}}\]
      | (?<![A-Za-z0-9*\\/])\*{{2,3}}(?=[^\s*/.])(?:(?!\*\*
        |\n[ \t]*\n).){{1,500}}?(?<=[^\s*/])\*{{2,3}}(?![A-Za-z0-9*/])
      | (?<![^\s(\[“„«‘>—–])\*(?=["'“„«‘(\[`]{{0,2}}[^\W_])[^*\n]{{1,300}}
        (?<=[\w.,;:!?…)\]`"'”’»%])\*(?![\w*/])
      | (?<![\w`/\\_])__(?=["'“„«‘(\[]{{0,2}}[^\W_])(?:(?!__)[^\n]){{0,300}}[ ]
        (?:(?!__)[^\n]){{1,300}}(?<=[^\s_])__(?![\w/])
      | (?<![\w`/\\_])_(?=["'“„«‘(\[]{{0,2}}[^\W_])[^_\n]{{1,300}}[ ][^_\n]{{0,300}}
        (?<=[\w.,;:!?…)\]"'”’»%])(?<!_)_(?![\w/])
      | (?<![\w~])~~(?=[^\s~/])(?:(?!~~)[^\n]){{1,300}}(?<=\S)~~(?![\w~])
      | (?<![\w=])==(?=[^\W_])(?:(?!==)[^\n]){{1,300}}[ ](?:(?!==)[^\n]){{1,300}}(?<=[^\s=])==
        (?![\w=])
      | (?<![`\w\\])`[^`\n]{{1,300}}`(?![`\w])
      | </?(?:{"|".join(sorted(TAGS - {"a", "b", "i", "p", "q", "s", "u"}))})(?:\s[^<>]*+)?/?>
      | <(?:/[abipqsu]|a\s+href=[^<>]++|[bipqsu])>
      | \{{(?:\+\+[^{{}}]{{1,300}}\+\+|--[^{{}}]{{1,300}}--|>>[^{{}}]{{1,300}}<<)\}}
      | <!--""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
# What each of these, and what marks reStructuredText, has at least: most plain texts have none.
_SIGN = re.compile(r"[#`~|\[<>&*_=^{]")
_SIGN_OF_LINE = re.compile(r"\n[ ]{0,3}[:!?/+.-]")
_UNDERLINED = re.compile(
    r"(?:\A|\n[^\S\n]*\n)[ ]{0,3}(?![-=|*+>\d\s])[^\n|]{1,120}\n[ ]{0,3}(?:={3,}|-{3,})[ \t]*(?:\n"
    r"|\Z)"
)
# Directives and roles of reStructuredText; they also stay behind in Markdown, which has headings or
# fences of its own.
_RESTRUCTURED = re.compile(
    r"^[ ]{0,3}\.\.[ ](?:[a-z][a-z:-]{1,40}::(?:[ ]\S.*)?|_[^:\n`]{1,200}:.*)$"
    r"|(?<![\w:]):(?:ref|doc|class|func|meth|mod|py:\w+):`[^`\n]{1,300}`",
    re.MULTILINE,
)
_HEADING_OR_FENCE = re.compile(
    r"^[ ]{0,3}(?:#{1,6}[ \t]+\S|```|~~~|\[[^\]\n]{1,200}\]:[ \t]*\S)|\]\([^()\s]+\)", re.MULTILINE
)


def markup_of(text: str, metadata: Mapping[str, Any] | None = None) -> Markup:
    """Return whether a text is Markdown, reStructuredText or plain.

    The metadata say it: `markup` ("markdown", "rst" or "plain"), else a `content_type`, else the
    ending of the file in `source`, `file_name` or `file_path`. If they do not, marks in the text
    decide that stand in Markdown only: headings with "#", fences, links, bold words, rules of
    tables, tags of HTML.
    """
    metadata = metadata or {}
    stated = metadata.get(MARKUP)
    if stated in get_args(Markup):
        return cast(Markup, stated)
    for key in _CONTENT_TYPES:
        content_type = metadata.get(key)
        if isinstance(content_type, str):
            known = _TYPES.get(content_type.partition(";")[0].strip().lower())
            if known:
                return known
    for key in _PLACES:
        place = metadata.get(key)
        if isinstance(place, str) and (
            known := _ENDINGS.get(PurePath(place[-300:]).suffix.lower())
        ):
            return known
    return _by_evidence(text)


@lru_cache(1024)
def _by_evidence(text: str) -> Markup:
    shown = text[:_SHOWN].removeprefix("\ufeff")
    if not (_SIGN.search(shown) or _SIGN_OF_LINE.search(f"\n{shown}") or "data:" in shown.lower()):
        return "plain"
    if _RESTRUCTURED.search(shown) and not _HEADING_OR_FENCE.search(shown):
        return "rst"
    is_marked = _EVIDENCE.search(shown) or _UNDERLINED.search(shown)
    return "markdown" if is_marked else "plain"
