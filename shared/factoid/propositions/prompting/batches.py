"""A corpus through OpenAI's Batch API: half the price, within a day, without rate limits to keep."""

from __future__ import annotations

import logging
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from factoid.errors import InvalidInputError, PropositionizerError
from factoid.propositions.caching.file import PropositionCache
from factoid.propositions.prompting import batch_calls as calls
from factoid.propositions.prompting.batch_files import BatchReport, read_lines, request_line
from factoid.propositions.prompting.batch_state import Batch, BatchState, opened
from factoid.propositions.prompting.cost import Usage
from factoid.propositions.prompting.prompt import passage_input
from factoid.propositions.prompting.prompted import PromptPropositionizer
from factoid.propositions.protocol import NoPropositions
from factoid.units import Unit

logger = logging.getLogger(__name__)

_PATIENCE = 30  # rounds, of a minute at most, in which the server cannot be reached
_CHUNK = 1024  # passages looked up, results stored together


class PropositionBatch:
    """Decomposes passages through OpenAI's Batch API, into a cache where indexing finds them.

    What is submitted is written down first, in a file beside the cache. So every method can be interrupted or killed at
    any moment: called again, it looks for a batch that was being created under the key that it was given, and no request
    is submitted twice. Answers are kept as they are collected; a batch that failed, expired or was cancelled keeps what
    it has brought, and the rest is sent with the next `submit`.

    Args:
        propositionizer: The model, the prompt and a synchronous client. With `structured=True` a schema is sent; None
            sends none, as whether the model takes it would be known only afterwards.
        cache: Where results go, under the propositionizer's name; a `PropositionCache` or its path.
        state: The file of batches; None for one beside the cache.
        max_requests: Most requests of one batch.
        max_bytes: Most bytes of one batch's file.
        show_progress: Whether `wait` shows a bar over requests.

    Raises:
        InvalidInputError: A limit is out of range.
        PropositionizerError: The propositionizer has only an asynchronous client.
    """

    def __init__(
        self,
        propositionizer: PromptPropositionizer,
        cache: PropositionCache | str | Path,
        *,
        state: str | Path | None = None,
        max_requests: int = 50_000,
        max_bytes: int = 200_000_000,
        show_progress: bool = False,
    ) -> None:
        if not 1 <= max_requests <= 50_000 or not 10_000 <= max_bytes <= 200_000_000:
            message = (
                "max_requests must be from 1 to 50,000 and max_bytes from 10,000 to 200,000,000, as OpenAI has it, "
                f"got {max_requests} and {max_bytes}"
            )
            raise InvalidInputError(message)
        if propositionizer.client is None:
            message = "batches need a synchronous client: PromptPropositionizer(openai.OpenAI(), model)"
            raise PropositionizerError(message)
        self.propositionizer = propositionizer
        self.cache = cache if isinstance(cache, PropositionCache) else PropositionCache(cache)
        self.max_requests = max_requests
        self.max_bytes = max_bytes
        self.show_progress = show_progress
        path = self.cache.path
        beside = path / "batches.sqlite" if path.is_dir() else path.with_name(f"{path.name}.batches")
        self.state = Path(state) if state is not None else beside
        self._client: Any = propositionizer.client
        self._sleep = time.sleep

    def submit(self, passages: Sequence[Unit] = ()) -> list[Batch]:
        """Submit passages that are neither in the cache nor in a batch, and what earlier batches left over.

        Returns:
            All batches that are not collected yet.

        Raises:
            PropositionizerError: The server refuses, or cannot be reached: call again, nothing is submitted twice.
            InvalidInputError: A passage holds lone surrogates.
            StoreError: Another process is at work on these batches.
        """
        for passage in passages:
            passage_input(passage)
        with opened(self.state, self.propositionizer.name) as state:
            state.add(passage for passage in passages if passage.text.strip())
            self._drop_cached(state)
            self._plan(state)
            for batch in state.batches():
                if batch.batch_id is None:
                    lines = (request_line(self.propositionizer, *each) for each in state.passages(batch))
                    calls.create(self._client, state, batch, lines, sleep=self._sleep)
            return state.batches()

    def batches(self) -> list[Batch]:
        """Return the batches that are not collected yet, as they were when they were last asked for."""
        with opened(self.state, self.propositionizer.name) as state:
            return state.batches()

    def poll(self) -> list[Batch]:
        """Ask the server how the batches are; return those that are not collected yet."""
        with opened(self.state, self.propositionizer.name) as state:
            for batch in state.batches():
                if batch.batch_id and batch.status not in calls.ENDED:
                    calls.refresh(self._client, state, batch)
            return state.batches()

    def collect(self) -> BatchReport:
        """Put into the cache what batches that have ended have brought."""
        self.poll()
        with opened(self.state, self.propositionizer.name) as state:
            ended = [batch for batch in state.batches() if batch.status in calls.ENDED]
            return sum((self._collect(state, batch) for batch in ended), BatchReport())

    def wait(self) -> BatchReport:
        """Collect batches as they end, until all have. Call `submit` first; an interrupt loses nothing."""
        total = sum(batch.requests for batch in self.batches() if batch.batch_id)
        with tqdm(total=total, desc="batches", unit=" requests", disable=not self.show_progress) as bar:
            return self._wait(bar)

    def _wait(self, bar: tqdm[Any]) -> BatchReport:
        report = BatchReport()
        seconds, lost = 5.0, 0
        while True:
            try:
                report += self.collect()
                lost = 0
            except PropositionizerError as error:
                lost += 1
                if lost > _PATIENCE or not calls.is_transient(error):
                    raise
                logger.warning("%s", error)
            live = [batch for batch in self.batches() if batch.batch_id]
            bar.update(bar.total - sum(batch.requests - batch.completed for batch in live) - bar.n)
            if not live:
                return report
            self._sleep(seconds * random.uniform(0.8, 1.0))  # noqa: S311 - no secret
            seconds = min(60.0, seconds * 1.5)

    def run(self, passages: Sequence[Unit]) -> BatchReport:
        """Submit, wait and collect; send again what came back without an answer, as long as that brings something.

        Where the server takes no batch at all because of its limit of queued tokens, the next ones are half as large.
        """
        report = BatchReport()
        while True:
            batches = self.submit(passages)
            if not batches:
                return report
            size = max(batch.requests for batch in batches)
            brought = self.wait()
            report = replace(report + brought, returned=brought.returned)
            if not brought.returned:
                return report
            if not brought.answered and not brought.failures:
                if set(brought.returned) != {"token limit exceeded"} or size == 1:
                    return report
                self.max_requests = max(1, size // 2)
            passages = ()

    def cancel(self) -> list[Batch]:
        """Have the server stop all batches; what they have brought by then can be collected."""
        for batch in self.poll():
            if batch.batch_id and batch.status not in calls.ENDED | {"cancelling"}:
                calls.cancel(self._client, batch)
        return self.poll()

    # One batch

    def _drop_cached(self, state: BatchState) -> None:
        """Forget what waits and is in the cache: for long, or by other ways since an earlier batch left it over."""
        waiting = iter(state.waiting())
        while chunk := list(islice(waiting, _CHUNK)):
            found = self.cache.get(self.propositionizer.name, [passage for _, passage in chunk])
            state.drop(each for (each, _), texts in zip(chunk, found, strict=True) if texts is not None)

    def _plan(self, state: BatchState) -> None:
        """Put what waits into batches."""
        ids: list[str] = []
        size = 0
        for each, passage in state.waiting():
            length = len(request_line(self.propositionizer, each, passage))
            if ids and (len(ids) == self.max_requests or size + length > self.max_bytes):
                state.plan(ids)
                ids, size = [], 0
            ids.append(each)
            size += length
        if ids:
            state.plan(ids)

    def _collect(self, state: BatchState, batch: Batch) -> BatchReport:
        """Put what a batch has brought into the cache, then note that it is collected: a kill between costs nothing."""
        passages = dict(state.passages(batch))
        if batch.status == "failed":
            logger.warning("the batch %s failed: %s", batch.batch_id, batch.error)
        code = batch.error.partition(":")[0]
        reason = code if batch.status == "failed" and code else f"no answer in a batch that is {batch.status}"
        returned = dict.fromkeys(passages, reason.replace("_", " "))
        failures: Counter[str] = Counter()
        answered = []
        usage = Usage()
        replies = read_lines(calls.download(self._client, batch))
        while chunk := list(islice(replies, _CHUNK)):
            known = [(each, reply) for each, reply in chunk if each in returned]
            usage = sum((reply.usage for _, reply in known), usage)
            for each, reply in known:
                if isinstance(reply.texts, NoPropositions) and reply.texts.transient:
                    returned[each] = reply.texts.reason
                    continue
                del returned[each]
                answered.append(each)
                if isinstance(reply.texts, NoPropositions):
                    failures[reply.texts.reason] += 1
            outputs = [reply.texts for _, reply in known]
            self.cache.put(self.propositionizer.name, [passages[each] for each, _ in known], outputs)
        state.collect(batch, answered, returned)
        return BatchReport(len(answered) - failures.total(), failures, Counter(returned.values()), usage)
