"""The records of an article store.

They are articles, redirects to them, and the names under which they are found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from factoid.entities.articles.names import NameKind
from factoid.errors import InvalidInputError
from factoid.units import check_text


@dataclass(frozen=True, slots=True)
class Article:
    """An article about one entity, named by its title.

    Articles without words are counted, but not stored. Links are pairs of a link's text and its
    target, which is exactly a title or the name of a redirect. They show how often a name means an
    entity; a store keeps their counts only.

    Raises:
        InvalidInputError: The title, text or document_id is not a string or holds lone surrogates,
            or an alias is not a string.

    Attributes:
        text: The text without markup.
        metadata: Values that JSON can hold.
        document_id: Id of the document that it came from.
    """

    title: str
    text: str
    aliases: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    document_id: str = ""

    def __post_init__(self) -> None:
        for name in ("title", "text", "document_id"):
            check_text(getattr(self, name), name)
        if isinstance(self.aliases, str) or not all(
            isinstance(alias, str) for alias in self.aliases
        ):
            raise InvalidInputError(
                f"aliases of {self.title!r} must be several strings, got {self.aliases!r}"
            )


@dataclass(frozen=True, slots=True)
class Redirect:
    """Another name that leads to an article.

    `name` leads to the article, or the redirect, called exactly `target`.
    """

    name: str
    target: str

    def __post_init__(self) -> None:
        check_text(self.name, "name")
        check_text(self.target, "target")


Record = Article | Redirect


@dataclass(frozen=True, slots=True)
class Name:
    """A name of an article, as a store knows it.

    Attributes:
        form: The name as it is written.
        kind: How the name relates to the article.
        count: How many links with a text of this key lead to the article. Of several names of one
            key for one article, only the first has the count, so that sums over names are right.
        article_id: Number of the article in its store.
        title: Title of the article.
    """

    form: str
    kind: NameKind
    count: int
    article_id: int
    title: str
