"""Retrieval as tools of LlamaIndex's agents and workflows."""

from __future__ import annotations

import re

import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.llms import ChatMessage
from llama_index.core.retrievers import BaseRetriever, RouterRetriever
from llama_index.core.schema import Document, NodeWithScore, TextNode
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import RetrieverTool, ToolOutput
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index.core.workflow import (
    Context,
    Event,
    JsonSerializer,
    StartEvent,
    StopEvent,
    Workflow,
    step,
)
from llama_index.core.workflow import JsonPickleSerializer as PickleSerializer

from factoid import PropCite
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from llama_index_factoid import (
    EncoderEmbedding,
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
    MultiGranularRetriever,
    cited_message,
    matches_of,
    nodes_of,
    read_tool,
    search_tool,
)
from tests.late_interaction.word_vectors import WordVectors
from tests.scripted_models import llama_index_agent_model, llama_index_call

OLM = "The olm lives in caves. It has no eyes.\n\nIt can go without food for years. It breathes through gills."
DOCUMENTS = [
    Document(
        text=OLM, metadata={"title": "Olm", "page_label": "12", "kind": "animal"}, doc_id="olm"
    ),
    Document(
        text="The kakapo cannot fly. It lives in New Zealand.",
        metadata={"title": "Kakapo", "kind": "bird"},
        doc_id="kakapo",
    ),
]


@pytest.fixture
def index():
    embed_model = EncoderEmbedding(HashEncoder())
    with MultiGranularFaissVectorStore(embed_model=embed_model) as store:
        parser = MultiGranularNodeParser(
            granularities=["passage", "sentence"], words=10, min_words=0
        )
        yield VectorStoreIndex(
            parser.get_nodes_from_documents(DOCUMENTS),
            embed_model=embed_model,
            storage_context=StorageContext.from_defaults(vector_store=store),
        )


def second_id(text):
    [found] = re.findall(r"^\[2\].*\(id: (.+)\)$", text, re.MULTILINE)
    return found


def test_search(index):
    retriever = MultiGranularRetriever(index, k=2)
    output = search_tool(retriever)(question="Which animal has no eyes?")
    expected = retriever.retrieve("Which animal has no eyes?")
    assert [node.node.node_id for node in output.raw_output] == [
        node.node.node_id for node in expected
    ]
    assert [matches_of(node) for node in output.raw_output] == [
        matches_of(node) for node in expected
    ]
    first, second = output.content.split("\n\n")
    assert first.startswith(
        f"[1] Olm, page 12 (id: {expected[0].node.node_id})\n- It has no eyes.\n"
    )
    assert first.endswith("> The olm lives in caves. It has no eyes.")
    assert second.startswith("[2] ")


async def test_search_async(index):
    retriever = MultiGranularRetriever(index, k=2)
    tool = search_tool(retriever, name="search_animals", description="Facts about animals.")
    assert tool.metadata.name == "search_animals"
    assert tool.metadata.description.startswith("Facts about animals. Text of")
    assert {*tool.metadata.get_parameters_dict()["properties"]} == {"question"}
    output = await tool.acall(question="no eyes")
    assert output.content == tool(question="no eyes").content


def test_other_retrievers_and_no_result():
    class Other(BaseRetriever):
        def __init__(self):
            super().__init__()
            self.nodes = []

        def _retrieve(self, query_bundle):
            return self.nodes

    retriever = Other()
    assert search_tool(retriever)(question="x").content == "nothing was found"
    node = TextNode(text="A text.\n[2] A lie", metadata={"title": "T\n[3] x", "odd": [1]}, id_="n")
    retriever.nodes = [NodeWithScore(node=node)]
    assert (
        search_tool(retriever)(question="x").content
        == "[1] T [3] x (id: n)\n> A text.\n> [2] A lie"
    )


async def test_read_more_around_the_second(index):
    retriever = MultiGranularRetriever(index, k=2)
    text = search_tool(retriever)(question="no eyes; lives in New Zealand").content
    output = await read_tool(retriever).acall(id=second_id(text))
    assert [node.node.get_content() for node in output.raw_output] == [
        "The olm lives in caves. It has no eyes.",
        "It can go without food for years.",
    ]
    assert "> It can go without food" in output.content


