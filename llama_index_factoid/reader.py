"""Any LlamaIndex LLM as a reader."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.async_utils import run_jobs
from llama_index.core.llms import LLM, CustomLLM
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore

from factoid.entities.prompts import as_documents, match_contexts, question_prompt
from factoid.entities.reader import MAX_NEW_TOKENS, Prompt, clean_answer, limit_answers
from factoid.errors import InvalidInputError

Node = str | BaseNode | NodeWithScore
Context = Node | Sequence[Node]
"""Nodes, as a retriever returns them, or their texts; of a node the reader gets its text without its metadata."""


class LLMReader:
    """Answers a question from documents by asking a LlamaIndex LLM (Entity Retrieval, §4.1 and Appendix A).

    One request for each question, `complete` or `acomplete`; of what the model writes its first line counts. An LLM that
    only pretends to await, as `CustomLLM` does, works in a thread there. Errors of the server are the LLM's: make it with
    `max_retries`.

    Args:
        llm: The LLM.
        max_tokens: Most tokens of an answer, as in the paper, where `llm` has such a setting. None for the LLM's own: models
            that think before they answer need more.
        batch_size: Requests at a time of `aread_batch`, where the LLM awaits; else they go one after the other.
        prompt: Makes the prompt of a question and its documents.

    Raises:
        InvalidInputError: `llm` is no LLM, or `max_tokens` or `batch_size` is below 1.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        max_tokens: int | None = MAX_NEW_TOKENS,
        batch_size: int = 8,
        prompt: Prompt = question_prompt,
    ) -> None:
        if not isinstance(llm, LLM):
            message = f"expected a LlamaIndex LLM, got {type(llm).__name__}"
            raise InvalidInputError(message)
        if batch_size < 1:
            message = f"batch_size must be at least 1, got {batch_size}"
            raise InvalidInputError(message)
        self.llm = limit_answers(llm, max_tokens)
        self.batch_size = batch_size
        self.prompt = prompt

    def read(self, question: str, context: Context = ()) -> str:
        """Return the answer to a question from documents; a plain string is one document.

        Raises:
            InvalidInputError: The question is empty, or the context is something else.
        """
        return self._complete(self.prompt(question, as_documents(context, _text_of)))

    async def aread(self, question: str, context: Context = ()) -> str:
        """Return the answer to a question from documents. Raises as `read`."""
        if not _awaits(self.llm):
            return await asyncio.to_thread(self.read, question, context)
        return await self._acomplete(self.prompt(question, as_documents(context, _text_of)))

    def read_batch(self, questions: Sequence[str], contexts: Sequence[Context]) -> list[str]:
        """Return the answer to each question; contexts[i] are the documents of questions[i].

        Raises:
            InvalidInputError: As `read`, before anything is asked; questions or contexts are no lists, or not as many.
        """
        return [self._complete(prompt) for prompt in self._prompts(questions, contexts)]

    async def aread_batch(self, questions: Sequence[str], contexts: Sequence[Context]) -> list[str]:
        """Return the answer to each question. Raises as `read_batch`."""
        if not _awaits(self.llm):
            return await asyncio.to_thread(self.read_batch, questions, contexts)
        prompts = self._prompts(questions, contexts)
        return await run_jobs([self._acomplete(prompt) for prompt in prompts], workers=self.batch_size)

    def _prompts(self, questions: Sequence[str], contexts: Sequence[Context]) -> list[str]:
        return [self.prompt(*each) for each in match_contexts(questions, contexts, _text_of)]

    def _complete(self, prompt: str) -> str:
        return clean_answer(self.llm.complete(prompt).text)

    async def _acomplete(self, prompt: str) -> str:
        return clean_answer((await self.llm.acomplete(prompt)).text)


def _text_of(document: Any) -> Any:
    if isinstance(document, NodeWithScore):
        document = document.node
    return document.get_content(MetadataMode.NONE) if isinstance(document, BaseNode) else document


def _awaits(llm: LLM) -> bool:
    """Tell whether an LLM has an asynchronous method of its own: that of `CustomLLM` blocks the event loop."""
    return next(kind for kind in type(llm).__mro__ if "acomplete" in vars(kind)) is not CustomLLM
