from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import threading
from types import SimpleNamespace

import pytest

from factoid.errors import InvalidInputError, PropositionizerError
from factoid.propositions import (
    CachedPropositionizer,
    NoPropositions,
    PropositionCache,
    Usage,
    decompose,
)
from factoid.propositions.prompting.prompt import as_object, prompt_for
from factoid.propositions.prompting.prompted import PromptPropositionizer
from tests.propositions.prompting.server import completion, refused, unit

openai = pytest.importorskip("openai")


async def test_requests_are_the_prompt_with_the_arguments_of_the_caller(ask, server):
    server.answers["A and B."] = 200, completion('```json\n["A.", "B."]\n```')
    assert await ask([unit("A and B.")], structured=False) == [["A.", "B."]]
    message = {"role": "user", "content": prompt_for(unit("A and B."))}
    assert server.requests == [{"model": "m", "temperature": 0.0, "messages": [message]}]
    further = {"max_completion_tokens": 99, "response_format": {"type": "json_object"}}
    options = {**further, "extra_body": {"top_k": 1}}
    await ask([unit("A.")], temperature=None, max_tokens=7, prompt="Split it.", options=options)
    message = {"role": "user", "content": prompt_for(unit("A."), "Split it.")}
    assert server.requests[1] == {
        "model": "m",
        "max_tokens": 7,
        "top_k": 1,
        **further,
        "messages": [message],
    }


async def test_concurrency_is_bounded_and_order_is_kept(ask, server):
    server.wait_for_peak = 3  # no request is answered until three have come
    texts = [f"Passage {number}." for number in range(20)]
    assert await ask([unit(text) for text in texts], max_concurrency=3) == [
        [text] for text in texts
    ]
    assert (server.peak, len(server.requests)) == (3, 20)


CONTEXT = "This model's maximum context length is 10 tokens."
LASTING = {
    "refusal": (200, completion(None, refusal="I won't.")),
    "refusal of the request": refused(400, "The prompt was filtered.", "content_filter"),
    "refusal by a filter without message": (
        200,
        {"choices": [{"index": 0, "finish_reason": "content_filter"}]},
    ),
    "passage too long": refused(400, CONTEXT, "context_length_exceeded"),
    "passage too long, in the request": refused(413, "request entity too large"),
    "passage too long, in vLLM": (
        400,
        {"object": "error", "message": CONTEXT, "type": "BadRequestError", "code": 400},
    ),
    "unreadable output": (200, completion("I'm sorry, I can't do that.")),
    "empty output, no content": (200, completion(None)),
    "empty list": (200, completion("[]")),
    "output cut off": (200, completion('["Bad pas', finish_reason="length")),
}


@pytest.mark.parametrize("case", LASTING)
async def test_one_failing_passage_leaves_the_others(ask, server, case):
    server.answers["Bad."] = LASTING[case]
    before, failed, after = await ask([unit("One."), unit("Bad."), unit("Two.")])
    assert (before, after) == (["One."], ["Two."])
    assert isinstance(failed, NoPropositions)
    assert (failed.reason, failed.transient) == (re.split(" by | of the |, ", case)[0], False)
    assert len(server.requests) == 3  # no other try would mend it


TRANSIENT = {
    "HTTP error 503": (503, "<html>busy</html>"),
    "HTTP error 429": refused(429, "Slow down.", "rate_limit_exceeded"),
    "APITimeoutError": (0, "hang"),
    "APIConnectionError": (0, "hang up"),
    "APIConnectionError, in the body": (200, "close in the body"),
    "JSONDecodeError": (200, '{"id": '),
    "NoCompletionError, an error": (200, {"error": {"message": "Slow down.", "code": 429}}),
    "NoCompletionError, a number for text": (200, completion(5)),
}


@pytest.mark.parametrize("case", TRANSIENT)
async def test_a_passage_that_fails_for_a_time_ends_no_run(ask, server, case):
    server.answers["3."] = TRANSIENT[case]
    texts = [f"{number}." for number in range(12)]
    timeout = 3 if "hang" in TRANSIENT[case] else 5
    results = await ask([unit(text) for text in texts], timeout=timeout)
    failed = results.pop(3)
    assert (failed.reason, failed.transient) == (case.split(",")[0], True)
    assert results == [[text] for text in texts if text != "3."]