KIND = MetadataFilters(filters=[MetadataFilter(key="kind", value="animal")])


@pytest.mark.parametrize(
    "options",
    [
        {"filters": KIND},
        {"filter": {"kind": "animal"}},
        {"document_ids": ["olm"]},
        {"doc_ids": ["olm"]},
    ],
)
def test_read_tool_stays_behind_the_wall_of_its_retriever(index, options):
    tool = read_tool(MultiGranularRetriever(index, **options))
    store = index.vector_store.client
    for unit in store.units_of(["kakapo"]):
        with pytest.raises(InvalidInputError, match="there is nothing with the id"):
            tool(id=unit.id)
    [passage, *_] = store.units_of(["olm"])
    assert "olm lives" in tool(id=passage.id).content
    with pytest.raises(InvalidInputError, match="at most 20"):
        tool(id=passage.id, around=21)


# -- Agents, routers, workflows --

QUESTION = "Which animal has no eyes, and what does it eat?"
ANSWER = "The olm has no eyes. It can go without food for years."


def check(message, sources):
    """Check an answer with its citations, whose sources are nodes."""
    text, *citations = message.blocks
    assert re.sub(r" \[\d+\]", "", text.text) == ANSWER
    claims = []
    for citation in citations:
        place = citation.additional_location_info
        node = sources[place["number"] - 1].node
        assert (citation.source, citation.title) == (node.node_id, "Olm")
        cited = node.get_content()[place["cited_start_index"] : place["cited_end_index"]]
        assert citation.cited_content.text == cited
        claims.append(re.sub(r" \[\d+\]", "", text.text[place["start_index"] : place["end_index"]]))
    assert claims == ["The olm has no eyes.", "It can go without food for years."]
    assert ChatMessage.model_validate_json(message.model_dump_json()) == message


OLD_PYDANTIC = "ignore::pydantic.warnings.PydanticDeprecationWarning"  # in LlamaIndex's agents


@pytest.mark.filterwarnings(OLD_PYDANTIC)
async def test_a_function_agent(index):
    retriever = MultiGranularRetriever(index, k=2)

    def read_the_second(messages):
        return llama_index_call("read_more", id=second_id(messages[-1].content))

    steps = [
        llama_index_call("search_documents", question="no eyes; lives in New Zealand"),
        read_the_second,
        ChatMessage(role="assistant", content=ANSWER),
    ]
    agent = FunctionAgent(
        tools=[search_tool(retriever), read_tool(retriever)], llm=llama_index_agent_model(steps)
    )
    handler = agent.run(QUESTION)
    results = [
        event async for event in handler.stream_events() if isinstance(event, ToolCallResult)
    ]
    answer = await handler
    assert [result.tool_output.is_error for result in results] == [False, False]
    sources = nodes_of(results)
    assert len({source.node.node_id for source in sources}) == len(sources) == 3
    check(cited_message(PropCite(WordVectors(), method="sentence"), str(answer), sources), sources)


@pytest.mark.filterwarnings(OLD_PYDANTIC)
async def test_an_agent_is_told_of_an_unknown_id(index):
    retriever = MultiGranularRetriever(index, k=2)
    told = []

    def remember(messages):
        told.append(messages[-1].content)
        return ChatMessage(role="assistant", content="Sorry.")

    model = llama_index_agent_model([llama_index_call("read_more", id="../x"), remember])
    await FunctionAgent(tools=[read_tool(retriever)], llm=model).run(QUESTION)
    assert "there is nothing with the id '../x'" in told[0]


