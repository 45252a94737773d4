"""Disambiguation pages: those that list what a name may mean, and are about none of it."""

from __future__ import annotations

import re

# Templates at the foot of such pages, on the largest Wikipedias. "Disambiguation needed" and "dablink" are none: they
# stand in articles.
_MARK = re.compile(
    r"\{\{\s*(?:"
    r"(?:[\w -]*[ _-])?(?:disambig(?:uation)?|disamb|dab)(?:[ _-]?(?:page|cleanup|acronym|\w+dis))?|"
    r"(?:hn|geo|number|math|school|hospital|road|callsign|call sign |letter|church|airport|station|species|tv)dis(?:ambig)?|"
    r"begriffsklärung|homonymie|paronymie|desambiguación|desambiguação|desambiguació|disambigua|неоднозначность|"
    r"багатозначність|doorverwijspagina|dp|曖昧さ回避|aimai|ujednoznacznienie|消歧义|消歧義|동음이의|förgrening|gren|توضيح|"
    r"rozcestník|egyért|anlam ayrımı|täsmennyssivu|dezambiguizare|flertydig|peker"
    r")\s*(?:\||\}\})|__DISAMBIG__",
    re.IGNORECASE,
)
_TITLE = re.compile(r".*\((?:disambiguation|Begriffsklärung|homonymie|desambiguación|desambiguação)\)", re.IGNORECASE)


def is_disambiguation(title: str, wikitext: str) -> bool:
    """Tell whether a page is a disambiguation page, by its title or its templates. The text is not parsed."""
    return _TITLE.fullmatch(title) is not None or _MARK.search(wikitext) is not None
