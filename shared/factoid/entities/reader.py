"""Readers, which answer a question from the documents retrieved for it (Entity Retrieval, §4.1)."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from factoid.entities.prompts import Context, match_contexts, question_prompt
from factoid.errors import InvalidInputError
from factoid.units import whole_number

MAX_NEW_TOKENS = 10
"""The paper's readers write no more (§4.1)."""

Prompt = Callable[[str, Sequence[str]], str]
"""Makes a prompt of a question and documents, as `question_prompt` does."""

_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»", "„": "“"}
# Where integrations of models keep the limit on the tokens of an answer.
_LIMITS = ("max_tokens", "max_new_tokens", "max_output_tokens", "num_predict", "max_tokens_to_sample")

_THOUGHTS = r"(think|thinking|reasoning)"
# Inline thoughts before an answer, whole or cut off; or only their end, where the chat template holds the beginning.
_THINKS = re.compile(rf"\s*<{_THOUGHTS}>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT = re.compile(rf"(?:(?!<{_THOUGHTS}>).)*?</{_THOUGHTS}>", re.DOTALL | re.IGNORECASE)


@runtime_checkable
class Reader(Protocol):
    """Answers questions."""

    def read(self, question: str, context: Context = ()) -> str:
        """Return the answer to a question from the texts of documents, or from one; without any the model is asked alone."""


class LLMReader:
    """Answers with any function that completes a prompt: `complete` returns a model's continuation, and limits its length."""

    def __init__(self, complete: Callable[[str], str], *, prompt: Prompt = question_prompt) -> None:
        self.complete, self.prompt = complete, prompt

    def read(self, question: str, context: Context = ()) -> str:
        """Return the answer to a question. Raises as `read_batch`."""
        return self.read_batch([question], [context])[0]

    def read_batch(self, questions: Sequence[str], contexts: Sequence[Context]) -> list[str]:
        """Return the answer to each question, cleaned by `clean_answer`; contexts[i] are the documents of questions[i].

        Raises:
            InvalidInputError: A question is empty, a document is not a string, or `complete` did not return one.
        """
        answers = []
        for question, documents in match_contexts(questions, contexts):
            completion = self.complete(self.prompt(question, documents))
            if not isinstance(completion, str):
                raise InvalidInputError(f"give a callable that returns a string, got {type(completion).__name__}")
            answers.append(clean_answer(completion))
        return answers


class ChatReader(ABC):
    """Answers questions from documents, one request for each; the first line that the model writes is the answer.

    A context is a list of documents, as a retriever returns them, or of their texts, or a single one of these.

    Args:
        llm: The framework's model.
        max_tokens: The most tokens of an answer, by default 10 as in the paper, if `llm` has such a setting. None for the
            model's own: models that think before they answer need more.
        batch_size: The number of requests of `read_batch` and `aread_batch` at a time.
        prompt: Makes the prompt of a question and its documents.

    Raises:
        InvalidInputError: `llm` is not a model of the framework, or `max_tokens` or `batch_size` is below 1.
    """

    def __init__(
        self,
        llm: Any,
        *,
        max_tokens: int | None = MAX_NEW_TOKENS,
        batch_size: int = 8,
        prompt: Prompt = question_prompt,
    ) -> None:
        self.llm = _limit_answers(llm, max_tokens)
        self.batch_size = whole_number("batch_size", batch_size)
        self.prompt = prompt

    def read(self, question: str, context: Any = ()) -> str:
        """Return the answer to a question. Raises as `read_batch`."""
        return self.read_batch([question], [context])[0]

    async def aread(self, question: str, context: Any = ()) -> str:
        """Do the same as `read`."""
        return (await self.aread_batch([question], [context]))[0]

    def read_batch(self, questions: Sequence[str], contexts: Sequence[Any]) -> list[str]:
        """Return the answer to each question; contexts[i] are the documents of questions[i].

        Raises:
            InvalidInputError: Before any request: a question is empty, or has no context of documents.
        """
        return [clean_answer(text) for text in self._complete(self._prompts(questions, contexts))]

    async def aread_batch(self, questions: Sequence[str], contexts: Sequence[Any]) -> list[str]:
        """Do the same as `read_batch`."""
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
        """Return the text of a framework's document, and anything else unchanged."""


def clean_answer(text: str, *, skip_empty: bool = True) -> str:
    """Return the first line of a model's text without quotes around it; "" if there is none.

    Thoughts in <think>, <thinking> or <reasoning> tags are removed first; if they are cut off, there is no answer. An opening
    double quote that is never closed is also removed. Without `skip_empty` an empty first line is the answer, as in the paper's
    experiments.
    """
    while thoughts := _THINKS.match(text) or _THOUGHT.match(text):
        text = text[thoughts.end() :].lstrip()
    line = next((line.strip() for line in text.splitlines() if line.strip() or not skip_empty), "")
    closing = _QUOTES.get(line[:1])
    if closing is None:
        return line
    rest = line[1:]
    if rest.endswith(closing) and closing not in rest[:-1] and line[0] not in rest[:-1]:
        return rest[:-1].strip()
    return rest.strip() if line[0] in '"“„«' and closing not in rest else line


def _limit_answers(model: Any, max_tokens: int | None) -> Any:
    """Return a copy of a framework's model whose answers have at most `max_tokens` tokens, if it has such a setting."""
    if max_tokens is None:
        return model
    whole_number("max_tokens", max_tokens)
    fields: dict[str, Any] = getattr(type(model), "model_fields", {})  # both frameworks' models are pydantic's
    name = next((name for name in _LIMITS if name in fields), None)
    limit = name and getattr(model, name)
    if name is None or (isinstance(limit, int) and 0 < limit <= max_tokens):
        return model
    return model.model_copy(update={name: max_tokens})
