"""A LangChain retriever over a multi-granular store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field, PrivateAttr, SkipValidation, model_validator
from typing_extensions import override

from factoid.framework import (
    AddReport,
    Answer,
    ExistingSearchKwargs,
    ExistingStore,
    ExistingStoreKwargs,
    Filter,
    InvalidInputError,
    ParentsOption,
    Reranker,
    SearchOptions,
    TokenVectorEncoder,
    Weights,
    check_list,
    check_names,
    check_text,
    option_names,
    to_matrix,
)
from factoid.framework import Document as CoreDocument
from langchain_factoid.convert import hit_documents, one_each, to_core, with_note
from langchain_factoid.embeddings import LangChainEncoder
from langchain_factoid.existing import collection_of
from langchain_factoid.vector_store import MultiGranularFAISS, SearchKwargs

SearchType = Literal["similarity", "mmr"]

_SEARCH = sorted(option_names(SearchKwargs))
_OF_EXISTING = option_names(ExistingSearchKwargs)
# What the fields of a retriever hold where they were not given.
_UNSET = {"fetch_k": 20, "expand": 0}


class MultiGranularRetriever(BaseRetriever):
    """Retrieves documents, the passages in them, or the units themselves, with scores.

    The metadata of each result has `score` and, for documents and passages, `matches`, their best
    units, best first: dicts of text, score, start_index, end_index, granularity and id. Passages
    and units also say where they stand, as chunks of `PassageTextSplitter` do. With `expand` there
    are `neighbours`, dicts like the matches, in order of the text. A document's own values under
    these keys move to `source_<key>`. These keys do not count when documents are compared: results
    of several queries are equal, so that a `MultiQueryRetriever` or an `EnsembleRetriever` returns
    a document once. All results are plain `Document`s, as LangGraph's checkpoints need them.

    All fields but `store` can also be given in a call: `retriever.invoke(question, k=2)`.
    `search_kwargs={"k": 2}` is another place for them, as in `as_retriever`.

    Over a vector store of another make, `MultiGranularRetriever(vectorstore=Chroma(…))`, it takes
    the same options as far as every store can do them, and `add_documents` fills the store. Where
    the store could not answer completely, results have `complete` False and the store's remedy
    under `note`.

    Attributes:
        store: Where to search.
        vectorstore: Any other vector store of LangChain's, in place of `store`: see
            docs/existing-stores.md.
        embeddings: Those of `vectorstore`; None for its own.
        indexing: How `add_documents` writes into `vectorstore`: the options of
            `factoid.existing.ExistingStore`.
        k: The number of documents, passages or units.
        granularity, parents, filter: As in `factoid.store.SearchOptions`, and so are the fields
            from `document_ids` on. `parents` None is the store's, and `score_threshold` is another
            name for `min_score`.
        search_type: "similarity" for the best score, that of the best unit, its passage, and the
            query's words (`lexical=0` leaves the words out), or "mmr" for maximal marginal
            relevance.
        lambda_mult: For "mmr", from 0 (only diversity counts) to 1 (it does not).
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    store: MultiGranularFAISS | None = None
    vectorstore: SkipValidation[VectorStore | None] = None
    embeddings: SkipValidation[Embeddings | None] = None
    indexing: dict[str, Any] = Field(default_factory=dict)
    k: int = Field(default=4, ge=1)
    granularity: str | Sequence[str] | None = None
    parents: ParentsOption | None = None
    filter: Filter | None = None
    search_type: SearchType = "similarity"
    lambda_mult: float = Field(default=0.5, ge=0, le=1)
    # Checked by `SearchOptions`, whose errors say what they take.
    document_ids: SkipValidation[Sequence[str] | None] = None
    unit_ids: SkipValidation[Sequence[str] | None] = None
    min_score: SkipValidation[float | None] = None
    score_threshold: SkipValidation[float | None] = None
    weights: SkipValidation[Weights | None] = None
    lexical: SkipValidation[float | None] = None
    mmr: SkipValidation[float | None] = None
    fetch_k: SkipValidation[int] = 20
    expand: SkipValidation[int] = 0
    parameters: SkipValidation[Mapping[str, Any] | None] = None
    rerank: SkipValidation[Reranker | TokenVectorEncoder | Literal["tokens"] | None] = None
    candidates: SkipValidation[int | None] = None
    search_kwargs: dict[str, Any] = Field(default_factory=dict)

    if not TYPE_CHECKING:  # fields say more than this signature

        def __init__(self, **fields: Any) -> None:
            check_names(type(self).__name__, fields, type(self).model_fields)
            check_names(
                type(self).__name__, fields.get("search_kwargs") or (), type(self)._call_names()
            )
            super().__init__(**fields)

    @classmethod
    def _call_names(cls) -> Set[str]:
        """Return the names of options that a call takes."""
        return {"k", "search_type", "lambda_mult", *_SEARCH}

    _existing: ExistingStore | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.store is None) == (self.vectorstore is None):
            raise InvalidInputError(
                "MultiGranularRetriever takes store=MultiGranularFAISS(…), or "
                "vectorstore=… for a vector store of another make"
            )
        if self.vectorstore is not None:
            self._existing = _over(self.vectorstore, self.embeddings, self.indexing)
        options = self._options({})
        del options["k"]
        if self._existing is not None:
            self._existing.check_options(options)
        else:
            self._store.store.compared_granularities(SearchOptions(**options))
        return self

    @property
    def _store(self) -> MultiGranularFAISS:
        if self.store is None:
            raise InvalidInputError("this retriever was made with vectorstore=…: it has no store")
        return self.store

    @property
    def existing(self) -> ExistingStore:
        """What is over `vectorstore`: it deletes, verifies and returns documents.

        Raises:
            InvalidInputError: The retriever has a store of ours.
        """
        if self._existing is None:
            raise InvalidInputError("this retriever has a store: use its methods")
        return self._existing

    def add_documents(
        self, documents: Iterable[Document], ids: Sequence[str | None] | None = None
    ) -> list[str]:
        """Add documents to the store, as its units.

        A document whose id is there replaces the one that is, and one that has not changed is
        skipped.

        Returns:
            Their ids: those that are given, else those of the documents, else made from content
            and metadata.
        """
        if self._existing is None:
            return self._store.add_documents(documents, ids)
        cores = _cores(documents, ids)
        self._existing.add_documents(cores)
        return [core.id for core in cores]

    async def aadd_documents(
        self, documents: Iterable[Document], ids: Sequence[str | None] | None = None
    ) -> list[str]:
        """Do the same as `add_documents` without blocking the event loop."""
        if self._existing is None:
            return await self._store.aadd_documents(documents, ids)
        cores = _cores(documents, ids)
        await self._existing.aadd_documents(cores)
        return [core.id for core in cores]

    def add_existing(self) -> AddReport:
        """Add the facts of what `vectorstore` holds already, each of its rows as a document.

        The rows themselves stay as they are.
        """
        return self.existing.add_existing()

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents with all their units; unknown ids are ignored."""
        if self._existing is None:
            self._store.delete(ids)
        else:
            self._existing.delete(ids)

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        options = self._options(options)
        has_matches = options["parents"] != "unit"
        if self._existing is not None:
            return _documents(self._existing.search(query, **options), matches=has_matches)
        hits = self._store.store.search(query, **options)
        return hit_documents(hits, scores=True, matches=has_matches)

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        options = self._options(options)
        has_matches = options["parents"] != "unit"
        check_text(query, "query")
        if self._existing is not None:
            vector = None
            encoder = self._existing.encoder
            if isinstance(encoder, LangChainEncoder):
                vector = to_matrix([await encoder.embeddings.aembed_query(query)], 1)[0]
            answer = await self._existing.asearch(query, vector=vector, **options)
            return _documents(answer, matches=has_matches)
        store = self._store.store
        of_search = dict(options)
        del of_search["k"]
        if store.encodes_queries(SearchOptions(**of_search)):
            embedding = to_matrix([await self._store.embeddings.aembed_query(query)], 1)
            hits = await asyncio.to_thread(store.search_by_vector, embedding, text=query, **options)
        else:
            hits = await asyncio.to_thread(store.search, query, **options)
        return hit_documents(hits, scores=True, matches=has_matches)

    def _options(self, call: dict[str, Any]) -> dict[str, Any]:
        """Return the options of the core's search, those of a call first."""
        check_names(type(self).__name__, call, self._call_names())
        options = {name: getattr(self, name) for name in ("k", *_SEARCH)}
        options |= self.search_kwargs | call
        search_type = options.pop("search_type", self.search_type)
        lambda_mult = options.pop("lambda_mult", self.lambda_mult)
        if search_type not in get_args(SearchType):
            raise InvalidInputError(
                f"search_type must be 'similarity' or 'mmr', got {search_type!r}"
            )
        if search_type == "mmr":
            options["mmr"] = lambda_mult
        if self._existing is not None:
            return _existing_options(options)
        return self._store._options(options)


