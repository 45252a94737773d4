"""What readers over the models of frameworks share: prompts, limits, single questions and batches, sync and async."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from factoid.entities.prompts import as_documents, match_contexts, question_prompt
from factoid.entities.reader import MAX_NEW_TOKENS, Prompt, clean_answer, limit_answers
from factoid.store.search import whole_number


class ChatReader(ABC):
    """Answers questions from documents, one request for each; of what the model writes the first line counts.

    A context is a list of documents, as a retriever returns them, or of their texts; a single one is a context, too.
    """

    def __init__(
        self,
        llm: Any,
        *,
        max_tokens: int | None = MAX_NEW_TOKENS,
        batch_size: int = 8,
        prompt: Prompt = question_prompt,
    ) -> None:
        self.llm = limit_answers(llm, max_tokens)
        self.batch_size = whole_number("batch_size", batch_size)
        self.prompt = prompt

    def read(self, question: str, context: Any = ()) -> str:
        """Return the answer to a question.

        Raises:
            InvalidInputError: The question is empty, or the context is something else.
        """
        return clean_answer(self._complete([self.prompt(question, as_documents(context, self._text_of))])[0])

    async def aread(self, question: str, context: Any = ()) -> str:
        """Do as `read`."""
        return clean_answer((await self._acomplete([self.prompt(question, as_documents(context, self._text_of))]))[0])

    def read_batch(self, questions: Sequence[str], contexts: Sequence[Any]) -> list[str]:
        """Return the answer to each question; contexts[i] are the documents of questions[i].

        Raises:
            InvalidInputError: As `read`, before anything is asked; questions or contexts are no lists, or not as many.
        """
        return [clean_answer(text) for text in self._complete(self._prompts(questions, contexts))]

    async def aread_batch(self, questions: Sequence[str], contexts: Sequence[Any]) -> list[str]:
        """Do as `read_batch`."""
        return [clean_answer(text) for text in await self._acomplete(self._prompts(questions, contexts))]

    def _prompts(self, questions: Sequence[str], contexts: Sequence[Any]) -> list[str]:
        pairs = match_contexts(questions, contexts, self._text_of)
        return [self.prompt(question, documents) for question, documents in pairs]

    @abstractmethod
    def _complete(self, prompts: Sequence[str]) -> list[str]:
        """Return what the model writes after each prompt."""

    @abstractmethod
    async def _acomplete(self, prompts: Sequence[str]) -> list[str]: ...

    @staticmethod
    @abstractmethod
    def _text_of(document: Any) -> Any:
        """Return the text of a framework's document, and all else as it is."""
