"""Readers: their protocol, and those that ask any function or a framework's model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypedDict, runtime_checkable

from factoid.errors import InvalidInputError
from factoid.readers.prompts import Context, question_prompt
from factoid.reasoning import without_reasoning
from factoid.units import whole_number

Prompt = Callable[[str, Sequence[str]], str]
"""Makes a prompt of a question and documents, as `question_prompt` does."""

_AROUND = " \t\"'“”„«»`"  # marks around an answer


@runtime_checkable
class Reader(Protocol):
    """Answers questions."""

    def read(self, question: str, context: Context = ()) -> str:
        """Return the answer to a question from the texts of documents, or from one.

        Without any the model is asked alone.
        """


class LLMReader:
    """Answers with any function that completes a prompt.

    `complete` returns a model's continuation, and limits its length.
    """

    def __init__(self, complete: Callable[[str], str], *, prompt: Prompt = question_prompt) -> None:
        self.complete = complete
        self.prompt = prompt

    def read(self, question: str, context: Context = ()) -> str:
        """Return the answer to a question."""
        return self.read_batch([question], [context])[0]

    def read_batch(self, questions: Sequence[str], contexts: Sequence[Context]) -> list[str]:
        """Return the answer to each question; contexts[i] are the documents of questions[i]."""
        answers = []
        for prompt in make_prompts(self.prompt, questions, contexts):
            completion = self.complete(prompt)
            if not isinstance(completion, str):
                raise InvalidInputError(
                    f"give a callable that returns a string, got {type(completion).__name__}"
                )
            answers.append(clean_answer(completion))
        return answers


class ReaderKwargs(TypedDict, total=False):
    """The options of a `ChatReader`."""

    batch_size: int
    prompt: Prompt


class ChatReader(ABC):
    """Answers questions from documents, one request for each.

    The first line that the model writes is the answer. A context is a list of documents, as a
    retriever returns them, or of their texts, or a single one of these.

    Args:
        llm: The framework's model; its own settings limit an answer.
        batch_size: The number of requests of `read_batch` and `aread_batch` at a time.
        prompt: Makes the prompt of a question and its documents.
    """

    def __init__(self, llm: Any, *, batch_size: int = 8, prompt: Prompt = question_prompt) -> None:
        self.llm = llm
        self.prompt = prompt
        self.batch_size = whole_number("batch_size", batch_size)

    def read(self, question: str, context: Any = ()) -> str:
        """Return the answer to a question."""
        return self.read_batch([question], [context])[0]

    async def aread(self, question: str, context: Any = ()) -> str:
        """Do the same as `read`."""
        return (await self.aread_batch([question], [context]))[0]

    def read_batch(self, questions: Sequence[str], contexts: Sequence[Any]) -> list[str]:
        """Return the answer to each question; contexts[i] are the documents of questions[i]."""
        return list(map(clean_answer, self._complete(self._prompts(questions, contexts))))

    async def aread_batch(self, questions: Sequence[str], contexts: Sequence[Any]) -> list[str]:
        """Do the same as `read_batch`."""
        answers = []
        for text in await self._acomplete(self._prompts(questions, contexts)):
            answers.append(clean_answer(text))
        return answers

    def _prompts(self, questions: Sequence[str], contexts: Sequence[Any]) -> list[str]:
        return make_prompts(self.prompt, questions, contexts, self._text_of)

    @abstractmethod
    def _complete(self, prompts: Sequence[str]) -> list[str]:
        """Return what the model writes after each prompt."""

    @abstractmethod
    async def _acomplete(self, prompts: Sequence[str]) -> list[str]: ...

    @staticmethod
    @abstractmethod
    def _text_of(document: Any) -> Any:
        """Return the text of a framework's document, and anything else unchanged."""


def make_prompts(
    prompt: Prompt,
    questions: Sequence[str],
    contexts: Sequence[Any],
    text_of: Callable[[Any], Any] = lambda text: text,
) -> list[str]:
    """Return the prompt for each question; its context is a list of documents, or a single one."""
    prompts = []
    for question, context in zip(questions, contexts, strict=True):
        documents = context if isinstance(context, list | tuple) else [context]
        prompts.append(prompt(question, list(map(text_of, documents))))
    return prompts


def clean_answer(text: str) -> str:
    """Return the first line of a model's text that is not empty, without quotes around it.

    "" if there is none.
    Reasoning (`factoid.reasoning`) is left out; if it is cut off, there is no answer.
    """
    lines = (line.strip(_AROUND) for line in without_reasoning(text).splitlines())
    return next(filter(None, lines), "")
