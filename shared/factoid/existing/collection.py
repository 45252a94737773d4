"""The seam to a vector store of any make, and the steps of work that are done through it.

Work over a store is a generator that yields requests and receives what they return: it is written
once, and run by `run` or `arun`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.existing.contract import Row, own_id
from factoid.existing.known import KnownStore, Metric
from factoid.filters import Tree

_PAGE = 1_000  # rows that are listed together
_MOST_LISTED = 20_000  # rows that are looked at for one that passes

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question:
    """A query and its vector, which is made once."""

    text: str
    vector: Vectors | None  # shape: (dim,); None where the store embeds queries itself


class Collection(Protocol):
    """A vector store as the adapters of both frameworks show it."""

    known: KnownStore | None  # None for a store that is not in the table

    def metric(self) -> Metric | None:
        """Return what the scores of this store mean."""

    def takes_vectors(self) -> bool:
        """Return whether rows are added with vectors; else the store embeds texts itself."""

    def is_exact(self) -> bool:
        """Return whether fewer rows than asked for are all that there are."""

    def nearest(self, question: Question, limit: int, condition: Tree) -> list[Row]:
        """Return the rows nearest to a question, best first.

        They may be fewer than the limit, and some may not meet the condition.
        """

    def get(self, ids: Sequence[str]) -> list[Row]:
        """Return the rows with these ids, in any order; unknown ones are left out."""

    def put(self, rows: Sequence[Row]) -> None:
        """Add rows; those with an id that is there are replaced. Rows may have vectors."""

    def remove(self, ids: Sequence[str]) -> None:
        """Remove rows; unknown ids are ignored."""

    def scan(self, condition: Tree | None) -> Iterator[Row]:
        """Yield all rows, or at least those that meet a condition, in any order.

        Raises:
            InvalidInputError: The store cannot list its rows.
        """

    def ids(self, condition: Tree) -> Iterator[str] | None:
        """Return the ids of the rows that meet a condition on our keys, and of no other.

        None if the store cannot list them without their content.
        """

    def leaves(self, condition: Tree) -> bool | None:
        """Return whether any row meets a condition, without a vector; None if that is not known."""

    def shortcoming(self, question: Question, limit: int, condition: Tree) -> str:
        """Return why `nearest` may miss rows nearer than those it returns, and what mends it.

        "" if it is not known to miss any.
        """

    async def anearest(self, question: Question, limit: int, condition: Tree) -> list[Row]:
        """Do the same as `nearest` without blocking the event loop."""


def chroma_rows(chroma: Any, where: Any) -> Iterator[Row]:
    """Yield the rows of a collection of Chroma's, or of LangChain's Chroma, page by page.

    `where` is a filter in Chroma's form, or None. Both frameworks' stores have the same `get`.
    """
    start = 0
    while True:
        page = chroma.get(
            where=where,
            limit=_PAGE,
            offset=start,
            include=["documents", "metadatas", "embeddings"],
        )
        columns = (page["ids"], page["documents"], page["metadatas"], page["embeddings"])
        for name, text, metadata, vector in zip(*columns, strict=True):
            fields = metadata or {}
            yield Row(own_id(fields, name), text or "", fields, vector=vector.tolist())
        if not page["ids"]:
            return
        start += len(page["ids"])


def chroma_ids(chroma: Any, where: Any) -> Iterator[str]:
    """Yield the ids of the rows that `chroma_rows` yields."""
    start = 0
    while names := chroma.get(where=where, limit=_PAGE, offset=start, include=[])["ids"]:
        yield from names
        start += len(names)


def scrolled(search: Callable[..., Any], client: Any) -> Iterator[Any]:
    """Yield the hits of a search of Elasticsearch or OpenSearch, page by page.

    `search` makes the first page, and takes the size of a page and how long a scroll is kept.
    """
    page = search(size=_PAGE, scroll="5m")
    while page["hits"]["hits"]:
        yield from page["hits"]["hits"]
        page = client.scroll(scroll_id=page["_scroll_id"], scroll="5m")


class Request(Protocol):
    """One call to a store."""

    def run(self, collection: Collection) -> Any:
        """Return what the store returns."""

    async def arun(self, collection: Collection) -> Any:
        """Return the same without blocking the event loop."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """Ask for the rows nearest to a question."""

    question: Question
    limit: int
    condition: Tree

    def run(self, collection: Collection) -> list[Row]:
        """Return the rows, best first."""
        return collection.nearest(self.question, self.limit, self.condition)

    async def arun(self, collection: Collection) -> list[Row]:
        """Return the rows, best first."""
        return await collection.anearest(self.question, self.limit, self.condition)


@dataclass(frozen=True, slots=True)
class Shortcoming:
    """Ask why a search may have missed rows nearer than those it returned."""

    search: Nearest

    def run(self, collection: Collection) -> str:
        """Return it; "" if it is not known to miss any."""
        search = self.search
        return collection.shortcoming(search.question, search.limit, search.condition)

    async def arun(self, collection: Collection) -> str:
        """Return it; "" if it is not known to miss any."""
        return await asyncio.to_thread(self.run, collection)


@dataclass(frozen=True, slots=True)
class Get:
    """Ask for rows by id."""

    ids: Sequence[str]

    def run(self, collection: Collection) -> list[Row]:
        """Return the rows in any order."""
        if not self.ids:
            return []
        return collection.get(self.ids)

    async def arun(self, collection: Collection) -> list[Row]:
        """Return the rows in any order."""
        return await asyncio.to_thread(self.run, collection)


@dataclass(frozen=True, slots=True)
class Put:
    """Add or replace rows."""

    rows: Sequence[Row]

    def run(self, collection: Collection) -> None:
        """Do it."""
        if self.rows:
            collection.put(self.rows)

    async def arun(self, collection: Collection) -> None:
        """Do it in a thread."""
        await asyncio.to_thread(self.run, collection)


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove rows by id."""

    ids: Sequence[str]

    def run(self, collection: Collection) -> None:
        """Do it."""
        if self.ids:
            collection.remove(self.ids)

    async def arun(self, collection: Collection) -> None:
        """Do it in a thread."""
        await asyncio.to_thread(self.run, collection)


