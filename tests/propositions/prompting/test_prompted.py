from __future__ import annotations

import _thread
import asyncio
import re
import socket
import sys
import threading
from types import SimpleNamespace

import pytest

from factoid.errors import InvalidInputError, MissingDependencyError, PropositionizerError
from factoid.propositions import AsyncPropositionizer, NoPropositions, adecompose
from factoid.propositions.prompting.prompt import PROMPT, prompt_for
from factoid.propositions.prompting.prompted import PromptPropositionizer
from tests.propositions.prompting.server import completion, refused, unit

openai = pytest.importorskip("openai")


async def test_a_good_answer(ask, server):
    server.answers["A and B."] = 200, completion('```json\n["A.", "B."]\n```')
    assert await ask([unit("A and B.")], structured=False) == [["A.", "B."]]
    [request] = server.requests
    assert request == {
        "model": "m",
        "temperature": 0.0,
        "messages": [{"role": "user", "content": f"{PROMPT}\nInput: Title: T. Section: . Content: A and B.\nOutput:"}],
    }


async def test_arguments_are_the_callers(ask, server):
    options = {"max_completion_tokens": 99, "extra_body": {"top_k": 1}}
    await ask([unit("A.")], structured=False, temperature=None, max_tokens=7, prompt="Split it.", options=options)
    [request] = server.requests
    content = prompt_for(unit("A."), "Split it.")
    assert content.startswith("Split it.\n\nInput: Title: T.")
    assert request == {
        "model": "m",
        "max_tokens": 7,
        "max_completion_tokens": 99,
        "top_k": 1,
        "messages": [{"role": "user", "content": content}],
    }


async def test_concurrency_is_bounded_and_order_is_kept(ask, server):
    server.wait_for_peak = 3  # no request is answered until three have come
    texts = [f"Passage {number}." for number in range(20)]
    assert await ask([unit(text) for text in texts], max_concurrency=3) == [[text] for text in texts]
    assert server.peak == 3
    assert len(server.requests) == 20


CONTEXT = "This model's maximum context length is 10 tokens."
FAILURES = {
    "refusal": (200, completion(None, refusal="I won't.")),
    "refusal by the filter": (200, completion("", finish_reason="content_filter")),
    "refusal of the request": refused(400, "The prompt was filtered.", "content_filter"),
    "passage too long": refused(400, CONTEXT, "context_length_exceeded"),
    "passage too long, in vLLM": (400, {"object": "error", "message": CONTEXT, "type": "BadRequestError", "code": 400}),
    "unreadable output": (200, completion("I'm sorry, I can't do that.")),
    "empty output": (200, completion("")),
    "empty output, no content": (200, completion(None)),
    "empty output, no parts": (200, completion([])),
    "refusal by a filter that leaves out the message": (
        200,
        {"choices": [{"index": 0, "finish_reason": "content_filter"}]},
    ),
    "empty list": (200, completion("[]")),
    "output cut off": (200, completion('["Bad pas', finish_reason="length")),
    "HTTP error 500": (500, {"error": {"message": "oops"}}),
    "HTTP error 503": (503, "<html>busy</html>"),
    "HTTP error 429": refused(429, "Slow down.", "rate_limit_exceeded"),
    "connection lost": (0, "hang up"),
    "connection lost, after the headers": (200, "close after headers"),
    "connection lost, in the body": (200, "close in the body"),
    "unreadable response": (200, '{"id": '),
}


@pytest.mark.parametrize("case", FAILURES)
async def test_one_failing_passage_leaves_the_others(ask, server, case):
    server.answers["Bad."] = FAILURES[case]
    before, failed, after = await ask([unit("One."), unit("Bad."), unit("Two.")], max_retries=0)
    assert (before, after) == (["One."], ["Two."])
    assert isinstance(failed, NoPropositions)
    assert failed.reason == re.split(" by | of the |, ", case)[0]


