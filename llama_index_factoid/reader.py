"""Any LlamaIndex LLM as a reader."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from llama_index.core.llms import LLM, CustomLLM

from factoid.entities.prompts import question_prompt
from factoid.entities.reader import MAX_NEW_TOKENS, Prompt, clean_answer, limit_answers
from factoid.errors import InvalidInputError


class LLMReader:
    """Answers a question from documents by asking a LlamaIndex LLM (Entity Retrieval, §4.1 and Appendix A).

    One request for each question, `complete` or `acomplete`; of what the model writes its first line counts. An LLM that
    only pretends to await, as `CustomLLM` does, works in a thread there. Errors of the server are the LLM's: make it with
    `max_retries`.

    Args:
        llm: The LLM.
        max_tokens: Most tokens of an answer, as in the paper, where `llm` has such a setting. None for the LLM's own: models
            that think before they answer need more.
        prompt: Makes the prompt of a question and its documents.

    Raises:
        InvalidInputError: `llm` is no LLM, or `max_tokens` is below 1.
    """

    def __init__(self, llm: LLM, *, max_tokens: int | None = MAX_NEW_TOKENS, prompt: Prompt = question_prompt) -> None:
        if not isinstance(llm, LLM):
            message = f"expected a LlamaIndex LLM, got {type(llm).__name__}"
            raise InvalidInputError(message)
        self.llm = limit_answers(llm, max_tokens)
        self.prompt = prompt

    def read(self, question: str, context: str | Sequence[str] = ()) -> str:
        """Return the answer to a question from documents; a plain string is one document.

        Raises:
            InvalidInputError: The question is empty.
        """
        return clean_answer(self.llm.complete(self.prompt(question, context)).text)

    async def aread(self, question: str, context: str | Sequence[str] = ()) -> str:
        """Return the answer to a question from documents. Raises as `read`."""
        if not _awaits(self.llm):
            return await asyncio.to_thread(self.read, question, context)
        return clean_answer((await self.llm.acomplete(self.prompt(question, context))).text)


def _awaits(llm: LLM) -> bool:
    """Tell whether an LLM has an asynchronous method of its own: that of `CustomLLM` blocks the event loop."""
    return next(kind for kind in type(llm).__mro__ if "acomplete" in vars(kind)) is not CustomLLM
