from __future__ import annotations

import pickle
import threading

import pytest
from llama_index.core.ingestion.pipeline import get_transformation_hash
from llama_index.core.schema import Document

from factoid.errors import InvalidInputError
from factoid.testing import ScriptedPropositionizer
from llama_index_factoid import MultiGranularNodeParser, PassageNodeParser, PropositionNodeParser
from tests.llama_index.nodes import TEXT, by_sentence, of, relation


def test_passages_sentences_and_propositions_parents_first(parser):
    nodes = parser.get_nodes_from_documents([Document(text=TEXT, id_="d")])
    assert [(node.metadata["granularity"], node.text) for node in nodes] == [
        ("passage", "The tower leans. It is old. The tower leans."),
        ("sentence", "The tower leans."),
        ("sentence", "It is old."),
        ("sentence", "The tower leans."),
        ("proposition", "The tower leans."),
        ("proposition", "It is old."),
        ("passage", "The soil is soft. It is old."),
        ("sentence", "The soil is soft."),
        ("sentence", "It is old."),
        ("proposition", "The soil is soft."),
        ("proposition", "It is old."),
    ]
    passages = PassageNodeParser(words=100)([Document(text=TEXT, id_="d")])
    assert [node.text for node in passages] == [node.text for node in of(nodes, "passage")]


def test_granularities_option():
    parser = MultiGranularNodeParser(by_sentence(), granularities=["passage"])
    nodes = parser([Document(text=TEXT)])
    assert {node.metadata["granularity"] for node in nodes} == {"passage"}
    assert parser.propositionizer.calls == []
    sentences = MultiGranularNodeParser(by_sentence(), granularities=["sentence"])(
        [Document(text=TEXT, id_="d")]
    )
    assert {relation(node, "PARENT") for node in sentences} == {"d"}


def test_report_counts_what_failed():
    parser = PropositionNodeParser(ScriptedPropositionizer({}))
    assert parser.last_report is None
    nodes = parser([Document(text=TEXT)])
    assert parser.last_report.failures == {"not in the script": 2}
    assert {node.metadata["fallback"] for node in nodes} == {"not in the script"}


def test_cache_key_follows_what_changes_the_output():
    class Other(ScriptedPropositionizer):
        name = "other 2"

    document = [Document(text=TEXT)]
    parsers = [
        MultiGranularNodeParser(by_sentence()),
        MultiGranularNodeParser(by_sentence(), words=50),
        MultiGranularNodeParser(by_sentence(), granularities=["passage"]),
        MultiGranularNodeParser(Other({})),
        MultiGranularNodeParser(),
        PropositionNodeParser(by_sentence()),
    ]
    keys = [get_transformation_hash(document, parser) for parser in parsers]
    assert len(set(keys)) == len(keys)
    assert keys[0] == get_transformation_hash(document, MultiGranularNodeParser(by_sentence()))


def test_a_pickle_that_lost_its_propositionizer_says_so():
    lost = pickle.loads(pickle.dumps(PropositionNodeParser(by_sentence())))  # holds a lambda
    with pytest.raises(InvalidInputError, match="without num_workers"):
        lost([Document(text="It leans.")])


async def test_async_gives_the_same_from_other_threads():
    threads = set()

    def noting(passage):
        threads.add(threading.get_ident())
        return [passage.text]

    parser = MultiGranularNodeParser(ScriptedPropositionizer(noting))
    documents = [Document(text=TEXT, id_="d"), Document(text="A cat sat.", id_="e")]
    nodes = await parser.aget_nodes_from_documents(documents)
    assert threading.get_ident() not in threads  # which would block the event loop
    assert nodes == await parser.acall(documents) == parser(documents)
