"""Any model of either framework as a propositionizer: the same script gives the same results, sync
and async.
"""

from __future__ import annotations

import asyncio
import json
from contextvars import ContextVar

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core.llms import MockLLM

import langchain_factoid
import llama_index_factoid
from factoid.errors import InvalidInputError
from factoid.propositions import Usage
from factoid.propositions.prompting.prompt import PROMPT_VERSION, prompt_for
from tests.propositions.prompting.server import unit
from tests.scripted_models import LangChainModel, LlamaIndexModel, Script, ServerError


def langchain(script, **options):
    return langchain_factoid.ChatModelPropositionizer(LangChainModel(script=script), **options)


def llama_index(script, **options):
    return llama_index_factoid.LLMPropositionizer(LlamaIndexModel(script=script), **options)


def llama_index_completing(script, **options):
    """A model whose asynchronous methods are the framework's, which block."""
    return llama_index_factoid.LLMPropositionizer(
        LlamaIndexModel(script=script, chats=False), **options
    )


FRAMEWORKS = [langchain, llama_index, llama_index_completing]


@pytest.fixture(params=["sync", "async"])
def ask(request):
    async def run(propositionizer, passages):
        if request.param == "sync":
            return await asyncio.to_thread(propositionizer.propositionize, passages)
        return await propositionizer.apropositionize(passages)

    return run


CASES = {  # what the model does, and what comes of it: propositions or a reason
    "Refused.": ({"text": "", "refusal": "I won't."}, "refusal"),
    "Filtered.": ({"text": "", "finish": "content_filter"}, "refusal"),
    "Cut.": ({"text": '["C.", "D', "finish": "length"}, ["C."]),
    "Empty.": ("", "empty output"),
    "Busy.": (ServerError(429), "HTTP error 429"),
    "Down.": (ServerError(500), "HTTP error 500"),
    "Long.": (ServerError(400, "maximum context length is 10"), "passage too long"),
    "Blocked.": (ValueError("The prompt was blocked: PROHIBITED_CONTENT"), "refusal"),
    "Raised.": (IndexError("list index out of range"), "the model raised IndexError"),
    "Plain.": ('["Plain."]', ["Plain."]),
}


@pytest.mark.parametrize("make", FRAMEWORKS)
async def test_the_same_script_gives_the_same_results(ask, make):
    script = Script({text: does for text, (does, _) in CASES.items()})
    propositionizer = make(script, max_concurrency=1)
    results = dict(
        zip(CASES, await ask(propositionizer, [unit(text) for text in CASES]), strict=True)
    )
    outcomes = {text: getattr(result, "reason", result) for text, result in results.items()}
    assert outcomes == {text: outcome for text, (_, outcome) in CASES.items()}
    assert set(script.asked.values()) == {1}  # the model itself tries again
    answered = len(script.asked) - 5
    assert propositionizer.usage == Usage(answered, 10 * answered, 5 * answered)


def test_names_are_model_and_prompt():
    for make in FRAMEWORKS:
        assert make(Script({})).name == f"scripted-1@{PROMPT_VERSION}"
        assert make(Script({}), model="gpt", prompt="Split.").name.startswith("gpt@prompt ")
    llm = LangChainModel(script=Script({}))
    for wrapped in (
        llm.bind(stop=["x"]),
        llm.with_config(tags=["t"]),
        llm.with_retry(),
        llm.with_fallbacks([llm]),
    ):
        assert langchain_factoid.ChatModelPropositionizer(wrapped).model == "scripted-1"
    assert (
        langchain_factoid.ChatModelPropositionizer(FakeListChatModel(responses=["[]"])).model
        == "FakeListChatModel"
    )
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


TEXT = "The Vasa sank in 1628. She was raised in 1961."


async def test_from_llm_in_splitter_and_node_parser():
    expected = ["The Vasa sank in 1628.", "The Vasa was raised in 1961."]
    script = Script({TEXT: json.dumps(expected)})
    options = {"max_concurrency": 2, "words": 80, "unsupported": "keep"}
    models = LangChainModel(script=script), LlamaIndexModel(script=script)
    splitter = langchain_factoid.PropositionTextSplitter.from_llm(models[0], **options)
    parser = llama_index_factoid.PropositionNodeParser.from_llm(models[1], **options)
    chunks, nodes = [LangChainDocument(TEXT)], [LlamaIndexDocument(text=TEXT)]
    assert [chunk.page_content for chunk in splitter.split_documents(chunks)] == expected
    assert [chunk.page_content for chunk in await splitter.atransform_documents(chunks)] == expected
    assert [node.text for node in parser.get_nodes_from_documents(nodes)] == expected
    assert [node.text for node in await parser.aget_nodes_from_documents(nodes)] == expected
    assert parser.propositionizer_name == f"scripted-1@{PROMPT_VERSION}"
    kinds = llama_index_factoid.MultiGranularNodeParser.from_llm(models[1])
    assert len(kinds.get_nodes_from_documents(nodes)) == 1 + 2
    for kind, llm in zip((type(splitter), type(parser)), models, strict=True):
        with pytest.raises((TypeError, ValueError), match="max_concurency"):
            kind.from_llm(llm, max_concurency=3)


@pytest.mark.parametrize(
    "kind", [langchain_factoid.PropositionTextSplitter, llama_index_factoid.PropositionNodeParser]
)
def test_what_is_no_model_is_refused(kind):
    with pytest.raises(InvalidInputError, match="got str"):
        kind.from_llm("gpt")