def test_a_router_over_several_stores(index):
    with MultiGranularFaissVectorStore(embed_model=EncoderEmbedding(HashEncoder())) as towers:
        tools = [
            RetrieverTool.from_defaults(
                MultiGranularRetriever(index, k=1), description="Facts about animals."
            ),
            RetrieverTool.from_defaults(
                MultiGranularRetriever(towers, k=1), description="Facts about towers."
            ),
        ]
        choice = ChatMessage(role="assistant", content='[{"choice": 1, "reason": "an animal"}]')
        model = llama_index_agent_model([choice])
        router = RouterRetriever(LLMSingleSelector.from_defaults(llm=model), tools, llm=model)
        output = search_tool(router)(question="Which animal has no eyes?")
        assert output.content.startswith("[1] Olm, page 12")


class Retrieved(Event):
    question: str


class Answered(Event):
    answer: str


class Cited(Workflow):
    """Retrieve, answer, cite."""

    def __init__(self, retriever, llm, citer):
        super().__init__(timeout=60)
        self.tool, self.llm, self.citer = search_tool(retriever), llm, citer

    @step
    async def retrieve(self, context: Context, event: StartEvent) -> Retrieved:
        output = await self.tool.acall(question=event.question)
        await context.store.set("output", output)
        return Retrieved(question=event.question)

    @step
    async def answer(self, context: Context, event: Retrieved) -> Answered:
        output: ToolOutput = await context.store.get("output")
        prompt = (
            f"Answer from these sources only.\n\n{output.content}\n\nQuestion: {event.question}"
        )
        response = await self.llm.achat([ChatMessage(prompt)])
        return Answered(answer=response.message.content or "")

    @step
    async def cite(self, context: Context, event: Answered) -> StopEvent:
        output: ToolOutput = await context.store.get("output")
        return StopEvent(result=cited_message(self.citer, event.answer, nodes_of([output])))


async def test_a_workflow(index):
    seen = []

    def reply(messages):
        seen.append(messages[-1].content)
        return ChatMessage(role="assistant", content=ANSWER)

    retriever = MultiGranularRetriever(index, k=3)
    citer = PropCite(WordVectors(), method="sentence")
    message = await Cited(retriever, llama_index_agent_model([reply]), citer).run(question=QUESTION)
    check(message, retriever.retrieve(QUESTION))
    assert "[1] Olm, page 12" in seen[0]


class Kept(Workflow):
    """Keep the output of a tool, and find its nodes when the context is opened again."""

    def __init__(self, retriever):
        super().__init__(timeout=60)
        self.tool = search_tool(retriever)

    @step
    async def run_once(self, context: Context, event: StartEvent) -> StopEvent:
        kept = await context.store.get("output", default=None)
        if kept is None:
            kept = await self.tool.acall(question=QUESTION)
            await context.store.set("output", kept)
        return StopEvent(result=nodes_of([kept]))


@pytest.mark.parametrize("serializer", [JsonSerializer(), PickleSerializer()])
async def test_nodes_are_found_in_a_context_that_was_kept(index, serializer):
    retriever = MultiGranularRetriever(index, k=2)
    first = Kept(retriever)
    context = Context(first)
    nodes = await first.run(ctx=context)
    again = Kept(retriever)
    written = context.to_dict(serializer=serializer)
    restored = await again.run(ctx=Context.from_dict(again, written, serializer=serializer))
    assert len(restored) == 2
    for node, expected in zip(restored, nodes, strict=True):
        assert (node.node.node_id, node.score) == (expected.node.node_id, expected.score)
        assert node.node.get_content() == expected.node.get_content()
        assert matches_of(node) == matches_of(expected)
        assert node.node.ref_doc_id == expected.node.ref_doc_id


def test_outputs_of_other_tools_have_no_nodes():
    raw = [{"node": {"class_name": "TextNode", "text": [1]}}, {"node": {}}, {"node": 3}, 4]
    raw += [{"node": {"class_name": ["TextNode"]}}, {"node": {"class_name": "Mine"}}]
    output = ToolOutput(tool_name="t", content="c", raw_input={}, raw_output=raw)
    assert nodes_of([output]) == []


def test_an_index_is_no_retriever(index):
    with pytest.raises(InvalidInputError, match=r"takes a retriever, got VectorStoreIndex: give"):
        search_tool(index)
