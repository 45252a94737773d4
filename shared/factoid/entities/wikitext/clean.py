"""A prepared page as plain text: paragraphs, list items and headings, as many as the wanted words need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from factoid.entities.wikitext.lines import Line, lines
from factoid.entities.wikitext.prepare import BREAK
from factoid.entities.wikitext.render import render, shows_nothing
from factoid.entities.wikitext.site import Site
from factoid.entities.wikitext.tidy import tidy
from factoid.words import count_words

# Sections of notes and lists beside the article itself, in the languages of the largest Wikipedias.
_APPENDICES = frozenset(
    name.casefold()
    for name in (
        "See also|References|External links|Notes|Further reading|Bibliography|Sources|Citations|Footnotes|Gallery|"
        "Notes and references|References and notes|References and further reading|Works cited|Notes and citations|"
        "Sources and references|Explanatory notes|General references|Cited works|Image gallery|Endnotes|"
        "Einzelnachweise|Weblinks|Siehe auch|Literatur|Anmerkungen|Quellen|Voir aussi|Notes et références|Références|"
        "Liens externes|Articles connexes|Bibliographie|Véase también|Referencias|Enlaces externos|Bibliografía|Notas|"
        "Note|Bibliografia|Voci correlate|Altri progetti|Collegamenti esterni|Ver também|Referências|Ligações externas|"
        "Zie ook|Bronnen|Externe links|Externe link|Referenties|См. также|Примечания|Литература|Ссылки|Zobacz też|"
        "Przypisy|Linki zewnętrzne|脚注|関連項目|外部リンク|参考文献|参考资料|参见|外部链接"
    ).split("|")
)
_LIST = re.compile(r"[*#:;]+\s*")
_RULE = re.compile(r"\A-{4,}")
_LEFT_OF_TABLE = re.compile(r"\s*(?:[|!]|\{\||\{\{[^{}]*$)")  # rows of a table or box that was never closed
_BREAKS = re.compile(rf"[\n{BREAK}]")
_TERM = re.compile(r"\s+:\s*")


@dataclass(slots=True)
class _Page:
    """What has been read of a page: its blocks, and the headings whose sections are still empty."""

    blocks: list[str] = field(default_factory=list)
    words: int = 0
    headings: list[tuple[int, str]] = field(default_factory=list)
    last: str = ""  # what the line before was: "text", "item", or "" for none

    def open_section(self, level: int, title: str) -> None:
        while self.headings and self.headings[-1][0] >= level:
            self.headings.pop()
        self.headings.append((level, title))
        self.last = ""

    def add(self, text: str, kind: str) -> None:
        self.blocks.extend(title for _, title in self.headings if title)
        self.words += count_words(text) + sum(count_words(title) for _, title in self.headings)
        self.headings.clear()
        if self.last == kind:
            self.blocks[-1] += ("\n" if kind == "item" else "" if text[0] in ",;." else " ") + text
        else:
            self.blocks.append(text)
        self.last = kind


def clean(prepared: str, site: Site, *, words: int | None = None) -> str:
    """Return a page's text: paragraphs with a blank line between them, headings and list items in lines of their own.

    Args:
        prepared: What `prepare` made of the page.
        site: The wiki's names.
        words: Stop at the end of the line, or of the template, that brings the text to so many words; None to read all.
    """
    page = _Page()
    for line in _without_appendices(prepared, site):
        if line.level:
            page.open_section(line.level, tidy(render(line.text, site)))
            continue
        _add_line(page, line, site)
        if words is not None and page.words >= words:
            break
    return "\n\n".join(page.blocks)


def _add_line(page: _Page, line: Line, site: Site) -> None:
    if not line.text.strip() or shows_nothing(line, site):
        page.last = page.last if page.last == "item" and not line.text.strip() else ""
        return
    mark = _LIST.match(line.text)
    text = line.text[mark.end() :] if mark else line.text
    if mark and ";" in mark[0]:
        text = _TERM.sub(": ", text, count=1)
    for number, part in enumerate(_BREAKS.split(render(_RULE.sub("", text), site))):
        if not part.strip():
            if not mark:
                page.last = ""
            continue
        inner = _LIST.match(part) if number else None  # a list in a template
        if _LEFT_OF_TABLE.match(part):
            continue
        if shown := tidy(part[inner.end() :] if inner else part):
            page.add(shown, "item" if mark or inner else "text")


def _without_appendices(prepared: str, site: Site) -> Iterator[Line]:
    left_out = 0  # level of the appendix we are in
    for line in lines(prepared):
        if line.level and (not left_out or line.level <= left_out):
            title = tidy(render(line.text, site)).strip(" :").casefold()
            left_out = line.level if title in _APPENDICES else 0
        if not left_out:
            yield line
