"""The files of OpenAI's Batch API: requests as JSON lines, and what comes back."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from factoid.propositions.prompting.answers import Reply, read_completion
from factoid.propositions.prompting.cost import Usage
from factoid.propositions.prompting.failures import UNREADABLE, NoCompletionError, judge
from factoid.propositions.prompting.prompt import prompt_for
from factoid.propositions.prompting.prompted import PromptPropositionizer
from factoid.propositions.protocol import NoPropositions
from factoid.units import Unit

logger = logging.getLogger(__name__)

ENDPOINT = "/v1/chat/completions"

# Arguments of the Python client that are no part of a request's body.
_OF_THE_CLIENT = ("extra_headers", "extra_query", "timeout")


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What batches have brought. Reports add up.

    Attributes:
        answered: Requests whose propositions are in the cache now.
        failures: Requests that failed in a way that another try would not mend, by reason; in the cache, too.
        returned: Requests without an answer, by reason: expired, cancelled, an error of the server. They are not in the
            cache, and are sent with the next `submit`.
        usage: Tokens used.
    """

    answered: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)
    returned: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)

    def __add__(self, other: BatchReport) -> BatchReport:
        return BatchReport(
            self.answered + other.answered,
            dict(Counter(self.failures) + Counter(other.failures)),
            dict(Counter(self.returned) + Counter(other.returned)),
            self.usage + other.usage,
        )

    def __str__(self) -> str:
        parts = [f"{self.answered:,} passages answered"]
        parts += [f"{count:,} failed ({reason})" for reason, count in self.failures.items()]
        parts += [f"{count:,} came back without an answer ({reason})" for reason, count in self.returned.items()]
        return ", ".join(parts)


def request_line(propositionizer: PromptPropositionizer, custom_id: str, passage: Unit) -> bytes:
    """Return the line of one request."""
    # Whether a server takes a schema cannot be tried here: it would be known a day later.
    prompt = prompt_for(passage, propositionizer.prompt)
    body = propositionizer.request_for(prompt, structured=bool(propositionizer.structured))
    body = {key: value for key, value in body.items() if key not in _OF_THE_CLIENT}
    body |= body.pop("extra_body", None) or {}
    line = {"custom_id": custom_id, "method": "POST", "url": ENDPOINT, "body": body}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def read_lines(lines: Iterable[str]) -> Iterator[tuple[str, Reply]]:
    """Yield the id of each request in an output or error file, and its result. Broken lines are left out."""
    for line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            custom_id, response, error = record["custom_id"], record.get("response") or {}, record.get("error")
            status, body = response.get("status_code"), response.get("body")
        except (ValueError, TypeError, KeyError, AttributeError):
            logger.warning("a line of a batch's output cannot be read: %.80r", line)
            continue
        yield custom_id, _reply(status, body, error)


def _reply(status: object, body: Any, error: Any) -> Reply:
    if status == 200 and isinstance(body, Mapping):
        try:
            return read_completion(_record(body))
        except NoCompletionError as broken:
            logger.info("%s", broken)
            return Reply(NoPropositions(UNREADABLE, transient=True), Usage())
    if isinstance(error, Mapping) and not isinstance(status, int):  # batch_expired, batch_cancelled, request_timeout
        return Reply(NoPropositions(str(error.get("code") or "no answer").replace("_", " "), transient=True), Usage())
    failure = judge(_RequestError(status, body))
    if failure is None:
        return Reply(NoPropositions("no answer", transient=True), Usage())
    # What would be refused for every passage is no result of this one.
    return Reply(NoPropositions(failure.reason, transient=failure.transient or failure.fatal), Usage())


class _RequestError(Exception):
    """The error of one line, as a client would raise it."""

    def __init__(self, status: object, body: Any) -> None:
        super().__init__(json.dumps(body, ensure_ascii=False))
        self.status_code = status
        self.body = body


def _record(value: Any) -> Any:
    """Return JSON as the client returns it: with attributes."""
    if isinstance(value, Mapping):
        return SimpleNamespace(**{str(key): _record(each) for key, each in value.items()})
    return [_record(each) for each in value] if isinstance(value, list) else value
