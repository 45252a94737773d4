"""A LlamaIndex retriever of the articles of the entities that a question names."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Self, Unpack

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import (
    BaseNode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores import MetadataFilters

from factoid.framework import (
    ArticleStore,
    BuildingKwargs,
    Document,
    Encoder,
    EntityHit,
    EntityKwargs,
    EntityLinker,
    InvalidInputError,
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
from llama_index_factoid.convert import SPAN, retrieved, text_of, to_tree
from llama_index_factoid.embeddings import LlamaIndexEncoder


class FromDocumentsKwargs(EntityKwargs, BuildingKwargs, total=False):
    """The options of `EntityRetriever.from_documents`."""

    linker: EntityLinker | None
    encoder: BaseEmbedding | Encoder | None
    fallback: BaseRetriever | None
    filters: MetadataFilters | None
    callback_manager: CallbackManager | None


class EntityRetriever(BaseRetriever):
    """Retrieves the first words of articles about the entities that a question names.

    A node has the article's metadata, with `title`, `mention`, `mention_start`, `mention_end`,
    `score`, and if there are any `candidates` and `matches`, all of which are hidden from models;
    texts and options are those of `factoid.entities.EntityRetriever`. `encoder` may be an embedding
    model, and `filters` are conditions on the metadata of articles. `fallback` is a LlamaIndex
    retriever, whose nodes come unchanged, without those whose text is in an earlier one, or whose
    metadata do not pass the filters.
    """

    def __init__(
        self,
        articles: ArticleStore | str | Path,
        linker: EntityLinker | None = None,
        *,
        encoder: BaseEmbedding | Encoder | None = None,
        fallback: BaseRetriever | None = None,
        filters: MetadataFilters | None = None,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[EntityKwargs],
    ) -> None:
        others = ("articles", "linker", "encoder", "fallback", "filters", "callback_manager")
        check_names(type(self).__name__, options, option_names(EntityKwargs) | {*others})
        super().__init__(callback_manager)
        if fallback is not None and not isinstance(fallback, BaseRetriever):
            raise InvalidInputError(
                f"fallback must be a LlamaIndex retriever, got {type(fallback).__name__}"
            )
        self._fallback = fallback
        if isinstance(encoder, BaseEmbedding):
            encoder = LlamaIndexEncoder(encoder)
        core_fallback = None
        if fallback is not None:
            # LlamaIndex's retriever is asked here, with its callbacks; the core only needs to know
            # that there is one.
            core_fallback = _no_nodes
        self._core = CoreRetriever(
            articles,
            linker,
            encoder=encoder,
            fallback=core_fallback,
            filter=to_tree(filters),
            **options,
        )

    @classmethod
    def from_documents(
        cls, documents: Iterable[BaseNode], **options: Unpack[FromDocumentsKwargs]
    ) -> Self:
        """Make an article store of documents whose metadata hold titles, and a retriever over it.

        Options are those of this class and of `factoid.entities.build_own_articles`, which also
        lists the errors.
        """
        check_names(f"{cls.__name__}.from_documents", options, option_names(FromDocumentsKwargs))
        check_list(documents, "documents", BaseNode)
        building, of_class = split_names(option_names(BuildingKwargs), options)
        store = build_own_articles(map(_core, documents), **building)
        return cls(store, **of_class)

    def add_documents(self, documents: Iterable[BaseNode]) -> None:
        """Add documents, or replace those of the same ids.

        It works as `factoid.entities.add_own_articles`. The file is built again, so pass many
        documents at once. Other retrievers see them when their `articles` are reloaded.
        """
        check_list(documents, "documents", BaseNode)
        add_own_articles(self._core.articles, map(_core, documents))

    def delete(self, ids: Iterable[str]) -> None:
        """Delete the articles of documents; an unknown id is an error, and nothing is deleted."""
        self._core.articles.delete(ids)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        nodes = self._entity_nodes(query_bundle.query_str)
        if self._fallback is not None and self._core.wants_more(len(nodes)):
            nodes = self._with_fallback(nodes, self._fallback.retrieve(query_bundle))
        return nodes[: self._core.k]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        nodes = await asyncio.to_thread(self._entity_nodes, query_bundle.query_str)
        if self._fallback is not None and self._core.wants_more(len(nodes)):
            nodes = self._with_fallback(nodes, await self._fallback.aretrieve(query_bundle))
        return nodes[: self._core.k]

    def _with_fallback(
        self, nodes: list[NodeWithScore], more: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        passing = self._core.passing(more, lambda result: [result.node.metadata])
        return with_fallback(nodes, passing, NodeWithScore.get_content)

    def _entity_nodes(self, query: str) -> list[NodeWithScore]:
        return list(map(_node, self._core.entity_hits(query)))


def _node(hit: EntityHit) -> NodeWithScore:
    fields = hit.fields(*SPAN)
    node = TextNode(
        id_=hit.unit.id,
        text=hit.text,
        metadata=with_fields(hit.unit.metadata, {"title": fields.pop("title")}),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=hit.unit.id)},
        excluded_llm_metadata_keys=["title"],  # the text begins with it
        excluded_embed_metadata_keys=["title"],
    )
    return NodeWithScore(node=retrieved(node, fields), score=hit.score)


def _core(node: BaseNode) -> Document:
    if not isinstance(node, BaseNode):
        raise InvalidInputError(
            f"expected LlamaIndex documents or nodes, got {type(node).__name__}"
        )
    return Document(text_of(node), id=node.node_id, metadata=node.metadata)


def _no_nodes(*_: object) -> tuple[()]:
    return ()
