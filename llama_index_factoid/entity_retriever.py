"""A LlamaIndex retriever of the articles of the entities that a question names."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import BaseNode, NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

from factoid.encode import Encoder
from factoid.entities.articles.duplicates import Duplicates
from factoid.entities.articles.store import ArticleStore
from factoid.entities.mention import EntityLinker, Mention
from factoid.entities.own import build_own_articles
from factoid.entities.retriever import Ambiguous, EntityHit, with_fallback
from factoid.entities.retriever import EntityRetriever as CoreRetriever
from factoid.errors import InvalidInputError
from factoid.propositions import Propositionizer
from factoid.units import Document
from llama_index_factoid.convert import add_fields, text_of
from llama_index_factoid.embeddings import EmbeddingEncoder

_EXCLUDED = "_excluded"  # metadata of an article: the node's lists of keys that models do not get
_LISTS = ("excluded_llm_metadata_keys", "excluded_embed_metadata_keys")


class EntityRetriever(BaseRetriever):
    """Retrieves the articles of the entities that a question names, cut to their first words (Entity Retrieval, §3).

    A node's text is the article's title, a line break and its first words. Its metadata is the article's, with `title`,
    `mention` (the text that names the entity), `mention_start`, `mention_end` and `score`; where nothing tells whom a
    mention means also `candidates`, the titles that it may mean; and with another granularity than "document" also
    `matches`, the units taken from the article. These are excluded from the texts that models get. Nodes of the fallback
    come as they are, but for those whose text is in one that came before. The id, which is also the `ref_doc_id`, is that of
    the document that an article was made of.

    Args:
        articles: An `ArticleStore`, or the path of one.
        linker: Finds the entities: any object with `link(text)`. None for `factoid.entities.TitleLinker`, which needs no
            model.
        words: Words of each article.
        k: Most nodes.
        granularity: "document" for the first words of an article; "passage", "sentence" or "proposition" for those of its
            units that are nearest to the question.
        encoder: An embedding model, or an encoder of the core, for the other granularities, and to choose between
            entities of one name.
        propositionizer: For propositions; None for the syntactic one.
        fallback: Asked when no entity has an article.
        hybrid: Ask the fallback also when there are fewer than k articles: its nodes follow, up to k in all.
        ambiguous: Of a mention of which nothing tells whom it means take the "first" candidate, or "all", or "skip" it.
        **options: Those of the framework's `BaseRetriever`, as `callback_manager`.

    Raises:
        InvalidInputError: An option has a value that it cannot have.
        UnreadableFileError: There is no article store under the path.
        StoreFormatError: What is there is no article store.
    """

    def __init__(
        self,
        articles: ArticleStore | str | Path,
        linker: EntityLinker | None = None,
        *,
        words: int = 100,
        k: int = 4,
        granularity: str = "document",
        encoder: BaseEmbedding | Encoder | None = None,
        propositionizer: Propositionizer | None = None,
        fallback: BaseRetriever | None = None,
        hybrid: bool = False,
        ambiguous: Ambiguous = "first",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if fallback is not None and not isinstance(fallback, BaseRetriever):
            message = f"fallback must be a LlamaIndex retriever, got {type(fallback).__name__}"
            raise InvalidInputError(message)
        self._fallback = fallback
        self._core = CoreRetriever(
            articles,
            linker,
            words=words,
            k=k,
            granularity=granularity,
            encoder=EmbeddingEncoder(encoder) if isinstance(encoder, BaseEmbedding) else encoder,
            propositionizer=propositionizer,
            # The framework's own retriever is asked here, with its callbacks; the core has only to know that there is one.
            fallback=None if fallback is None else lambda *_: (),
            hybrid=hybrid,
            ambiguous=ambiguous,
        )

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[BaseNode],
        *,
        path: str | Path | None = None,
        title_key: str = "title",
        aliases_key: str = "aliases",
        duplicates: Duplicates = "first",
        **options: Any,
    ) -> Self:
        """Make an article store of documents or nodes whose metadata holds titles, and a retriever over it.

        Args:
            documents: A glossary, a catalogue, articles: each about the entity that its title names.
            path: The store's file, written anew; None for a temporary one that goes with the store.
            title_key: Where the metadata holds the title.
            aliases_key: Where it holds other names: a list of strings, or one string.
            duplicates: What to do with a title that occurred before: keep the "first" text, or the "last"; "join" the
                texts, as for documents that were split; or raise an "error".
            **options: Arguments of this class.

        Raises:
            InvalidInputError: A document has no title, or there is none with a text, or a title occurs twice and
                `duplicates` is "error".
        """
        given = (_core(node) for node in documents)
        store = build_own_articles(given, path, title_key=title_key, aliases_key=aliases_key, duplicates=duplicates)
        return cls(store, **options)

    def link(self, question: str) -> list[Mention]:
        """Return what the linker finds in a question."""
        return self._core.linker.link(question)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        nodes = self._of_entities(query_bundle.query_str)
        if self._fallback is not None and self._core.wants_more(len(nodes)):
            nodes = with_fallback(nodes, self._fallback.retrieve(query_bundle), _text_of)
        return nodes[: self._core.k]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        nodes = await asyncio.to_thread(self._of_entities, query_bundle.query_str)
        if self._fallback is not None and self._core.wants_more(len(nodes)):
            nodes = with_fallback(nodes, await self._fallback.aretrieve(query_bundle), _text_of)
        return nodes[: self._core.k]

    def _of_entities(self, query: str) -> list[NodeWithScore]:
        return [_node(hit) for hit in self._core.entity_hits(query)]


def _node(hit: EntityHit) -> NodeWithScore:
    metadata = dict(hit.unit.metadata)
    excluded = metadata.pop(_EXCLUDED, {})
    node = TextNode(id_=hit.unit.id, text=hit.text, metadata=metadata, **excluded)
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=hit.unit.id)
    add_fields(node, hit.fields("start_char_idx", "end_char_idx"))
    return NodeWithScore(node=node, score=hit.score)


def _text_of(node: NodeWithScore) -> str:
    return text_of(node.node)


def _core(node: BaseNode) -> Document:
    """Return a node as the core takes it; which metadata models do not get goes along."""
    if not isinstance(node, BaseNode):
        message = f"expected LlamaIndex documents or nodes, got {type(node).__name__}"
        raise InvalidInputError(message)
    excluded = {name: own for name in _LISTS if (own := getattr(node, name, None))}
    metadata = {**node.metadata, _EXCLUDED: excluded} if excluded else node.metadata
    return Document(text_of(node), id=node.node_id, metadata=metadata)
