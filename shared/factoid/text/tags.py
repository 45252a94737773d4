"""Tell the tags of HTML from what only looks like them, such as "p <i and q> 3"."""

from __future__ import annotations

import re

# Elements of HTML, with those that old pages have.
TAGS = frozenset(
    """a abbr acronym address applet area article aside audio b base basefont bdi bdo big blink blockquote body br button
    canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset
    figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd
    label legend li link main map mark marquee math menu meta meter nav nobr noframes noscript object ol optgroup option
    output p param picture pre progress q rp rt ruby s samp script search section select slot small source span strike strong
    style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr
    path g rect circle line polygon polyline defs use""".split()
)
# Where one of these stands, a word ends.
BREAKING_TAGS = frozenset(
    """address article aside blockquote caption center dd details dialog dir div dl dt fieldset figcaption figure footer form
    h1 h2 h3 h4 h5 h6 header hgroup hr legend li main nav ol p pre section summary table tbody td tfoot th thead tr ul""".split()
)
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)(?=[\s/>])")
_ATTRIBUTE = re.compile(r"""\s+([^\s"'<>/=]+)(\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?""")
# Attributes that need no value.
_BARE = frozenset(
    """allowfullscreen async autofocus autoplay checked compact controls default defer disabled download hidden inert ismap
    itemscope loop multiple muted nohref noshade novalidate nowrap open playsinline readonly required reversed selected
    """.split()
)


def is_tag(source: str) -> bool:
    """Return whether a source in angle brackets is a tag of HTML, and not a part of prose or of a program."""
    match = _TAG.match(source)
    if match is None or match[1].lower() not in TAGS:
        return False
    for attribute in _ATTRIBUTE.finditer(source, match.end()):
        name = attribute[1].lower()
        if attribute[2] is None and name not in _BARE and not name.startswith(("data-", "aria-", "v-", "x-", "@", ":")):
            return False
    return True
