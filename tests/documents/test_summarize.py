"""Summaries of tables: one request a table, in order, cached; a failure costs its own table."""

from __future__ import annotations

import asyncio
import json

import pytest

from factoid import PromptPropositionizer
from factoid.documents import clean, read_markdown
from factoid.documents.summarize import PROMPT, TableSummarizer
from factoid.documents.tables import Table
from factoid.errors import InvalidInputError, PropositionizerError
from factoid.propositions.prompting.cost import Usage
from tests.documents.results import table_of
from tests.documents.seeds import printed_paper
from tests.propositions.prompting.server import Server, completion, refused, running

openai = pytest.importorskip("openai")

TABLES = [
    table_of([["Lake", "Depth"], [name, "9"]], caption=f"Table {number}: Depth of {name}")
    for number, name in enumerate("ABC", 1)
]


class TableServer(Server):
    """Answers by the number of the table in the prompt."""

    def answer(self, request):
        prompt = request["messages"][0]["content"]
        number = prompt.partition("Table ")[2][:1] or prompt
        with self.changed:
            self.requests.append(request)
        answer = self.answers.get(number)
        return answer or (
            200,
            completion(f"Depths,\n of {number}. ", usage={"prompt_tokens": 9, "completion_tokens": 3}),
        )


@pytest.fixture
def server():
    with running(TableServer()) as made:
        yield made


def client(server, kind="OpenAI"):
    return getattr(openai, kind)(base_url=server.url, api_key="k")


def test_strings_in_order_and_what_is_asked(server):
    summarizer = TableSummarizer(client(server), "m", max_tokens=100)
    report = summarizer.summarize(TABLES)
    assert report.metadata() == {"table_count": 3, "table_summaries": [f"Depths, of {n}." for n in "123"]}
    assert report.usage == Usage(3, 27, 9)
    assert str(report) == "3 tables → 3 summaries; 0 failed"
    asked = next(request for request in server.requests if "Table 2" in request["messages"][0]["content"])
    prompt = asked["messages"][0]["content"]
    assert prompt.startswith(PROMPT)
    assert "| Lake | Depth |\n| - | - |\n| B | 9 |\n\nTable 2: Depth of B" in prompt
    assert asked["max_tokens"] == 100
    assert "response_format" not in asked
    assert [summary.table for summary in report.summaries] == [0, 1, 2]
    assert {summary.generated_by for summary in report.summaries} == {summarizer.name}
    assert summarizer.name.startswith("m@")


def test_a_failure_costs_its_own_table(server):
    server.answers = {"2": refused(400, "content_filter"), "3": (200, completion(" ", finish_reason="stop"))}
    report = TableSummarizer(client(server), "m").summarize([*TABLES, Table((), 2, 2)])
    assert report.metadata() == {
        "table_count": 4,
        "table_summaries": ["Depths, of 1.", "", "", ""],
        "table_summary_failures": {"1": "refusal", "2": "empty answer", "3": "table without text"},
    }
    assert report.failures == {"refusal": 1, "empty answer": 1, "table without text": 1}
    assert len(server.requests) == 3
    assert json.loads(json.dumps(report.metadata())) == report.metadata()


def test_a_cut_off_summary_says_so(server):
    server.answers = {"1": (200, completion("Depths of", finish_reason="length"))}
    report = TableSummarizer(client(server), "m").summarize(TABLES[:2])
    assert [summary.finish_reason for summary in report.summaries] == ["length", "stop"]


def test_a_cache_is_asked_first_and_holds_no_transient_failure(server, tmp_path):
    path = tmp_path / "cache.sqlite"
    server.answers = {"2": refused(500, "busy")}
    first = TableSummarizer(client(server), "m", cache=path, max_retries=0).summarize(TABLES)
    assert first.failures == {"HTTP error 500": 1}
    del server.answers["2"], server.requests[:]
    second = TableSummarizer(client(server), "m", cache=path).summarize(TABLES)
    assert second.metadata()["table_summaries"] == ["Depths, of 1.", "Depths, of 2.", "Depths, of 3."]
    assert len(server.requests) == 1
    assert [summary.finish_reason for summary in second.summaries] == ["stop"] * 3
    other = TableSummarizer(client(server), "m", cache=path, prompt="In one word.")
    other.summarize(TABLES[:1])
    assert server.requests[-1]["messages"][0]["content"].startswith("In one word.\n\nTable:")


async def test_async_clients(server):
    async with client(server, "AsyncOpenAI") as made:
        report = await TableSummarizer(made, "m").asummarize(TABLES)
    assert report.metadata()["table_summaries"][2] == "Depths, of 3."


async def test_functions(tmp_path):
    def lakes(prompt):
        if "Table 2" in prompt:
            raise ValueError("no")
        return f"{len(prompt)} characters"

    summarizer = TableSummarizer(lakes, cache=tmp_path / "cache.sqlite", max_concurrency=1)
    assert "lakes@" in summarizer.name
    first, second = summarizer.summarize(TABLES), await summarizer.asummarize(TABLES)
    assert first.failures == second.failures == {"the model raised ValueError": 1}
    assert first.summaries[0].text.endswith("characters")
    assert await asyncio.to_thread(lambda: TableSummarizer(str.upper).summarize([]).metadata()) == {
        "table_count": 0,
        "table_summaries": [],
    }


@pytest.mark.parametrize("answer", [None, "", " \n"])
def test_a_function_without_an_answer_for_one_table_costs_that_table(answer):
    report = TableSummarizer(lambda prompt: answer if "Table 2" in prompt else "Depths.").summarize(TABLES)
    assert report.metadata()["table_summaries"] == ["Depths.", "", "Depths."]
    assert report.failures == {"empty answer": 1}


def test_what_cannot_be_used(server, tmp_path):
    with pytest.raises(InvalidInputError, match=r"a function needs a name before a cache"):
        TableSummarizer(lambda prompt: "x", cache=tmp_path / "c")
    with pytest.raises(InvalidInputError, match=r"expected a client with chat\.completions\.create"):
        TableSummarizer(object(), "m")
    with pytest.raises(InvalidInputError, match=r"got a PromptPropositionizer: give its client instead"):
        TableSummarizer(PromptPropositionizer(client(server), "m"))
    with pytest.raises(InvalidInputError, match=r"expected a list of factoid\.documents\.Table"):
        TableSummarizer(str.upper).summarize(TABLES[0])
    with pytest.raises(InvalidInputError, match=r"must return a str, got int"):
        TableSummarizer(lambda prompt: 5).summarize(TABLES)
    server.answers = dict.fromkeys("123", refused(401, "no key"))
    with pytest.raises(PropositionizerError, match="key"):
        TableSummarizer(client(server), "m").summarize(TABLES)


def test_the_printed_paper_gives_what_its_user_had():
    document = clean(read_markdown(printed_paper()))
    asked = []

    def model(prompt):
        asked.append(prompt)
        return f"Summary {len(asked)}."

    metadata = TableSummarizer(model, max_concurrency=1).summarize(document.tables).metadata()
    assert metadata == {"table_count": 5, "table_summaries": [f"Summary {number}." for number in range(1, 6)]}
    assert "| Contriever | Proposition | 50.1 | 70.0 |" in asked[2]
    assert "Table 2: Passage retrieval performance (Recall@k = 5, 20)" in asked[2]
    assert not any(mark in prompt for prompt in asked for mark in (":selected:", "be- tween", "\\*", "<!--"))
