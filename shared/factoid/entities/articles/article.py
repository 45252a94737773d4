"""The records of an article store: articles, redirects to them, and the names under which they are found; their sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from factoid.entities.articles.names import NameKind
from factoid.errors import InvalidInputError
from factoid.units import check_text
from factoid.words import cut_words


@dataclass(frozen=True, slots=True)
class Article:
    """An article about one entity.

    Attributes:
        title: Its name; unique in a store.
        text: Its body, without markup. An article without words is counted, but not stored.
        aliases: Other names of the entity.
        links: Pairs of a link's text and its target, which is exactly a title or the name of a redirect. They tell how often
            a name means an entity; a store keeps their counts only.
        metadata: JSON values, returned with the article.
        document_id: Id of the document that it came from, or "".

    Raises:
        InvalidInputError: The title, text or document_id is not a string or holds lone surrogates, or the aliases are no strings.
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
        if isinstance(self.aliases, str) or not all(isinstance(alias, str) for alias in self.aliases):
            raise InvalidInputError(f"aliases of {self.title!r} must be several strings, got {self.aliases!r}")


@dataclass(frozen=True, slots=True)
class Redirect:
    """Another name that leads to an article: `name` to the article, or to the redirect, called exactly `target`."""

    name: str
    target: str

    def __post_init__(self) -> None:
        check_text(self.name, "name")
        check_text(self.target, "target")


Record = Article | Redirect


class Source(Protocol):
    """Articles and redirects, always in the same order.

    Two more attributes are optional. `left_out` counts what was left out by reason, complete once all was read. `keys` says
    where the metadata of documents hold titles and aliases, as `title_key` and `aliases_key`: what is added to the store later
    is read likewise.
    """

    @property
    def name(self) -> str:
        """What is read, told apart from all else: a build goes on only with sources of the same names. "" starts it over."""

    def read(self, skip: int = 0) -> Iterator[Record]:
        """Yield the records from number `skip` on. To skip is much cheaper than to read.

        Raises:
            UnreadableFileError: What is read is missing or damaged; says where.
        """


@dataclass(frozen=True, slots=True)
class Name:
    """A name of an article, as a store knows it.

    Attributes:
        form: The name as it is written. Forms of one article that differ in case only are kept apart where other articles
            share their key; else the one that says most stands for all.
        kind: What it is to the article.
        count: How many links with a text of this key lead to the article; 0 where no links are known. Of several names
            of one key for one article, the first has the count, so that sums over names are right.
        article_id: Number of the article in its store.
        title: The article's title.
    """

    form: str
    kind: NameKind
    count: int
    article_id: int
    title: str


def first_words(text: str, words: int) -> str:
    """Return the first words of a text, with single spaces between them (Entity Retrieval, §3); see `factoid.words`."""
    if words < 1:
        raise InvalidInputError(f"words must be at least 1, got {words}")
    return " ".join(cut_words(text, words).split())