@dataclass(frozen=True, slots=True)
class Leaves:
    """Ask whether any row meets a condition and passes a test, without a vector.

    Attributes:
        condition: The condition.
        passes: The test; None if the condition says all.
    """

    condition: Tree
    passes: Callable[[Row], bool] | None

    def run(self, collection: Collection) -> bool | None:
        """Return it; None if that is not known."""
        known = collection.known
        if known is None:
            return None
        if self.passes is None or known.form.understands(self.condition):
            return collection.leaves(self.condition)
        try:
            for number, row in enumerate(collection.scan(self.condition)):
                if self.passes(row):
                    return True
                if number == _MOST_LISTED:
                    return None
        except InvalidInputError:  # it cannot list its rows
            return None
        return False

    async def arun(self, collection: Collection) -> bool | None:
        """Return it; None if that is not known."""
        return await asyncio.to_thread(self.run, collection)


Steps = Generator[Request, Any, T]


def run(steps: Steps[T], collection: Collection) -> T:
    """Do work over a store."""
    reply = None
    while True:
        try:
            request = steps.send(reply)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        reply = request.run(collection)


async def arun(steps: Steps[T], collection: Collection) -> T:
    """Do work over a store without blocking the event loop."""
    reply = None
    while True:
        try:
            request = await asyncio.to_thread(_next, steps, reply)
        except _EndError as end:
            return end.value  # type: ignore[no-any-return]
        reply = await request.arun(collection)


class _EndError(Exception):
    """Carries a result out of a thread: StopIteration cannot leave one."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def _next(steps: Steps[T], reply: Any) -> Request:
    try:
        return steps.send(reply)
    except StopIteration as end:
        raise _EndError(end.value) from None
