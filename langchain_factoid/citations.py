"""A LangChain runnable that adds citations to an answer, sentence by sentence while it streams."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, aclosing, closing
from itertools import chain
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.content import create_citation
from langchain_core.runnables import RunnableGenerator

from factoid.framework import (
    CitationFields,
    CitedSentence,
    InvalidInputError,
    PropCite,
    citation_fields,
)
from factoid.framework import Document as CoreDocument
from langchain_factoid.convert import to_passage


class PropCiteRunnable(RunnableGenerator[Any, AIMessageChunk]):
    """Adds citations of its source documents to an answer (PropCite: AGRaME, §4.3).

    Takes a mapping with the answer, a text or a message, and the documents: `{"answer": …,
    "documents": […]}`. Follows a chain that makes both, `RunnablePassthrough.assign(answer=prompt |
    llm) | PropCiteRunnable(citer=…)`, or, with `documents`, anything that writes, `llm |
    StrOutputParser() | PropCiteRunnable(citer=…, documents=…)`. Streams a sentence with its
    citations as soon as the next one begins. The documents are those that have come when the answer
    begins: a step that yields more of them later is too late, and these are not cited.

    The output is a message with one block of text, and the id of an incoming message. Markers stand
    in the text, `[2]` for the second document. Each citation is a standard `Citation` annotation of
    the claim's place in the text, with `title` and `url` of the document's metadata. Its `extras`
    are the document's `number` and `document_id`, the place of `cited_text` in its page_content,
    the `claim`, its `score` and `margin` (absent where there is one document).

    Args:
        citer: The core's PropCite, which holds the model and all options.
        documents: The sources of every answer; None to take them from the input.
        documents_key: Their key in the input.

    Raises:
        InvalidInputError: On a call, if the input has no answer or no documents.
    """

    def __init__(
        self,
        *,
        citer: PropCite,
        documents: Sequence[Document] | None = None,
        documents_key: str = "documents",
    ) -> None:
        super().__init__(self._cite, self._acite, name="PropCite")
        self.citer = citer
        self.documents = documents
        self.documents_key = documents_key

    def _cite(self, items: Iterator[Any]) -> Iterator[AIMessageChunk]:
        stream = _AnswerStream(self)
        with ExitStack() as open_streams:  # closed at once, also where the consumer stops early
            if isinstance(items, Generator):
                open_streams.enter_context(closing(items))
            texts = map(stream.take, items)
            start = ""
            for text in texts:
                start += text
                if start and stream.documents is not None:
                    break

            cited = self.citer.stream(chain([start], texts), stream.passages())
            sentences = open_streams.enter_context(closing(cited))
            for sentence in sentences:
                yield stream.chunk(sentence)
        yield stream.last_chunk()

    async def _acite(self, items: AsyncIterator[Any]) -> AsyncIterator[AIMessageChunk]:
        stream = _AnswerStream(self)
        async with AsyncExitStack() as open_streams:
            if isinstance(items, AsyncGenerator):
                await open_streams.enter_async_context(aclosing(items))
            start = ""
            async for item in items:
                start += stream.take(item)
                if start and stream.documents is not None:
                    break

            async def texts() -> AsyncIterator[str]:
                yield start
                async for item in items:
                    yield stream.take(item)

            cited = self.citer.astream(texts(), stream.passages())
            sentences = await open_streams.enter_async_context(aclosing(cited))
            async for sentence in sentences:
                yield stream.chunk(sentence)
        yield stream.last_chunk()


def cited_message(
    citer: PropCite, answer: str | BaseMessage, documents: Sequence[Document]
) -> AIMessage:
    """Return an answer as a message with citations, as `PropCiteRunnable` makes it.

    It has the id of the answer, so that it replaces it in the state of a graph or agent.

    Args:
        citer: The core's PropCite, which holds the model and all options.
        answer: The answer of any model or agent.
        documents: Its sources, such as `documents_of` returns of an agent's messages.
    """
    cited = PropCiteRunnable(citer=citer, documents=documents).invoke(answer)
    return AIMessage(cited.content, id=cited.id, response_metadata=cited.response_metadata)


def citations_of(message: BaseMessage) -> list[CitationFields]:
    """Return the citations in a message of `PropCiteRunnable`, in the order of the claims.

    It is [] if there are none.
    The message may have been streamed, its chunks added up, or read back from JSON or a checkpoint.
    """
    citations: list[CitationFields] = []
    for content in message.content_blocks:
        if content["type"] != "text":
            continue
        for annotation in content.get("annotations", []):
            if annotation["type"] != "citation":
                continue
            extras = annotation.get("extras", {})
            if "claim" in extras:  # otherwise somebody else wrote it
                citations.append(
                    citation_fields({**annotation, **extras}, extras.get("document_id"))
                )
    return citations


class _AnswerStream:
    """The documents and the message id of one answer, as its parts arrive."""

    def __init__(self, runnable: PropCiteRunnable) -> None:
        self.documents = runnable.documents
        self._runnable = runnable
        self._id: str | None = None
        self._begun = False

    def take(self, item: Any) -> str:
        """Keep the documents of a part, and return its text."""
        text = item
        if isinstance(item, Mapping):
            text = item.get("answer")
            documents = item.get(self._runnable.documents_key)
            if documents is not None and self._runnable.documents is None:
                self.documents = [*(self.documents or ()), *documents]
            if text is None:
                return ""
        self._begun = True
        if isinstance(text, BaseMessage):
            self._id = text.id or self._id
            text = str(text.text)
        if not isinstance(text, str):
            raise InvalidInputError(
                f"expected an answer, a text or a message, got {type(text).__name__}"
            )
        return text

    def passages(self) -> list[CoreDocument]:
        """Return the documents to cite, and raise if the input had none, or no answer."""
        if self.documents is None or not self._begun:
            key = self._runnable.documents_key
            missing = "answer"
            if self.documents is None:
                missing = key
            raise InvalidInputError(
                f"expected a mapping with 'answer' and {key!r}, got no {missing!r}: name another "
                "key with documents_key=, or pass documents= to the runnable"
            )
        return list(map(to_passage, self.documents))

    def chunk(self, sentence: CitedSentence) -> AIMessageChunk:
        """Return a sentence as a chunk. Blocks of one index add up to one block."""
        documents = self.documents or ()  # `passages` has checked them
        annotations = []
        for citation in sentence.citations:
            document = documents[citation.position]
            annotations.append(
                create_citation(document_id=document.id, **citation.fields(document.metadata))
            )
        return self._chunk(
            [{"type": "text", "text": sentence.text, "annotations": annotations, "index": 0}]
        )

    def last_chunk(self) -> AIMessageChunk:
        """Return an empty chunk, so that an answer without a sentence is a message, too."""
        return self._chunk([])

    def _chunk(self, content: list[str | dict[Any, Any]]) -> AIMessageChunk:
        return AIMessageChunk(
            content=content, id=self._id, response_metadata={"output_version": "v1"}
        )