def test_the_next_run_asks_again_for_what_failed_for_a_time(server, tmp_path):
    """Even if the first eight requests meet a rate limit."""
    texts = [f"Town {number} burned." for number in range(20)]
    passages, cache = [unit(text) for text in texts], PropositionCache(tmp_path / "cache")
    server.answers = dict.fromkeys(texts[:10], TRANSIENT["HTTP error 429"])
    with openai.OpenAI(base_url=server.url, api_key="k") as client:
        propositionizer = PromptPropositionizer(client, "m", max_retries=0, max_concurrency=1)
        report = decompose(passages, CachedPropositionizer(propositionizer, cache)).report
        assert (report.failures, report.transient) == ({"HTTP error 429": 10}, 10)
        server.answers.clear()
        server.requests.clear()
        report = decompose(passages, CachedPropositionizer(propositionizer, cache)).report
        assert (report.failures, report.cached, server.asked) == ({}, 10, texts[:10])


async def test_the_client_tries_again(ask, server):
    limit = refused(429, "Slow down.", "rate_limit_exceeded", retry_after_ms="20")
    server.answers = {"A.": [limit] * 2, "B.": limit}
    [answered, failed] = await ask([unit("A."), unit("B.")], max_retries=2)
    assert (answered, failed.reason, failed.transient) == (["A."], "HTTP error 429", True)
    assert sorted(server.asked) == ["A."] * 3 + ["B."] * 3


@pytest.mark.parametrize("count", [1, 100])
async def test_a_server_that_no_request_reaches_is_one_error(ask, count):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    passages = [unit(f"{number}.") for number in range(count)]
    with pytest.raises(
        PropositionizerError, match=rf"no request to .*:{port}/v1/ has been answered .*base_url"
    ):
        await ask(passages, base_url=f"http://127.0.0.1:{port}/v1")


async def test_a_page_in_place_of_answers_is_one_error(ask, server):
    server.answers = {f"{number}.": (200, "<html>Welcome</html>") for number in range(20)}
    with pytest.raises(PropositionizerError, match=r"Welcome.*base_url"):
        await ask([unit(text) for text in server.answers])


CHECK = "Check the client's key and base_url, .* whether it takes these arguments: temperature, response_format"


@pytest.mark.parametrize(
    ("answer", "cause", "to_do"),
    [
        (
            refused(401, "Incorrect API key provided.", "invalid_api_key"),
            openai.AuthenticationError,
            CHECK,
        ),
        (refused(404, "No model 'm'.", "model_not_found"), openai.NotFoundError, CHECK),
        (
            refused(429, "You exceeded your quota.", "insufficient_quota"),
            openai.RateLimitError,
            "Check the quota",
        ),
    ],
)
async def test_what_would_fail_for_every_passage_is_raised_at_once(
    ask, server, answer, cause, to_do
):
    server.answers = {f"{number}.": answer for number in range(100)}
    with pytest.raises(
        PropositionizerError, match="requests for the model 'm' are rejected"
    ) as caught:
        await ask([unit(text) for text in server.answers], max_concurrency=2)
    assert type(caught.value.__cause__) is cause
    assert re.search(to_do, str(caught.value))
    assert len(server.requests) < 50


async def test_usage_adds_up(ask, server):
    server.usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    server.answers["B."] = 200, completion(json.dumps(["B."]))  # without usage
    await ask([unit("A."), unit("B."), unit("C.")])
    assert ask.propositionizer.usage == Usage(3, 200, 40)


async def test_progress_is_shown_if_asked_for(ask, capsys):
    await ask([unit("A."), unit("B.")])
    assert capsys.readouterr().err == ""
    await ask([unit("A."), unit("B.")], progress=True)
    assert re.search(r"propositions: 100%.* 2/2 ", capsys.readouterr().err)


# Arguments that a server may refuse: JSON by a schema, and the temperature


