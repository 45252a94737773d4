"""Markup that is left in a proposition, by class."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml.html import defs

_ELEMENTS = "|".join(
    sorted(
        defs.tags | {"picture", "figure", "figcaption", "main", "section", "article", "nav", "svg"}
    )
)
_CODE = re.compile(r"(`+)(?!`)(?:.+?)(?<!`)\1(?!`)", re.DOTALL)
_FORMULA = re.compile(
    r"\$\$.+?\$\$|\$(?!\s)[^$\n]+?(?<!\s)\$(?!\d)|\\\(.+?\\\)|\\\[.+?\\\]", re.DOTALL
)
# What CommonMark defines: its own reading says whether such marks are shown.
COMMONMARK = frozenset(
    (
        "emphasis",
        "link or image",
        "tag",
        "comment",
        "entity",
        "escape",
        "table",
        "block mark",
        "fence",
        "brackets",
    )
)

_PATTERNS = {
    "emphasis": r"(?<![\w*\\])\*{1,3}(?=[^\s*])[^*\n]+(?<=[^\s*])\*{1,3}(?![\w*])"
    r"|(?<![\w*])\*\*(?=\w)|(?<=\w)\*\*(?![\w*])"
    r"|(?<![\w_\\/])_{1,2}(?=[^\s_])[^_\n]+(?<=[^\s_])_{1,2}(?![\w_])|~~\w|\w~~"
    r"|(?<![=\w])==\w[^=]*==(?![=\w])",
    "link or image": r"\]\(|!\[|\]\[(?!\d+\])[^\]]*\]|\[\[[^\]]+\]\]"
    r"|^\[[^\]]+\]:\s|<(?:https?|mailto):[^>]*>",
    "tag": rf"</?(?:{_ELEMENTS})(?:\s[^<>]*)?/?>|</?[A-Z]\w*(?:\s[^<>]*=[^<>]*)?/>|</[A-Z]\w*>"
    rf"|<[A-Z]\w*\s[^<>]*=[^<>]*>",
    "comment": r"<!--|-->|\{/\*|\*/\}|^%%|^% ",
    "entity": r"&(?:[a-zA-Z]{2,10}\d{0,2}|#\d{2,6}|#x[0-9a-fA-F]{2,6});",
    "block mark": r"^(?:#{1,6}\s|>\s|[-*+]\s(?=\w)|={3,}|-{3,}|\*{3,}$)",
    "table": r"^\s*\||\|\s*$|\|\s*:?-{3,}| \| ",
    "fence": r"```|~~~|`",
    "directive": r"\{\{[<%]|[>%]\}\}|\{%|%\}|:::|^!!!|^\?\?\?|^///|\[![A-Za-z]+\]|8<--|^\{\*"
    r"|^\[\[?_?TOC_?\]\]?$"
    r"|^import .* from ['\"]|^export (?:const|default)|^\([\w-]+\)=|\{[a-z:]+\}(?=`)"
    r"|^:[\w-]+:\s|(?<!\w):[a-z]+(?:-[a-z0-9]+)+:|^@\w+\(|\{!|\{\{#",
    "reStructuredText": r"(?<![\w:]):[a-z][\w:+.-]*:`|`_{1,2}(?!\w)|^\.\. \S|\[[\w#*]+\]_(?!\w)|``",
    "footnote": r"\[\^[^\]\s]+\]",
    "attribute list": r"\{ *:? *[.#][\w-]+[^{}]*\}|\{:\s[^{}]*\}"
    r"|\{:? *(?:id|class|style|width|target|rel|align|loading)=[^{}]*\}",
    "data URI": r"\bdata:(?:image|font|application)/[\w.+-]+[;,]",
    "escape": r"\\[*_#\[\]{}|`~>!-]",
    "brackets": r"[\ue0f0-\ue0f2]",
}
PATTERNS = {name: re.compile(pattern, re.MULTILINE) for name, pattern in _PATTERNS.items()}


def markup_in(proposition: str) -> Iterator[tuple[str, str]]:
    """Yield the classes of markup in a proposition outside of inline code and formulas, each with
    what was found.
    """
    bare = _CODE.sub("code", _FORMULA.sub("formula", _CODE.sub("code", proposition)))
    for name, pattern in PATTERNS.items():
        if match := pattern.search(bare):
            yield name, match[0]
