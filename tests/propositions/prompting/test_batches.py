"""The Batch API, through the real client."""

from __future__ import annotations

import json

import pytest

from factoid.errors import InvalidInputError, PropositionizerError, StoreError, StoreFormatError
from factoid.propositions import CachedPropositionizer, PropositionCache
from factoid.propositions.prompting.batch_state import opened
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
def server():
    with running(BatchServer()) as made:
        yield made


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=server.url, api_key="k", timeout=5, max_retries=0) as made:
        yield made


@pytest.fixture
def cache(tmp_path):
    with PropositionCache(tmp_path / "cache") as made:
        yield made


@pytest.fixture
def slept():
    return []


@pytest.fixture
def make(client, cache, slept):
    def make(**options):
        settings = {key: options.pop(key) for key in ("structured", "options", "prompt") if key in options}
        batch = PropositionBatch(PromptPropositionizer(client, "m", **settings), cache, **options)
        batch._sleep = slept.append
        return batch

    return make


def test_submit_wait_and_index_from_the_cache(make, server, cache, slept):
    server.usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    batch = make()
    [live] = batch.submit(PASSAGES)
    assert (live.status, live.requests) == ("validating", 10)
    report = batch.wait()
    assert (report.answered, report.failures, report.returned) == (10, {}, {})
    assert report.usage == Usage(10, 1000, 200)
    assert slept
    assert slept == sorted(slept, key=lambda seconds: seconds > 5)
    server.requests.clear()
    cached = CachedPropositionizer(batch.propositionizer, cache)
    assert cached.propositionize(PASSAGES) == [[text] for text in SHOWN]
    assert server.requests == []
    assert batch.submit(PASSAGES) == batch.poll() == []
    assert len(server.batches) == 1


def test_what_is_uploaded(make, server):
    options = {"extra_body": {"top_k": 1}, "extra_headers": {"X": "y"}, "timeout": 3, "seed": 1}
    make(structured=True, options=options).submit(PASSAGES[:1])
    [made] = server.batches.values()
    assert (made["endpoint"], made["completion_window"]) == ("/v1/chat/completions", "24h")
    [line] = server._lines(made["input_file_id"])
    assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
    assert len(line["custom_id"]) <= 64
    body = line["body"]
    assert body.keys() == {"model", "messages", "response_format", "temperature", "top_k", "seed"}
    assert body["messages"][0]["content"].endswith(f"Content: {SHOWN[0]}\nOutput:")


def test_limits_split_a_corpus_into_several_batches(make, server):
    batches = make(max_requests=4).submit(PASSAGES)
    assert [batch.requests for batch in batches] == [4, 4, 2]
    assert len(set(server.submitted)) == len(server.submitted) == 10


def test_bytes_split_a_corpus(make, server):
    batch = make(max_bytes=10_000)  # a prompt has 3,300
    assert len(batch.submit(PASSAGES)) > 3
    assert all(len(file["content"]) <= 10_000 for file in server.files.values())
    assert batch.wait().answered == 10


def test_passages_are_sent_once(make, cache, server):
    batch = make()
    cache.put(batch.propositionizer.name, PASSAGES[:3], [["known"]] * 3)
    batch.submit([*PASSAGES[:5], *PASSAGES[:5], unit(" ")])
    batch.submit(PASSAGES[:6])
    make().submit(PASSAGES[:6])
    assert len(server.submitted) == 3
    assert batch.wait().answered == 3


@pytest.mark.parametrize("ending", ["expired", "cancelled"])
def test_what_came_is_kept_and_the_rest_is_sent_again(make, server, ending):
    server.endings = [ending]
    batch = make()
    batch.submit(PASSAGES)
    report = batch.wait()
    assert (report.answered, report.returned) == (5, {f"batch {ending}": 5})
    assert batch.poll() == []
    batch.submit()
    assert batch.wait().answered == 5
    assert len(server.submitted) == 15


def test_what_was_left_over_and_came_by_another_way_is_not_sent_again(make, server, cache):
    server.endings = ["expired"]
    batch = make()
    batch.submit(PASSAGES)
    batch.wait()
    CachedPropositionizer(batch.propositionizer, cache).propositionize(PASSAGES)
    assert batch.submit() == []
    assert len(server.batches) == 1


def test_run_does_all_that(make, server, cache):
    server.endings = ["expired", "expired"]
    report = make().run(PASSAGES)
    assert (report.answered, report.returned) == (10, {})
    assert len(server.batches) == 3


def test_a_batch_can_be_cancelled(make, server):
    server.endings = ["in_progress"]
    batch = make()
    batch.submit(PASSAGES)
    batch.cancel()
    assert batch.wait().returned == {"batch cancelled": 5}


