"""A LangChain runnable that adds citations to an answer, sentence by sentence while it streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, closing
from itertools import chain
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.messages.content import Citation as CitationAnnotation
from langchain_core.messages.content import create_citation
from langchain_core.runnables import RunnableConfig, RunnableSerializable
from pydantic import ConfigDict
from typing_extensions import override

from factoid.errors import InvalidInputError
from factoid.late_interaction import CitedAnswer, CitedSentence, PropCite
from langchain_factoid.convert import to_passage

_VERSION = {"output_version": "v1"}  # the content is standard blocks already


class PropCiteRunnable(RunnableSerializable[Any, AIMessage]):
    """Adds citations of its source documents to an answer (PropCite: AGRaME, §4.3).

    Takes a mapping with the answer, a text or a message, and the documents: `{"answer": …, "documents": […]}`. Follows a
    chain that makes both, `RunnablePassthrough.assign(answer=prompt | llm) | PropCiteRunnable(citer=…)`, or, with `documents`,
    anything that writes, `llm | StrOutputParser() | PropCiteRunnable(citer=…, documents=…)`. Streams a sentence with its
    citations as soon as the next one begins.

    The output is a message with one block of text. Markers stand in the text, `[2]` for the second document. Each citation is
    a standard `Citation` annotation of the claim's place in the text, with `title` and `url` of the document's metadata. Its
    `extras` are the document's `number` and `document_id`, the place of `cited_text` in its page_content, the `claim`, its
    `score` and `margin` (absent where there is one document). Only the text of an incoming message is replaced: blocks that are
    not text stay in a whole message, and are left out of one that comes in chunks.

    Attributes:
        citer: The core's PropCite, which holds the model and all options.
        documents: The sources of every answer; None to take them from the input.
        answer_key, documents_key: Keys of the input.

    Raises:
        InvalidInputError: On a call, if the input has no answer or no documents.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    citer: PropCite
    documents: list[Document] | None = None
    answer_key: str = "answer"
    documents_key: str = "documents"

    @override
    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        """Return the answer with its citations."""
        return self._call_with_config(self._invoke, input, config, **kwargs)

    @override
    def stream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> Iterator[AIMessageChunk]:
        """Yield the sentences of an answer."""
        return self.transform(iter([input]), config, **kwargs)

    @override
    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> AsyncIterator[AIMessageChunk]:
        """Do the same as `stream`, with the model in another thread."""

        async def inputs() -> AsyncIterator[Any]:
            yield input

        async for chunk in self.atransform(inputs(), config, **kwargs):
            yield chunk

    @override
    def transform(
        self, input: Iterator[Any], config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> Iterator[AIMessageChunk]:
        """Yield each sentence with its citations when the next one begins."""
        chunks: Iterator[Any] = self._transform_stream_with_config(input, self._transform, config, **kwargs)
        yield from chunks

    @override
    async def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> AsyncIterator[AIMessageChunk]:
        """Do the same as `transform`, with the model in another thread."""
        chunks: AsyncIterator[Any] = self._atransform_stream_with_config(input, self._atransform, config, **kwargs)
        async for chunk in chunks:
            yield chunk

    def _invoke(self, item: Any) -> AIMessage:
        parts = _Input(self)
        answer, documents = parts.take(item), parts.checked()
        return parts.message(self.citer.cite(answer, map(to_passage, documents)))

    def _transform(self, inputs: Iterator[Any]) -> Iterator[AIMessageChunk]:
        parts, start = _Input(self), ""
        texts = map(parts.take, inputs)
        for text in texts:
            start += text
            if start and parts.documents is not None:
                break
        with closing(self.citer.stream(chain([start], texts), map(to_passage, parts.checked()))) as sentences:
            for sentence in sentences:
                yield parts.chunk(sentence)
        yield parts.rest()

    async def _atransform(self, inputs: AsyncIterator[Any]) -> AsyncIterator[AIMessageChunk]:
        parts, start = _Input(self), ""
        async for item in inputs:
            start += parts.take(item)
            if start and parts.documents is not None:
                break

        async def texts() -> AsyncIterator[str]:
            yield start
            async for item in inputs:
                yield parts.take(item)

        async with aclosing(self.citer.astream(texts(), map(to_passage, parts.checked()))) as sentences:
            async for sentence in sentences:
                yield parts.chunk(sentence)
        yield parts.rest()


class _Input:
    """The input of one answer: its documents, and its message if it is one."""

    def __init__(self, runnable: PropCiteRunnable) -> None:
        self.documents = runnable.documents
        self._runnable = runnable
        self._message: AIMessage | None = None
        self._blocks: list[str | dict[Any, Any]] = []  # of a whole message, such as its reasoning
        self._has_answer = False

    def take(self, item: Any) -> str:
        answer = item
        if isinstance(item, Mapping):
            runnable = self._runnable
            answer = item.get(runnable.answer_key)
            documents = item.get(runnable.documents_key)
            if documents is not None and runnable.documents is None:
                self.documents = [*(self.documents or ()), *documents]
            if answer is None:
                return ""
        self._has_answer = True
        if isinstance(answer, BaseMessage):
            self._keep(answer)
            return str(answer.text)
        if not isinstance(answer, str):
            raise InvalidInputError(f"expected an answer, a text or a message, got {type(answer).__name__}")
        return answer

    def checked(self) -> list[Document]:
        if self.documents is None or not self._has_answer:
            runnable = self._runnable
            missing = runnable.documents_key if self.documents is None else runnable.answer_key
            raise InvalidInputError(
                f"expected a mapping with {runnable.answer_key!r} and {runnable.documents_key!r}, got no {missing!r}: name other "
                "keys with answer_key= and documents_key=, or pass documents= to the runnable"
            )
        return self.documents

    def message(self, answer: CitedAnswer) -> AIMessage:
        annotations = [annotation for sentence in answer.sentences for annotation in self._annotations(sentence)]
        content = [*self._blocks, {"type": "text", "text": answer.text, "annotations": annotations}]
        message = self._message or AIMessage(content=[])
        metadata = message.response_metadata | _VERSION
        return message.model_copy(update={"content": content, "response_metadata": metadata})

    def chunk(self, sentence: CitedSentence) -> AIMessageChunk:
        """Return a sentence as a chunk; blocks of one index add up to one block."""
        block = {"type": "text", "text": sentence.text, "annotations": self._annotations(sentence), "index": 0}
        return AIMessageChunk(content=[block], response_metadata=_VERSION)

    def rest(self) -> AIMessageChunk:
        """Return the last chunk of a stream: what the incoming message has beside its text."""
        message = self._message or AIMessageChunk(content=[])
        metadata = message.response_metadata | _VERSION
        if isinstance(message, AIMessageChunk):
            return message.model_copy(update={"response_metadata": metadata})
        names = ("id", "name", "usage_metadata", "additional_kwargs", "tool_calls", "invalid_tool_calls")
        fields = {name: getattr(message, name) for name in names}
        return AIMessageChunk(content=self._blocks, response_metadata=metadata, **fields)

    def _keep(self, message: BaseMessage) -> None:
        if isinstance(message, AIMessage):
            if not isinstance(message, AIMessageChunk):
                self._blocks = [{**block} for block in message.content_blocks if block["type"] != "text"]
            bare = message.model_copy(update={"content": []})
            if isinstance(self._message, AIMessageChunk) and isinstance(bare, AIMessageChunk):
                bare = add_ai_message_chunks(self._message, bare)
            self._message = bare

    def _annotations(self, sentence: CitedSentence) -> list[CitationAnnotation]:
        annotations = []
        for citation in sentence.citations:
            document = (self.documents or [])[citation.position]
            annotations.append(create_citation(document_id=document.id, **citation.fields(document.metadata)))
        return annotations
