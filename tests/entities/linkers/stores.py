"""Small article stores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from factoid import Document
from factoid.entities import ArticleStore, EntityLinker, build_own_articles
from factoid.entities.articles.article import Article, Record, Redirect
from factoid.entities.articles.build import build_articles


def make_store(
    path: Path,
    articles: Iterable[str] | Mapping[str, str],
    *,
    redirects: Mapping[str, str] | None = None,
    aliases: Iterable[tuple[str, str]] = (),
    anchors: Iterable[tuple[str, str, int]] = (),
) -> ArticleStore:
    """Build a store of some titles (and their texts), names of other kinds to titles, and counts of
    links, and open it.
    """
    texts = (
        articles
        if isinstance(articles, Mapping)
        else {title: f"About {title}." for title in articles}
    )
    first = next(iter(texts))
    records: list[Record] = [
        Article(
            title,
            text,
            aliases=tuple(form for form, of in aliases if of == title),
            links=tuple((form, to) for form, to, count in anchors for _ in range(count))
            if title == first
            else (),
        )
        for title, text in texts.items()
    ]
    records += [Redirect(name, target) for name, target in (redirects or {}).items()]
    build_articles(path, records)
    return ArticleStore(path)


def glossary(*titles: str, **texts: str) -> ArticleStore:
    """Make a store of one's own entries, with a text for those that need one."""
    return build_own_articles(
        [Document(texts.get(title, "Text."), title) for title in (*titles, *texts)]
    )


def links(linker: EntityLinker, text: str) -> dict[str, str]:
    """Return what stands in the text at each mention, and its title."""
    return {text[mention.start : mention.end]: mention.title for mention in linker.link(text)}
