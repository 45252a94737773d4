"""Any model of either framework as a propositionizer: the same script gives the same results, sync and async."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from inspect import signature

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core.llms import MockLLM

import langchain_factoid
import llama_index_factoid
from factoid.errors import InvalidInputError, PropositionizerError
from factoid.propositions import PromptPropositionizer
from factoid.propositions.prompting.prompt import PROMPT_VERSION, prompt_for
from tests.propositions.conftest import FastClock
from tests.propositions.prompting.server import unit
from tests.scripted_models import LangChainModel, LlamaIndexModel, Script, ServerError, SyncLangChainModel


def langchain(script, **options):
    return langchain_factoid.ChatModelPropositionizer(LangChainModel(script=script), **options)


def llama_index(script, **options):
    return llama_index_factoid.LLMPropositionizer(LlamaIndexModel(script=script), **options)


def llama_index_completing(script, **options):
    """A model whose asynchronous methods are the framework's, which block."""
    return llama_index_factoid.LLMPropositionizer(LlamaIndexModel(script=script, chats=False), **options)


def langchain_sync(script, **options):
    """A model without asynchronous methods."""
    return langchain_factoid.ChatModelPropositionizer(SyncLangChainModel(script=script), **options)


FRAMEWORKS = [langchain, langchain_sync, llama_index, llama_index_completing]


@pytest.fixture(params=["sync", "async"])
def ask(request):
    async def run(propositionizer, passages):
        propositionizer._pace.clock = FastClock()
        if request.param == "sync":
            return await asyncio.to_thread(propositionizer.propositionize, passages)
        return await propositionizer.apropositionize(passages)

    return run


ANSWERS = {
    "Fenced.": '```json\n["F."]\n```',
    "Refused.": {"text": "", "refusal": "I won't."},
    "Filtered.": {"text": "", "finish": "content_filter"},
    "Cut.": {"text": '["C.", "D', "finish": "length"},
    "Prose.": "I'm sorry.",
    "Empty.": "",
    "Busy.": [ServerError(429, retry_after="7"), ServerError(503)],
    "Down.": ServerError(500),
    "Lost.": [ConnectionResetError("gone")],
    "Slow.": TimeoutError("too slow"),
    "Long.": ServerError(400, "maximum context length is 10"),
    "Bad.": ServerError(400, "filtered by content management policy"),
}
EXPECTED = {
    "Fenced.": ["F."],
    "Refused.": "refusal",
    "Filtered.": "refusal",
    "Cut.": ["C."],
    "Prose.": "unreadable output",
    "Empty.": "empty output",
    "Busy.": ["Busy."],
    "Down.": "HTTP error 500",
    "Lost.": ["Lost."],
    "Slow.": "request timed out",
    "Long.": "passage too long",
    "Bad.": "refusal",
    "Plain.": ["Plain."],
    " ": "empty passage",
}
TRANSIENT = {"Down.", "Slow."}


@pytest.mark.parametrize("make", FRAMEWORKS)
async def test_the_same_script_gives_the_same_results(ask, make):
    script = Script({text: list(given) if isinstance(given, list) else given for text, given in ANSWERS.items()})
    propositionizer = make(script, max_retries=2)
    results = await ask(propositionizer, [unit(text) for text in EXPECTED])
    assert {text: getattr(found, "reason", found) for text, found in zip(EXPECTED, results, strict=True)} == EXPECTED
    assert {
        text for text, found in zip(EXPECTED, results, strict=True) if getattr(found, "transient", False)
    } == TRANSIENT
    assert {text: count for text, count in script.asked.items() if count > 1} == {
        "Busy.": 3,
        "Down.": 3,
        "Lost.": 2,
        "Slow.": 3,
    }
    answered = sum(script.asked.values()) - 2 - 3 - 1 - 3 - 2
    assert (propositionizer.usage.requests, propositionizer.usage.prompt_tokens) == (answered, 10 * answered)
    assert propositionizer.usage.completion_tokens == 5 * answered


@pytest.mark.parametrize("make", FRAMEWORKS)
async def test_requests_run_side_by_side_and_leave_the_loop_free(make):
    script = Script({}, seconds=0.1)
    texts = [f"{number}." for number in range(48)]
    propositionizer = make(script, max_concurrency=16)
    ticks = 0
    task = asyncio.create_task(propositionizer.apropositionize([unit(text) for text in texts]))
    while not task.done():
        await asyncio.sleep(0.005)
        ticks += 1
    assert await task == [[text] for text in texts]
    assert script.peak == 16
    assert ticks >= 10  # a loop that is blocked ticks once for each answer at most
    assert await asyncio.to_thread(propositionizer.propositionize, [unit("A.")]) == [["A."]]