@pytest.mark.parametrize("count", [1, 4, 1000])
async def test_a_server_that_no_request_reaches_is_one_error(ask, clock, count):
    """Not a corpus of sentences, and not after hours."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    passages = [unit(f"{number}.") for number in range(count)]
    with pytest.raises(PropositionizerError, match=rf"no request reached .*:{port}/v1/: check the client's base_url"):
        await ask([unit(" "), *passages], max_retries=2, base_url=f"http://127.0.0.1:{port}/v1")
    assert len(clock.slept) <= 3 * 30


@pytest.mark.parametrize("count", [1, 40])
@pytest.mark.parametrize("deed", ["hang up", "close after headers", "close in the body"])
async def test_a_server_that_breaks_off_was_reached(ask, server, deed, count):
    server.answers = {f"{number}.": (200, deed) for number in range(count)}
    results = await ask([unit(text) for text in server.answers], max_retries=1)
    assert [(texts.reason, texts.transient) for texts in results] == [("connection lost", True)] * count


@pytest.mark.parametrize("address", ["foo", "localhost:8000/v1", "ftp://127.0.0.1/v1"])
async def test_an_address_that_is_none_is_refused_at_once(ask, clock, address):
    with pytest.raises(PropositionizerError, match=rf"must begin with http:// or https://.*{address}"):
        await ask([unit("A.")], base_url=address)
    assert clock.slept == []


async def test_a_text_in_parts(ask, server):
    """As some servers send it, with what the model thought."""
    thought = {"type": "thinking", "thinking": '["No."]'}
    parts = [thought, {"type": "text", "text": '["A.", "B'}, {"type": "text", "text": '."]'}]
    server.answers["A."] = 200, completion(parts)
    assert await ask([unit("A.")]) == [["A.", "B."]]


async def test_a_request_that_times_out(ask, server):
    server.answers["Bad."] = 0, "hang"
    [failed] = await ask([unit("Bad.")], timeout=0.1, max_retries=0)
    assert failed.reason == "request timed out"


async def test_of_an_answer_that_is_cut_off_the_complete_strings_are_kept(ask, server):
    server.answers["A."] = 200, completion('["A.", "B', finish_reason="length")
    assert await ask([unit("A.")]) == [["A."]]


async def test_empty_passages_are_not_sent(ask, server):
    assert await ask([]) == []
    results = await ask([unit(" \n"), unit("A.")])
    assert results == [[], ["A."]]
    assert results[0].reason == "empty passage"
    assert len(server.requests) == 1


KEY = "Check the client's key"
ARGUMENTS = "whether it takes these arguments: {'temperature': 0.0}"


@pytest.mark.parametrize(
    ("answer", "cause", "to_do"),
    [
        (refused(401, "Incorrect API key provided.", "invalid_api_key"), openai.AuthenticationError, KEY),
        (refused(403, "Country not supported."), openai.PermissionDeniedError, KEY),
        (refused(404, "No model 'm'.", "model_not_found"), openai.NotFoundError, ARGUMENTS),
        (refused(400, "Unsupported value: 'temperature'."), openai.BadRequestError, ARGUMENTS),
        (refused(422, "Extra inputs are not permitted."), openai.UnprocessableEntityError, ARGUMENTS),
        (refused(429, "You exceeded your quota.", "insufficient_quota"), openai.RateLimitError, "Check the quota"),
    ],
)
async def test_what_would_fail_for_every_passage_is_raised_at_once(ask, server, answer, cause, to_do):
    server.answers = {f"{number}.": answer for number in range(100)}
    with pytest.raises(PropositionizerError, match="refuses requests for the model 'm'") as caught:
        await ask([unit(text) for text in server.answers], max_concurrency=2)
    assert type(caught.value.__cause__) is cause
    assert to_do in str(caught.value)
    assert ("these arguments" in str(caught.value)) == (to_do == ARGUMENTS)
    assert len(server.requests) < 50


async def test_an_address_that_is_no_api(ask, server):
    server.answers["A."] = 200, "<html>Welcome</html>"
    with pytest.raises(PropositionizerError, match="base_url"):
        await ask([unit("A.")])


async def test_lone_surrogates_are_refused_before_anything_is_sent(ask, server):
    with pytest.raises(InvalidInputError, match="lone surrogate"):
        await ask([unit("A."), unit("x\ud800")])
    assert server.requests == []


async def test_progress_is_shown_if_asked_for(ask, capsys):
    await ask([unit("A."), unit("B.")])
    assert capsys.readouterr().err == ""
    await ask([unit("A."), unit("B.")], show_progress=True)
    assert re.search(r"propositions: 100%.* 2/2 ", capsys.readouterr().err)


async def test_failures_are_counted_in_the_report(server):
    server.answers["Bad one. Bad two."] = 200, completion("No.")
    async with openai.AsyncOpenAI(base_url=server.url, api_key="k") as client:
        propositionizer = PromptPropositionizer(client, "m")
        assert isinstance(propositionizer, AsyncPropositionizer)
        result = await adecompose([unit("Good one."), unit("Bad one. Bad two.")], propositionizer)
    assert [found.text for found in result.units] == ["Good one.", "Bad one.", "Bad two."]
    assert result.report.failures == {"unreadable output": 1}


class Fake:
    """A client that answers nothing until it is released."""

    def __init__(self, *, interrupt: bool = False):
        self.chat = SimpleNamespace(completions=self)
        self.calls = 0
        self.interrupt = interrupt
        self.released = threading.Event()

    def create(self, **request):
        self.calls += 1
        if self.calls == 2 and self.interrupt:
            _thread.interrupt_main()
        self.released.wait(5)
        message = SimpleNamespace(content="")
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])


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
    task = asyncio.create_task(PromptPropositionizer(client, "m", max_concurrency=2).apropositionize([unit("A.")] * 50))
    while client.calls < 2:
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    client.released.set()
    await asyncio.sleep(0.01)
    assert client.calls == 2


async def test_the_event_loop_is_free_while_a_sync_client_works():
    client = Fake()
    task = asyncio.create_task(PromptPropositionizer(client, "m").apropositionize([unit("A.")]))
    while not client.calls:
        await asyncio.sleep(0.001)
    client.released.set()
    assert [result.reason for result in await task] == ["empty output"]


def test_only_an_async_client():
    for given in ({"client": AsyncFake()}, {"client": None, "async_client": AsyncFake()}):
        propositionizer = PromptPropositionizer(**given, model="m")
        with pytest.raises(PropositionizerError, match="await apropositionize"):
            propositionizer.propositionize([unit("A.")])


async def test_each_client_has_its_use(server):
    options = {"base_url": server.url, "api_key": "k"}
    async with openai.AsyncOpenAI(**options) as async_client:
        both = PromptPropositionizer(Fake(), "m", async_client=async_client)
        assert await both.apropositionize([unit("A.")]) == [["A."]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"client": None}, "got None"),
        ({"client": "sk-key"}, "chat.completions.create.*got str"),
        ({"client": Fake(), "async_client": Fake()}, "async_client must be an openai.AsyncOpenAI"),
        ({"client": Fake(), "max_concurrency": 0}, "at least 1"),
        ({"client": Fake(), "requests_per_minute": 0}, "requests_per_minute must be above 0"),
        ({"client": Fake(), "tokens_per_minute": float("nan")}, "tokens_per_minute must be above 0"),
        ({"client": Fake(), "max_retries": -1}, "at least 0"),
        ({"client": Fake(), "retry_seconds": float("nan")}, "at least 0"),
    ],
)
def test_what_the_constructor_refuses(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        PromptPropositionizer(model="m", **arguments)


def test_name_is_model_and_prompt():
    names = {PromptPropositionizer(Fake(), "m", prompt=prompt).name for prompt in (None, "Split it.", "Cut it.")}
    assert "m@dense-x-figure-8/1" in names
    assert len(names) == 3


def test_a_missing_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingDependencyError, match=re.escape('pip install "factoid[openai]"')):
        PromptPropositionizer(Fake(), "m").propositionize([unit("A.")])
