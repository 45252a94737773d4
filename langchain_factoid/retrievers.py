"""A LangChain retriever over a multi-granular store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from pydantic import ConfigDict, Field, model_validator
from typing_extensions import override

from factoid.errors import InvalidInputError
from factoid.filters import Filter, parse_filter
from factoid.store.options import SearchOptions
from langchain_factoid.convert import with_fields
from langchain_factoid.diverse_searching import diverse
from langchain_factoid.hits import Match, Scored
from langchain_factoid.searching import comparable, relevance
from langchain_factoid.vectorstore import MultiGranularFAISS

_MATCH_FIELDS = ("score", "start_index", "end_index", "granularity")


class MultiGranularRetriever(BaseRetriever):
    """Retrieves documents, or the units in them, with scores.

    Documents come as copies whose metadata has `score`, that of their best unit, and `matches`, their best units, best
    first: dicts of text, score, start_index, end_index, granularity and id. Units come as unit documents (see
    `MultiGranularFAISS.similarity_search_units`) with `score`. Higher scores are better. With `expand`, documents and
    units also have `neighbours`, dicts like the matches, in order of the text. What a document itself has under these
    keys moves to `source_<key>`.

    All fields but `store` and `returns` can also be given in a call: `retriever.invoke(question, k=2)`.

    Attributes:
        store: Where to search.
        k: How many documents or units.
        granularity: The units that are compared with the query, which the store must search: one, several, or "mixed" for
            all, which are fused. None for the store's `default_granularity`.
        returns: "parents" for documents, "units" for the units themselves.
        filter: Conditions on metadata, as `MultiGranularFAISS` takes them.
        search_type: "similarity"; "mmr" for maximal marginal relevance; "similarity_score_threshold" to leave out what
            has a relevance below `score_threshold`.
        score_threshold: From 0 to 1, the scale of `MultiGranularFAISS.similarity_search_with_relevance_scores`; goes with
            that search type, and only with it.
        min_score: Leave out what is less similar, in the terms of `score`.
        fetch_k: For "mmr": how many of the best to choose from.
        lambda_mult: For "mmr": weight of the nearness to the query, from 0 (only diversity counts) to 1 (it does not).
        expand: So many sentences before and after each matched unit come as `neighbours`.
        search_kwargs: Further options of a search, as `MultiGranularFAISS.similarity_search` names them.

    Raises:
        pydantic.ValidationError: A field has a value that it cannot have. It is a ValueError.
    """

    model_config = ConfigDict(extra="forbid")

    store: MultiGranularFAISS
    k: int = Field(default=4, ge=1)
    granularity: str | Sequence[str] | None = None
    returns: Literal["parents", "units"] = "parents"
    filter: Filter | None = None
    search_type: Literal["similarity", "mmr", "similarity_score_threshold"] = "similarity"
    score_threshold: float | None = Field(default=None, ge=0, le=1)
    fetch_k: int = Field(default=20, ge=1)
    lambda_mult: float = Field(default=0.5, ge=0, le=1)
    expand: int = Field(default=0, ge=0)
    min_score: float | None = None
    search_kwargs: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        granularity = self.granularity if self.granularity is not None else self.store.default_granularity
        SearchOptions(granularity=granularity).kinds(self.store.granularities)
        if (self.search_type == "similarity_score_threshold") != (self.score_threshold is not None):
            message = (
                "score_threshold goes with search_type='similarity_score_threshold', and only with it: got "
                f"search_type={self.search_type!r}, score_threshold={self.score_threshold}"
            )
            raise InvalidInputError(message)
        options, _ = self._options({})
        if isinstance(options.get("filter"), Mapping):
            parse_filter(options["filter"])
        del options["k"]
        try:
            SearchOptions.of(options).check()
        except TypeError as error:  # pydantic makes its own of ValueErrors only
            raise InvalidInputError(str(error)) from error
        return self

    @override
    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        """Return what a trace says of this retriever: as LangChain's own over a vector store, store and embeddings."""
        params = super()._get_ls_params(**kwargs)
        params["ls_vector_store_provider"] = type(self.store).__name__
        params["ls_embedding_provider"] = type(self.store.embeddings).__name__
        return params

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        options, least = self._options(options)
        if self.returns == "units":
            return _units(self.store.similarity_search_units_with_score(query, **options), least)
        return _parents(self.store.similarity_search_with_matches(query, **options), least)

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        options, least = self._options(options)
        if self.returns == "units":
            return _units(await self.store.asimilarity_search_units_with_score(query, **options), least)
        return _parents(await self.store.asimilarity_search_with_matches(query, **options), least)

    def _options(self, of_call: dict[str, Any]) -> tuple[dict[str, Any], float | None]:
        """Return the options of a search, those of the call before those of the retriever, and the least relevance."""
        own = {name: getattr(self, name) for name in ("k", "granularity", "filter", "expand", "min_score")}
        own |= {name: getattr(self, name) for name in ("search_type", "score_threshold", "fetch_k", "lambda_mult")}
        options = own | self.search_kwargs | of_call
        search_type, least = options.pop("search_type"), options.pop("score_threshold")
        fetch_k, lambda_mult = options.pop("fetch_k"), options.pop("lambda_mult")
        if search_type == "mmr":
            return diverse(fetch_k, lambda_mult, options), None
        if search_type == "similarity_score_threshold":
            if least is None or not 0 <= least <= 1:
                message = f"search_type='similarity_score_threshold' needs a score_threshold from 0 to 1, got {least!r}"
                raise InvalidInputError(message)
            return comparable(options), least
        if search_type != "similarity":
            message = f"search_type must be 'similarity', 'mmr' or 'similarity_score_threshold', got {search_type!r}"
            raise InvalidInputError(message)
        return options, None


def _units(found: list[Scored], least: float | None) -> list[Document]:
    return [_scored(unit, score) for unit, score in found if least is None or relevance(score) >= least]


def _parents(found: list[Match], least: float | None) -> list[Document]:
    return [
        _matched(document, score, units)
        for document, score, units in found
        if least is None or relevance(score) >= least
    ]


def _scored(unit: Document, score: float) -> Document:
    return Document(page_content=unit.page_content, metadata=with_fields(unit.metadata, score=score), id=unit.id)


def _matched(document: Document, score: float, units: list[Document]) -> Document:
    matches = [
        {"text": unit.page_content, "id": unit.id} | {name: unit.metadata[name] for name in _MATCH_FIELDS}
        for unit in units
    ]
    metadata = with_fields(document.metadata, score=score, matches=matches)
    return Document(page_content=document.page_content, metadata=metadata, id=document.id)
