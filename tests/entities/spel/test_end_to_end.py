"""From a checkpoint file to answers: SpEL, articles, a LangChain chain and a LlamaIndex query engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

import langchain_factoid
import llama_index_factoid
from factoid.entities import ArticleStore, EntityRetriever, SpELLinker, build_articles
from factoid.entities.importers import TitleTextJsonl

QUESTION = "When did Mount Etna erupt, and who was Ada Lovelace?"
TEXTS = {
    "Ada_Lovelace": "She wrote the first program.",
    "Mount_Etna": "A volcano that often erupts.",
    "Basel": "A town on the Rhine.",
}


@pytest.fixture(scope="module")
def articles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArticleStore]:
    """Articles as SpEL's own file has them: a title with underscores and a text in each line."""
    import json

    folder = tmp_path_factory.mktemp("articles")
    lines = [json.dumps({title: text}) for title, text in TEXTS.items()]
    (folder / "articles.jsonl").write_text("\n".join(lines), encoding="utf-8")
    build_articles(folder / "articles.sqlite", TitleTextJsonl(folder / "articles.jsonl"))
    with ArticleStore(folder / "articles.sqlite") as store:
        yield store


def test_the_core(linker: SpELLinker, articles: ArticleStore) -> None:
    etna, ada = EntityRetriever(articles, linker, words=3).retrieve(QUESTION)
    assert (etna.unit.title, etna.unit.text) == ("Mount Etna", "A volcano that")
    assert (ada.unit.title, ada.unit.text) == ("Ada Lovelace", "She wrote the")
    assert QUESTION[ada.mention.start : ada.mention.end] == "Ada Lovelace"
    assert EntityRetriever(articles, linker).retrieve("How far is Mira from here?") == []  # linked, but without article


def test_a_chain(linker: SpELLinker, articles: ArticleStore) -> None:
    asked = []

    class Chat(FakeListChatModel):
        def _call(self, messages: list[Any], *args: Any, **options: Any) -> str:
            asked.append(messages[0].content)
            return super()._call(messages, *args, **options)

    retriever = langchain_factoid.EntityRetriever(articles=articles, linker=linker)
    prompt = ChatPromptTemplate.from_template("{texts}\n\n{question}")
    texts = retriever | (lambda documents: "\n\n".join(document.page_content for document in documents))
    chain = (
        {"texts": texts, "question": RunnablePassthrough()} | prompt | Chat(responses=["Often."]) | StrOutputParser()
    )
    assert chain.invoke(QUESTION) == "Often."
    assert asked == [f"Mount Etna\n{TEXTS['Mount_Etna']}\n\nAda Lovelace\n{TEXTS['Ada_Lovelace']}\n\n{QUESTION}"]


def test_a_query_engine(linker: SpELLinker, articles: ArticleStore) -> None:
    retriever = llama_index_factoid.EntityRetriever(articles, linker)
    answer = RetrieverQueryEngine.from_args(retriever, llm=MockLLM()).query(QUESTION)
    assert [node.node.metadata["title"] for node in answer.source_nodes] == ["Mount Etna", "Ada Lovelace"]
    assert TEXTS["Mount_Etna"] in str(answer)  # the mock repeats its prompt
    assert TEXTS["Ada_Lovelace"] in str(answer)


async def test_both_in_an_event_loop(linker: SpELLinker, articles: ArticleStore) -> None:
    documents = await langchain_factoid.EntityRetriever(articles=articles, linker=linker).ainvoke(QUESTION)
    nodes = await llama_index_factoid.EntityRetriever(articles, linker).aretrieve(QUESTION)
    assert [document.id for document in documents] == [node.node.node_id for node in nodes]
    assert len(nodes) == 2


def test_a_converted_folder(spel_folder: Path, tmp_path: Path, articles: ArticleStore) -> None:
    from factoid.entities.spel import VocabularyFiles, convert_spel
    from tests.entities.spel.tiny_spel import CHECKPOINT

    vocabulary = VocabularyFiles.in_folder(spel_folder)
    folder = convert_spel(spel_folder / CHECKPOINT, vocabulary, tmp_path / "spel", tokenizer=spel_folder)
    retriever = EntityRetriever(articles, SpELLinker(folder, device="cpu"))
    assert [hit.unit.title for hit in retriever.retrieve(QUESTION)] == ["Mount Etna", "Ada Lovelace"]
