"""A LangChain retriever over a multi-granular store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, SkipValidation, model_validator
from typing_extensions import override

from factoid.framework import (
    Filter,
    InvalidInputError,
    ParentsOption,
    Reranker,
    SearchOptions,
    TokenVectorEncoder,
    Weights,
    check_names,
    check_text,
    option_names,
    to_matrix,
)
from langchain_factoid.convert import hit_documents
from langchain_factoid.vector_store import MultiGranularFAISS, SearchKwargs

SearchType = Literal["similarity", "mmr"]

_SEARCH = sorted(option_names(SearchKwargs))


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

    Attributes:
        store: Where to search.
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

    store: MultiGranularFAISS
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

    @model_validator(mode="after")
    def _check(self) -> Self:
        options = self._options({})
        del options["k"]
        self.store.store.compared_granularities(SearchOptions(**options))
        return self

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        options = self._options(options)
        hits = self.store.store.search(query, **options)
        return hit_documents(hits, scores=True, matches=options["parents"] != "unit")

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        options = self._options(options)
        check_text(query, "query")
        embedding = to_matrix([await self.store.embeddings.aembed_query(query)], 1)
        hits = await asyncio.to_thread(
            self.store.store.search_by_vector, embedding, text=query, **options
        )
        return hit_documents(hits, scores=True, matches=options["parents"] != "unit")

    def _options(self, call: dict[str, Any]) -> dict[str, Any]:
        """Return the options of the core's search, those of a call first."""
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
        return self.store._options(
            options, owner=type(self).__name__, others=("search_type", "lambda_mult")
        )
