"""Decompose a corpus through OpenAI's Batch API: half the price, within a day, and no rate limits.

Each batch is recorded in a file before it is created, under a key that the server keeps with it, so
that a batch whose creation was interrupted is found again instead of created twice.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import FileLock, Timeout
from tqdm.auto import tqdm

from factoid._optional import require
from factoid.errors import InvalidInputError, PropositionizerError, StoreError, StoreFormatError
from factoid.files.atomic import write_file
from factoid.files.disk_errors import explain_disk_error
from factoid.files.lines import parse_object
from factoid.propositions.cache import PropositionCache, passage_key
from factoid.propositions.prompting.cost import Usage
from factoid.propositions.prompting.failures import Failure, NoCompletionError, judge
from factoid.propositions.prompting.prompt import prompt_for
from factoid.propositions.prompting.prompted import PromptPropositionizer, read_completion
from factoid.propositions.protocol import NoPropositions
from factoid.units import Unit

logger = logging.getLogger(__name__)

_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_ENDPOINT = "/v1/chat/completions"
_METADATA = "factoid"  # the name under which the server keeps our key of a batch
_DAY = 86_400.0
_POLL = 30.0  # seconds between questions about the batches


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that is not yet collected. Its file holds the same.

    Attributes:
        name: Name of the propositionizer.
        key: Key at the server, in the metadata of the batch.
        created: When it was created, in seconds since 1970.
        passages: Keys of the passages in the cache, which are the ids of the requests.
        batch_id: The server's id; None if the creation was interrupted.
        status: "creating", then OpenAI's, such as in_progress, completed or expired.
        completed: Answered requests.
        error: Why the batch as a whole failed, in the server's words.
    """

    name: str
    key: str
    created: float
    passages: Sequence[str]
    batch_id: str | None = None
    status: str = "creating"
    completed: int = 0
    error: str = ""

    @property
    def requests(self) -> int:
        """Number of requests."""
        return len(self.passages)


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The results of batches. Reports can be added.

    Attributes:
        answered: Requests whose propositions are now in the cache.
        failures: Requests that failed for good, by reason; also cached.
        returned: Requests that the next `submit` sends again, by reason.
    """

    answered: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)
    returned: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)

    def __add__(self, other: BatchReport) -> BatchReport:
        failures = dict(Counter(self.failures) + Counter(other.failures))
        returned = dict(Counter(self.returned) + Counter(other.returned))
        return BatchReport(
            self.answered + other.answered, failures, returned, self.usage + other.usage
        )

    def __str__(self) -> str:
        parts = [f"{self.answered:,} passages answered"]
        parts += [f"{count:,} failed ({reason})" for reason, count in self.failures.items()]
        for reason, count in self.returned.items():
            parts.append(f"{count:,} came back without an answer ({reason})")
        return ", ".join(parts)


class PropositionBatch:
    """Decompose passages through OpenAI's Batch API, into a cache where indexing finds the results.

    Every method can be interrupted or killed at any moment and called again: no request is
    submitted twice. Answers from a batch that failed, expired or was cancelled are kept, and
    `submit` with the same passages sends the rest.

    Args:
        propositionizer: The model, the prompt and a synchronous client. Requests have a schema only
            with `structured=True`, because a batch cannot test whether the model accepts one.
        cache: Where results go, under the propositionizer's name; a `PropositionCache` or its path.
        max_requests: Maximum number of requests of a batch. OpenAI allows 50,000 and 200 MB, and
            fewer to accounts with a short queue.
        progress: Whether `wait` shows a bar over requests.

    Raises:
        PropositionizerError: The propositionizer has an asynchronous client. In methods: the server
            rejects the request, or cannot be reached.
        StoreError: In methods: another process uses these batches, or their folder cannot be
            written.
    """

    def __init__(
        self,
        propositionizer: PromptPropositionizer,
        cache: PropositionCache | str | Path,
        *,
        max_requests: int = 40_000,
        progress: bool = False,
    ) -> None:
        if not propositionizer._can_send:
            raise PropositionizerError("batches need a synchronous client, such as openai.OpenAI()")
        self.propositionizer = propositionizer
        self.cache = cache if isinstance(cache, PropositionCache) else PropositionCache(cache)
        self.max_requests = max_requests
        self.progress = progress
        path = self.cache.path
        self.folder = path / "batches" if path.is_dir() else path.with_name(f"{path.name}.batches")
        self._client = propositionizer._client

    def submit(self, passages: Sequence[Unit]) -> list[Batch]:
        """Submit passages that are neither in the cache nor in a batch.

        Return all batches not yet collected.
        """
        name = self.propositionizer.name
        with self._exclusive():
            for batch in self._batches():
                if batch.batch_id is None:  # its creation was interrupted, or its answer was lost
                    self._recover(batch)
            passages = [passage for passage in passages if passage.text.strip()]
            known = self.cache.get(name, passages)
            new = []
            for passage, texts in zip(passages, known, strict=True):
                if texts is None:
                    new.append(passage)
            requests = {passage_key(name, passage).hex(): passage for passage in new}
            for batch in self._batches():
                for key in batch.passages:
                    requests.pop(key, None)
            keys = list(requests)
            for start in range(0, len(keys), self.max_requests):
                self._create(
                    {key: requests[key] for key in keys[start : start + self.max_requests]}
                )
        return self.poll()

    def poll(self) -> list[Batch]:
        """Ask the server about the batches not yet collected."""
        with self._exclusive():
            return [batch for batch, _ in self._statuses()]

    def collect(self) -> BatchReport:
        """Store the results of batches that have ended."""
        report = BatchReport()
        with self._exclusive():
            for batch, current in self._statuses():
                if batch.status in _ENDED:
                    report += self._collect(batch, current)
        return report

    def wait(self) -> BatchReport:
        """Collect batches as they end, until all have ended.

        Call `submit` first; an interrupt loses nothing.
        """
        total = sum(batch.requests for batch in self.poll())
        report = self.collect()
        with tqdm(
            total=total, desc="propositions", unit=" passages", disable=not self.progress
        ) as bar:
            while live := [batch for batch in self.poll() if batch.batch_id]:
                bar.update(total - sum(batch.requests - batch.completed for batch in live) - bar.n)
                time.sleep(_POLL)
                report += self.collect()
            bar.update(total - bar.n)
        return report

    def run(self, passages: Sequence[Unit]) -> BatchReport:
        """Submit, wait and collect.

        Send unanswered requests again as long as a round brings answers.
        """
        report = BatchReport()
        while self.submit(passages):
            latest = self.wait()
            report = replace(report + latest, returned=latest.returned)
            if not latest.returned or not (latest.answered or latest.failures):
                break
        return report

    def cancel(self) -> list[Batch]:
        """Ask the server to stop all batches. Their results until then can be collected."""
        with self._exclusive():
            for batch, _ in self._statuses():
                if batch.batch_id and batch.status not in {*_ENDED, "cancelling"}:
                    self._client.batches.cancel(batch.batch_id)
        return self.poll()

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Keep the batches from other processes, and explain errors of the server."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self.folder / "lock", timeout=5):
                for unfinished in self.folder.glob(".*.json.part*"):  # of a process that was killed
                    unfinished.unlink()
                yield
        except OSError as error:
            if isinstance(error, Timeout):
                reason = "another process is using it: try again"
            else:
                reason = explain_disk_error(error)
            raise StoreError(f"cannot use the folder of batches {self.folder}: {reason}") from error
        except require("openai", extra="openai").OpenAIError as error:
            problem = (
                f"the Batch API failed: {error}. Nothing is lost: call again, and no batch is "
                "created twice"
            )
            raise PropositionizerError(problem) from error

    def _batches(self) -> list[Batch]:
        """Return the batches of this propositionizer, oldest first, as they were recorded."""
        batches = []
        for path in self.folder.glob("*.json"):
            try:
                batches.append(Batch(**parse_object(path.read_bytes())))
            except (InvalidInputError, TypeError) as error:
                problem = (
                    f"{path} is not the record of a batch, or is damaged: {error}. Move it away"
                )
                raise StoreFormatError(problem) from error
        matching = (batch for batch in batches if batch.name == self.propositionizer.name)
        return sorted(matching, key=lambda batch: batch.created)

    def _path(self, batch: Batch) -> Path:
        return self.folder / f"{batch.key}.json"

    def _save(self, batch: Batch) -> None:
        write_file(self._path(batch), lambda file: file.write(json.dumps(asdict(batch)).encode()))

    def _create(self, requests: Mapping[str, Unit]) -> None:
        batch = Batch(self.propositionizer.name, uuid4().hex, time.time(), list(requests))
        lines = b"".join(
            _request_line(self.propositionizer, key, passage) for key, passage in requests.items()
        )
        upload = self._client.files.create(
            file=(f"factoid-{batch.key}.jsonl", lines), purpose="batch"
        )
        self._save(batch)  # from here on the batch may exist
        create = self._client.with_options(max_retries=0).batches.create
        window: dict[str, Any] = {"endpoint": _ENDPOINT, "completion_window": "24h"}
        created = create(input_file_id=upload.id, metadata={_METADATA: batch.key}, **window)
        self._save(replace(batch, batch_id=created.id))

    def _recover(self, batch: Batch) -> None:
        """Record the server's id of a batch, or forget a batch unknown to the server."""
        for candidate in self._client.batches.list(limit=100):  # newest first
            if (candidate.metadata or {}).get(_METADATA) == batch.key:
                self._save(replace(batch, batch_id=candidate.id))
                return
            if candidate.created_at and candidate.created_at < batch.created - _DAY:
                break
        self._path(batch).unlink()

    def _statuses(self) -> Iterator[tuple[Batch, Any]]:
        """Yield each batch with its status, and the server's answer.

        It is None for a batch without id.
        """
        for batch in self._batches():
            current = self._client.batches.retrieve(batch.batch_id) if batch.batch_id else None
            if current is not None:
                errors = []
                for entry in (current.errors and current.errors.data) or ():
                    errors.append(f"{entry.code}: {entry.message}")
                completed = (current.request_counts and current.request_counts.completed) or 0
                batch = replace(
                    batch, status=current.status, completed=completed, error="; ".join(errors)
                )
            yield batch, current

    def _collect(self, batch: Batch, current: Any) -> BatchReport:
        """Store the results of a batch, then forget it: a kill in between costs nothing."""
        reason = f"no answer in a batch that is {batch.status}"
        if batch.status == "failed":
            logger.warning("the batch %s failed: %s", batch.batch_id, batch.error)
            reason = batch.error.partition(":")[0].replace("_", " ") or reason
        try:
            lines: list[str] = []
            for file in filter(None, (current.output_file_id, current.error_file_id)):
                lines += self._client.files.content(file).text.split("\n")
            results = {}
            for record in map(parse_object, filter(None, lines)):
                results[record["custom_id"]] = _read_result(record)
        except (InvalidInputError, KeyError, AttributeError) as error:
            problem = (
                f"the results of the batch {batch.batch_id} cannot be read: {error}. Collect it "
                "again, or cancel it"
            )
            raise PropositionizerError(problem) from error
        missing = NoPropositions(reason, transient=True), Usage()
        outputs = [results.get(key, missing)[0] for key in batch.passages]
        self.cache.put(batch.name, list(map(bytes.fromhex, batch.passages)), outputs)
        self._path(batch).unlink()
        failed = []
        for texts in outputs:
            if isinstance(texts, NoPropositions):
                failed.append(texts)
        failures = dict(Counter(texts.reason for texts in failed if not texts.transient))
        returned = dict(Counter(texts.reason for texts in failed if texts.transient))
        usage = sum((used for _, used in results.values()), Usage())
        return BatchReport(len(outputs) - len(failed), failures, returned, usage)


def _request_line(propositionizer: PromptPropositionizer, custom_id: str, passage: Unit) -> bytes:
    body = propositionizer.request_for(
        prompt_for(passage, propositionizer.prompt), schema=propositionizer.structured is True
    )
    line = {"custom_id": custom_id, "method": "POST", "url": _ENDPOINT, "body": body}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def _read_result(record: Mapping[str, Any]) -> tuple[list[str], Usage]:
    """Return the propositions and the usage of one request.

    They are from a line of an output or error file.
    """
    response = record.get("response") or {}
    error = record.get("error") or {}
    try:
        reply = read_completion(response.get("body"))
    except NoCompletionError as problem:
        problem.status = response.get("status_code")
        failure = judge(problem)
        if failure is None or error:  # batch_expired, batch_cancelled, request_timeout
            failure = Failure(str(error.get("code")).replace("_", " "), transient=True)
        # An error that concerns every passage says nothing about this one.
        return NoPropositions(
            failure.reason, transient=failure.transient or bool(failure.remedy)
        ), Usage()
    return reply.propositions(), reply.usage
