"""A LangChain retriever over a multi-granular store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal, Self, get_args

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, model_validator
from typing_extensions import override

from factoid.encode import to_matrix
from factoid.errors import InvalidInputError
from factoid.filters import Filter
from factoid.store.options import Parents, SearchOptions
from factoid.units import check_text
from langchain_factoid.convert import hit_documents
from langchain_factoid.vector_store import MultiGranularFAISS

SearchType = Literal["hybrid", "similarity", "mmr"]


class MultiGranularRetriever(BaseRetriever):
    """Retrieves documents, the passages in them, or the units themselves, with scores.

    The metadata of each result has `score` and, for documents and passages, `matches`, their best units, best first:
    dicts of text, score, start_index, end_index, granularity and id. Passages and units also say where they stand, as
    chunks of `PassageTextSplitter` do. With `expand` there are `neighbours`, dicts like the matches, in order of the text. A
    document's own values under these keys move to `source_<key>`. These keys do not count when documents are compared: results
    of several queries are equal, so that a `MultiQueryRetriever` or an `EnsembleRetriever` returns a document once. All results
    are plain `Document`s, as LangGraph's checkpoints need them.

    All fields but `store` can also be given in a call: `retriever.invoke(question, k=2)`.

    Attributes:
        store: Where to search.
        k: The number of documents, passages or units.
        granularity, parents, filter: As in `factoid.store.SearchOptions`, whose other options are fields as well; `parents` None
            is the store's.
        search_type: "hybrid" for the similarity of the best unit, that of its passage, and the query's words; "similarity"
            without the words; or "mmr" for maximal marginal relevance.
        lambda_mult: For "mmr", from 0 (only diversity counts) to 1 (it does not).
    """

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)

    store: MultiGranularFAISS
    k: int = Field(default=4, ge=1)
    granularity: str | Sequence[str] | None = None
    parents: Parents | None = None
    filter: Filter | None = None
    search_type: SearchType = "hybrid"
    lambda_mult: float = Field(default=0.5, ge=0, le=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        options = self._options({})
        del options["k"]
        SearchOptions(**options).kinds(self.store.store.granularities)
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
        hits = await asyncio.to_thread(self.store.store.search_by_vector, embedding, text=query, **options)
        return hit_documents(hits, scores=True, matches=options["parents"] != "unit")

    def _options(self, call: dict[str, Any]) -> dict[str, Any]:
        """Return the options of the core's search, those of a call first."""
        options: dict[str, Any] = {"k": self.k, "granularity": self.granularity, "parents": self.parents}
        options |= {"filter": self.filter, **(self.model_extra or {}), **call}
        search_type = options.pop("search_type", self.search_type)
        lambda_mult = options.pop("lambda_mult", self.lambda_mult)
        if search_type not in get_args(SearchType):
            raise InvalidInputError(f"search_type must be 'hybrid', 'similarity' or 'mmr', got {search_type!r}")
        if search_type == "mmr":
            options["mmr"] = lambda_mult
        return self.store._options(options, hybrid=search_type == "hybrid")
