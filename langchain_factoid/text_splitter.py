"""Text splitters whose chunks say what they are and where they come from."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, TypedDict, Unpack

from langchain_core.documents import Document
from langchain_core.runnables import Runnable
from langchain_text_splitters import TextSplitter
from typing_extensions import override

from factoid.framework import (
    WORDS,
    Cache,
    Decomposition,
    ModelKwargs,
    Policy,
    Progress,
    Propositionizer,
    Report,
    SentenceSplitter,
    SyntaxPropositionizer,
    Unit,
    adecompose,
    check_list,
    check_names,
    decompose,
    merge_threshold,
    option_names,
    progress_bar,
    split_names,
    split_passages,
    tracked,
    with_cache,
)
from langchain_factoid.chat_model import ChatModelPropositionizer
from langchain_factoid.convert import one_each, to_core, to_document, unit_document


class PassageKwargs(TypedDict, total=False):
    """The options of `PassageTextSplitter`."""

    words: int
    min_words: int | None
    join_paragraphs: bool
    sentences: SentenceSplitter | None
    progress: bool | None


class PropositionKwargs(PassageKwargs, total=False):
    """The options of `PropositionTextSplitter` besides the propositionizer."""

    unsupported: Policy
    cache: Cache


class FromModelKwargs(ModelKwargs, PropositionKwargs, total=False):
    """The options of `PropositionTextSplitter.from_llm`."""


_BLOCK = 256  # passages for one call of the propositionizer


class PassageTextSplitter(TextSplitter):
    """Splits documents into passages of whole sentences (Dense X Retrieval, Appendix A).

    A chunk is `page_content[start_index:end_index]` of its source. The same document always yields
    the same ids, and one that is given twice is split once. A chunk's metadata is the source's with
    these fields; different values of the source's own move to `source_<key>`:

    * `granularity`: "passage".
    * `start_index`, `end_index`: The span in the source's page_content, in characters, half-open.
    * `parent_id`: The source's id, or an id made from its content and metadata.
    * `passage_id`: The passage's own id.
    * `title`: The source's `title` if it is a string, else the text's first heading.
    * `section`: The headings above the passage, outermost first; before them the source's `section`
      if it is a string.

    Args:
        options: `words`, `min_words`, `join_paragraphs` and `sentences` of
            `factoid.split_passages`, and `progress` of `factoid.UnitStore`.

    Raises:
        InvalidInputError: `words` or `min_words` is out of range, or an option is unknown.
    """

    def __init__(self, **options: Unpack[PassageKwargs]) -> None:
        check_names(type(self).__name__, options, option_names(PassageKwargs))
        merge_threshold(options.get("words", WORDS), options.get("min_words"))
        super().__init__()
        self._progress = options.get("progress")
        self._sizes, _ = split_names(
            {"words", "min_words", "join_paragraphs", "sentences"}, options
        )

    def split_text(self, text: str) -> list[str]:
        """Return the texts of the units."""
        return [document.page_content for document in self.create_documents([text])]

    def create_documents(
        self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None
    ) -> list[Document]:
        """Split texts with their metadata, as `split_documents` does.

        Raises:
            InvalidInputError: The number of metadatas differs from that of the texts.
        """
        check_list(texts, "texts")
        check_list(metadatas, "metadatas", Mapping)
        if not metadatas:
            metadatas = [{} for _ in texts]
        pairs = one_each("metadatas", metadatas, texts)
        return self.split_documents(to_document(text, metadata) for text, metadata in pairs)

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Split documents as the class describes."""
        return _documents(self._passages(documents))

    def _passages(self, documents: Iterable[Document]) -> list[Unit]:
        check_list(documents, "documents", Document)
        read = tracked(documents, show=self._progress, unit=" documents", desc="splitting")
        passages = []
        for document in read:
            passages += split_passages(to_core(document), **self._sizes)
        return passages


class PropositionTextSplitter(PassageTextSplitter):
    """Splits documents into propositions: atomic, self-contained facts (Dense X Retrieval, §2).

    The chunks are rewritten text; their span is the source that they were drawn from. Ids and
    metadata are those of `PassageTextSplitter`, with "proposition" as `granularity` and the
    decomposed passage as `passage_id`. A sentence that stands in for propositions that failed or
    left it out says why under `fallback`. `last_report` counts the outcomes for the passages of the
    latest call.

    Args:
        propositionizer: As in `factoid.propositions.decompose`, and so is `unsupported`; None for
            `SyntaxPropositionizer`. A `cache` keeps what it returns: a `factoid.PropositionCache`,
            or the path of its file, made if absent.
        options: `unsupported` and `cache`, and those of `PassageTextSplitter`, for the passages
            passed to the propositionizer.

    Raises:
        InvalidInputError: On use, if an option is out of range.
        StoreError: On use, if the cache cannot be opened, read or written.
    """

    def __init__(
        self, propositionizer: Propositionizer | None = None, **options: Unpack[PropositionKwargs]
    ) -> None:
        names = option_names(PropositionKwargs)
        check_names(type(self).__name__, options, names | {"propositionizer"})
        of_passages, _ = split_names(option_names(PassageKwargs), options)
        super().__init__(**of_passages)
        self._unsupported: Policy = options.get("unsupported", "drop")
        self._propositionizer = with_cache(
            propositionizer or SyntaxPropositionizer(), options.get("cache")
        )
        self.last_report: Report | None = None

    @classmethod
    def from_llm(
        cls,
        llm: Runnable[Any, Any],
        *,
        model: str | None = None,
        **options: Unpack[FromModelKwargs],
    ) -> Self:
        """Return a splitter whose propositions come from a LangChain chat model.

        Options are those of `ChatModelPropositionizer` and those of this class; another one is
        refused.
        """
        check_names(f"{cls.__name__}.from_llm", options, option_names(FromModelKwargs) | {"model"})
        of_model, of_splitter = split_names(option_names(ModelKwargs), options)
        return cls(ChatModelPropositionizer(llm, model=model, **of_model), **of_splitter)

    @override
    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Split documents as the class describes."""
        passages = self._passages(documents)
        decomposition = Decomposition()
        with self._bar(passages) as bar:
            for start in range(0, len(passages), _BLOCK):
                block = passages[start : start + _BLOCK]
                decomposition += decompose(
                    block, self._propositionizer, unsupported=self._unsupported
                )
                bar.update(len(block))
        return self._propositions(decomposition)

    @override
    async def atransform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """Do the same as `split_documents`, without blocking the event loop."""
        passages = await asyncio.to_thread(self._passages, documents)
        decomposition = Decomposition()
        with self._bar(passages) as bar:
            for start in range(0, len(passages), _BLOCK):
                block = passages[start : start + _BLOCK]
                decomposition += await adecompose(
                    block, self._propositionizer, unsupported=self._unsupported
                )
                bar.update(len(block))
        return await asyncio.to_thread(self._propositions, decomposition)

    def _bar(self, passages: Sequence[Unit]) -> Progress:
        return progress_bar(
            show=self._progress,
            unit=" passages",
            total=len(passages),
            desc="cutting into propositions",
        )

    def _propositions(self, decomposition: Decomposition) -> list[Document]:
        self.last_report = decomposition.report
        return _documents(decomposition.units)


def _documents(units: Iterable[Unit]) -> list[Document]:
    """Return distinct units as documents; vector stores refuse or overwrite equal ids."""
    distinct = {unit.id: unit for unit in units}.values()
    documents = []
    for unit in distinct:
        documents.append(unit_document(replace(unit, metadata=copy.deepcopy(unit.metadata))))
    return documents
