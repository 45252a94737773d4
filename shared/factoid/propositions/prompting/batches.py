"""Decompose a corpus through OpenAI's Batch API: half the price, within a day, and no rate limits.

Each batch is recorded in a file before it is created, under a key that the server keeps with it, so that a batch whose creation
was interrupted is found again instead of created twice.
"""

from __future__ import annotations

import json
import logging
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from filelock import FileLock, Timeout
from tqdm.auto import tqdm

from factoid._optional import require
from factoid.errors import PropositionizerError, StoreError, StoreFormatError
from factoid.files.atomic import write_file
from factoid.propositions.cache import PropositionCache, passage_key
from factoid.propositions.prompting.chat import Reply
from factoid.propositions.prompting.cost import Usage
from factoid.propositions.prompting.failures import Failure, NoCompletionError, judge
from factoid.propositions.prompting.pacing import backoff
from factoid.propositions.prompting.prompt import prompt_for
from factoid.propositions.prompting.prompted import PromptPropositionizer, read_completion
from factoid.propositions.protocol import NoPropositions
from factoid.units import Unit

logger = logging.getLogger(__name__)

T = TypeVar("T")

_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_ENDPOINT = "/v1/chat/completions"
_METADATA = "factoid"  # the name under which the server keeps our key of a batch
_DAY = 86_400.0
# OpenAI's limits on a batch and its file.
_MAX_REQUESTS = 50_000
_MAX_BYTES = 200_000_000
_CLIENT_ARGUMENTS = ("extra_headers", "extra_query", "timeout")  # of the Python client, not of a request's body


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that is not yet collected."""

    batch_id: str | None  # the server's id; None if the creation was interrupted
    requests: int
    status: str = "creating"  # "creating", then OpenAI's, such as in_progress, completed or expired
    completed: int = 0  # answered requests
    error: str = ""  # why the batch as a whole failed, in the server's words


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The results of batches. Reports can be added."""

    answered: int = 0  # requests whose propositions are now in the cache
    failures: Mapping[str, int] = field(default_factory=dict)  # requests that failed for good, by reason; also cached
    returned: Mapping[str, int] = field(default_factory=dict)  # requests that the next `submit` sends again, by reason
    usage: Usage = field(default_factory=Usage)

    def __add__(self, other: BatchReport) -> BatchReport:
        failures = dict(Counter(self.failures) + Counter(other.failures))
        returned = dict(Counter(self.returned) + Counter(other.returned))
        return BatchReport(self.answered + other.answered, failures, returned, self.usage + other.usage)

    def __str__(self) -> str:
        parts = [f"{self.answered:,} passages answered"]
        parts += [f"{count:,} failed ({reason})" for reason, count in self.failures.items()]
        parts += [f"{count:,} came back without an answer ({reason})" for reason, count in self.returned.items()]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class _Record:
    """The file of one batch."""

    name: str  # of the propositionizer
    key: str  # at the server, in the metadata of the batch
    created: float  # in seconds since 1970
    keys: list[str]  # of the passages in the cache, and ids of the requests
    batch_id: str | None = None


