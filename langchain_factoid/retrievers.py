"""A LangChain retriever over a multi-granular store."""

from __future__ import annotations

from typing import Any, Literal, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, model_validator
from typing_extensions import override

from factoid.errors import InvalidInputError
from factoid.filters import Filter
from factoid.units import Granularity
from langchain_factoid.convert import with_fields
from langchain_factoid.vectorstore import MultiGranularFAISS

_MATCH_FIELDS = ("score", "start_index", "end_index", "granularity")


class MultiGranularRetriever(BaseRetriever):
    """Retrieves documents, or the units in them, at one granularity, with scores.

    Documents come as copies whose metadata has `score`, that of their best unit, and `matches`, their best units, best
    first: dicts of text, score, start_index, end_index, granularity and id. Units come as unit documents (see
    `MultiGranularFAISS.similarity_search_units`) with `score`. Higher scores are better. What a document itself has
    under these keys moves to `source_<key>`.

    `k`, `granularity` and `filter` can also be given in a call: `retriever.invoke(question, k=2)`.

    Attributes:
        store: Where to search.
        k: How many documents or units.
        granularity: The units that are compared with the query; one that the store searches.
        returns: "parents" for documents, "units" for the units themselves.
        filter: Conditions on metadata, as `MultiGranularFAISS` takes them.

    Raises:
        pydantic.ValidationError: A field has a value that it cannot have. It is a ValueError.
    """

    store: MultiGranularFAISS
    k: int = Field(default=4, ge=1)
    granularity: str = Granularity.PROPOSITION
    returns: Literal["parents", "units"] = "parents"
    filter: Filter | None = None

    @model_validator(mode="after")
    def _check_granularity(self) -> Self:
        if Granularity(self.granularity) not in self.store.granularities:
            message = (
                f"this store searches {', '.join(self.store.granularities)}: it has no index of {self.granularity}s"
            )
            raise InvalidInputError(message)
        return self

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        options = self._options(**options)
        if self.returns == "units":
            return [_scored(*found) for found in self.store.similarity_search_units_with_score(query, **options)]
        return [_matched(*found) for found in self.store.similarity_search_with_matches(query, **options)]

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        options = self._options(**options)
        if self.returns == "units":
            return [_scored(*found) for found in await self.store.asimilarity_search_units_with_score(query, **options)]
        return [_matched(*found) for found in await self.store.asimilarity_search_with_matches(query, **options)]

    def _options(self, **options: Any) -> dict[str, Any]:
        """Return the options of a search: those of the call before those of the retriever."""
        return {"k": self.k, "granularity": self.granularity, "filter": self.filter} | options


def _scored(unit: Document, score: float) -> Document:
    return Document(page_content=unit.page_content, metadata=with_fields(unit.metadata, score=score), id=unit.id)


def _matched(document: Document, score: float, units: list[Document]) -> Document:
    matches = [
        {"text": unit.page_content, "id": unit.id} | {name: unit.metadata[name] for name in _MATCH_FIELDS}
        for unit in units
    ]
    metadata = with_fields(document.metadata, score=score, matches=matches)
    return Document(page_content=document.page_content, metadata=metadata, id=document.id)
