"""Any LlamaIndex LLM as a reader."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.async_utils import run_jobs
from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.llms import LLM
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore

from factoid.entities.reader import ChatReader
from factoid.errors import InvalidInputError
from llama_index_factoid.propositionizer import awaits


class LLMReader(ChatReader):
    """Answers a question from documents by asking a LlamaIndex LLM (Entity Retrieval, §4.1 and Appendix A).

    One request for each question, `complete` or `acomplete`; of what the model writes its first line counts, of a node its
    text without its metadata. An LLM that only pretends to await, as `CustomLLM` does, works in a thread there. Errors of
    the server are the LLM's: make it with `max_retries`.

    Args:
        llm: The LLM.
        max_tokens: Most tokens of an answer, by default 10 as in the paper, where `llm` has such a setting. None for the
            LLM's own: models that think before they answer need more.
        batch_size: Requests at a time of `aread_batch`, where the LLM awaits; else they go one after the other.
        prompt: Makes the prompt of a question and its documents; `factoid.entities.prompts.question_prompt` by default.

    Raises:
        InvalidInputError: `llm` is no LLM, or `max_tokens` or `batch_size` is below 1.
    """

    def __init__(self, llm: LLM, **options: Any) -> None:
        if not isinstance(llm, LLM):
            message = f"expected a LlamaIndex LLM, got {type(llm).__name__}"
            raise InvalidInputError(message)
        super().__init__(llm, **options)

    def _complete(self, prompts: Sequence[str]) -> list[str]:
        return [self.llm.complete(prompt).text for prompt in prompts]

    async def _acomplete(self, prompts: Sequence[str]) -> list[str]:
        if not awaits(self.llm, "acomplete"):
            return await asyncio.to_thread(self._complete, prompts)
        requests = [self.llm.acomplete(prompt) for prompt in prompts]
        answers: list[CompletionResponse] = await run_jobs(requests, workers=self.batch_size)
        return [answer.text for answer in answers]

    @staticmethod
    def _text_of(document: Any) -> Any:
        node = document.node if isinstance(document, NodeWithScore) else document
        return node.get_content(MetadataMode.NONE) if isinstance(node, BaseNode) else node
