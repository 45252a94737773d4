"""Results of document intelligence through LlamaIndex's reader, node parser and summarizer."""

from __future__ import annotations

import json

import pytest
from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import Document, IndexNode, MetadataMode, NodeRelationship, TextNode

from factoid.documents import regions
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.limits import ReadLimits
from langchain_factoid import DocumentIntelligenceTransformer
from llama_index_factoid import (
    DocumentIntelligenceNodeParser,
    DocumentIntelligenceReader,
    MultiGranularNodeParser,
    PassageNodeParser,
    regions_of,
)
from llama_index_factoid.convert import to_unit
from tests.documents.seeds import samples
from tests.documents.test_ingest import TEXT
from tests.langchain.test_documents import FORM, Awaited, Lakes
from tests.scripted_models import LlamaIndexModel


def test_the_reader_and_langchains_transformer_give_the_same_parts(tmp_path):
    result = samples()[FORM]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(result), encoding="utf-8")
    documents = DocumentIntelligenceReader().load_data(path, extra_info={"source": "x"})
    others = DocumentIntelligenceTransformer().transform_result(result, metadata={"source": "x"})
    assert [(part.id_, part.text, part.metadata) for part in documents] == [
        (part.id, part.page_content, part.metadata) for part in others
    ]
    seen = documents[1].get_content(MetadataMode.EMBED)
    assert "Item List" in seen
    assert documents[1].metadata["layout"] not in seen
    assert documents[1].metadata["layout"] not in documents[1].get_content(MetadataMode.LLM)


def test_references_are_left_out_by_default(tmp_path):
    path = tmp_path / "a.md"
    path.write_text(
        "# Wells\n\nThey are deep.\n\n## References\n\nBerg, K. Wells. Oslo, 1998.\n",
        encoding="utf-8",
    )
    parsed = DocumentIntelligenceNodeParser()([Document(text=path.read_text(encoding="utf-8"))])
    transformed = DocumentIntelligenceTransformer().transform_result(path)
    for parts in (DocumentIntelligenceReader().load_data(path), parsed, transformed):
        assert [part.metadata["kind"] for part in parts] == ["text"]
    assert len(DocumentIntelligenceReader(kinds=["reference"]).load_data(path)) == 1


def test_units_of_parts_know_their_boxes():
    result = samples()[FORM]["analyzeResult"]
    parts = DocumentIntelligenceNodeParser()([Document(text=result["content"], metadata=result)])
    nodes = MultiGranularNodeParser(granularities=("proposition",))(parts)
    (node,) = [node for node in nodes if node.text == "Gregory Lynch has Currency of $605.37."]
    assert [region.page for region in regions_of(node)] == [2, 2]
    assert all(regions_of(part) for part in parts)
    assert regions_of(TextNode(text="x")) == []
    assert all("content" not in node.metadata for node in nodes)


def test_a_pipeline_with_summaries_that_point_at_tables():
    document = Document(text=TEXT, metadata={"source": "wells.md"})
    parser = DocumentIntelligenceNodeParser(summarizer=LlamaIndexModel(script=Lakes()))
    nodes = parser.get_nodes_from_documents([document])
    assert [(type(node), node.metadata["kind"]) for node in nodes] == [
        (TextNode, "text"),
        (TextNode, "table"),
        (IndexNode, "table summary"),
    ]
    assert nodes[2].index_id == nodes[1].node_id
    assert {node.relationships[NodeRelationship.SOURCE].node_id for node in nodes} == {document.id_}
    assert {node.metadata["source"] for node in nodes} == {"wells.md"}
    pipeline = IngestionPipeline(
        transformations=[DocumentIntelligenceNodeParser(), MultiGranularNodeParser()]
    )
    texts = [node.text for node in pipeline.run(documents=[document])]
    assert "In Table 1, New well has Depth (m) of 54." in texts


def test_units_of_units_know_their_boxes():
    result = samples()[FORM]["analyzeResult"]
    parts = DocumentIntelligenceReader().load_data(result)
    loaded = Document(text=result["content"], metadata=result)
    pipeline = [DocumentIntelligenceNodeParser(), PassageNodeParser(), MultiGranularNodeParser()]
    units = IngestionPipeline(transformations=pipeline).run(documents=[loaded])
    expected = IngestionPipeline(transformations=pipeline[1:]).run(documents=parts)
    assert [regions_of(unit) for unit in units] == [regions_of(unit) for unit in expected]
    stored = to_unit(units[-1])
    assert regions(stored) == regions_of(units[-1]) != []


class Awaiting(LlamaIndexModel):
    async def acomplete(self, prompt, formatted=False, **kwargs):
        given = await self.script.aanswer(prompt)
        return CompletionResponse(text=given["text"])


async def test_a_summary_that_failed_is_left_out_and_async_awaits_the_model():
    result = samples()[FORM]["analyzeResult"]
    loaded = [Document(text=result["content"], metadata=result)]
    nodes = DocumentIntelligenceNodeParser(summarizer=LlamaIndexModel(script=Lakes("Fixed Rows")))(
        loaded
    )
    assert sum(isinstance(node, IndexNode) for node in nodes) == 3
    for model in (
        LlamaIndexModel(script=Lakes("Fixed Rows")),
        Awaiting(script=Awaited("Fixed Rows")),
    ):
        parser = DocumentIntelligenceNodeParser(summarizer=model)
        assert len(await parser.aget_nodes_from_documents(loaded)) == len(nodes)


def test_what_cannot_be_used():
    with pytest.raises(ValueError, match="extra"):
        DocumentIntelligenceNodeParser(words=5)
    with pytest.raises(InvalidInputError, match="rules are selection_marks"):
        DocumentIntelligenceNodeParser(without=("all",))([Document(text="x")])


def test_limits_of_files(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("# Wells\n\nThey are deep.")
    with pytest.raises(UnreadableFileError, match="holds more than 10 bytes"):
        DocumentIntelligenceReader(limits=ReadLimits(file_bytes=10)).load_data(path)
