"""Both frameworks and the core cite alike."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document
from llama_index.core.base.response.schema import Response, StreamingResponse
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.schema import NodeWithScore, TextNode

from factoid import Document as CoreDocument
from factoid import PropCite
from langchain_factoid import PropCiteRunnable
from llama_index_factoid import PropCiteQueryEngine
from tests.late_interaction.test_answer import MARKDOWN
from tests.late_interaction.word_vectors import WordVectors
from tests.test_parity import CORPUS

ROWS = [
    (text, {"title": f"Title {place}", "url": f"https://example.org/{place}"})
    for place, text in enumerate(CORPUS)
]
NODES = [NodeWithScore(node=TextNode(text=text, metadata=row)) for text, row in ROWS]
ANSWERS = [" ".join(CORPUS), MARKDOWN]
FIELDS = (
    "number",
    "claim",
    "score",
    "margin",
    "title",
    "url",
    "start_index",
    "end_index",
    "cited_text",
)
FIELDS += ("cited_start_index", "cited_end_index")


class Mine(CustomQueryEngine):
    answer: str
    streaming: bool

    def custom_query(self, query_str: str) -> Any:
        if self.streaming:
            return StreamingResponse(iter(self.answer), source_nodes=NODES)  # type: ignore[arg-type]
        return Response(self.answer, source_nodes=NODES)


@pytest.mark.parametrize("options", [{}, {"method": "sentence", "min_margin": 0.1}])
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("answer", ANSWERS)
def test_texts_and_citations_are_the_same(
    answer: str, streaming: bool, options: dict[str, Any]
) -> None:
    citer = PropCite(WordVectors(), **options)
    core = citer.cite(answer, [CoreDocument(text, title=row["title"]) for text, row in ROWS])
    expected = [
        {
            "number": citation.number,
            "claim": citation.claim,
            "score": citation.score,
            "margin": citation.margin,
            "title": citation.passage.title,
            "url": f"https://example.org/{citation.position}",
            "start_index": citation.spans[0][0],
            "end_index": citation.spans[-1][1],
            "cited_text": citation.support.unit.text,
            "cited_start_index": citation.support.unit.start,
            "cited_end_index": citation.support.unit.end,
        }
        for citation in core.citations
    ]
    documents = [Document(text, metadata=row) for text, row in ROWS]
    runnable = PropCiteRunnable(citer=citer, documents=documents)
    message = (
        reduce(add, runnable.transform(iter(answer))) if streaming else runnable.invoke(answer)
    )
    [block] = message.content_blocks
    langchain = [{**note, **note["extras"]} for note in block["annotations"]]
    response = PropCiteQueryEngine(Mine(answer=answer, streaming=streaming), citer).query("?")
    assert core.text == message.text == str(response)
    assert response.metadata is not None
    assert len(expected) > 3
    assert expected == [{name: entry[name] for name in FIELDS} for entry in langchain]
    assert expected == [
        {name: entry[name] for name in FIELDS} for entry in response.metadata["citations"]
    ]
