"""Parents from one's own chunks, and text around nodes for LlamaIndex's postprocessor."""

from __future__ import annotations

import copy

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter, SentenceWindowNodeParser
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.schema import Document, MetadataMode, QueryBundle

from factoid.store import GRANULARITIES
from llama_index_factoid import (
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
    MultiGranularRetriever,
)
from tests.llama_index.nodes import TEXT, by_sentence, of, relation

LONG = "\n\n".join(
    f"Gauge {n} stood at the mill. It showed {n} metres. The miller wrote it down."
    for n in range(9)
)


def splitter(**options):
    return SentenceSplitter(
        chunk_size=40,
        chunk_overlap=0,
        id_func=lambda place, document: f"{document.node_id}-{place}",
        **options,
    )


async def test_chunks_are_the_parents_of_their_facts(embed_model):
    documents = [
        Document(text=LONG, id_="d", metadata={"title": "Mills", "page": 7}),
        Document(text=TEXT, id_="e"),
    ]
    chunks = splitter()(documents)
    assert len(chunks) > 4
    parser = MultiGranularNodeParser(by_sentence(), chunker=splitter(), granularities=GRANULARITIES)
    nodes = parser(documents)
    assert await parser.acall(documents) == nodes
    passages = of(nodes, "passage")
    for chunk, passage in zip(chunks, passages, strict=True):
        assert passage.metadata == chunk.metadata | {"granularity": "passage"}
        for name in ("node_id", "text", "relationships", "start_char_idx", "end_char_idx"):
            assert getattr(passage, name) == getattr(chunk, name)
    texts = {document.node_id: document.text for document in documents}
    for kind in ("sentence", "proposition"):
        assert {relation(node, "PARENT") for node in of(nodes, kind)} == {
            chunk.node_id for chunk in chunks
        }
        for node in of(nodes, kind):
            assert texts[node.ref_doc_id][node.start_char_idx : node.end_char_idx] == node.text
    index = VectorStoreIndex.from_vector_store(
        MultiGranularFaissVectorStore(), embed_model=embed_model
    )
    index.insert_nodes(nodes)
    [found] = MultiGranularRetriever(index, k=1).retrieve("Gauge 6 stood at the mill.")
    assert found.node.node_id in {chunk.node_id for chunk in chunks}
    assert found.node.metadata["matches"][0]["text"] == "Gauge 6 stood at the mill."


@pytest.mark.parametrize("chunker", [None, splitter()])
def test_the_passage_replaces_the_fact_for_the_model_that_reads_it(embed_model, chunker):
    nodes = MultiGranularNodeParser(by_sentence(), window="passage", chunker=chunker)(
        [Document(text=LONG, id_="d")]
    )
    passages = {node.node_id: node.text for node in of(nodes, "passage")}
    for node in nodes:
        assert node.metadata["window"] == passages.get(relation(node, "PARENT"), node.text)
        assert node.metadata["original_text"] == node.text
        for mode in (MetadataMode.EMBED, MetadataMode.LLM):
            assert node.get_content(mode) == node.text
    index = VectorStoreIndex.from_vector_store(
        MultiGranularFaissVectorStore(), embed_model=embed_model
    )
    index.insert_nodes(nodes)
    found = MultiGranularRetriever(index, k=2, parents="unit").retrieve("It showed 6 metres.")
    assert found[0].node.text == "It showed 6 metres."
    replaced = MetadataReplacementPostProcessor(target_metadata_key="window").postprocess_nodes(
        copy.deepcopy(found), QueryBundle("?")
    )
    assert "Gauge 6 stood at the mill. It showed 6 metres." in replaced[0].node.text


@pytest.mark.parametrize("size", [0, 1, 3])
def test_sentences_around_as_in_the_frameworks_parser(size):
    document = Document(text=LONG.replace("\n\n", " "), id_="d")
    ours = MultiGranularNodeParser(granularities=["sentence"], window=size)([document])
    theirs = SentenceWindowNodeParser.from_defaults(window_size=max(size, 1))([document])
    assert [node.text for node in ours] == [node.text.strip() for node in theirs]
    if size:
        for one, other in zip(ours, theirs, strict=True):
            assert one.metadata["window"].split() == other.metadata["window"].split()
    else:
        assert all(node.metadata["window"] == node.text for node in ours)