@pytest.mark.parametrize("make", FRAMEWORKS)
async def test_what_would_fail_for_every_passage_is_raised(ask, make):
    script = Script({f"{number}.": ServerError(401, "wrong key") for number in range(50)})
    with pytest.raises(PropositionizerError, match="'scripted-1': wrong key"):
        await ask(make(script, max_concurrency=2), [unit(text) for text in script.answers])
    assert sum(script.asked.values()) < 10


@pytest.mark.parametrize("make", FRAMEWORKS)
async def test_a_fault_of_the_program_is_raised_as_it_is(ask, make):
    with pytest.raises(ZeroDivisionError):
        await ask(make(Script({"A.": ZeroDivisionError()})), [unit("A.")])


def test_the_same_keywords_with_the_same_defaults():
    one = signature(langchain_factoid.ChatModelPropositionizer).parameters
    other = signature(llama_index_factoid.LLMPropositionizer).parameters
    assert {name: each.default for name, each in one.items()} == {name: each.default for name, each in other.items()}
    core = signature(PromptPropositionizer).parameters
    assert {name: core[name].default for name in one if name not in {"llm", "model"}} == {
        name: one[name].default for name in one if name not in {"llm", "model"}
    }


def test_names_are_model_and_prompt():
    for make in FRAMEWORKS:
        assert make(Script({})).name == f"scripted-1@{PROMPT_VERSION}"
        assert make(Script({}), model="gpt", prompt="Split.").name.startswith("gpt@prompt ")
    llm = LangChainModel(script=Script({}))
    for wrapped in (llm.bind(stop=["x"]), llm.with_config(tags=["t"]), llm.with_retry(), llm.with_fallbacks([llm])):
        assert langchain_factoid.ChatModelPropositionizer(wrapped).model == "scripted-1"
    assert langchain_factoid.ChatModelPropositionizer(FakeListChatModel(responses=["[]"])).model == "FakeListChatModel"
    assert llama_index_factoid.LLMPropositionizer(MockLLM()).model == "MockLLM"


def test_the_prompt_is_figure_8_and_the_callers_context_goes_along():
    variable = ContextVar("variable", default="unset")
    seen = []

    class Watching(Script):
        def take(self, prompt):
            seen.append((prompt, variable.get()))
            return super().take(prompt)

    variable.set("set")
    for make in (langchain, llama_index):
        make(Watching({})).propositionize([unit("A.")])
    assert seen == [(prompt_for(unit("A.")), "set")] * 2


@pytest.mark.parametrize("given", ["gpt", None])
def test_what_is_no_model_is_refused(given):
    for kind in (langchain_factoid.ChatModelPropositionizer, llama_index_factoid.LLMPropositionizer):
        with pytest.raises(InvalidInputError, match="expected a"):
            kind(given)


TEXT = "The Vasa sank in 1628. She was raised in 1961."


async def test_from_llm_in_splitter_and_node_parser():
    answer = {TEXT: '["The Vasa sank in 1628.", "The Vasa was raised in 1961."]'}
    one, other = Script(answer), Script(answer)
    splitter = langchain_factoid.PropositionTextSplitter.from_llm(
        LangChainModel(script=one), max_concurrency=2, words=80, unsupported="keep"
    )
    parser = llama_index_factoid.PropositionNodeParser.from_llm(
        LlamaIndexModel(script=other), max_concurrency=2, words=80, unsupported="keep"
    )
    documents = [LangChainDocument(TEXT)]
    nodes = parser.get_nodes_from_documents([LlamaIndexDocument(text=TEXT)])
    expected = ["The Vasa sank in 1628.", "The Vasa was raised in 1961."]
    assert [chunk.page_content for chunk in splitter.split_documents(documents)] == expected
    assert [chunk.page_content for chunk in await splitter.atransform_documents(documents)] == expected
    assert [node.text for node in nodes] == expected
    assert [node.text for node in await parser.aget_nodes_from_documents([LlamaIndexDocument(text=TEXT)])] == expected
    assert parser.propositionizer_name == f"scripted-1@{PROMPT_VERSION}"
    kinds = llama_index_factoid.MultiGranularNodeParser.from_llm(LlamaIndexModel(script=other))
    assert len(kinds.get_nodes_from_documents([LlamaIndexDocument(text=TEXT)])) == 1 + 2 + 2
    for make, llm in (
        (langchain_factoid.PropositionTextSplitter, LangChainModel(script=one)),
        (llama_index_factoid.PropositionNodeParser, LlamaIndexModel(script=other)),
    ):
        with pytest.raises((TypeError, ValueError), match="max_concurency"):
            make.from_llm(llm, max_concurency=3)
