"""Small MediaWiki exports for tests."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="de">
  <siteinfo>
    <sitename>Wiki</sitename>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="4" case="first-letter">Wikipedia</namespace>
      <namespace key="6" case="first-letter">Datei</namespace>
      <namespace key="14" case="first-letter">Kategorie</namespace>
    </namespaces>
  </siteinfo>
"""
TAIL = "</mediawiki>\n"


def page(
    title: str,
    text: str = "",
    *,
    ns: int | None = 0,
    redirect: str | None = None,
    model: str = "wikitext",
) -> str:
    """A page as an export writes it."""
    return (
        f"<page><title>{escape(title)}</title>"
        + ("" if ns is None else f"<ns>{ns}</ns>")
        + "<id>7</id>"
        + ("" if redirect is None else f"<redirect title={quoteattr(redirect)} />")
        + "<revision><id>70</id><contributor><username>Ann</username><id>9</id></contributor>"
        + f"<comment>a <![CDATA[<b>]]> comment</comment><model>{model}</model><text "
        f'xml:space="preserve">{escape(text)}</text>' + "</revision></page>\n"
    )


def dump(*pages: str) -> bytes:
    """An export of some pages."""
    return (HEAD + "".join(pages) + TAIL).encode()
