"""The calls of OpenAI's Batch API, each written down before and after, so that none is made twice."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from factoid._optional import require
from factoid.errors import PropositionizerError
from factoid.propositions.prompting.batch_files import ENDPOINT
from factoid.propositions.prompting.batch_state import CREATING, UPLOADED, UPLOADING, Batch, BatchState
from factoid.propositions.prompting.failures import judge

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})

_METADATA = "factoid"  # under which the server keeps our key of a batch
_DAY = 86_400.0
_TRIES = 4


def create(
    client: Any, state: BatchState, batch: Batch, lines: Iterable[bytes], *, sleep: Callable[[float], None]
) -> Batch:
    """Upload and create a batch, or find that an earlier call, which did not live to note it, has done so.

    Raises:
        PropositionizerError: The server refuses, or cannot be reached.
    """
    file_id = batch.file_id
    if file_id is None and batch.status == UPLOADING:
        file_id = _find_file(client, batch)
    if file_id is None:
        batch = state.update(replace(batch, status=UPLOADING))
        file_id = _upload(client, batch, lines)
    if batch.file_id is None:
        batch = state.update(replace(batch, file_id=file_id, status=UPLOADED))
    made = _find(client, batch) if batch.status == CREATING else None
    if made is None:
        batch = state.update(replace(batch, status=CREATING))  # before: from here on it may exist
        made = _post(client, state, batch, sleep)
    return state.update(replace(batch, batch_id=made.id, status=made.status))


def refresh(client: Any, state: BatchState, batch: Batch) -> Batch:
    """Ask the server how a batch is. One that it does not know any more has failed.

    Raises:
        PropositionizerError: The server cannot be reached.
    """
    try:
        with _told():
            now = client.batches.retrieve(batch.batch_id)
    except PropositionizerError as error:
        if getattr(error.__cause__, "status_code", None) != 404:
            raise
        return state.update(replace(batch, status="failed", error=f"unknown to the server: {error.__cause__}"))
    errors = [f"{each.code}: {each.message}" for each in (now.errors and now.errors.data) or ()]
    done = now.request_counts.completed if now.request_counts else 0
    # Ids of output files are not kept: `download` asks for them, since an expired batch gets them late.
    return state.update(replace(batch, status=now.status, completed=done or 0, error="; ".join(errors)))


def download(client: Any, batch: Batch) -> Iterator[str]:
    """Yield the lines of a batch's output and error files; of files that the server has deleted, none.

    Raises:
        PropositionizerError: The server cannot be reached.
    """
    if batch.status == "failed":
        return
    with _told():
        now = client.batches.retrieve(batch.batch_id)
    for file_id in (now.output_file_id, now.error_file_id):
        if file_id:
            try:
                with _told():
                    lines = client.files.content(file_id).text.split("\n")  # others than \n may stand in strings
            except PropositionizerError as error:
                if getattr(error.__cause__, "status_code", None) != 404:
                    raise
                continue
            yield from lines


def cancel(client: Any, batch: Batch) -> None:
    """Have the server stop a batch.

    Raises:
        PropositionizerError: The server refuses, or cannot be reached.
    """
    with _told():
        client.batches.cancel(batch.batch_id)


def is_transient(error: PropositionizerError) -> bool:
    """Tell whether a call that failed may succeed later."""
    failure = judge(error.__cause__) if isinstance(error.__cause__, Exception) else None
    return failure is not None and failure.transient


def _upload(client: Any, batch: Batch, lines: Iterable[bytes]) -> str:
    with tempfile.TemporaryFile() as file:
        file.writelines(lines)
        file.seek(0)
        with _told():
            return str(client.files.create(file=(_file_name(batch), file), purpose="batch").id)


def _find_file(client: Any, batch: Batch) -> str | None:
    with _told():
        files = client.files.list(purpose="batch", order="desc")
        return next((str(file.id) for file in files if file.filename == _file_name(batch)), None)


def _post(client: Any, state: BatchState, batch: Batch, sleep: Callable[[float], None]) -> Any:
    """Create a batch. A request whose answer was lost may have made it: look before the next try."""
    once = client.with_options(max_retries=0) if hasattr(client, "with_options") else client
    tries = 0
    while True:
        try:
            return once.batches.create(
                input_file_id=batch.file_id,
                endpoint=ENDPOINT,
                completion_window="24h",
                metadata={_METADATA: batch.key},
            )
        except require("openai", extra="openai").OpenAIError as error:
            failure = judge(error)
            tries += 1
            if failure is None or not failure.transient or tries == _TRIES:
                if failure is None or not failure.transient:
                    state.update(replace(batch, status=UPLOADED))  # it surely does not exist
                raise _refusal(error) from error
            sleep(random.uniform(0, 2**tries) if failure.wait is None else failure.wait)  # noqa: S311 - no secret
        if made := _find(client, batch):
            return made


def _find(client: Any, batch: Batch) -> Any | None:
    """Return the server's batch that has our key."""
    with _told():
        for made in client.batches.list(limit=100):  # newest first
            if (made.metadata or {}).get(_METADATA) == batch.key:
                return made
            if made.created_at and made.created_at < batch.made - _DAY:
                break
    return None


def _file_name(batch: Batch) -> str:
    return f"factoid-{batch.key}.jsonl"


@contextmanager
def _told() -> Iterator[None]:
    """Turn the client's errors, after its own retries, into ours."""
    try:
        yield
    except require("openai", extra="openai").OpenAIError as error:
        raise _refusal(error) from error


def _refusal(error: Exception) -> PropositionizerError:
    return PropositionizerError(
        f"the Batch API did not take the request: {error}. Nothing is lost: call again, and no batch is made twice"
    )