def _over(
    vectorstore: VectorStore, embeddings: Embeddings | None, indexing: dict[str, Any]
) -> ExistingStore:
    """Return what searches a vector store of another make."""
    if isinstance(vectorstore, MultiGranularFAISS):
        raise InvalidInputError(
            "MultiGranularFAISS is no vector store of another make: give it as store=…"
        )
    collection = collection_of(vectorstore)
    embeddings = embeddings or vectorstore.embeddings
    encoder = None
    if embeddings is not None:
        encoder = LangChainEncoder(embeddings)
    elif collection.known is not None:
        raise InvalidInputError(
            f"{type(vectorstore).__name__} does not say how it embeds: give embeddings=… as well"
        )
    check_names("indexing", indexing, option_names(ExistingStoreKwargs))
    return ExistingStore(collection, encoder, **indexing)


def _cores(documents: Iterable[Document], ids: Sequence[str | None] | None) -> list[CoreDocument]:
    check_list(documents, "documents", Document)
    check_list(ids, "ids")
    if ids is None:
        return list(map(to_core, documents))
    return [to_core(document, name) for document, name in one_each("ids", ids, documents)]


def _existing_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that a search of a store of another make takes.

    Others are left for it to refuse, if they were given.
    """
    threshold = options.pop("score_threshold", None)
    if threshold is not None:
        options["min_score"] = threshold
    if options.get("parents") is None:
        options["parents"] = "auto"
    accepted = {}
    for name, value in options.items():
        is_unset = value is None or _UNSET.get(name) == value
        if name in _OF_EXISTING or not is_unset:
            accepted[name] = value
    return accepted


def _documents(answer: Answer, *, matches: bool) -> list[Document]:
    """Return what was found as documents; those of an incomplete answer say so."""
    documents = hit_documents(answer.hits, scores=True, matches=matches)
    if answer.complete:
        return documents
    fields = {"complete": False, "note": answer.note}
    return [with_note(document, fields) for document in documents]
