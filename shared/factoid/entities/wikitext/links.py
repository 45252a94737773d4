"""All links of a page: what they show, and to which articles they lead."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from factoid.entities.wikitext.render import pipe_trick, render, shown_target
from factoid.entities.wikitext.site import Place, Site
from factoid.entities.wikitext.tidy import tidy

# Letters right after a link belong to it: "[[bus]]es" shows "buses". Of the scripts with spaces between words only.
_LINK = re.compile(
    r"\[\[([^][{}|<>\n]+)(?:(\|)([^][]*(?:\[(?!\[)[^][]*\](?!\])[^][]*)*))?\]\]([a-zß-öø-ÿā-ſά-ώа-џ]*)", re.IGNORECASE
)
_LONGEST = 300  # characters; what is longer is no name


def links(prepared: str, site: Site, *, namespaces: Collection[int] = (0,)) -> Iterator[tuple[str, str]]:
    """Yield the links of a prepared page in order, each as its text and its target's title, sections left out.

    Args:
        prepared: What `prepare` made of the page; links in notes are gone.
        site: The wiki's names.
        namespaces: Numbers of the namespaces to which links may lead.
    """
    for match in _LINK.finditer(prepared):
        written, piped, text, trail = match.groups()
        target = site.target(written)
        if target.place is not Place.PAGE or target.namespace not in namespaces or not target.title:
            continue
        if not piped:
            text = shown_target(written)
        elif not text:
            text = pipe_trick(written)
        shown = tidy(render(text + trail, site) if "{{" in text else text + trail)
        if shown and len(shown) <= _LONGEST:
            yield shown, target.title
