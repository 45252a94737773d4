"""A LangChain retriever of the articles of the entities that a question names."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import run_in_executor
from pydantic import ConfigDict, Field, PrivateAttr
from typing_extensions import override

from factoid.framework import (
    Ambiguous,
    ArticleStore,
    BuildingKwargs,
    Encoder,
    EntityHit,
    EntityKwargs,
    EntityLinker,
    Filter,
    add_own_articles,
    build_own_articles,
    check_list,
    check_names,
    option_names,
    split_names,
    with_fallback,
    with_fields,
)
from factoid.framework import EntityRetriever as CoreRetriever
from langchain_factoid.convert import SPAN, retrieved, to_core
from langchain_factoid.embeddings import LangChainEncoder


class FieldKwargs(EntityKwargs, total=False):
    """The fields of `EntityRetriever` besides its articles."""

    linker: EntityLinker | None
    encoder: Embeddings | Encoder | None
    fallback: BaseRetriever | None
    filter: Filter | None
    tags: list[str] | None
    metadata: dict[str, Any] | None


class FromDocumentsKwargs(FieldKwargs, BuildingKwargs, total=False):
    """The options of `EntityRetriever.from_documents`."""


_OF_CALL = ("k", "words", "filter")


class EntityRetriever(BaseRetriever):
    """Retrieves the first words of articles about the entities that a question names.

    A document has the article's metadata, with `title`, `mention`, `mention_start`, `mention_end`,
    `score`, and if there are any `candidates` and `matches`; texts and options are those of
    `factoid.entities.EntityRetriever`. `encoder` may be embeddings, and `fallback` is a LangChain
    retriever, whose documents come unchanged, without those whose text is in an earlier one, or
    whose metadata do not pass the filter. `k`, `words` and `filter` can also be given in a call:
    `retriever.invoke(question, k=2, filter={"tenant": "north"})`.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    articles: ArticleStore | str | Path
    linker: Any = None
    words: int = Field(default=100, ge=1)
    k: int = Field(default=4, ge=1)
    granularity: str = "document"
    encoder: Any = None
    propositionizer: Any = None
    fallback: BaseRetriever | None = None
    hybrid: bool = False
    ambiguous: Ambiguous = "first"
    filter: Any = None

    if not TYPE_CHECKING:  # fields say more than this signature

        def __init__(self, **fields: Any) -> None:
            check_names(type(self).__name__, fields, type(self).model_fields)
            super().__init__(**fields)

    _built: tuple[dict[str, Any], CoreRetriever] | None = PrivateAttr(default=None)

    @override
    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        if isinstance(self.articles, str | Path):
            self.articles = Path(self.articles).absolute()  # the working folder may change
        _ = self._core  # refuses bad fields now

    @property
    def _core(self) -> CoreRetriever:
        """The core's retriever with the current fields.

        They may have been set, or changed in a copy.
        """
        fields = {}
        for name, value in self:
            if name not in BaseRetriever.model_fields:
                fields[name] = value
        if self._built is None or self._built[0] != fields:
            options = dict(fields)
            if self.encoder is not None and not isinstance(self.encoder, Encoder):
                options["encoder"] = LangChainEncoder(self.encoder)
            # asked here, with its callbacks; the core only needs to know of it
            if self.fallback is not None:
                options["fallback"] = lambda *_: ()
            self._built = fields, CoreRetriever(**options)
        return self._built[1]

    @classmethod
    def from_documents(
        cls, documents: Iterable[Document], **options: Unpack[FromDocumentsKwargs]
    ) -> Self:
        """Make an article store of documents whose metadata hold titles, and a retriever over it.

        Options are those of this class and of `factoid.entities.build_own_articles`, which also
        lists the errors.
        """
        check_names(
            f"{cls.__name__}.from_documents",
            options,
            option_names(FromDocumentsKwargs) | cls.model_fields.keys(),
        )
        check_list(documents, "documents", Document)
        building, fields = split_names(option_names(BuildingKwargs), options)
        store = build_own_articles(map(to_core, documents), **building)
        return cls(articles=store, **fields)

    def add_documents(self, documents: Iterable[Document]) -> None:
        """Add documents, or replace those of the same ids.

        It works as `factoid.entities.add_own_articles`. The file is built again, so pass many
        documents at once. Other retrievers see them when their `articles` are reloaded.
        """
        check_list(documents, "documents", Document)
        add_own_articles(self._core.articles, map(to_core, documents))

    def delete(self, ids: Iterable[str]) -> None:
        """Delete the articles of documents; an unknown id is an error, and nothing is deleted."""
        self._core.articles.delete(ids)

    @override
    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        **options: Any,
    ) -> list[Document]:
        documents = self._entity_documents(query, k, options)
        if self.fallback is not None and self._core.wants_more(len(documents), k):
            more = self.fallback.invoke(query, {"callbacks": run_manager.get_child("fallback")})
            documents = self._with_fallback(documents, more, options)
        return documents[: k or self.k]

    @override
    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        **options: Any,
    ) -> list[Document]:
        documents = await run_in_executor(None, self._entity_documents, query, k, options)
        if self.fallback is not None and self._core.wants_more(len(documents), k):
            more = await self.fallback.ainvoke(
                query, {"callbacks": run_manager.get_child("fallback")}
            )
            documents = self._with_fallback(documents, more, options)
        return documents[: k or self.k]

    def _with_fallback(
        self, documents: list[Document], more: list[Document], options: dict[str, Any]
    ) -> list[Document]:
        passing = self._core.passing(
            more, lambda document: [document.metadata], options.get("filter")
        )
        return with_fallback(documents, passing, attrgetter("page_content"))

    def _entity_documents(
        self, query: str, k: int | None, options: dict[str, Any]
    ) -> list[Document]:
        check_names(f"a call of {type(self).__name__}", options, _OF_CALL)
        return list(map(_document, self._core.entity_hits(query, k=k, **options)))


def _document(hit: EntityHit) -> Document:
    fields = hit.fields(*SPAN)
    metadata = with_fields(hit.unit.metadata, {"title": fields.pop("title")})
    return retrieved(Document(page_content=hit.text, metadata=metadata, id=hit.unit.id), fields)
