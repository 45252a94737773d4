"""A LangChain document compressor that ranks a retriever's results down to the sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, Field
from typing_extensions import override

from factoid.framework import (
    AnyGranularityRanker,
    Granularity,
    RankedParents,
    SpanHit,
    check_list,
    check_names,
    hit_fields,
)
from langchain_factoid.convert import SPAN, retrieved, to_passage, unit_document, without_query


class AnyGranularityReranker(BaseDocumentCompressor):
    """Ranks sentences, propositions or documents by token vectors (AGRaME, §3.2).

    Follows any retriever: `ContextualCompressionRetriever(base_compressor=…, base_retriever=…)`.
    Each document is one passage, with `title` and `section` of its metadata before it.

    With `parents="unit"` the best units come back as documents, whose metadata is that of the
    document they stand in, with `granularity`, `start_index` and `end_index` in its page_content,
    its id as `passage_id`, and `score`. With `parents="passage"`, or the granularity "passage", the
    documents come back unchanged, in a new order, with `score` and, under `matches`, a list of
    their best unit. A document's own values under these keys move to `source_<key>`; the score and
    matches of `MultiGranularRetriever` are replaced.

    Attributes:
        ranker: The core's ranker, which holds the model.
        granularity, parents: As in its `rank`.
        k: The number of documents to return; None for all. `top_n` is another name for it.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    ranker: AnyGranularityRanker
    granularity: str = Granularity.SENTENCE
    parents: RankedParents = "unit"
    k: int | None = Field(default=4, ge=1)
    top_n: int | None = Field(default=None, ge=1)

    if not TYPE_CHECKING:  # fields say more than this signature

        def __init__(self, **fields: Any) -> None:
            check_names(type(self).__name__, fields, type(self).model_fields)
            super().__init__(**fields)

    @override
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return the best units, or the documents in their new order, best first."""
        check_list(documents, "documents", Document)
        passages = map(to_passage, documents)
        k = self.k if self.top_n is None else self.top_n
        hits = self.ranker.rank(query, passages, self.granularity, parents=self.parents, k=k)
        return [_document(hit, documents[hit.position]) for hit in hits]


def _document(hit: SpanHit, document: Document) -> Document:
    source, earlier = without_query(document)
    if hit.unit is not hit.passage:
        unit = replace(hit.unit, metadata={**source.metadata, **hit.unit.metadata})
        return retrieved(unit_document(unit), {"score": hit.score})
    fields = {}
    for key in earlier:
        if key in document.metadata and key != "matches":
            fields[key] = document.metadata[key]
    return retrieved(source, fields | {"score": hit.score} | hit_fields(hit, *SPAN))
