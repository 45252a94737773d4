"""Where a wiki's link leads: to an article, to a page of another namespace, or to another wiki."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import unquote

from factoid.entities.articles.names import canonical_title

# English names and shorthands of namespaces, which every wiki understands beside its own. Where a wiki gives such a name
# another number, all that matters is that it is not 0.
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


class Place(Enum):
    """What a link leads to."""

    PAGE = "a page of this wiki, or a section of the page itself where the title is empty"
    ELSEWHERE = "another wiki; shown in the text"
    HIDDEN = "nothing that is shown in the text: a file, a category, or the same article in another language"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a link leads."""

    place: Place
    title: str  # as MediaWiki shows it, without section; of another wiki, without the wiki's prefix
    namespace: int = 0


@dataclass(frozen=True, slots=True)
class Site:
    """What a wiki calls its namespaces: their numbers by their names, in lower case."""

    namespaces: Mapping[str, int] = field(default_factory=dict)

    def namespace(self, title: str) -> int:
        """Return the number of a title's namespace."""
        prefix, colon, _ = title.partition(":")
        return (self._number(prefix) or 0) if colon else 0

    def target(self, link: str) -> Target:
        """Return where the link `[[link]]` leads."""
        link = html.unescape(link)
        if "%" in link:
            link = unquote(link, errors="ignore")
        page = link.partition("#")[0].strip()
        is_shown = page.startswith(":")  # [[:File:…]] is shown as a link, [[File:…]] is the picture
        page = page.lstrip(": ")
        prefix, colon, rest = page.partition(":")
        prefix = prefix.strip()
        if colon and (number := self._number(prefix)) is not None:
            place = Place.HIDDEN if number in _HIDDEN and not is_shown else Place.PAGE
            return Target(place, canonical_title(page), number)
        if colon and (prefix.lower() in _OTHER_WIKIS or _LANGUAGE.fullmatch(prefix)):
            is_shown = is_shown or prefix.lower() in _OTHER_WIKIS
            return Target(Place.ELSEWHERE if is_shown else Place.HIDDEN, canonical_title(rest))
        return Target(Place.PAGE, canonical_title(page))

    def _number(self, prefix: str) -> int | None:
        name = " ".join(prefix.replace("_", " ").lower().split())
        return self.namespaces.get(name, _EVERYWHERE.get(name))