def test_a_batch_that_fails(make, server):
    server.endings = ["failed: invalid_model: no model m"]
    report = make().run(PASSAGES)
    assert (report.answered, report.returned) == (0, {"invalid model": 10})
    assert len(server.batches) == 1


def test_the_limit_of_queued_tokens_makes_batches_smaller(make, server):
    limit = "failed: token_limit_exceeded: Enqueued token limit reached"
    server.endings = [limit, limit, limit, "completed", limit]
    report = make().run(PASSAGES)
    assert (report.answered, report.returned) == (10, {})
    assert max(len(server._lines(made["input_file_id"])) for made in list(server.batches.values())[3:]) <= 5


def test_a_limit_that_no_batch_meets_ends(make, server):
    server.endings = ["failed: token_limit_exceeded: Enqueued token limit reached"] * 100
    report = make().run(PASSAGES[:2])
    assert (report.answered, report.returned) == (0, {"token limit exceeded": 2})


def test_failures_of_single_requests(make, server, cache):
    answers = {
        "refusal": (200, completion(None, refusal="No.")),
        "unreadable output": (200, completion("Sorry.")),
        "passage too long": refused(400, "maximum context length", "context_length_exceeded"),
        "HTTP error 500": (500, {"error": {"message": "oops"}}),
        "HTTP error 429": refused(429, "Slow down.", "rate_limit_exceeded"),
        "HTTP error 400": refused(400, "Unsupported value: 'temperature'."),
        "unreadable response": (200, {"error": {"message": "Slow down.", "code": 429}}),
    }
    server.answers = dict(zip(SHOWN, answers.values(), strict=False))
    batch = make()
    batch.submit(PASSAGES)
    report = batch.wait()
    assert report.answered == 3
    assert report.failures == dict.fromkeys(list(answers)[:3], 1)
    assert report.returned == dict.fromkeys(list(answers)[3:], 1)
    kept = cache.get(batch.propositionizer.name, PASSAGES)
    assert [getattr(texts, "reason", texts) for texts in kept[:7]] == [*list(answers)[:3], *[None] * 4]


def test_broken_and_foreign_lines_are_left_out(make, server):
    foreign = json.dumps({"custom_id": "other", "response": {"status_code": 200, "body": completion("[]")}})
    server.broken_lines = ["{", "[]", "null", '"x"', '{"custom_id": 1}', foreign, ""]
    assert make().run(PASSAGES).answered == 10


def test_a_batch_without_files(make, server):
    server.endings = ["empty"]
    batch = make()
    batch.submit(PASSAGES)
    assert batch.wait().returned == {"no answer in a batch that is completed": 10}


def test_files_and_batches_that_the_server_has_deleted(make, server):
    batch = make(max_requests=5)
    batch.submit(PASSAGES)
    batch.poll()
    assert {live.status for live in batch.poll()} == {"completed"}
    server.files.clear()
    server.batches["batch1"]["status"] = server.batches["batch1"]["ending"] = "in_progress"
    with opened(batch.state, batch.propositionizer.name) as state:
        for each in state.batches():
            if each.batch_id == "batch1":
                state._connection.execute("UPDATE batches SET status = 'in_progress' WHERE key = ?", (each.key,))
                state._connection.commit()
    del server.batches["batch1"]
    report = batch.wait()
    assert report.answered == 0
    assert sum(report.returned.values()) == 10


def test_what_the_constructor_refuses(make, client, cache, tmp_path):
    for options in ({"max_requests": 0}, {"max_requests": 50_001}, {"max_bytes": 1}):
        with pytest.raises(InvalidInputError, match="as OpenAI has it"):
            make(**options)
    with pytest.raises(PropositionizerError, match="synchronous client"):
        PropositionBatch(PromptPropositionizer(openai.AsyncOpenAI(api_key="k"), "m"), cache)
    (tmp_path / "text").write_text("This is no database, and long enough to be looked at. " * 20)
    with pytest.raises(StoreFormatError, match="not a file of batches"):
        make(state=tmp_path / "text").submit(PASSAGES)
    assert cache.count() == 0  # makes it
    with pytest.raises(StoreFormatError, match="not a file of batches"):
        make(state=cache.path).submit(PASSAGES)


def test_one_process_at_a_time(make, monkeypatch):
    import sqlite3

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, timeout: connect(path, timeout=0.1))
    batch = make()
    with opened(batch.state, "m"), pytest.raises(StoreError, match="another process is at work"):
        batch.submit(PASSAGES)
