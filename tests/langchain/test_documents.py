"""Output of LangChain's own loader, raw results and Markdown, through the transformer into
splitters and stores.
"""

from __future__ import annotations

import json
import warnings

import pytest
from langchain_classic.retrievers.multi_vector import MultiVectorRetriever
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.limits import ReadLimits
from factoid.testing import HashEncoder
from langchain_factoid import (
    DocumentIntelligenceTransformer,
    EncoderEmbeddings,
    MultiGranularFAISS,
    PropositionTextSplitter,
    regions_of,
)
from tests.documents.seeds import samples
from tests.documents.test_ingest import TEXT
from tests.scripted_models import LangChainModel

FORM = "form_sample_1.pdf.ocr.json"


class Lakes:
    """Answers with how many lines the prompt has, or fails for a table."""

    def __init__(self, fail=""):
        self.fail, self.asked = fail, []

    def answer(self, prompt):
        self.asked.append(prompt)
        if self.fail and self.fail in prompt:
            raise ValueError("no")
        return {"text": f"A generated summary of table {len(self.asked)}."}

    async def aanswer(self, prompt):
        return self.answer(prompt)


class Awaited(Lakes):
    """Answers only who awaits it."""

    def answer(self, prompt):
        raise AssertionError("not awaited")

    async def aanswer(self, prompt):
        return super().answer(prompt)


def loader_documents(result, mode):
    """Return what LangChain's own parser makes of a result, with a stub in place of the service's
    client.
    """
    pytest.importorskip("langchain_community")
    models = pytest.importorskip("azure.ai.documentintelligence.models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from langchain_community.document_loaders import AzureAIDocumentIntelligenceLoader

        loader = AzureAIDocumentIntelligenceLoader(
            "https://localhost", api_key="k", bytes_source=b"%PDF", mode=mode
        )

    class Client:
        def begin_analyze_document(self, *args, **kwargs):
            return self

        def result(self):
            return models.AnalyzeResult(result)

    loader.parser.client = Client()
    return list(loader.lazy_load())


@pytest.mark.parametrize("mode", ["single", "markdown"])
def test_the_loader_with_whole_results(tmp_path, mode):
    result = samples()[FORM]["analyzeResult"]
    documents = DocumentIntelligenceTransformer().transform_documents(
        loader_documents(result, mode)
    )
    assert documents == DocumentIntelligenceTransformer().transform_result(result)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(result), encoding="utf-8")
    parts = DocumentIntelligenceTransformer(kinds=["table"]).transform_result(
        path, metadata={"source": "x"}
    )
    assert {part.metadata["source"] for part in parts} == {"x"}
    tables = [document for document in documents if document.metadata["kind"] == "table"]
    assert [document.metadata["table"] for document in tables] == [0, 1, 2, 3]
    assert [part.page_content for part in parts] == [document.page_content for document in tables]
    assert "Gregory Lynch has Currency of $605.37." in tables[1].page_content
    assert tables[1].metadata["title"] == "Sample Form Document"
    json.dumps([document.metadata for document in documents])


def test_the_loader_with_pages():
    result = samples()[FORM]["analyzeResult"]
    loaded = loader_documents(result, "page")
    assert [document.metadata for document in loaded] == [{"page": 1}, {"page": 2}]
    documents = DocumentIntelligenceTransformer().transform_documents(loaded)
    assert {page for document in documents for page in document.metadata["pages"]} == {1, 2}
    assert any("Trevor Malone" in document.page_content for document in documents)


def test_boxes_come_along():
    parts = DocumentIntelligenceTransformer().transform_result(samples()[FORM])
    assert all(regions_of(part) for part in parts)
    units = PropositionTextSplitter().split_documents(parts)
    unit = next(
        unit for unit in units if unit.page_content == "Gregory Lynch has Currency of $605.37."
    )
    assert [region.page for region in regions_of(unit)] == [2, 2]
    assert regions_of(Document(page_content="x")) == []


def test_a_summary_finds_its_table_in_langchains_retriever():
    transformer = DocumentIntelligenceTransformer(summarizer=LangChainModel(script=Lakes()))
    parts = transformer.transform_documents([Document(page_content=TEXT)])
    assert [part.metadata["kind"] for part in parts] == ["text", "table", "table summary"]
    store = MultiGranularFAISS(EncoderEmbeddings(HashEncoder()))
    retriever = MultiVectorRetriever(
        vectorstore=store, docstore=InMemoryStore(), id_key="table_id", search_kwargs={"k": 1}
    )
    store.add_documents(parts[2:])
    retriever.docstore.mset([(part.id, part) for part in parts[:2]])
    (found,) = retriever.invoke("generated summary")
    assert found == parts[1]


async def test_a_summary_that_failed_is_left_out_and_async_awaits_the_model():
    result = samples()[FORM]["analyzeResult"]
    loaded = [Document(page_content=result["content"], metadata=result)]
    parts = DocumentIntelligenceTransformer(
        summarizer=LangChainModel(script=Lakes("Fixed Rows"))
    ).transform_documents(loaded)
    assert [part.metadata["kind"] for part in parts].count("table summary") == 3
    awaited = DocumentIntelligenceTransformer(
        summarizer=LangChainModel(script=Awaited("Fixed Rows"))
    )
    asynchronous = await awaited.atransform_documents(loaded)
    assert [part.metadata["kind"] for part in asynchronous] == [
        part.metadata["kind"] for part in parts
    ]


def test_what_cannot_be_used():
    with pytest.raises(TypeError, match="Expected a Runnable"):
        DocumentIntelligenceTransformer(summarizer="gpt")
    with pytest.raises(InvalidInputError, match="rules are selection_marks"):
        DocumentIntelligenceTransformer(without=["all"]).transform_documents(
            [Document(page_content="x")]
        )
    with pytest.raises(InvalidInputError, match="damaged"):
        DocumentIntelligenceTransformer().transform_documents(
            [Document(page_content="", metadata={"content": "x", "pages": [{"spans": 5}]})]
        )


def test_limits_of_files(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("# Wells\n\nThey are deep.")
    transformer = DocumentIntelligenceTransformer(limits=ReadLimits(file_bytes=10))
    with pytest.raises(UnreadableFileError, match="holds more than 10 bytes"):
        transformer.transform_result(path)
