"""Where a wiki's link leads: to an article, to a page of another namespace, or to another wiki."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import unquote

from factoid.entities.articles.names import canonical_title

MEDIA, FILE, CATEGORY = -2, 6, 14

# English names and shorthands, which every wiki understands beside its own. They keep their numbers everywhere, and where
# one does not (the portals), all that matters is that it is not 0.
_EVERYWHERE = {
    "media": MEDIA, "special": -1, "talk": 1, "user": 2, "user talk": 3, "project": 4, "wikipedia": 4, "wp": 4,
    "project talk": 5, "wikipedia talk": 5, "wt": 5, "file": FILE, "image": FILE, "file talk": 7, "image talk": 7,
    "mediawiki": 8, "mediawiki talk": 9, "template": 10, "template talk": 11, "help": 12, "help talk": 13,
    "category": CATEGORY, "category talk": 15, "portal": 100, "portal talk": 101, "timedtext": 710, "module": 828,
}  # fmt: skip

# Codes of the Wikipedias. No article's title begins with one and a colon; "Re:Zero" is a title, for "re" is none.
_LANGUAGES = frozenset(
    "aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az azb ba ban bar bat-smg "
    "bbc bcl be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br bs btm bug bxr ca cbk-zam cdo ce ceb ch cho chr "
    "chy ckb co cr crh cs csb cu cv cy da dag de dga din diq dsb dtp dty dv dz ee el eml en eo es et eu ext fa fat ff fi "
    "fiu-vro fj fo fon fr frp frr fur fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha hak haw he "
    "hi hif ho hr hsb ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu ja jam jbo jv ka kaa kab kbd kbp kcg "
    "kg kge ki kj kk kl km kn knc ko koi kr krc ks ksh ku kus kv kw ky la lad lb lbe lez lfn lg li lij lld lmo ln lo lrc "
    "lt ltg lv lzh mad mai map-bms mdf mg mh mhr mi min mk ml mn mni mnw mo mos mr mrj ms mt mus mwl my myv mzn na nah "
    "nan nap nds nds-nl ne new ng nia nl nn no nov nqo nr nrm nso nup nv ny oc olo om or os pa pag pam pap pcd pcm pdc "
    "pfl pi pih pl pms pnb pnt ps pt pwn qu rm rmy rn ro roa-rup roa-tara rsk ru rue rup rw sa sah sat sc scn sco sd se "
    "sg sgs sh shi shn si simple sk skr sl sm smn sn so sq sr srn ss st stq su sv sw syl szl szy ta tay tcy tdd te tet "
    "tg th ti tig tk tl tly tn to tpi tr trv ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo vro wa war wo wuu "
    "xal xh xmf yi yo yue za zea zgh zh zh-classical zh-min-nan zh-yue zu".split()
)
_OTHER_WIKIS = frozenset(
    "arxiv b bugzilla c commons d doi foundation google hdl iarchive imdbname imdbtitle incubator irc m mail meta "
    "metawikipedia mw n oeis outreach phab q rfc s species strategy toollabs toolforge v voy w wikibooks wikia wikidata "
    "wikimedia wikinews wikiquote wikisource wikispecies wikiversity wikivoyage wikt wiktionary wmf".split()
)


class Place(Enum):
    """What a link leads to."""

    PAGE = "a page of this wiki, or a section of the page itself where the title is empty"
    ELSEWHERE = "another wiki; shown in the text"
    HIDDEN = "nothing that is shown in the text: a file, a category, or the same article in another language"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a link leads.

    Attributes:
        place: What is there.
        title: Full title as MediaWiki shows it, without section; of another wiki, without the wiki's prefix.
        namespace: Number of the namespace; 0 for articles.
    """

    place: Place
    title: str
    namespace: int = 0


@dataclass(frozen=True, slots=True)
class Site:
    """What a wiki calls its namespaces.

    Attributes:
        namespaces: Numbers of namespaces by their names on this wiki, in lower case.
    """

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
        pointed = page.startswith(":")  # [[:File:…]] is shown as a link, [[File:…]] is the picture
        page = page.lstrip(": ")
        prefix, colon, rest = page.partition(":")
        if not colon:
            return Target(Place.PAGE, canonical_title(page))
        number = self._number(prefix)
        if number is not None:
            hidden = number in (MEDIA, FILE, CATEGORY) and not pointed
            return Target(Place.HIDDEN if hidden else Place.PAGE, canonical_title(page), number)
        wiki = prefix.strip().lower()
        if wiki in _LANGUAGES:
            return Target(Place.ELSEWHERE if pointed else Place.HIDDEN, canonical_title(rest))
        if wiki in _OTHER_WIKIS:
            return Target(Place.ELSEWHERE, canonical_title(rest))
        return Target(Place.PAGE, canonical_title(page))

    def _number(self, prefix: str) -> int | None:
        name = " ".join(prefix.replace("_", " ").lower().split())
        return self.namespaces.get(name, _EVERYWHERE.get(name))
