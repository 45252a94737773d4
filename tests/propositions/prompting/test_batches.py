"""The Batch API through the real client, which may be killed at the worst moments."""

from __future__ import annotations

import pytest
from filelock import FileLock

from factoid.errors import PropositionizerError, StoreError, StoreFormatError
from factoid.propositions import CachedPropositionizer, PropositionCache
from factoid.propositions.prompting import batches
from factoid.propositions.prompting.batches import PropositionBatch
from factoid.propositions.prompting.cost import Usage
from factoid.propositions.prompting.prompted import PromptPropositionizer
from tests.propositions.prompting.batch_server import BatchServer
from tests.propositions.prompting.server import completion, refused, running, unit

openai = pytest.importorskip("openai")

TEXTS = [f"{number} “x”\u2028y." for number in range(10)]
PASSAGES = [unit(text) for text in TEXTS]
SHOWN = [" ".join(text.split()) for text in TEXTS]  # as prompts have them


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(batches, "_POLL", 0.0)
    with running(BatchServer()) as made:
        yield made


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=server.url, api_key="k", timeout=5) as made:
        yield made


@pytest.fixture
def cache(tmp_path):
    return PropositionCache(tmp_path / "cache")


@pytest.fixture
def make(client, cache):
    def make(max_requests=40_000, **options):
        propositionizer = PromptPropositionizer(client, "m", max_retries=1, **options)
        return PropositionBatch(propositionizer, cache, max_requests=max_requests)

    return make


def test_submit_wait_and_index_from_the_cache(make, server, cache):
    server.usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    batch = make()
    [live] = batch.submit(PASSAGES)
    assert (live.status, live.requests) == ("validating", 10)
    report = batch.wait()
    assert (report.answered, report.failures, report.returned) == (10, {}, {})
    assert report.usage == Usage(10, 1000, 200)
    server.requests.clear()
    cached = CachedPropositionizer(batch.propositionizer, cache)
    assert cached.propositionize(PASSAGES) == [[text] for text in SHOWN]
    assert server.requests == []
    assert batch.submit(PASSAGES) == batch.poll() == []
    assert len(server.batches) == 1


def test_what_is_uploaded(make, server):
    make(structured=True, options={"seed": 1}).submit(PASSAGES[:1])
    [made] = server.batches.values()
    assert (made["endpoint"], made["completion_window"]) == ("/v1/chat/completions", "24h")
    [line] = server.lines(made["input_file_id"])
    assert (line["method"], line["url"], len(line["custom_id"]) <= 64) == (
        "POST",
        "/v1/chat/completions",
        True,
    )
    body = line["body"]
    assert body.keys() == {"model", "messages", "response_format", "temperature", "seed"}
    assert body["messages"][0]["content"].endswith(f"Content: {SHOWN[0]}\nOutput:")
    assert '"propositions"' in body["messages"][0]["content"]
    make().submit(PASSAGES[1:2])
    [line] = server.lines(list(server.batches.values())[-1]["input_file_id"])
    assert "response_format" not in line["body"]
    assert '"propositions"' not in line["body"]["messages"][0]["content"]


def test_passages_are_sent_once(make, cache, server):
    batch = make()
    cache.put(batch.propositionizer.name, PASSAGES[:3], [["known"]] * 3)
    batch.submit([*PASSAGES[:5], *PASSAGES[:5], unit(" ")])
    make().submit(PASSAGES[:6])
    assert len(server.submitted) == 3
    assert batch.wait().answered == 3


def test_what_came_is_kept_and_the_rest_is_sent_again(make, server):
    server.endings = ["expired", "cancelled"]
    batch = make()
    batch.submit(PASSAGES)
    report = batch.wait()
    assert (report.answered, report.returned) == (5, {"batch expired": 5})
    report = batch.run(PASSAGES)
    assert (report.answered, report.returned) == (5, {})
    assert len(server.submitted) == 10 + 5 + 3


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        ("failed: token_limit_exceeded: Enqueued token limit reached", "token limit exceeded"),
        ("empty", "no answer in a batch that is completed"),
    ],
)
def test_a_batch_that_brings_nothing(make, server, ending, reason):
    server.endings = [ending] * 100
    report = make().run(PASSAGES[:2])
    assert (report.answered, report.returned, len(server.batches)) == (0, {reason: 2}, 1)


def test_failures_of_single_requests(make, server, cache):
    answers = {
        "refusal": (200, completion(None, refusal="No.")),
        "unreadable output": (200, completion("Sorry.")),
        "passage too long": refused(400, "maximum context length", "context_length_exceeded"),
        "HTTP error 500": (500, {"error": {"message": "oops"}}),
        "HTTP error 429": refused(429, "Slow down.", "rate_limit_exceeded"),
        "HTTP error 400": refused(400, "Unsupported value: 'temperature'."),
        "NoCompletionError": (200, {"error": {"message": "Slow down.", "code": 429}}),
    }
    server.answers = dict(zip(SHOWN, answers.values(), strict=False))
    batch = make()
    batch.submit(PASSAGES)
    report = batch.wait()
    assert report.answered == 3
    assert report.failures == dict.fromkeys(list(answers)[:3], 1)
    assert report.returned == dict.fromkeys(list(answers)[3:], 1)
    stored = cache.get(batch.propositionizer.name, PASSAGES)
    assert [getattr(texts, "reason", texts) for texts in stored[:7]] == [
        *list(answers)[:3],
        *[None] * 4,
    ]


def test_what_is_refused(make, cache, monkeypatch):
    with pytest.raises(PropositionizerError, match="synchronous client"):
        PropositionBatch(PromptPropositionizer(openai.AsyncOpenAI(api_key="k"), "m"), cache)
    batch = make()
    batch.folder.write_text("No folder.")
    with pytest.raises(StoreError, match="cannot use the folder of batches"):
        batch.submit(PASSAGES)
    batch.folder.unlink()
    batch.submit(PASSAGES)
    monkeypatch.setattr(batches, "FileLock", lambda path, timeout: FileLock(path, timeout=0.1))
    with (
        FileLock(batch.folder / "lock"),
        pytest.raises(StoreError, match="another process is using"),
    ):
        batch.submit(PASSAGES)
    [record] = batch.folder.glob("*.json")
    record.write_bytes(record.read_bytes()[:20])
    with pytest.raises(StoreFormatError, match="not the record of a batch, or is damaged"):
        batch.collect()


def test_a_kill_while_results_are_collected(make, server, cache, monkeypatch):
    batch = make(max_requests=4)
    batch.submit(PASSAGES)
    put, calls = cache.put, []

    def stop(*arguments):
        calls.append(put(*arguments))
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(cache, "put", stop)
    with pytest.raises(KeyboardInterrupt):
        batch.wait()
    batch.wait()
    assert (cache.count(), len(server.submitted)) == (10, 10)


@pytest.mark.parametrize(
    ("moment", "answer"), [("after", (0, "hang up")), ("before", refused(400, "Billing limit."))]
)
def test_a_creation_that_fails_or_whose_answer_is_lost(make, server, moment, answer):
    setattr(server, moment, lambda name: answer if name == "batches" else None)
    with pytest.raises(PropositionizerError, match=r"call again"):
        make(max_requests=4).submit(PASSAGES)
    setattr(server, moment, lambda name: None)
    make(max_requests=4).submit(PASSAGES)
    assert len(server.batches) == 3
    assert len(set(server.submitted)) == len(server.submitted) == 10
