"""Targets of a wiki's links: an article, a page of another namespace, or another wiki."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote

from factoid.entities.articles.names import canonical_title

# English names and shorthands of namespaces, which every wiki understands beside its own. If a wiki gives such a name another
# number, it only matters that it is not 0.
_EVERYWHERE = {
    "media": -2, "special": -1, "talk": 1, "user": 2, "user talk": 3, "project": 4, "wikipedia": 4, "wp": 4,
    "project talk": 5, "wikipedia talk": 5, "wt": 5, "file": 6, "image": 6, "file talk": 7, "image talk": 7,
    "mediawiki": 8, "template": 10, "help": 12, "category": 14, "portal": 100, "module": 828,
}  # fmt: skip
_HIDDEN = (-2, 6, 14)  # media, files and categories
_OTHER_WIKIS = frozenset(
    "arxiv b c commons d doi foundation google hdl imdbname imdbtitle m mail meta mw n oeis phab q s species v voy w "
    "wikibooks wikia wikidata wikimedia wikinews wikiquote wikisource wikispecies wikiversity wikivoyage wikt wiktionary "
    "wmf".split()
)
# A Wikipedia of another language, by its code: no article's title begins with one in lower case and a colon.
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z-]+)?|simple")


class Target(NamedTuple):
    """The target of a link."""

    title: str  # as MediaWiki shows it, without section; "" for a section of the page itself
    namespace: int | None = 0  # None for another wiki
    is_shown: bool = True  # in the text, unlike files, categories and the same article in another language


@dataclass(frozen=True, slots=True)
class Site:
    """A wiki's namespaces: their numbers by their names, in lower case."""

    namespaces: Mapping[str, int] = field(default_factory=dict)

    def target(self, link: str) -> Target:
        """Return the target of the link `[[link]]`."""
        link = html.unescape(link)
        if "%" in link:
            link = unquote(link, errors="ignore")
        page = link.partition("#")[0].strip()
        is_shown = page.startswith(":")  # [[:File:…]] is shown as a link, [[File:…]] is the picture
        page = page.lstrip(": ")
        prefix, colon, _ = page.partition(":")
        name = " ".join(prefix.replace("_", " ").lower().split())
        if not colon:
            return Target(canonical_title(page))
        if (number := self.namespaces.get(name, _EVERYWHERE.get(name))) is not None:
            return Target(canonical_title(page), number, is_shown or number not in _HIDDEN)
        if name in _OTHER_WIKIS or _LANGUAGE.fullmatch(prefix.strip()):
            return Target("", None, is_shown or name in _OTHER_WIKIS)
        return Target(canonical_title(page))
