"""Any LangChain chat model as a reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig

from factoid.entities.prompts import as_documents, match_contexts, question_prompt
from factoid.entities.reader import MAX_NEW_TOKENS, Prompt, clean_answer, limit_answers
from factoid.errors import InvalidInputError

Context = str | Document | Sequence[str | Document]
"""Documents, as a retriever returns them, or their texts; of a document the reader gets its `page_content`."""


class ChatModelReader:
    """Answers a question from documents by asking a LangChain model (Entity Retrieval, §4.1 and Appendix A).

    One request for each question, `invoke` or `ainvoke`; of what the model writes its first line counts. Errors of the
    server are the model's: make it with `max_retries`.

    Args:
        llm: A chat model, or a runnable that takes a prompt and gives a message or a text.
        max_tokens: Most tokens of an answer, as in the paper, where `llm` is a model that has such a setting; a runnable
            around a model keeps the model's own. None for the model's own: models that think before they answer need more.
        batch_size: Requests at a time of `read_batch` and `aread_batch`.
        prompt: Makes the prompt of a question and its documents.

    Raises:
        InvalidInputError: `llm` is no runnable, or `max_tokens` or `batch_size` is below 1.
    """

    def __init__(
        self,
        llm: Runnable[Any, Any],
        *,
        max_tokens: int | None = MAX_NEW_TOKENS,
        batch_size: int = 8,
        prompt: Prompt = question_prompt,
    ) -> None:
        if not isinstance(llm, Runnable):
            message = f"expected a LangChain chat model, got {type(llm).__name__}"
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
            InvalidInputError: The question is empty, the context is something else, or the model gave neither a message
                nor a text.
        """
        return _answer(self.llm.invoke(self.prompt(question, as_documents(context, _text_of))))

    async def aread(self, question: str, context: Context = ()) -> str:
        """Return the answer to a question from documents. Raises as `read`."""
        return _answer(await self.llm.ainvoke(self.prompt(question, as_documents(context, _text_of))))

    def read_batch(self, questions: Sequence[str], contexts: Sequence[Context]) -> list[str]:
        """Return the answer to each question; contexts[i] are the documents of questions[i].

        Raises:
            InvalidInputError: As `read`, before anything is asked; questions or contexts are no lists, or not as many.
        """
        return [_answer(said) for said in self.llm.batch(self._prompts(questions, contexts), self._config())]

    async def aread_batch(self, questions: Sequence[str], contexts: Sequence[Context]) -> list[str]:
        """Return the answer to each question. Raises as `read_batch`."""
        return [_answer(said) for said in await self.llm.abatch(self._prompts(questions, contexts), self._config())]

    def _prompts(self, questions: Sequence[str], contexts: Sequence[Context]) -> list[str]:
        return [self.prompt(*each) for each in match_contexts(questions, contexts, _text_of)]

    def _config(self) -> RunnableConfig:
        return {"max_concurrency": self.batch_size}


def _text_of(document: Any) -> Any:
    return document.page_content if isinstance(document, Document) else document


def _answer(said: object) -> str:
    if isinstance(said, BaseMessage):
        return clean_answer(str(said.text))
    if not isinstance(said, str):
        message = f"expected a message or a text from the model, got {type(said).__name__}: give it no output parser"
        raise InvalidInputError(message)
    return clean_answer(said)
