"""Any LangChain chat model as a reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import Runnable

from factoid.entities.reader import ChatReader
from factoid.errors import InvalidInputError
from langchain_factoid.propositionizer import message_text


class ChatModelReader(ChatReader):
    """Answers a question from documents by asking a LangChain model (Entity Retrieval, §4.1 and Appendix A).

    One request for each question, `invoke` or `ainvoke`; of what the model writes its first line counts, of a document its
    `page_content`. Errors of the server are the model's: make it with `max_retries`.

    Args:
        llm: A chat model, or a runnable that takes a prompt and gives a message or a text.
        max_tokens: Most tokens of an answer, by default 10 as in the paper, where `llm` is a model that has such a setting;
            a runnable around a model keeps the model's own. None for the model's own: models that think before they answer
            need more.
        batch_size: Requests at a time of `read_batch` and `aread_batch`.
        prompt: Makes the prompt of a question and its documents; `factoid.entities.prompts.question_prompt` by default.

    Raises:
        InvalidInputError: `llm` is no runnable, or `max_tokens` or `batch_size` is below 1.
    """

    def __init__(self, llm: Runnable[Any, Any], **options: Any) -> None:
        if not isinstance(llm, Runnable):
            message = f"expected a LangChain chat model, got {type(llm).__name__}"
            raise InvalidInputError(message)
        super().__init__(llm, **options)

    def _complete(self, prompts: Sequence[str]) -> list[str]:
        answers = self.llm.batch(list(prompts), {"max_concurrency": self.batch_size})
        return [message_text(answer) for answer in answers]

    async def _acomplete(self, prompts: Sequence[str]) -> list[str]:
        answers = await self.llm.abatch(list(prompts), {"max_concurrency": self.batch_size})
        return [message_text(answer) for answer in answers]

    @staticmethod
    def _text_of(document: Any) -> Any:
        return document.page_content if isinstance(document, Document) else document
