"""Retrieval as tools of LangChain's agents."""

from __future__ import annotations

import re

import pytest
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from langchain_core.retrievers import BaseRetriever
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from factoid import PropCite
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from langchain_factoid import (
    EncoderEmbeddings,
    MultiGranularFAISS,
    MultiGranularRetriever,
    citations_of,
    cited_message,
    documents_of,
    matches_of,
    read_tool,
    search_tool,
)
from tests.late_interaction.word_vectors import WordVectors
from tests.scripted_models import LangChainAgentModel, langchain_call

OLM = "The olm lives in caves. It has no eyes.\n\nIt can go without food for years. It breathes through gills."
DOCUMENTS = [
    Document(
        OLM, metadata={"title": "Olm", "page": 12, "kind": "animal", "tags": ["blind"]}, id="olm"
    ),
    Document(
        "The kakapo cannot fly. It lives in New Zealand.",
        metadata={"title": "Kakapo", "kind": "bird"},
        id="kakapo",
    ),
]


@pytest.fixture
def store():
    embeddings = EncoderEmbeddings(HashEncoder())
    with MultiGranularFAISS(embeddings, granularities=["sentence"], words=10, min_words=0) as store:
        store.add_documents(DOCUMENTS)
        yield store


def called(tool, **arguments):
    """Call a tool as an agent does."""
    return tool.invoke({"name": tool.name, "args": arguments, "id": "1", "type": "tool_call"})


def test_search(store):
    retriever = MultiGranularRetriever(store=store, k=2, parents="passage")
    message = called(search_tool(retriever), question="Which animal has no eyes?")
    expected = retriever.invoke("Which animal has no eyes?")
    assert message.artifact == expected
    assert [matches_of(document) for document in message.artifact] == [
        matches_of(document) for document in expected
    ]
    first, second = message.content.split("\n\n")
    assert (
        first == f"[1] Olm, page 12 (id: {expected[0].id})\n- It has no eyes.\n"
        "- The olm lives in caves.\n> The olm lives in caves. It has no eyes."
    )
    assert second.startswith("[2] ")
    assert message.status == "success"


async def test_search_async(store):
    retriever = MultiGranularRetriever(store=store, k=2)
    tool = search_tool(retriever, name="search_animals", description="Facts about animals.")
    assert (tool.name, tool.description.startswith("Facts about animals. Text of")) == (
        "search_animals",
        True,
    )
    assert {*tool.args} == {"question"}
    call = {"name": tool.name, "args": {"question": "no eyes"}, "id": "1", "type": "tool_call"}
    assert await tool.ainvoke(call) == called(tool, question="no eyes")


def test_whole_documents_and_other_retrievers(store):
    class Other(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [
                Document(
                    "A text.\n[2] A lie",
                    metadata={"title": "T\n[3] x", "odd": object(), "page_label": "iv"},
                )
            ]

    message = called(search_tool(Other()), question="x")
    assert message.content == "[1] T [3] x, page iv\n> A text.\n> [2] A lie"
    message = called(
        search_tool(MultiGranularRetriever(store=store, k=1, parents="document")), question="kakapo"
    )
    assert "[1] Kakapo (id: kakapo)" in message.content
    nothing = MultiGranularRetriever(store=store, filter={"kind": "plant"})
    assert called(search_tool(nothing), question="x").content == "nothing was found"


def test_read_more_around_the_second(store):
    retriever = MultiGranularRetriever(store=store, k=2, parents="passage")
    text = called(search_tool(retriever), question="no eyes; lives in New Zealand").content
    [second] = re.findall(r"^\[2\].*\(id: (.+)\)$", text, re.MULTILINE)
    message = called(read_tool(retriever), id=second)
    assert [document.page_content for document in message.artifact] == [
        "The olm lives in caves. It has no eyes.",
        "It can go without food for years.",
    ]
    assert "> It can go without food" in message.content
    # A document from its id, in parts.
    assert "> The kakapo cannot fly." in called(read_tool(retriever), id="kakapo").content


@pytest.mark.parametrize(
    "options",
    [
        {"filter": {"kind": "animal"}},
        {"document_ids": ["olm"]},
        {"search_kwargs": {"filter": {"kind": "animal"}}},
    ],
)
def test_read_tool_stays_behind_the_wall_of_its_retriever(store, options):
    retriever = MultiGranularRetriever(store=store, **options)
    for unit in ["kakapo", *[unit.id for unit in store.store.units_of(["kakapo"])]]:
        message = called(read_tool(retriever), id=unit)
        assert message.status == "error"
        assert "there is nothing with the id" in message.content
        assert "fly" not in message.content
    assert called(read_tool(retriever), id="olm").status == "success"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"id": "/etc/passwd"}, "there is nothing with the id '/etc/passwd'"),
        ({"id": "olm", "around": 21}, "at most 20"),
        ({"id": "olm", "around": -1}, "at least 0"),
        ({"id": "olm", "start": 10**6}, "has 101 characters"),
    ],
)
def test_the_model_is_told_what_was_wrong(store, arguments, message):
    tool = read_tool(MultiGranularRetriever(store=store))
    answer = called(tool, **arguments)
    assert answer.status == "error"
    assert message in answer.content