class PropositionBatch:
    """Decompose passages through OpenAI's Batch API, into a cache where indexing finds the results.

    Every method can be interrupted or killed at any moment and called again: no request is submitted twice. Answers from a batch
    that failed, expired or was cancelled are kept, and `submit` with the same passages sends the rest.

    Args:
        propositionizer: The model, the prompt and a synchronous client. Requests have a schema only with `structured=True`,
            because a batch cannot test whether the model accepts one.
        cache: Where results go, under the propositionizer's name; a `PropositionCache` or its path.
        show_progress: Whether `wait` shows a bar over requests.

    Raises:
        PropositionizerError: The propositionizer has an asynchronous client. In methods: the server rejects the request, or
            cannot be reached.
        StoreError: In methods: another process uses these batches, or their folder cannot be written.
    """

    def __init__(
        self,
        propositionizer: PromptPropositionizer,
        cache: PropositionCache | str | Path,
        *,
        show_progress: bool = False,
    ) -> None:
        if not propositionizer._can_send:
            raise PropositionizerError("batches need a synchronous client, such as openai.OpenAI()")
        self.propositionizer = propositionizer
        self.cache = cache if isinstance(cache, PropositionCache) else PropositionCache(cache)
        self._max_requests = _MAX_REQUESTS  # fewer when the account's queue is full
        self.show_progress = show_progress
        path = self.cache.path
        self.folder = path / "batches" if path.is_dir() else path.with_name(f"{path.name}.batches")
        self._batches, self._files = propositionizer.client.batches, propositionizer.client.files
        self._sleep = time.sleep

    def submit(self, passages: Sequence[Unit]) -> list[Batch]:
        """Submit passages that are neither in the cache nor in a batch; return all batches not yet collected."""
        self._call(lambda: self._submit(passages), tries=4)
        return self.poll()

    def poll(self) -> list[Batch]:
        """Ask the server about the batches not yet collected."""
        return self._call(lambda: [batch for _, batch, _ in self._statuses()])

    def collect(self) -> BatchReport:
        """Store the results of batches that have ended."""
        reports: list[BatchReport] = []
        self._call(lambda: self._collect_ended(reports))
        return sum(reports, BatchReport())

    def wait(self) -> BatchReport:
        """Collect batches as they end, until all have ended. Call `submit` first; an interrupt loses nothing."""
        total = sum(len(record.keys) for record in self._records())
        reports: list[BatchReport] = []
        seconds = 5.0
        with tqdm(total=total, desc="propositions", unit=" passages", disable=not self.show_progress) as bar:
            while live := self._call(lambda: self._collect_ended(reports), tries=60):
                bar.update(total - sum(batch.requests - batch.completed for batch in live) - bar.n)
                self._sleep(seconds)
                seconds = min(60.0, 1.5 * seconds)
            bar.update(total - bar.n)
        return sum(reports, BatchReport())

    def run(self, passages: Sequence[Unit]) -> BatchReport:
        """Submit, wait and collect; send unanswered requests again as long as a round brings answers.

        If the server rejects a batch because of its limit of queued tokens, the next ones are half as large.
        """
        report = BatchReport()
        while batches := self.submit(passages):
            size = max(batch.requests for batch in batches)
            latest = self.wait()
            report = replace(report + latest, returned=latest.returned)
            if not latest.returned:
                break
            if not latest.answered and not latest.failures:
                if set(latest.returned) != {"token limit exceeded"} or size == 1:
                    break
                self._max_requests = max(1, size // 2)
        return report

    def cancel(self) -> list[Batch]:
        """Ask the server to stop all batches. Their results until then can be collected."""
        for batch in self.poll():
            if batch.batch_id and batch.status not in {*_ENDED, "cancelling"}:
                self._call(partial(self._batches.cancel, batch.batch_id))
        return self.poll()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from submitting and collecting during a block."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self.folder / "lock", timeout=5):
                yield
        except OSError as error:
            reason = "another process is using it" if isinstance(error, Timeout) else str(error)
            raise StoreError(f"cannot use the folder of batches {self.folder}: {reason}") from error

    def _records(self) -> list[_Record]:
        """Return the batches of this propositionizer, oldest first."""
        records = []
        for path in self.folder.glob("*.json"):
            try:
                records.append(_Record(**json.loads(path.read_bytes())))
            except FileNotFoundError:  # collected by another process
                continue
            except (OSError, ValueError, TypeError) as error:
                problem = f"{path} is not the record of a batch, or is damaged: {error}. Move it away"
                raise StoreFormatError(problem) from error
        name = self.propositionizer.name
        return sorted((record for record in records if record.name == name), key=lambda record: record.created)

    def _path(self, record: _Record) -> Path:
        return self.folder / f"{record.key}.json"

    def _save(self, record: _Record) -> None:
        write_file(self._path(record), lambda file: file.write(json.dumps(asdict(record)).encode()))

    def _call(self, work: Callable[[], T], *, tries: int = 1) -> T:
        """Do some work, and repeat it if the server failed for a reason that may pass."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return work()
            except require("openai", extra="openai").OpenAIError as error:
                problem = f"the Batch API failed: {error}. Nothing is lost: call again, and no batch is created twice"
                failure = judge(error)
                if attempt == tries or failure is None or not failure.transient:
                    raise PropositionizerError(problem) from error
                logger.warning("%s", problem)
                self._sleep(backoff(failure, attempt))

    def _submit(self, passages: Sequence[Unit]) -> None:
        name = self.propositionizer.name
        with self._locked():
            for record in self._records():
                if record.batch_id is None:  # its creation was interrupted, or its answer was lost
                    self._recover(record)
            submitted = {key for record in self._records() for key in record.keys}
            passages = [passage for passage in passages if passage.text.strip()]
            known = self.cache.get(name, passages)
            new = [passage for passage, texts in zip(passages, known, strict=True) if texts is None]
            requests = {passage_key(name, passage).hex(): passage for passage in new}
            queue = deque((key, passage) for key, passage in requests.items() if key not in submitted)
            while queue:
                self._create(queue)

    def _create(self, queue: deque[tuple[str, Unit]]) -> None:
        """Create a batch of as many of the first requests as the limits allow."""
        record = _Record(self.propositionizer.name, uuid4().hex, time.time(), [])
        with tempfile.TemporaryFile() as file:
            while queue and len(record.keys) < self._max_requests:
                line = _request_line(self.propositionizer, *queue[0])
                if record.keys and file.tell() + len(line) > _MAX_BYTES:
                    break
                file.write(line)
                record.keys.append(queue.popleft()[0])
            file.seek(0)
            upload = self._files.create(file=(f"factoid-{record.key}.jsonl", file), purpose="batch")
            self._save(record)  # from here on the batch may exist
            create = self.propositionizer._client.batches.create  # from a client that tries once
            window = {"endpoint": _ENDPOINT, "completion_window": "24h"}
            batch = create(input_file_id=upload.id, metadata={_METADATA: record.key}, **window)
            self._save(replace(record, batch_id=batch.id))

    def _recover(self, record: _Record) -> None:
        """Record the server's id of a batch, or forget a batch unknown to the server."""
        for candidate in self._batches.list(limit=100):  # newest first
            if (candidate.metadata or {}).get(_METADATA) == record.key:
                self._save(replace(record, batch_id=candidate.id))
                return
            if candidate.created_at and candidate.created_at < record.created - _DAY:
                break
        self._path(record).unlink()

    def _statuses(self) -> Iterator[tuple[_Record, Batch, Any | None]]:
        """Yield each batch with its status and the server's answer; a batch unknown to the server has failed."""
        for record in self._records():
            batch = Batch(record.batch_id, len(record.keys))
            current = _existing(self._batches.retrieve, record.batch_id) if record.batch_id else None
            if current is not None:
                errors = [f"{entry.code}: {entry.message}" for entry in (current.errors and current.errors.data) or ()]
                completed = (current.request_counts and current.request_counts.completed) or 0
                batch = replace(batch, status=current.status, completed=completed, error="; ".join(errors))
            elif record.batch_id:
                batch = replace(batch, status="failed", error="unknown to the server")
            yield record, batch, current

    def _collect_ended(self, reports: list[BatchReport]) -> list[Batch]:
        """Collect batches that have ended; return the others that the server has."""
        live = []
        with self._locked():
            for record, batch, current in self._statuses():
                if batch.status in _ENDED:
                    reports.append(self._collect(record, batch, current))
                elif batch.batch_id:
                    live.append(batch)
        return live

    def _collect(self, record: _Record, batch: Batch, current: Any | None) -> BatchReport:
        """Store the results of a batch, then forget it: a kill in between costs nothing."""
        reason = f"no answer in a batch that is {batch.status}"
        if batch.status == "failed":
            logger.warning("the batch %s failed: %s", batch.batch_id, batch.error)
            reason = batch.error.partition(":")[0].replace("_", " ") or reason
        returned = dict.fromkeys(record.keys, reason)
        failures: Counter[str] = Counter()
        usage = Usage()
        file_ids = (current.output_file_id, current.error_file_id) if current else ()
        contents = (_existing(self._files.content, file_id) for file_id in file_ids if file_id)
        lines = (reply for content in contents if content for reply in _read_lines(content.text))
        replies = {key: reply for key, reply in lines if key in returned}
        for key, reply in replies.items():
            usage += reply.usage
            failure = reply.texts if isinstance(reply.texts, NoPropositions) else None  # an empty list
            if failure is not None and failure.transient:
                returned[key] = failure.reason
                continue
            del returned[key]
            if failure is not None:
                failures[failure.reason] += 1
        self.cache.put(
            record.name, [bytes.fromhex(key) for key in replies], [reply.texts for reply in replies.values()]
        )
        self._path(record).unlink()
        answered = len(record.keys) - len(returned) - failures.total()
        return BatchReport(answered, failures, Counter(returned.values()), usage)


def _request_line(propositionizer: PromptPropositionizer, custom_id: str, passage: Unit) -> bytes:
    body = propositionizer.request_for(prompt_for(passage, propositionizer.prompt))
    body = {key: value for key, value in body.items() if key not in _CLIENT_ARGUMENTS}
    if propositionizer.structured is None:
        body.pop("response_format", None)
    body |= body.pop("extra_body", None) or {}
    line = {"custom_id": custom_id, "method": "POST", "url": _ENDPOINT, "body": body}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def _read_lines(content: str) -> Iterator[tuple[str, Reply]]:
    """Yield the id and the result of each request in an output or error file. Broken lines are skipped."""
    for line in filter(str.strip, content.split("\n")):  # not splitlines: strings may hold other line ends
        try:
            record = json.loads(line)
            yield record["custom_id"], _read_reply(record.get("response") or {}, record.get("error") or {})
        except (ValueError, TypeError, KeyError, AttributeError):
            logger.warning("cannot read a line of a batch's output: %.80r", line)


def _read_reply(response: Mapping[str, Any], error: Mapping[str, Any]) -> Reply:
    body = response.get("body")
    refusal: Any = Exception(json.dumps(body, ensure_ascii=False))  # as clients raise it
    refusal.status_code, refusal.body = response.get("status_code"), body
    if refusal.status_code == 200 and isinstance(body, dict):
        try:
            return read_completion(body)
        except NoCompletionError as broken:
            refusal = broken
    code = str(error.get("code") or "no answer").replace("_", " ")  # batch_expired, batch_cancelled, request_timeout
    failure = judge(refusal) or Failure(code, transient=True)
    # An error that concerns every passage says nothing about this one.
    return Reply(NoPropositions(failure.reason, transient=failure.transient or bool(failure.remedy)), Usage())


def _existing(get: Callable[[Any], Any], id_: str) -> Any | None:
    """Return what the server has under an id, or None if it was deleted."""
    try:
        return get(id_)
    except require("openai", extra="openai").NotFoundError:
        return None
