"""A LangChain vector store that searches documents at any granularity."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self, Unpack

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables.config import run_in_executor
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from factoid.framework import (
    DATABASE_FILE,
    SOURCE_AUTO,
    WORDS,
    AddReport,
    CommonSearchKwargs,
    Filter,
    Granularity,
    Hit,
    InvalidInputError,
    ParentsOption,
    Reranker,
    SearchOptions,
    StoreFormatError,
    StoreKwargs,
    UnitStore,
    check_list,
    check_names,
    local_folder,
    merge_threshold,
    option_names,
    split_options,
    to_matrix,
)
from factoid.framework import Document as CoreDocument
from langchain_factoid.convert import (
    found_document,
    hit_documents,
    one_each,
    to_core,
    to_document,
)
from langchain_factoid.embeddings import EncoderEmbeddings, LangChainEncoder

Relevance = Callable[[float], float]


class MMRKwargs(CommonSearchKwargs, total=False):
    """The options of every search of `MultiGranularFAISS`: see `factoid.store.SearchOptions`."""

    parents: ParentsOption | None
    score_threshold: float | None


class SearchKwargs(MMRKwargs, total=False):
    """The options of searches that do not name these themselves."""

    mmr: float | None
    fetch_k: int


class MMRCallKwargs(MMRKwargs, total=False):
    """The options of searches by maximal marginal relevance that take all of them by name."""

    k: int
    fetch_k: int
    lambda_mult: float


class FAISSKwargs(StoreKwargs, total=False):
    """The options of `MultiGranularFAISS` for the methods that make one."""

    parents: ParentsOption
    relevance_score_fn: Relevance | None


_SEARCH = option_names(SearchKwargs)
_STORE = option_names(FAISSKwargs)
_OF_SEARCHES = dict.fromkeys(
    (*_SEARCH - _STORE, "k", "search_type", "search_kwargs"),
    "it is an option of a search, of MultiGranularRetriever, and of "
    "as_retriever(search_kwargs={…})",
)

_OF_RETRIEVERS = {
    "search_type": "it is an option of as_retriever and of MultiGranularRetriever",
    "lambda_mult": "it is mmr here, and an option of max_marginal_relevance_search",
}
_OF_SEARCH_KWARGS = dict.fromkeys(
    ("k", "lambda_mult", *_SEARCH), "it is an option of a search: give search_kwargs={…}"
)

_INDEX = "index"  # the name under which LangChain's FAISS saves an index that is not named

Ids = Sequence[str | None] | None
Scored = tuple[Document, float]
Embedded = Iterable[tuple[str, Sequence[float]]]


class MultiGranularFAISS(VectorStore):
    """Stores documents in SQLite and FAISS, and finds them by their facts.

    It holds a `factoid.UnitStore`: documents are split into passages, and these into sentences and
    propositions. By default passages and propositions are indexed, and a search for sentences
    compares propositions. A search scores passages by their best unit of one granularity and
    returns the k best distinct ones. A document that is one passage comes back equal to the one
    added; of a longer one its passage comes back, with its place. Higher scores are better.
    `aadd_documents` awaits the embeddings; the other async methods work in threads.

    Args:
        embedding: Embeds documents and queries; a `LangChainEncoder` gives it another name in the
            store. Where its vectors are not of unit length, longer ones score higher, unless
            `similarity` is "cosine".
        store: A store of the core that has an encoder, in place of `embedding` and of options of
            `UnitStore`.
        parents: What searches return by default: "auto" for passages, and for a document that is
            one passage the document as it was added; "document", "passage" or "unit".
        relevance_score_fn: Turns a score into a relevance from 0 to 1; None for `(1 + score) / 2`,
            clipped.
        options: Those of `UnitStore.add_documents`, for all documents, and those of
            `factoid.UnitStore`, such as `path`; `granularities` is by default what the store was
            filled with, and passages and propositions for an empty one. `source_key` is by default
            "auto", other than in the core: what earlier calls added of the same file or address is
            deleted when a call brings that source again without it. None deletes nothing.

    Attributes:
        store: The core store, for what LangChain has no name for.
        last_report: What the latest call that added documents did; None before the first.

    Raises:
        InvalidInputError: An option is out of range, or there is neither an embedding nor a store.
        StoreFormatError: The path holds something that is not a store of this version.
        EncoderMismatchError: The store was built with other embeddings, or with another template.
    """

    def __init__(
        self,
        embedding: Embeddings | LangChainEncoder | None = None,
        *,
        store: UnitStore | None = None,
        parents: ParentsOption = "auto",
        relevance_score_fn: Relevance | None = None,
        **options: Unpack[StoreKwargs],
    ) -> None:
        check_names(
            type(self).__name__, options, _STORE | {"store", "embedding"}, elsewhere=_OF_SEARCHES
        )
        with_source = {"source_key": SOURCE_AUTO, **options}
        self._adding, of_store = split_options(UnitStore.add_documents, with_source)
        merge_threshold(self._adding.get("words", WORDS), self._adding.get("min_words"))
        if store is None:
            encoding = embedding
            if not isinstance(encoding, LangChainEncoder):
                encoding = LangChainEncoder(embedding)  # type: ignore[arg-type]  # refuses None
            if "progress" in self._adding:
                of_store["progress"] = self._adding["progress"]
            store = UnitStore(encoder=encoding, **of_store)
        elif embedding is not None or of_store or store.encoder is None:
            raise InvalidInputError(
                "store takes a UnitStore that has an encoder, and neither embedding nor options "
                "beside it"
            )
        self.store = store
        self.parents = SearchOptions(parents=parents).parents
        self.last_report: AddReport | None = None
        self._relevance = relevance_score_fn or _relevance

    @property
    def embeddings(self) -> Embeddings:
        """The embeddings for queries."""
        encoder: Any = self.store.encoder
        if isinstance(encoder, LangChainEncoder):
            return encoder.embeddings
        return EncoderEmbeddings(encoder)

    @classmethod
    def from_texts(  # type: ignore[override]  # options are named: a wrong one is an error
        cls,
        texts: Iterable[str],
        embedding: Embeddings | LangChainEncoder,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Ids = None,
        **options: Unpack[FAISSKwargs],
    ) -> Self:
        """Return a store that holds these texts; options are those of the class."""
        store = cls(embedding, **options)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    def from_embeddings(
        cls,
        text_embeddings: Embedded,
        embedding: Embeddings | LangChainEncoder,
        metadatas: Iterable[Mapping[str, Any]] | None = None,
        ids: Ids = None,
        **options: Unpack[FAISSKwargs],
    ) -> Self:
        """Return a store that holds these texts, as `add_embeddings` adds them.

        `embedding` embeds queries.
        """
        store = cls(embedding, **options)
        store.add_embeddings(text_embeddings, metadatas, ids)
        return store

    def add_documents(  # type: ignore[override]  # options are named: a wrong one is an error
        self, documents: Iterable[Document], ids: Ids = None, *, batch_size: int | None = None
    ) -> list[str]:
        """Add documents as `UnitStore.add_documents` does.

        A document whose id is in the store replaces the stored one. With the default `source_key`,
        earlier documents of the same file or address that are not brought again are deleted.

        Args:
            documents: Any iterable of documents, read once and, without `ids`, lazily.
            ids: Their ids, which are also returned; None for each document's own id or, without
                one, an id made from content and metadata. Of equal ids the last counts.
            batch_size: Ignored; LangChain's `index` passes it.

        Raises:
            InvalidInputError: Something is not a document, the number of ids differs, or a text or
                metadata cannot be stored.
            EncoderMismatchError: The embeddings have another dimension than the store's.
            StoreError: The store is read-only or closed. After this or any other error, the
                documents of earlier commits stay, and their ids are not returned: add the same
                documents again, and those that are there are skipped.
        """
        del batch_size
        added: list[str] = []
        self.last_report = self.store.add_documents(
            _CoreDocuments(documents, ids, added), **self._adding
        )
        return added

    async def aadd_documents(  # type: ignore[override]
        self, documents: Iterable[Document], ids: Ids = None, *, batch_size: int | None = None
    ) -> list[str]:
        """Do the same as `add_documents`. The iterable is read in threads."""
        del batch_size
        added: list[str] = []
        self.last_report = await self.store.aadd_documents(
            _CoreDocuments(documents, ids, added), **self._adding
        )
        return added

    def add_texts(  # type: ignore[override]  # options are named: a wrong one is an error
        self,
        texts: Iterable[str],
        metadatas: Iterable[Mapping[str, Any]] | None = None,
        *,
        ids: Ids = None,
        batch_size: int | None = None,
    ) -> list[str]:
        """Add texts as `add_documents` adds documents.

        There is one metadata and one id for each, if any are given.

        Raises:
            InvalidInputError: The number of metadatas or ids differs from that of the texts.
        """
        return self.add_documents(_documents(texts, metadatas), ids, batch_size=batch_size)

    async def aadd_texts(  # type: ignore[override]
        self,
        texts: Iterable[str],
        metadatas: Iterable[Mapping[str, Any]] | None = None,
        *,
        ids: Ids = None,
        batch_size: int | None = None,
    ) -> list[str]:
        """Do the same as `add_texts` without blocking the event loop."""
        return await self.aadd_documents(_documents(texts, metadatas), ids, batch_size=batch_size)

    def add_embeddings(
        self,
        text_embeddings: Embedded,
        metadatas: Iterable[Mapping[str, Any]] | None = None,
        ids: Ids = None,
    ) -> list[str]:
        """Add texts with embeddings that were made elsewhere.

        Each is its own only unit at every granularity.

        Raises:
            InvalidInputError: The number of metadatas or ids differs from that of the texts.
        """
        check_list(text_embeddings, "texts with their embeddings")
        pairs = list(text_embeddings)
        texts = [text for text, _ in pairs]
        documents = _documents(texts, metadatas)
        added: list[str] = []
        cores = {core.id: core for core in _CoreDocuments(documents, ids, added)}
        matrix = to_matrix([embedding for _, embedding in pairs], len(pairs))
        self.store.add_embedded(cores.values(), dict(zip(added, matrix, strict=True)))
        self.last_report = AddReport(len(cores))
        return added

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return what has these ids, in this order: documents, else passages and units.

        Unknown ids are left out.
        """
        return list(map(found_document, self.store.get(ids, documents=True)))

    def delete(  # type: ignore[override]
        self,
        ids: Sequence[str] | None = None,
        *,
        unit_ids: Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002 - as in search
    ) -> bool:
        """Delete documents with all their units; unknown ids are ignored.

        Without ids nothing is deleted: `store.clear()` deletes everything. In place of ids,
        `unit_ids` deletes passages with the units under them, sentences or propositions, and a
        filter with a condition the units whose metadata pass, and documents with their last unit.
        The document of a passage that a search returned is `metadata["parent_id"]`.

        Raises:
            InvalidInputError: One of the ids is that of a passage or unit, and of no document;
                nothing is deleted.
        """
        if any(chosen is not None for chosen in (ids, unit_ids, filter)):
            for unit in self.store.get(ids or (), documents=True):
                if unit.granularity is not Granularity.DOCUMENT and unit.document_id != unit.id:
                    raise InvalidInputError(
                        f"{unit.id!r} is the id of a {unit.granularity}: delete it with "
                        f"unit_ids=[…], or its whole document, {unit.document_id!r}"
                    )
            self.store.delete(document_ids=ids, unit_ids=unit_ids, filter=filter)
        return True

    def similarity_search(  # type: ignore[override]
        self, query: str, k: int = 4, **options: Unpack[SearchKwargs]
    ) -> list[Document]:
        """Return the k best distinct documents or passages for a query, best first.

        Their score is that of their best unit, of its passage, and of the query's words in it;
        `lexical=0` leaves the words out.

        Args:
            query: The question, as text.
            k: The number of documents; fewer only if the store has fewer, or fewer pass.
            options: Those of `factoid.store.SearchOptions`, which every search takes. `parents`
                None is the store's, and `score_threshold` is another name for `min_score` (in
                `similarity_search_with_relevance_scores` it is a relevance). Passages and units
                come with their place in the document, as `PassageTextSplitter` describes it; what
                `expand` adds is under `neighbours`.

        Raises:
            InvalidInputError: k or an option is out of range, or the store has no documents for its
                units. An unknown option is a TypeError.
            EncoderMismatchError: The query's embedding has another dimension than the store's.
        """
        return hit_documents(self.store.search(query, k, **self._options(options)))

    def similarity_search_by_vector(  # type: ignore[override]
        self, embedding: list[float], k: int = 4, **options: Unpack[SearchKwargs]
    ) -> list[Document]:
        """Do the same as `similarity_search` for a query's vector alone."""
        documents = []
        for document, _ in self.similarity_search_with_score_by_vector(embedding, k, **options):
            documents.append(document)
        return documents

    def similarity_search_with_score(
        self, query: str, k: int = 4, **options: Unpack[SearchKwargs]
    ) -> list[Scored]:
        """Return the k best documents, each with its score."""
        return _scored(self.store.search(query, k, **self._options(options)))

    def similarity_search_with_score_by_vector(
        self, embedding: list[float], k: int = 4, **options: Unpack[SearchKwargs]
    ) -> list[Scored]:
        """Return the k best documents for a query's vector alone, with scores."""
        return _scored(
            self.store.search_by_vector(to_matrix([embedding], 1), k, **self._options(options))
        )

    async def asimilarity_search_with_score_by_vector(
        self, embedding: list[float], k: int = 4, **options: Unpack[SearchKwargs]
    ) -> list[Scored]:
        """Do the same as `similarity_search_with_score_by_vector` in a thread."""
        return await run_in_executor(
            None, self.similarity_search_with_score_by_vector, embedding, k, **options
        )

    def max_marginal_relevance_search(  # type: ignore[override]
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **options: Unpack[MMRKwargs],
    ) -> list[Document]:
        """Return k of the `fetch_k` best documents that are far from each other.

        They are near the query, both by the cosines of their best units. `lambda_mult` is `mmr` of
        `factoid.store.SearchOptions`.
        """
        self._check_mmr(options)
        return self.similarity_search(query, k, fetch_k=fetch_k, mmr=lambda_mult, **options)

    def max_marginal_relevance_search_by_vector(  # type: ignore[override]
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **options: Unpack[MMRKwargs],
    ) -> list[Document]:
        """Do the same as `max_marginal_relevance_search` for a query that is already embedded."""
        self._check_mmr(options)
        return self.similarity_search_by_vector(
            embedding, k, fetch_k=fetch_k, mmr=lambda_mult, **options
        )

    def max_marginal_relevance_search_with_score_by_vector(
        self,
        embedding: list[float],
        *,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **options: Unpack[MMRKwargs],
    ) -> list[Scored]:
        """Do the same as `max_marginal_relevance_search_by_vector`, with scores."""
        self._check_mmr(options)
        return self.similarity_search_with_score_by_vector(
            embedding, k, fetch_k=fetch_k, mmr=lambda_mult, **options
        )

    async def amax_marginal_relevance_search_with_score_by_vector(
        self, embedding: list[float], **options: Unpack[MMRCallKwargs]
    ) -> list[Scored]:
        """Do the same as `max_marginal_relevance_search_with_score_by_vector` in a thread."""
        search = partial(
            self.max_marginal_relevance_search_with_score_by_vector, embedding, **options
        )
        return await run_in_executor(None, search)

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **options: Any
    ) -> list[Scored]:
        if isinstance(options.get("rerank"), Reranker):
            raise InvalidInputError(
                "relevance is made from similarities, which the scores of rerank are not: leave "
                "it out"
            )
        return super()._similarity_search_with_relevance_scores(query, k, **options)

    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **options: Any
    ) -> list[Scored]:
        return await run_in_executor(
            None, self._similarity_search_with_relevance_scores, query, k, **options
        )

    def as_retriever(self, **options: Any) -> VectorStoreRetriever:
        """Return LangChain's own retriever over this store.

        Args:
            options: `search_type`, `search_kwargs` and what else `VectorStoreRetriever` takes.

        Raises:
            UnknownOptionError: There is no such option. Those of a search are in `search_kwargs`.
        """
        names = VectorStoreRetriever.model_fields
        check_names("as_retriever", options, names, elsewhere=_OF_SEARCH_KWARGS)
        return super().as_retriever(**options)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return self._relevance

    def _check_mmr(self, options: Mapping[str, Any]) -> None:
        """Refuse names that are no option of a search by maximal marginal relevance."""
        owner = f"a search of {type(self).__name__}"
        check_names(owner, options, option_names(MMRCallKwargs), elsewhere=_OF_RETRIEVERS)

    def _options(self, requested: Mapping[str, Any]) -> dict[str, Any]:
        """Return options under the core's names, with the store's defaults.

        Raises:
            UnknownOptionError: It is none of a search.
        """
        check_names(
            f"a search of {type(self).__name__}",
            requested,
            {"k", *_SEARCH},
            elsewhere=_OF_RETRIEVERS,
        )
        options = dict(requested)
        if options.get("parents") is None:
            options["parents"] = self.parents
        if (threshold := options.pop("score_threshold", None)) is not None:
            options["min_score"] = threshold
        return options

    def save_local(self, folder_path: str | Path, index_name: str = _INDEX) -> None:
        """Copy the store to a folder, or with an `index_name` to the folder of that name in it.

        A store there is replaced. A store with a `path` is always saved there. Errors are those of
        `factoid.UnitStore.copy_over`.
        """
        self.store.copy_over(_named_folder(folder_path, index_name))

    @classmethod
    def load_local(
        cls,
        folder_path: str | Path,
        embeddings: Embeddings | LangChainEncoder,
        index_name: str = _INDEX,
        *,
        # of code written for the community's FAISS
        allow_dangerous_deserialization: bool = False,  # noqa: ARG003
        **options: Unpack[FAISSKwargs],
    ) -> Self:
        """Open the store that `save_local` wrote, or any other in a folder.

        Later additions go into the folder at once. Options and errors are those of the class.
        `allow_dangerous_deserialization` is ignored: nothing is unpickled.

        Raises:
            StoreFormatError: There is no store.
        """
        folder = _named_folder(folder_path, index_name)
        if not (folder / DATABASE_FILE).is_file():
            raise StoreFormatError(
                f"there is no store in {folder}: it has no {DATABASE_FILE}. "
                "What the community's FAISS "
                "saved is not read: add the documents to a new store"
            )
        options["path"] = folder
        return cls(embeddings, **options)

    def close(self) -> None:
        """Save the indexes and close the store.

        Documents are on disk when the call that added them returns.
        """
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _documents(
    texts: Iterable[str], metadatas: Iterable[Mapping[str, Any]] | None
) -> list[Document]:
    """Return a document for each text, with the metadata at its place, if any are given."""
    check_list(texts, "texts")
    texts = list(texts)
    check_list(metadatas, "metadatas", Mapping)
    metadatas = list(metadatas or ()) or [{}] * len(texts)
    documents = []
    for text, metadata in one_each("metadatas", metadatas, texts):
        documents.append(to_document(text, metadata))
    return documents


