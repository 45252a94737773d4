"""Text splitters whose chunks say what they are and where they come from."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Any, Self

from langchain_core.documents import Document
from langchain_core.runnables import Runnable
from langchain_text_splitters import TextSplitter
from typing_extensions import override

from factoid.propositions import Decomposition, Propositionizer, Report, SyntaxPropositionizer, adecompose, decompose
from factoid.propositions.cache import Cache
from factoid.propositions.cached_propositionizer import with_cache
from factoid.propositions.decompose import Policy
from factoid.propositions.prompting.chat import ChatPropositionizer, split_options
from factoid.split import split_passages
from factoid.text.sentence_ends import SentenceSplitter
from factoid.units import Unit
from langchain_factoid.chat_model import ChatModelPropositionizer
from langchain_factoid.convert import one_each, to_core, unit_document


class PassageTextSplitter(TextSplitter):
    """Splits documents into passages of whole sentences (Dense X Retrieval, Appendix A).

    A chunk is `page_content[start_index:end_index]` of its source. The same document always yields the same ids, and one that
    is given twice is split once. A chunk's metadata is the source's with these fields; different values of the source's own move
    to `source_<key>`:

    * `granularity`: "passage".
    * `start_index`, `end_index`: The span in the source's page_content, in characters, half-open.
    * `parent_id`: The source's id, or an id made from its content and metadata.
    * `passage_id`: The passage's own id.
    * `title`: The source's `title` if it is a string, else the text's first heading.
    * `section`: The headings above the passage, outermost first; before them the source's `section` if it is a string.

    Args:
        words, min_words, sentences: As in `factoid.split_passages`.

    Raises:
        InvalidInputError: On use, if `words` or `min_words` is out of range.
    """

    def __init__(self, *, words: int = 100, min_words: int = 50, sentences: SentenceSplitter | None = None) -> None:
        super().__init__()
        self._cut = partial(split_passages, words=words, min_words=min_words, sentences=sentences)

    def split_text(self, text: str) -> list[str]:
        """Return the texts of the units."""
        return [document.page_content for document in self.create_documents([text])]

    def create_documents(self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None) -> list[Document]:
        """Split texts with their metadata, as `split_documents` does.

        Raises:
            InvalidInputError: The number of metadatas differs from that of the texts.
        """
        pairs = one_each("metadatas", metadatas, texts) if metadatas else zip(texts, repeat({}), strict=False)
        return self.split_documents(Document(page_content=text, metadata=metadata) for text, metadata in pairs)

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Split documents as the class describes."""
        return _documents(self._passages(documents))

    def _passages(self, documents: Iterable[Document]) -> list[Unit]:
        return [passage for document in documents for passage in self._cut(to_core(document))]


class PropositionTextSplitter(PassageTextSplitter):
    """Splits documents into propositions: atomic, self-contained facts (Dense X Retrieval, §2).

    The chunks are rewritten text; their span is the source that they were drawn from. Ids and metadata are those of
    `PassageTextSplitter`, with "proposition" as `granularity` and the decomposed passage as `passage_id`. A sentence that stands
    in for propositions that failed or left it out says why under `fallback`. `last_report` counts the outcomes for the passages
    of the latest call.

    Args:
        propositionizer, unsupported: As in `factoid.propositions.decompose`; None for `SyntaxPropositionizer`.
        cache: Keeps what the propositionizer returns: a `factoid.PropositionCache`, or the path of its file, made if absent.
        options: Those of `PassageTextSplitter`, for the passages passed to the propositionizer.

    Raises:
        InvalidInputError: On use, if an option is out of range.
        StoreError: On use, if the cache cannot be opened, read or written.
    """

    def __init__(
        self,
        propositionizer: Propositionizer | None = None,
        *,
        unsupported: Policy = "drop",
        cache: Cache = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._propositionizer = with_cache(propositionizer or SyntaxPropositionizer(), cache)
        self._unsupported: Policy = unsupported
        self.last_report: Report | None = None

    @classmethod
    def from_llm(cls, llm: Runnable[Any, Any], *, model: str | None = None, **options: Any) -> Self:
        """Return a splitter whose propositions come from a LangChain chat model.

        Options are those of `ChatModelPropositionizer` and those of this class; another one is a TypeError.
        """
        of_model, of_splitter = split_options(ChatPropositionizer, options)
        return cls(ChatModelPropositionizer(llm, model=model, **of_model), **of_splitter)

    @override
    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Split documents as the class describes."""
        passages = self._passages(documents)
        return self._propositions(decompose(passages, self._propositionizer, unsupported=self._unsupported))

    @override
    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Sequence[Document]:
        """Do the same as `split_documents`, without blocking the event loop."""
        passages = await asyncio.to_thread(self._passages, documents)
        decomposition = await adecompose(passages, self._propositionizer, unsupported=self._unsupported)
        return await asyncio.to_thread(self._propositions, decomposition)

    def _propositions(self, decomposition: Decomposition) -> list[Document]:
        self.last_report = decomposition.report
        return _documents(decomposition.units)


def _documents(units: Iterable[Unit]) -> list[Document]:
    """Return distinct units as documents; vector stores refuse or overwrite equal ids."""
    distinct = {unit.id: unit for unit in units}.values()
    return [unit_document(replace(unit, metadata=copy.deepcopy(unit.metadata))) for unit in distinct]
