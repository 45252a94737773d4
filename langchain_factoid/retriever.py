"""A LangChain retriever over a multi-granular store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, model_validator
from typing_extensions import override

from factoid.errors import InvalidInputError
from factoid.filters import Filter, parse_filter
from factoid.search import Fusion, Weights
from factoid.store.options import Parents, Reranker, SearchOptions
from factoid.units import Hit
from langchain_factoid.convert import hit_documents, with_headings
from langchain_factoid.vector_store import MultiGranularFAISS, comparable


class MultiGranularRetriever(BaseRetriever):
    """Retrieves documents, the passages in them, or the units themselves, with scores.

    The metadata of what is retrieved has `score` and, of documents and passages, `matches`, their best units, best first:
    dicts of text, score, start_index, end_index, granularity and id. Passages and units also say where they stand, as
    `PassageTextSplitter` does. With `expand` there are `neighbours`, dicts like the matches, in order of the text. What a
    document itself has under these keys moves to `source_<key>`. None of them tells documents apart: what several queries
    find is equal, so that a `MultiQueryRetriever` or an `EnsembleRetriever` returns it once.

    All fields but `store` can also be given in a call: `retriever.invoke(question, k=2)`.

    Attributes:
        store: Where to search.
        k: How many documents, passages or units.
        granularity, parents, filter, fetch_k, expand, weights, lexical, fusion, rerank, candidates, min_score: As in
            `factoid.store.SearchOptions`; of `granularity` and `parents` None is the store's.
        search_type: "hybrid" for the similarity of the best unit, that of its passage, and the query's words; "similarity"
            without the words; "mmr" for maximal marginal relevance; or "similarity_score_threshold" to leave out what has a
            relevance below `score_threshold`.
        score_threshold: From 0 to 1, the scale of `MultiGranularFAISS.similarity_search_with_relevance_scores`; goes with
            that search type, and only with it.
        lambda_mult: For "mmr", from 0 (only diversity counts) to 1 (it does not).
        headings: Put title and section before the page_content, for models that read it (see `with_headings`).
        search_kwargs: Further options of a search.

    Raises:
        pydantic.ValidationError: A field has a value that it cannot have. It is a ValueError.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    store: MultiGranularFAISS
    k: int = Field(default=4, ge=1)
    granularity: str | Sequence[str] | None = None
    parents: Parents | None = None
    filter: Filter | None = None
    search_type: Literal["hybrid", "similarity", "mmr", "similarity_score_threshold"] = "hybrid"
    score_threshold: float | None = Field(default=None, ge=0, le=1)
    fetch_k: int = Field(default=20, ge=1)
    lambda_mult: float = Field(default=0.5, ge=0, le=1)
    expand: int = Field(default=0, ge=0)
    weights: Weights | None = None
    lexical: float | None = None
    fusion: Fusion | None = None
    rerank: Reranker | None = None
    candidates: int = Field(default=100, ge=1)
    headings: bool = False
    min_score: float | None = None
    search_kwargs: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.search_type == "similarity_score_threshold") != (self.score_threshold is not None):
            raise InvalidInputError(
                "score_threshold goes with search_type='similarity_score_threshold', and only with it: got "
                f"search_type={self.search_type!r}, score_threshold={self.score_threshold}"
            )
        _, _, options = self._options({})
        if isinstance(options["filter"], Mapping):
            parse_filter(options["filter"])
        del options["k"]
        try:
            SearchOptions.of(options).kinds(self.store.granularities)
        except TypeError as error:  # pydantic makes its own of ValueErrors only
            raise InvalidInputError(str(error)) from error
        return self

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        headings, threshold, options = self._options(options)
        hits = self.store.store.search(query, **options)
        return self._documents(hits, headings, threshold, options["parents"])

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        headings, threshold, options = self._options(options)
        hits = await self.store._asearch(query, **options)
        return self._documents(hits, headings, threshold, options["parents"])

    def _options(self, of_call: dict[str, Any]) -> tuple[bool, float | None, dict[str, Any]]:
        """Return whether headings are asked for, the least relevance, and the options of the core's search."""
        options = {name: getattr(self, name) for name in _SEARCH} | self.search_kwargs | of_call
        headings = options.pop("headings", self.headings)
        search_type = options.pop("search_type", self.search_type)
        threshold = options.pop("score_threshold", self.score_threshold)
        lambda_mult = options.pop("lambda_mult", self.lambda_mult)
        if threshold is not None and search_type != "similarity_score_threshold":
            options["score_threshold"] = threshold  # of a call: the least score
        if search_type == "mmr":
            options["mmr"] = lambda_mult
        elif search_type == "similarity_score_threshold":
            if threshold is None or not 0 <= threshold <= 1:
                raise InvalidInputError(
                    f"search_type={search_type!r} needs a score_threshold from 0 to 1, got {threshold!r}"
                )
            return headings, threshold, self.store._options(comparable(options))
        elif search_type not in ("hybrid", "similarity"):
            types = "'hybrid', 'similarity', 'mmr' or 'similarity_score_threshold'"
            raise InvalidInputError(f"search_type must be {types}, got {search_type!r}")
        return headings, None, self.store._options(options, hybrid=search_type == "hybrid")

    def _documents(self, hits: list[Hit], headings: bool, threshold: float | None, parents: str) -> list[Document]:
        if threshold is not None:
            relevance = self.store._select_relevance_score_fn()
            hits = [hit for hit in hits if relevance(hit.score) >= threshold]
        documents = hit_documents(hits, scores=True, matches=parents != "unit")
        return with_headings(documents) if headings else documents


_SEARCH = MultiGranularRetriever.model_fields.keys() & {"k", *(field.name for field in fields(SearchOptions))}