async def test_a_schema_is_sent_and_its_object_read(ask, server):
    server.answers["A and B."] = 200, completion(json.dumps({"propositions": ["A.", "B."]}))
    assert await ask([unit("A and B.")]) == [["A.", "B."]]
    form = server.requests[0]["response_format"]
    assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
    assert form["json_schema"]["schema"]["required"] == ["propositions"]


@pytest.mark.parametrize(
    "answer",
    [
        refused(400, "This model does not support response format `json_schema`."),
        (
            422,
            {"detail": [{"loc": ["body", "response_format", "type"], "msg": "unexpected value"}]},
        ),
    ],
)
async def test_the_words_of_other_servers(ask, server, answer):
    server.answers["A."] = [answer]
    assert await ask([unit("A.")]) == [["A."]]
    assert ["response_format" in request for request in server.requests] == [True, False]


async def test_what_the_server_refuses_is_left_out_for_good(ask, server, caplog):
    server.refuses = {
        "temperature": "Unsupported value: 'temperature' does not support 0 with this model.",
        "response_format": "Invalid parameter: 'response_format' of type 'json_schema' is not supported.",
    }
    texts = [f"{number}." for number in range(20)]
    assert await ask([unit(text) for text in texts], max_concurrency=4) == [
        [text] for text in texts
    ]
    for argument in server.refuses:
        assert caplog.text.count(f"no {argument}") == 1
        assert all(argument not in request for request in server.requests[-10:])
        assert sum(argument in request for request in server.requests) <= 8


class Fake:
    """A client that answers nothing until it is released."""

    def __init__(self, *, interrupt=False):
        self.chat = SimpleNamespace(completions=self)
        self.calls = 0
        self.interrupt = interrupt
        self.released = threading.Event()

    def create(self, **request):
        self.calls += 1
        if self.calls == 2 and self.interrupt:
            signal.pthread_kill(
                threading.main_thread().ident, signal.SIGINT
            )  # wakes a thread that waits
        self.released.wait(5)
        return completion("")


class AsyncFake(Fake):
    async def create(self, **request):
        self.calls += 1
        await asyncio.sleep(5)


def test_an_interrupt_sends_no_further_requests():
    client = Fake(interrupt=True)
    try:
        with pytest.raises(KeyboardInterrupt):
            PromptPropositionizer(client, "m", max_concurrency=2).propositionize([unit("A.")] * 50)
    finally:
        client.released.set()
    assert client.calls == 2


@pytest.mark.parametrize("kind", [Fake, AsyncFake])
async def test_a_cancelled_call_sends_no_further_requests(kind):
    client = kind()
    task = asyncio.create_task(
        PromptPropositionizer(client, "m", max_concurrency=2).apropositionize([unit("A.")] * 50)
    )
    while client.calls < 2:
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    client.released.set()
    await asyncio.sleep(0.01)
    assert client.calls == 2


def test_an_async_client_can_only_be_awaited():
    with pytest.raises(PropositionizerError, match="await apropositionize"):
        PromptPropositionizer(AsyncFake(), "m").propositionize([unit("A.")])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"client": None}, "got NoneType"),
        ({"client": "sk-key"}, "chat.completions.create.*got str"),
        ({"max_concurrency": 0}, "at least 1"),
        ({"requests_per_minute": 0}, "requests_per_minute must be above 0"),
        ({"tokens_per_minute": float("nan")}, "tokens_per_minute must be above 0"),
    ],
)
def test_what_the_constructor_refuses(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        PromptPropositionizer(**{"client": Fake(), "model": "m", **arguments})


async def test_the_prompt_follows_the_schema_that_is_sent(ask, server):
    await ask([unit("A.")])
    [request] = server.requests
    assert request["messages"][0]["content"] == as_object(prompt_for(unit("A.")))
    server.requests.clear()
    server.answers["B."] = [
        refused(400, "Unknown parameter: 'response_format'."),
        (200, completion('["A."]')),
    ]
    assert await ask([unit("B.")]) == [["A."]]
    first, second = server.requests
    assert first["messages"][0]["content"] == as_object(prompt_for(unit("B.")))
    assert "response_format" not in second
    assert second["messages"][0]["content"] == prompt_for(unit("B."))
