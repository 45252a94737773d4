"""Any LangChain chat model as a reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable

from factoid.entities.prompts import question_prompt
from factoid.entities.reader import MAX_NEW_TOKENS, Prompt, clean_answer, limit_answers
from factoid.errors import InvalidInputError


class ChatModelReader:
    """Answers a question from documents by asking a LangChain model (Entity Retrieval, §4.1 and Appendix A).

    One request for each question, `invoke` or `ainvoke`; of what the model writes its first line counts. Errors of the
    server are the model's: make it with `max_retries`.

    Args:
        llm: A chat model, or a runnable that takes a prompt and gives a message or a text.
        max_tokens: Most tokens of an answer, as in the paper, where `llm` is a model that has such a setting; a runnable
            around a model keeps the model's own. None for the model's own: models that think before they answer need more.
        prompt: Makes the prompt of a question and its documents.

    Raises:
        InvalidInputError: `llm` is no runnable, or `max_tokens` is below 1.
    """

    def __init__(
        self, llm: Runnable[Any, Any], *, max_tokens: int | None = MAX_NEW_TOKENS, prompt: Prompt = question_prompt
    ) -> None:
        if not isinstance(llm, Runnable):
            message = f"expected a LangChain chat model, got {type(llm).__name__}"
            raise InvalidInputError(message)
        self.llm = limit_answers(llm, max_tokens)
        self.prompt = prompt

    def read(self, question: str, context: str | Sequence[str] = ()) -> str:
        """Return the answer to a question from documents; a plain string is one document.

        Raises:
            InvalidInputError: The question is empty, or the model gave neither a message nor a text.
        """
        return _answer(self.llm.invoke(self.prompt(question, context)))

    async def aread(self, question: str, context: str | Sequence[str] = ()) -> str:
        """Return the answer to a question from documents. Raises as `read`."""
        return _answer(await self.llm.ainvoke(self.prompt(question, context)))


def _answer(said: object) -> str:
    if isinstance(said, BaseMessage):
        return clean_answer(str(said.text))
    if not isinstance(said, str):
        message = f"expected a message or a text from the model, got {type(said).__name__}: give it no output parser"
        raise InvalidInputError(message)
    return clean_answer(said)
