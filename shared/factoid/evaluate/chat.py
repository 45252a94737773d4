"""A chat model with OpenAI's interface that completes prompts, several at a time."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from factoid.errors import FactoidError
from factoid.progress import tracked
from factoid.propositions.prompting.failures import judge
from factoid.propositions.prompting.prompted import read_completion
from factoid.readers.prompts import Context, question_prompt
from factoid.readers.reader import clean_answer, make_prompts
from factoid.units import whole_number

logger = logging.getLogger(__name__)


class ChatModel:
    """Completes prompts, and so reads contexts and writes questions.

    The client's key, address and time-out are used, and its own retries.

    Args:
        client: `openai.OpenAI`, or an object with the same `chat.completions.create`.
        model: Name of the model on the server.
        temperature: 0 for the likeliest answer; None to send none, as reasoning models require.
        max_concurrency: Maximum number of concurrent requests.
        progress: Whether to show a bar, as `factoid.progress` does.
    """

    def __init__(
        self,
        client: Any,
        model: str,
        *,
        temperature: float | None = 0.0,
        max_concurrency: int = 8,
        progress: bool | None = False,
    ) -> None:
        self.name = model
        self._client = client
        self._options: dict[str, Any] = {"model": model}
        if temperature is not None:
            self._options["temperature"] = temperature
        self._width = whole_number("max_concurrency", max_concurrency)
        self._progress = progress

    def complete(self, prompts: Sequence[str]) -> list[str]:
        """Return what the model answers to each prompt, "" where it has no answer.

        Raises:
            FactoidError: The server rejects something that concerns every prompt, such as the key
                or the model, or no prompt has an answer.
        """
        with ThreadPoolExecutor(self._width, thread_name_prefix="chat") as pool:
            arriving = tracked(
                pool.map(self._ask, prompts),
                show=self._progress,
                unit=" requests",
                total=len(prompts),
                desc=self.name,
            )
            answers = list(arriving)
        failures = [answer for answer in answers if isinstance(answer, Exception)]
        if failures and len(failures) == len(prompts):
            raise FactoidError(
                f"the model {self.name!r} answered none of {len(prompts)} requests, the last "
                f"error: {failures[-1]!r}. Check the client's base_url, and that the server works"
            ) from failures[-1]
        return [answer if isinstance(answer, str) else "" for answer in answers]

    def read(self, question: str, context: Context = ()) -> str:
        """Return the answer to a question from the texts of documents, or from one."""
        return self.read_batch([question], [context])[0]

    def read_batch(self, questions: Sequence[str], contexts: Sequence[Context]) -> list[str]:
        """Return the answer to each question; contexts[i] are the texts of questions[i]."""
        prompts = make_prompts(question_prompt, questions, contexts)
        return list(map(clean_answer, self.complete(prompts)))

    def _ask(self, prompt: str) -> str | Exception:
        """Return an answer, or the error of this prompt alone."""
        messages = [{"role": "user", "content": prompt}]
        try:
            reply = read_completion(
                self._client.chat.completions.create(messages=messages, **self._options)
            )
        except Exception as error:
            failure = judge(error)
            if failure is None:
                raise
            if failure.remedy:
                remedy = failure.remedy.format(arguments=", ".join(self._options))
                text = str(error).rstrip(".")
                raise FactoidError(
                    f"requests for the model {self.name!r} are rejected: {text}. {remedy}"
                ) from error
            logger.info("no answer from %s: %s", self.name, error)
            return error
        return reply.text