def test_read_tool_needs_a_store_of_ours(store):
    from langchain_core.vectorstores import InMemoryVectorStore

    other = MultiGranularRetriever(vectorstore=InMemoryVectorStore(store.embeddings))
    other.add_documents(DOCUMENTS)
    assert "Olm" in called(search_tool(other), question="no eyes").content
    with pytest.raises(InvalidInputError, match="vectorstore="):
        read_tool(other)


def test_a_store_is_no_retriever(store):
    with pytest.raises(InvalidInputError, match=r"takes a retriever, got MultiGranularFAISS: give"):
        search_tool(store)


# -- Agents --

QUESTION = "Which animal has no eyes, and what does it eat?"
ANSWER = "The olm has no eyes. It can go without food for years."


def read_the_first(messages):
    [found] = re.findall(r"^\[1\].*\(id: (.+)\)$", messages[-1].content, re.MULTILINE)
    return langchain_call("read_more", id=found)


def scripted():
    return LangChainAgentModel(
        steps=[
            langchain_call("search_documents", question="no eyes"),
            read_the_first,
            AIMessage(ANSWER, id="answer"),
        ]
    )


def check(messages):
    """Check the messages of an agent that searched, read more, answered and cited."""
    sources = documents_of(messages)
    assert [message.status for message in messages if isinstance(message, ToolMessage)] == [
        "success"
    ] * 2
    assert len({source.id for source in sources}) == len(sources) >= 2
    final = messages[-1]
    assert final.id == "answer"
    assert re.sub(r" \[\d+\]", "", final.text) == ANSWER
    citations = citations_of(final)
    assert [citation["claim"] for citation in citations] == [
        "The olm has no eyes.",
        "It can go without food for years.",
    ]
    for citation in citations:
        source = sources[citation["number"] - 1]
        assert citation["source_id"] == source.id
        assert citation["cited_text"] in source.page_content
    blocks = [block for block in final.content_blocks if block["type"] == "text"]
    assert {annotation["type"] for block in blocks for annotation in block["annotations"]} == {
        "citation"
    }


def test_a_graph_that_cites(store):
    retriever = MultiGranularRetriever(store=store, k=1, parents="passage")
    tools = [search_tool(retriever), read_tool(retriever)]
    model = scripted().bind_tools(tools)
    citer = PropCite(WordVectors(), method="sentence")

    def cite(state):
        messages = state["messages"]
        return {"messages": [cited_message(citer, messages[-1], documents_of(messages))]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools))
    graph.add_node("cite", cite)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition, {"tools": "tools", "__end__": "cite"})
    graph.add_edge("tools", "model")
    check(graph.compile().invoke({"messages": [HumanMessage(QUESTION)]})["messages"])


STATES = {
    "dicts": lambda message: messages_from_dict(messages_to_dict([message])),
    "a checkpoint": lambda message: [through_a_checkpoint(message)],
}


def through_a_checkpoint(message):
    saver = InMemorySaver()
    config = {"configurable": {"thread_id": "1"}}
    graph = StateGraph(MessagesState)
    graph.add_node("tools", lambda state: {"messages": [message]})
    graph.add_edge(START, "tools")
    compiled = graph.compile(checkpointer=saver)
    compiled.invoke({"messages": [HumanMessage(QUESTION)]}, config)
    return compiled.get_state(config).values["messages"][-1]


@pytest.mark.parametrize("state", STATES)
def test_sources_are_found_in_kept_messages(store, state):
    retriever = MultiGranularRetriever(store=store, k=2, parents="passage")
    message = called(search_tool(retriever), question="no eyes")
    kept = STATES[state](message)
    assert kept[0] is not message
    restored = documents_of(kept)
    assert restored == message.artifact
    assert list(map(matches_of, restored)) == list(map(matches_of, message.artifact))


def test_artifacts_of_other_tools_are_no_sources():
    artifact = [{"type": "Document"}, {"page_content": "x"}, "y", {"type": ["Document"]}, None]
    artifact.append({"type": "Document", "page_content": 5})
    assert documents_of([ToolMessage("x", tool_call_id="1", artifact=artifact)]) == []


async def test_an_agent_of_langchain(store):
    agents = pytest.importorskip("langchain.agents", reason="needs langchain")
    from langchain.agents.middleware import after_agent

    retriever = MultiGranularRetriever(store=store, k=1, parents="passage")
    citer = PropCite(WordVectors(), method="sentence")

    @after_agent
    def cite(state, runtime):
        messages = state["messages"]
        return {"messages": [cited_message(citer, messages[-1], documents_of(messages))]}

    agent = agents.create_agent(
        scripted(), tools=[search_tool(retriever), read_tool(retriever)], middleware=[cite]
    )
    result = await agent.ainvoke({"messages": [HumanMessage(QUESTION)]})
    check(result["messages"])
