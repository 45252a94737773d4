"""Summarize tables with the caller's model. A search finds the summary, and the reader gets its table.

A summary is generated text and may be wrong: it is marked as such, and nothing is drawn from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field
from operator import sub
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid.documents.tables import Table
from factoid.errors import InvalidInputError
from factoid.propositions.cache import PropositionCache
from factoid.propositions.cached_propositionizer import CachedPropositionizer
from factoid.propositions.prompting.chat import REFUSALS, ChatPropositionizer, Reply, Task
from factoid.propositions.prompting.cost import Usage
from factoid.propositions.prompting.prompted import PromptPropositionizer
from factoid.propositions.protocol import NoPropositions
from factoid.units import Granularity, Unit, content_id, make_unit

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

PROMPT = """\
Summarize the table below in two to five sentences, for somebody who searches for what it says. Tell what it is about, what
its rows and columns are, and its most important values with what they belong to. State only what the table says, and call a
value the highest or lowest only after comparing it with all others of its column. Answer with the summary alone."""


@dataclass(frozen=True, slots=True)
class TableSummary:
    """A generated summary of one table."""

    table: int  # index of the table in the input, from 0
    text: str  # "" if it failed
    generated_by: str  # model and prompt
    finish_reason: str = ""  # why the model stopped, if known: "length" means that the summary was cut off
    failure: str = ""  # why there is no summary, in a few words


@dataclass(frozen=True, slots=True)
class SummaryReport:
    """The summaries of tables, one for each in their order, and the tokens of the requests."""

    summaries: tuple[TableSummary, ...]
    usage: Usage = field(default_factory=Usage)

    @property
    def failures(self) -> dict[str, int]:
        """Tables without a summary, counted by reason."""
        return dict(Counter(summary.failure for summary in self.summaries if summary.failure))

    def metadata(self) -> dict[str, Any]:
        """Return `table_count` and `table_summaries`, a string for each table in order, "" for a failed one.

        If summaries failed, `table_summary_failures` says why, by index from 0. JSON can hold all of it.
        """
        texts = [summary.text for summary in self.summaries]
        failures = {str(summary.table): summary.failure for summary in self.summaries if summary.failure}
        metadata: dict[str, Any] = {"table_count": len(texts), "table_summaries": texts}
        return metadata | ({"table_summary_failures": failures} if failures else {})

    def __str__(self) -> str:
        count, failed = len(self.summaries), sum(self.failures.values())
        reasons = ", ".join(f"{times} {reason}" for reason, times in self.failures.items())
        return f"{count} tables → {count - failed} summaries; {failed} failed" + (f" ({reasons})" if reasons else "")


class TableSummarizer:
    """Summarizes tables by asking a chat model, one request for each table, several at a time.

    Requests are paced, retried and cached like those of `PromptPropositionizer`. A table that fails loses only its own summary.

    Args:
        client: `openai.OpenAI`, `openai.AsyncOpenAI` or a client with the same methods; or a function from a prompt to an answer,
            such as one around any other model, which returns None or "" for no answer. The packages for LangChain and LlamaIndex
            have a `TableSummarizer` that takes their models.
        model: Name of the model on the server; for a function, the name under which a cache stores its answers.
        cache: Keeps summaries: a `PropositionCache`, the path of its file, created if absent, or a store's folder.
        prompt: Instructions in place of factoid's own.
        options: Options of `PromptPropositionizer`: `max_concurrency`, `max_tokens`, `show_progress` ...

    Raises:
        InvalidInputError: The client is neither a client nor a function, an option is out of range, or a function with a cache
            has no name.
    """

    def __init__(
        self,
        client: OpenAI | AsyncOpenAI | Callable[[str], str | None] | ChatPropositionizer | Any,
        model: str = "",
        *,
        cache: PropositionCache | str | Path | None = None,
        prompt: str | None = None,
        **options: Any,
    ) -> None:
        if isinstance(client, ChatPropositionizer):
            if client.task.read is not read_summary:
                raise InvalidInputError(f"expected a client, got a {type(client).__name__}: give its client instead")
            self._chat: ChatPropositionizer = client
        elif callable(client):
            name = model or getattr(client, "__qualname__", "")
            if cache is not None and (not name or "<lambda>" in name):
                raise InvalidInputError(
                    "a function needs a name before a cache: TableSummarizer(function, 'name of its model', cache=...)"
                )
            self._chat = _FunctionChat(client, name, prompt=prompt, task=SUMMARIES, **options)
        else:
            self._chat = PromptPropositionizer(
                client, model, structured=False, prompt=prompt, task=SUMMARIES, **options
            )
        self._cached = self._chat if cache is None else CachedPropositionizer(self._chat, cache)

    @property
    def name(self) -> str:
        """Model and prompt, recorded as the author of every summary."""
        return self._chat.name

    def summarize(self, tables: Sequence[Table]) -> SummaryReport:
        """Return a summary of each table.

        Raises:
            InvalidInputError: An item is not a table.
            PropositionizerError: No request reached the server, or it rejects what it would reject for every table.
            StoreError: The cache cannot be read or written.
        """
        units, before = _units(tables), self._chat.usage
        return self._report(self._cached.propositionize(units), before)

    async def asummarize(self, tables: Sequence[Table]) -> SummaryReport:
        """Do the same as `summarize` without blocking the event loop."""
        units, before = _units(tables), self._chat.usage
        return self._report(await self._cached.apropositionize(units), before)

    def _report(self, outputs: Sequence[list[str]], before: Usage) -> SummaryReport:
        usage = Usage(*map(sub, astuple(self._chat.usage), astuple(before)))
        summaries = tuple(_summary(position, texts, self.name) for position, texts in enumerate(outputs))
        return SummaryReport(summaries, usage)


class _FunctionChat(ChatPropositionizer):
    """Ask a function that returns an answer to a prompt."""

    _can_asend = False

    def __init__(self, function: Callable[[str], str | None], name: str, **options: Any) -> None:
        super().__init__(**options)
        self.function, self.model = function, name

    def _send(self, prompt: str) -> Reply:
        answer = self.function(prompt)
        if not isinstance(answer, str | None):
            raise InvalidInputError(f"the function that summarizes must return a str, got {type(answer).__name__}")
        return Reply(read_summary(answer or ""))  # some clients return None if a model says nothing

    async def _asend(self, prompt: str) -> Reply:
        return self._send(prompt)


def table_prompt(table: Unit, instructions: str | None = None) -> str:
    """Return the whole prompt for a table, given as a unit whose text is its Markdown."""
    place = "".join(
        f"{label}: {' '.join(text.split())}\n"
        for label, text in (("Document", table.title), ("Section", table.section))
        if text
    )
    return f"{(PROMPT if instructions is None else instructions).rstrip()}\n\n{place}Table:\n\n{table.text}\n\nSummary:"


def read_summary(text: str, *, finish: str | None = None, refused: bool = False) -> list[str]:
    """Return a summary and why the model stopped, or `NoPropositions`."""
    if refused or finish in REFUSALS:
        return NoPropositions("refusal")
    summary = " ".join(text.split())
    return [summary, "" if finish in (None, "None") else str(finish)] if summary else NoPropositions("empty answer")


def _versioned_name(model: str, prompt: str | None) -> str:
    return f"{model}@table summary {content_id(PROMPT if prompt is None else prompt)}"


SUMMARIES = Task("table summaries", table_prompt, read_summary, _versioned_name)


def _units(tables: Sequence[Table]) -> list[Unit]:
    """Return tables as passages of their Markdown, empty for a table without text."""
    if isinstance(tables, Table) or not all(isinstance(table, Table) for table in tables):
        raise InvalidInputError("expected a list of factoid.documents.Table, as clean(...).tables holds them")
    units = []
    for table in tables:
        text = table.to_markdown() if any(cell.text.strip() for cell in table.cells) else ""
        place: dict[str, Any] = {"document_id": "", "parent_id": "", "start": 0, "end": len(text)}
        units.append(make_unit(text, Granularity.PASSAGE, title=table.title, section=table.section, **place))
    return units


def _summary(position: int, texts: list[str], name: str) -> TableSummary:
    if isinstance(texts, NoPropositions):
        reason = "table without text" if texts.reason == "empty passage" else texts.reason
        return TableSummary(position, "", name, failure=reason)
    finish = texts[1] if len(texts) > 1 else ""
    return TableSummary(position, texts[0], name, finish)
