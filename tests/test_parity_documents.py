"""The contract of a document-intelligence pipeline: one document, with the number and the summaries
of its tables.
"""

from __future__ import annotations

import json

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from llama_index.core.schema import Document as LlamaIndexDocument
from llama_index.core.schema import MetadataMode

from factoid.documents import clean, read_markdown
from factoid.errors import InvalidInputError
from langchain_factoid import DocumentIntelligenceTransformer
from llama_index_factoid import DocumentIntelligenceNodeParser, DocumentIntelligenceReader
from tests.scripted_models import LlamaIndexModel

TEXT = """# Wells

They are deep.

| Well | Depth |
| - | - |
| Old | 31 |

Table 1: Depth in metres.

## Springs

| Spring | Flow |
| - | - |
| Red | 5 |

Table 2: Flow.

| Lake | Area |
| - | - |
| Blue | 7 |

Table 3: Area.

## References

Berg, K. Wells. Oslo, 1998.
"""


class Answers:
    """Summarizes a table by its number, and fails for the second."""

    def answer(self, prompt):
        if "Table 2" in prompt:
            raise ValueError("no")
        number = "1" if "Table 1" in prompt else "3"
        return {"text": f"Summary\n of {number}."}

    async def aanswer(self, prompt):
        return self.answer(prompt)


LANGCHAIN_MODEL = RunnableLambda(lambda prompt: AIMessage(Answers().answer(str(prompt))["text"]))
LLAMA_INDEX_MODEL = LlamaIndexModel(script=Answers())
EXPECTED = {
    "source": "wells.md",
    "table_count": 3,
    "table_summaries": ["Summary of 1.", "", "Summary of 3."],
    "table_summary_failures": {"1": "the model raised ValueError"},
    "title": "Wells",
}
MARKDOWN = TEXT.partition("\n\n## References")[0]


def langchain(**options):
    [document] = DocumentIntelligenceTransformer(whole=True, **options).transform_documents(
        [LangChainDocument(TEXT, metadata={"source": "wells.md"})]
    )
    return document.page_content, document.metadata


def llama_index(**options):
    parser = DocumentIntelligenceNodeParser(whole=True, **options)
    [node] = parser.get_nodes_from_documents(
        [LlamaIndexDocument(text=TEXT, metadata={"source": "wells.md"})]
    )
    assert "table_count" not in node.get_content(MetadataMode.EMBED)
    return node.text, node.metadata


def llama_index_reader(path, **options):
    [document] = DocumentIntelligenceReader(whole=True, **options).load_data(
        path, {"source": "wells.md"}
    )
    return document.text, document.metadata


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_tables_of_a_document_are_in_its_metadata(tmp_path):
    path = tmp_path / "wells.md"
    path.write_text(TEXT, encoding="utf-8")
    results = [
        langchain(summarizer=LANGCHAIN_MODEL),
        llama_index(summarizer=LLAMA_INDEX_MODEL),
        llama_index_reader(path, summarizer=LLAMA_INDEX_MODEL),
    ]
    for text, metadata in results:
        assert text == MARKDOWN  # the whole text with its tables, without the references
        assert metadata == EXPECTED
        assert json.loads(json.dumps(metadata)) == metadata


async def test_models_are_awaited():
    transformer = DocumentIntelligenceTransformer(whole=True, summarizer=LANGCHAIN_MODEL)
    [document] = await transformer.atransform_documents(
        [LangChainDocument(TEXT, metadata={"source": "wells.md"})]
    )
    assert document.metadata == EXPECTED
    parser = DocumentIntelligenceNodeParser(whole=True, summarizer=LLAMA_INDEX_MODEL)
    [node] = await parser.aget_nodes_from_documents(
        [LlamaIndexDocument(text=TEXT, metadata={"source": "wells.md"})]
    )
    assert node.metadata == EXPECTED


def test_without_a_model_there_is_the_number_alone(tmp_path):
    path = tmp_path / "wells.md"
    path.write_text(TEXT, encoding="utf-8")
    for text, metadata in (langchain(), llama_index(), llama_index_reader(path)):
        assert text == MARKDOWN
        assert metadata == {"source": "wells.md", "table_count": 3, "title": "Wells"}
    document = clean(read_markdown(TEXT))
    assert "| Old | 31 |" not in document.whole_document(["text"]).text
    assert document.whole_document(["text", "table", "reference"]).text == TEXT.rstrip("\n")
    with pytest.raises(
        InvalidInputError, match="kinds are text, table, figure, reference, got 'tables'"
    ):
        document.whole_document(["tables"])
