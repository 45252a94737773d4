"""A LangChain retriever of the articles of the entities that a question names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import run_in_executor
from pydantic import ConfigDict, Field, PrivateAttr
from typing_extensions import override

from factoid.encode import Encoder
from factoid.entities.articles.duplicates import Duplicates
from factoid.entities.articles.store import ArticleStore
from factoid.entities.mention import EntityLinker, Mention
from factoid.entities.own import build_own_articles
from factoid.entities.retriever import Ambiguous, EntityHit, with_fallback
from factoid.entities.retriever import EntityRetriever as CoreRetriever
from factoid.propositions import Propositionizer
from langchain_factoid.convert import to_core, with_fields
from langchain_factoid.embeddings import EmbeddingsEncoder

_FIELDS = "articles linker words k granularity encoder propositionizer fallback hybrid ambiguous".split()


class EntityRetriever(BaseRetriever):
    """Retrieves the articles of the entities that a question names, cut to their first words (Entity Retrieval, §3).

    A document's text is the article's title, a line break and its first words. Its metadata is the article's, with
    `title`, `mention` (the text that names the entity), `mention_start`, `mention_end` and `score`; where nothing tells
    whom a mention means also `candidates`, the titles that it may mean; and with another granularity than "document" also
    `matches`, the units taken from the article. Documents of the fallback come as they are, but for those
    whose text is in one that came before. The id is that of the document that an article was made of.

    `k` and `words` can also be given in a call: `retriever.invoke(question, k=2, words=300)`.

    Attributes:
        articles: An `ArticleStore`, or the path of one.
        linker: Finds the entities: any object with `link(text)`. None for `factoid.entities.TitleLinker`, which needs no
            model.
        words: Words of each article.
        k: Most documents.
        granularity: "document" for the first words of an article; "passage", "sentence" or "proposition" for those of its
            units that are nearest to the question.
        encoder: Embeddings, or an encoder of the core, for the other granularities, and to choose between entities of one
            name.
        propositionizer: For propositions; None for the syntactic one.
        fallback: Asked when no entity has an article.
        hybrid: Ask the fallback also when there are fewer than k articles: its documents follow, up to k in all.
        ambiguous: Of a mention of which nothing tells whom it means take the "first" candidate, or "all", or "skip" it.

    Raises:
        pydantic.ValidationError: A field has a value that it cannot have. It is a ValueError.
        UnreadableFileError: There is no article store under the path.
        StoreFormatError: What is there is no article store.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    articles: ArticleStore | str | Path
    linker: Any = None
    words: int = Field(default=100, ge=1)
    k: int = Field(default=4, ge=1)
    granularity: str = "document"
    encoder: Any = None
    propositionizer: Any = None
    fallback: BaseRetriever | None = None
    hybrid: bool = False
    ambiguous: Ambiguous = "first"

    _made: tuple[list[Any], CoreRetriever] | None = PrivateAttr(default=None)

    @override
    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        _ = self._core  # refuses now what cannot be

    @property
    def _core(self) -> CoreRetriever:
        """The core's retriever with the fields as they are now: they may be set, also in a copy."""
        fields = [getattr(self, name) for name in _FIELDS]
        if self._made is None or not all(map(_same, self._made[0], fields)):
            self._made = fields, self._make()
        return self._made[1]

    def _make(self) -> CoreRetriever:
        linker: EntityLinker | None = self.linker
        propositionizer: Propositionizer | None = self.propositionizer
        return CoreRetriever(
            self.articles,
            linker,
            words=self.words,
            k=self.k,
            granularity=self.granularity,
            encoder=_encoder(self.encoder),
            propositionizer=propositionizer,
            # The framework's own retriever is asked here, with its callbacks; the core has only to know that there is one.
            fallback=None if self.fallback is None else lambda *_: (),
            hybrid=self.hybrid,
            ambiguous=self.ambiguous,
        )

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        *,
        path: str | Path | None = None,
        title_key: str = "title",
        aliases_key: str = "aliases",
        duplicates: Duplicates = "first",
        **options: Any,
    ) -> Self:
        """Make an article store of documents whose metadata holds titles, and a retriever over it.

        Args:
            documents: A glossary, a catalogue, articles: each about the entity that its title names.
            path: The store's file, written anew; None for a temporary one that goes with the store.
            title_key: Where the metadata holds the title.
            aliases_key: Where it holds other names: a list of strings, or one string.
            duplicates: What to do with a title that occurred before: keep the "first" text, or the "last"; "join" the
                texts, as for documents that were split; or raise an "error".
            **options: Fields of this class.

        Raises:
            InvalidInputError: A document has no title, or there is none with a text, or a title occurs twice and
                `duplicates` is "error".
        """
        given = (to_core(document) for document in documents)
        store = build_own_articles(given, path, title_key=title_key, aliases_key=aliases_key, duplicates=duplicates)
        return cls(articles=store, **options)

    def link(self, question: str) -> list[Mention]:
        """Return what the linker finds in a question."""
        return self._core.linker.link(question)

    @override
    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        words: int | None = None,
    ) -> list[Document]:
        documents = self._of_entities(query, k, words)
        if self.fallback is not None and self._core.wants_more(len(documents), k):
            more = self.fallback.invoke(query, {"callbacks": run_manager.get_child("fallback")})
            documents = with_fallback(documents, more, _text_of)
        return documents[: k or self.k]

    @override
    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        words: int | None = None,
    ) -> list[Document]:
        documents = await run_in_executor(None, self._of_entities, query, k, words)
        if self.fallback is not None and self._core.wants_more(len(documents), k):
            more = await self.fallback.ainvoke(query, {"callbacks": run_manager.get_child("fallback")})
            documents = with_fallback(documents, more, _text_of)
        return documents[: k or self.k]

    def _of_entities(self, query: str, k: int | None, words: int | None) -> list[Document]:
        return [_document(hit) for hit in self._core.entity_hits(query, k=k, words=words)]


def _same(own: Any, other: Any) -> bool:
    return own is other or (isinstance(own, str | int) and own == other)


def _encoder(given: Embeddings | Encoder | None) -> Encoder | None:
    if given is None or isinstance(given, Encoder):
        return given
    return EmbeddingsEncoder(given)


def _document(hit: EntityHit) -> Document:
    fields = hit.fields("start_index", "end_index")
    return Document(page_content=hit.text, metadata=with_fields(hit.unit.metadata, **fields), id=hit.unit.id)


def _text_of(document: Document) -> str:
    return document.page_content
