"""A LlamaIndex node postprocessor that ranks a retriever's results down to the sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle

from factoid.framework import (
    AnyGranularityRanker,
    Granularity,
    InvalidInputError,
    RankedParents,
    SpanHit,
    check_names,
    hit_fields,
)
from llama_index_factoid.convert import SPAN, offset_of, retrieved, to_core, to_nodes, without_query


class AnyGranularityRerank(BaseNodePostprocessor):
    """Ranks sentences, propositions or nodes by token vectors (AGRaME, §3.2).

    Follows any retriever: `index.as_query_engine(node_postprocessors=[…])`. Each node is one
    passage, with `title` and `section` of its metadata before it.

    With `parents="unit"` the best units come back as nodes like those that our parsers make from a
    node: with its metadata, its source as SOURCE, itself as PARENT, `granularity` and `passage_id`,
    and character indices in the source, where the node's own are known. With `parents="passage"`,
    or the granularity "passage", the nodes come back in a new order, with a list of their best unit
    under `matches` in their metadata, which is hidden from models.

    Attributes:
        ranker: The core's ranker, which holds the model.
        granularity, parents: As in its `rank`.
        k: The number of nodes to return; None for all. `top_n` is the framework's name for it.
    """

    ranker: AnyGranularityRanker = Field(exclude=True, repr=False)
    granularity: str = Granularity.SENTENCE
    parents: RankedParents = "unit"
    k: int | None = Field(default=4, ge=1)
    top_n: int | None = Field(default=None, ge=1)

    if not TYPE_CHECKING:  # fields say more than this signature

        def __init__(self, **fields: Any) -> None:
            check_names(
                type(self).__name__, fields, type(self).model_fields.keys() | {"class_name"}
            )
            super().__init__(**fields)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the framework saves this class."""
        return "AnyGranularityRerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise InvalidInputError(
                "AnyGranularityRerank ranks by a query: pass query_str= or query_bundle="
            )
        passages = [to_core(scored.node) for scored in nodes]
        query = query_bundle.query_str
        k = self.k if self.top_n is None else self.top_n
        hits = self.ranker.rank(query, passages, self.granularity, parents=self.parents, k=k)
        return [_scored(hit, nodes[hit.position].node) for hit in hits]


def _scored(hit: SpanHit, node: BaseNode) -> NodeWithScore:
    source, earlier = without_query(node)
    if hit.unit is not hit.passage:
        [unit_node] = to_nodes(source, [hit.unit])
        return NodeWithScore(node=unit_node, score=hit.score)
    offset = offset_of(node)
    fields = hit_fields(hit, *SPAN)
    for match in fields.get("matches", ()):
        for key in SPAN:
            if offset is None or match[key] is None:
                match[key] = None
            else:
                match[key] += offset
    # The matches of the ranker take the place of earlier ones.
    fields = {key: value for key, value in earlier.items() if key != "matches"} | fields
    if fields:
        source = retrieved(source, fields)
    return NodeWithScore(node=source, score=hit.score)
