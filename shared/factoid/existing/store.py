"""Multi-granular retrieval over a vector store of any make."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from factoid.encode import Encoder, TokenVectorEncoder, Vectors, to_matrix
from factoid.errors import InvalidInputError, check_names
from factoid.existing.after_ranking import refined_search
from factoid.existing.collection import Collection, Question, Steps, arun, run
from factoid.existing.contract import GRANULARITY, KEYS, Row
from factoid.existing.known import Metric
from factoid.existing.loop import Limits, RowFilter
from factoid.existing.plan import Plan
from factoid.existing.score import Reach
from factoid.existing.search import Answer, metadata_of, rows_by_id, stored_documents
from factoid.existing.words import Passes, Words, load_words, save_words
from factoid.existing.write import Writer, add, delete, verify
from factoid.filters import Comparison, Condition, Filter, Operator, Tree, matches, to_condition
from factoid.heading_template import EMBED_TEMPLATE
from factoid.named_options import option_names
from factoid.propositions import PropositionCache, Propositionizer, SyntaxPropositionizer
from factoid.propositions.cached_propositionizer import with_cache
from factoid.propositions.decompose import Policy
from factoid.ranking import Scale, Weights
from factoid.split import WORDS, merge_threshold
from factoid.store.ingest import AddReport
from factoid.store.options import ParentsOption, Reranker, SearchOptions
from factoid.store.recipe import Recipe
from factoid.text.sentence_ends import SentenceSplitter
from factoid.units import Document, Granularity, check_text, whole_number

logger = logging.getLogger(__name__)


class ExistingSearchKwargs(TypedDict, total=False):
    """The options of a search over an existing store: see `factoid.store.SearchOptions`."""

    granularity: str | Sequence[str] | None
    parents: ParentsOption
    filter: Filter | None
    document_ids: Sequence[str] | None
    min_score: float | None
    weights: Weights | None
    lexical: float | None
    mmr: float | None
    fetch_k: int
    expand: int
    rerank: Reranker | TokenVectorEncoder | Literal["tokens"] | None
    candidates: int | None


class ExistingStoreKwargs(TypedDict, total=False):
    """The options of `ExistingStore`."""

    granularities: Sequence[str]
    propositionizer: Propositionizer | None
    words: int
    min_words: int | None
    unsupported: Policy
    sentences: SentenceSplitter | None
    cache: PropositionCache | str | Path | None
    language: str
    read_words: bool
    words_path: str | Path | None
    progress: bool | None


_ELSEWHERE = dict.fromkeys(
    ("unit_ids", "parameters"),
    "it needs a store of factoid, such as factoid.UnitStore",
)


class ExistingStore:
    """Adds documents to a vector store of any make, and finds them by their facts.

    The adapters of both frameworks make one. Units are rows of the store by the contract of
    `factoid.existing.contract`; rows of the user's own are neither searched nor changed.

    Args:
        collection: The store.
        encoder: Encodes queries and, where the store takes vectors, units. None if the store embeds
            queries itself.
        granularities: What is made of documents and searched, besides passages.
        propositionizer, words, min_words, unsupported, sentences, cache: As in
            `UnitStore.add_documents`.
        language: Of the words, as in `UnitStore`.
        read_words: Whether BM25 may read all passages at the first search. False takes it over the
            candidates of a search alone, for collections that are too large to be read.
        words_path: A file that keeps the words, so that a later start reads the ids of passages,
            and those alone that are new. One process at a time writes it.
        progress: Show progress bars.

    Attributes:
        last_report: What the latest call that added documents did.
    """

    def __init__(
        self,
        collection: Collection,
        encoder: Encoder | None,
        *,
        granularities: Sequence[str] = (Granularity.PASSAGE, Granularity.PROPOSITION),
        propositionizer: Propositionizer | None = None,
        words: int = WORDS,
        min_words: int | None = None,
        unsupported: Policy = "drop",
        sentences: SentenceSplitter | None = None,
        cache: PropositionCache | str | Path | None = None,
        language: str = "en",
        read_words: bool = True,
        words_path: str | Path | None = None,
        progress: bool | None = None,
    ) -> None:
        merge_threshold(words, min_words)  # which refuses what is out of range
        self.collection = collection
        self.encoder = encoder
        self.last_report: AddReport | None = None
        kinds = dict.fromkeys([Granularity.PASSAGE, *map(Granularity, granularities)])
        self.granularities: Sequence[Granularity] = tuple(kinds)
        maker: Propositionizer | None = None
        if Granularity.PROPOSITION in self.granularities:
            maker = with_cache(propositionizer or SyntaxPropositionizer(), cache)
        self._recipe = Recipe(
            self.granularities,
            maker,
            words=words,
            min_words=min_words,
            unsupported=unsupported,
            sentences=sentences,
        )
        self._language = language
        self._read_words = read_words
        self._words_path = Path(words_path) if words_path is not None else None
        self._progress = progress
        self._lock = Lock()
        self._words: Words | None = None
        self._scale: tuple[tuple[str, ...], Scale] | None = None  # and the passages of its sample
        self._warned: set[str] = set()

    @property
    def name(self) -> str:
        """What the store is called."""
        if self.collection.known is None:
            return "this vector store"
        return self.collection.known.name

    # -- Adding and deleting --

    def add_documents(
        self, documents: Iterable[Document], *, progress: bool | None = None
    ) -> AddReport:
        """Split, decompose and encode documents, and write them with their units.

        A document replaces the one with its id, and no unit of that stays behind. One that has not
        changed is skipped. A call that was interrupted can be repeated.

        Raises:
            InvalidInputError: An item is not a `Document`.
        """
        steps = add(self._writer(), documents, self._shows(progress))
        self.last_report = run(steps, self.collection)
        self._save(self._words)
        return self.last_report

    async def aadd_documents(
        self, documents: Iterable[Document], *, progress: bool | None = None
    ) -> AddReport:
        """Do the same as `add_documents` without blocking the event loop."""
        writer = await asyncio.to_thread(self._writer)  # which may read words
        steps = add(writer, documents, self._shows(progress))
        self.last_report = await arun(steps, self.collection)
        await asyncio.to_thread(self._save, self._words)
        return self.last_report

    def add_existing(self, *, progress: bool | None = None) -> AddReport:
        """Add the facts of what the collection holds already.

        Each of the user's own rows is a document with the id of the row, its text and its metadata.
        The rows themselves stay as they are.

        Raises:
            InvalidInputError: The store cannot list its rows.
        """
        return self.add_documents(list(self._own_documents()), progress=progress)

    def _own_documents(self) -> Iterator[Document]:
        for row in self.collection.scan(None):
            if row.metadata.get(GRANULARITY) or not row.text.strip():
                continue
            metadata = {}
            for key, value in row.metadata.items():
                if key not in KEYS:
                    metadata[key] = value
            title = metadata.get("title")
            yield Document(row.text, title if isinstance(title, str) else "", "", row.id, metadata)

    def delete(self, document_ids: Sequence[str]) -> int:
        """Delete documents with all their units; unknown ids are ignored.

        Returns:
            How many there were.
        """
        count = run(delete(document_ids, self._kept_words()), self.collection)
        self._save(self._words)
        return count

    async def adelete(self, document_ids: Sequence[str]) -> int:
        """Do the same as `delete` without blocking the event loop."""
        words = await asyncio.to_thread(self._kept_words)
        count = await arun(delete(document_ids, words), self.collection)
        await asyncio.to_thread(self._save, self._words)
        return count

    def documents(self, document_ids: Sequence[str]) -> list[Document]:
        """Return documents as they were added, in this order; unknown ids are left out."""
        stored = run(stored_documents(document_ids), self.collection)
        return [stored[name].document for name in document_ids if name in stored]

    def verify(self) -> list[str]:
        """Return what does not follow the metadata contract, one sentence each; [] if all is well.

        Raises:
            InvalidInputError: The store cannot list its rows.
        """
        return verify(self.collection)

    def _writer(self) -> Writer:
        known = self.collection.known
        encoder = None
        if self.collection.takes_vectors():
            encoder = self.encoder
        lists = known is not None and known.lists
        return Writer(self._recipe, lists, encoder, self._kept_words())

    def _kept_words(self) -> Words | None:
        """Return the words that writes keep in step: those that were read, or are in a file."""
        if self._words_path is not None and self._words_path.exists():
            return self._known_words()
        return self._words

    @property
    def writer(self) -> Writer:
        """How documents are written into the store."""
        return self._writer()

    def _shows(self, progress: bool | None) -> bool | None:
        if progress is None:
            return self._progress
        return progress

    # -- Searching --

    def search(
        self,
        query: str,
        k: int = 5,
        *,
        vector: Vectors | None = None,
        **options: Unpack[ExistingSearchKwargs],
    ) -> Answer:
        """Return the k best distinct parents, with the units that made them hits.

        Args:
            query: The question.
            k: How many parents.
            vector: The question's, if it is known. Shape: (dim,).
            options: Those of `UnitStore.search` that every store can do.

        Raises:
            InvalidInputError: An option is out of range, or needs scores that are not known.
        """
        plan = self._plan(query, k, vector, options)
        return self._noted(run(self._steps(plan), self.collection), plan)

    async def asearch(
        self,
        query: str,
        k: int = 5,
        *,
        vector: Vectors | None = None,
        **options: Unpack[ExistingSearchKwargs],
    ) -> Answer:
        """Do the same as `search` without blocking the event loop."""
        plan = await asyncio.to_thread(self._plan, query, k, vector, options)
        return self._noted(await arun(self._steps(plan), self.collection), plan)

    def _steps(self, plan: Plan) -> Steps[Answer]:
        return refined_search(plan, self.encoder, self.granularities)

    def check_options(self, options: Mapping[str, Any]) -> SearchOptions:
        """Return the options of a search, checked.

        Raises:
            InvalidInputError: An option is unknown or out of range, or needs scores that are not
                known.
        """
        names = option_names(ExistingSearchKwargs)
        check_names("a search over an existing store", options, names, elsewhere=_ELSEWHERE)
        checked = SearchOptions(**options)
        checked.compared_granularities(self.granularities)
        if checked.mmr is not None and self.encoder is None:
            raise InvalidInputError(
                f"mmr compares vectors, and {self.name} does not say how it embeds: give "
                "embeddings=… as well, or leave mmr out"
            )
        if self.collection.metric() is None:
            for name in ("weights", "lexical", "min_score"):
                if getattr(checked, name) is not None:
                    raise InvalidInputError(
                        f"{name} cannot be used over {self.name}: what its scores mean is not "
                        "known, or they cannot be compared between two searches, so its results "
                        "are ordered by the fusion of ranks. Leave it out, or use one of the "
                        "stores in docs/existing-stores.md"
                    )
        return checked

    def _plan(self, query: str, k: int, vector: Vectors | None, options: Mapping[str, Any]) -> Plan:
        check_text(query, "query")
        checked = self.check_options(options)
        k = whole_number("k", k)
        metric = self.collection.metric()
        weights: Weights | None = None
        if metric is not None:
            weights = checked.checked_weights(Weights(), has_texts=True)
        if vector is None and self.encoder is not None:
            vector = np.asarray(self.encoder.encode_queries([query]), np.float32)[0]
        words = None
        if weights is None or weights.lexical:
            words = self._known_words()
        condition = None
        if checked.filter is not None:
            condition = to_condition(checked.filter)
        row_filter, passes = _row_filter(condition)
        reach = None
        lengths = (1.0, 1.0)
        if vector is not None and metric is not None:
            reach, lengths = self._reach(vector, metric, words)
        return Plan(
            Question(query, vector),
            k,
            checked.compared_granularities(self.granularities),
            checked.parents,
            weights,
            row_filter,
            passes,
            self._limits(),
            checked.document_ids,
            words,
            metric,
            lengths,
            reach,
            checked.min_score,
            checked,
        )

    def _limits(self) -> Limits:
        known = self.collection.known
        if known is None:
            return Limits(_MOST_UNKNOWN, filters=False, excludes=False, is_exact=False)
        return Limits(
            known.most,
            filters=True,
            excludes=known.form.excludes,
            is_exact=self.collection.is_exact(),
        )

    def _reach(
        self, vector: Vectors, metric: Metric, words: Words | None
    ) -> tuple[Reach | None, tuple[float, float]]:
        """Return the reach of the scores, and the lengths of the query and of units."""
        query = np.asarray(vector, np.float32)
        scale = self._scale_of(words, metric)
        length = float(np.linalg.norm(query))
        if metric.is_cosine:
            query = query / (length or 1)
        if scale is None:
            return None, (length, length)
        return Reach.of(scale, query), (length, scale.length)

    def _scale_of(self, words: Words | None, metric: Metric) -> Scale | None:
        """Return the scale of the encoder's scores, from a sample of passages."""
        if words is None or not words.sample or self.encoder is None:
            return None
        with self._lock:
            names = tuple(words.sample)
            if self._scale is None or self._scale[0] != names:
                texts = list(words.sample.values())
                vectors: Vectors = to_matrix(self.encoder.encode_units(texts), len(texts))
                if metric.is_cosine:
                    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
                    vectors = np.asarray(vectors / np.where(norms > 0, norms, 1), np.float32)
                self._scale = (names, Scale.of(vectors))
            return self._scale[1]

    # -- Words --

    def _known_words(self) -> Words | None:
        """Return the words of the collection, read once; None where they cannot be read."""
        known = self.collection.known
        if known is None or not self._read_words:
            return None
        with self._lock:
            if self._words is None:
                self._words = self._read()
            return self._words

    def refresh_words(self) -> None:
        """Read the words again, after other processes have changed the collection."""
        words = self._read(anew=True)
        with self._lock:
            self._words = words
            self._scale = None

    def _read(self, *, anew: bool = False) -> Words | None:
        """Return the words of the collection, those of the file brought up to date."""
        words = None
        if self._words_path is not None and not anew:
            words = load_words(self._words_path, EMBED_TEMPLATE, self._language)
        passages = Comparison(GRANULARITY, Operator.EQ, Granularity.PASSAGE.value)
        try:
            if words is None:
                words = Words(EMBED_TEMPLATE, self._language)
                words.read(_passages(self.collection.scan(passages)))
            elif not self._brought_up_to_date(words, passages):
                return words
        except InvalidInputError as error:
            logger.warning(
                "words count among the candidates of a search only: %s; lexical=0 leaves them out",
                error,
            )
            self._read_words = False
            return None
        self._save(words)
        return words

    def _brought_up_to_date(self, words: Words, passages: Tree) -> bool:
        """Add passages that are new, remove those that are gone; return whether there were any."""
        gone = words.row_ids()
        added: list[Row] = []
        ids = self.collection.ids(passages)
        if ids is None:
            for row in _passages(self.collection.scan(passages)):
                if gone.pop(row.id, None) is None:
                    added.append(row)
        else:
            unknown = [name for name in ids if gone.pop(name, None) is None]
            added = list(_passages(run(rows_by_id(unknown), self.collection)))
        words.update(gone.values(), added)
        return bool(gone or added)

    def _save(self, words: Words | None) -> None:
        if self._words_path is not None and words is not None:
            save_words(words, self._words_path)

    # -- What was not complete --

    def _noted(self, answer: Answer, plan: Plan) -> Answer:
        known = self.collection.known
        if not answer.hits and plan.passes is None and plan.document_ids is None:
            self._warn(
                f"{self.name} holds no units: add_documents fills it, and add_existing makes them "
                "of the rows that it holds"
            )
        if known is None:
            note = (
                "factoid does not know this class of vector store: results are ordered by the "
                "fusion of ranks, and filters are applied to what it returns"
            )
            self._warn(note)
        if answer.complete:
            return answer
        note = answer.note
        if not note:
            note = f"{self.name} returned fewer rows than were needed"
            if known is not None:
                note += f": {known.remedy}"
        self._warn(note)
        return Answer(answer.hits, answer.complete, note, answer.calls)

    def _warn(self, note: str) -> None:
        """Log a sentence, once."""
        if note not in self._warned:
            self._warned.add(note)
            logger.warning("%s", note)


_MOST_UNKNOWN = 10_000  # rows of one search of a store of which nothing is known


def _passages(rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        if row.metadata.get(GRANULARITY) == Granularity.PASSAGE.value:
            yield row


def _row_filter(condition: Condition | None) -> tuple[RowFilter, Passes | None]:
    """Return what a filter lets through, as the loop and the words ask for it."""
    if condition is None:
        return RowFilter(None, lambda _row: True, may_exclude=False), None
    if callable(condition):
        function = condition

        def passes_function(metadata: Mapping[str, Any]) -> bool:
            return bool(function(dict(metadata)))

        return RowFilter(None, lambda row: passes_function(metadata_of(row))), passes_function
    tree: Tree = condition

    def passes_tree(metadata: Mapping[str, Any]) -> bool:
        return matches(tree, metadata)

    return RowFilter(tree, lambda row: passes_tree(metadata_of(row))), passes_tree