@dataclass(frozen=True)
class _CoreDocuments:
    """Documents as the core takes them, converted while it reads them.

    Reading has a side effect: it appends the id of each document to `added`, which the caller
    returns. Without ids of the caller, documents are read as needed.
    """

    documents: Iterable[Document]
    ids: Ids
    added: list[str]

    def __iter__(self) -> Iterator[CoreDocument]:
        check_list(self.documents, "documents", Document)
        check_list(self.ids, "ids")
        pairs: Iterable[tuple[Document, str | None]] = (
            (document, None) for document in self.documents
        )
        if self.ids is not None:
            pairs = one_each("ids", self.ids, self.documents)
        for document, document_id in pairs:
            core = to_core(document, document_id)
            self.added.append(core.id)
            yield core

    def __length_hint__(self) -> int:
        return operator.length_hint(self.documents)


def _scored(hits: Sequence[Hit]) -> list[Scored]:
    """Return hits as documents with their scores."""
    return list(zip(hit_documents(hits), [hit.score for hit in hits], strict=True))


def _named_folder(folder: str | Path, index_name: str) -> Path:
    """Return the folder of one of several stores under a folder.

    That with LangChain's default name is the folder itself.
    """
    if index_name == _INDEX:
        return local_folder(folder)
    if index_name in ("", ".", "..") or {"/", "\\"} & {*index_name}:
        raise InvalidInputError(f"index_name must be a name, without folders, got {index_name!r}")
    return local_folder(folder) / index_name


def _relevance(score: float) -> float:
    """Return (1 + score) / 2, clipped to 0 and 1.

    It is 1 for equal directions, 0.5 for orthogonal ones.
    """
    return min(max((1 + score) / 2, 0.0), 1.0)
