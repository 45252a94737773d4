"""Retrievers that fuse the results of several queries or retrievers see one document where there is
one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_classic.retrievers import MultiQueryRetriever
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.load import dumps, loads

from langchain_factoid import EntityRetriever, MultiGranularFAISS, MultiGranularRetriever
from tests.langchain.conftest import HashEmbeddings
from tests.langchain.documents import SENTENCES

ANIMALS = [
    Document(
        id=name,
        page_content=f"The {name} lives in {home}. It is shy. It is rare. It eats {food}.",
        metadata={"home": home, "score": 5},
    )
    for name, home, food in [
        ("kakapo", "forests", "fruit"),
        ("olm", "caves", "snails"),
        ("tuatara", "burrows", "insects"),
        ("axolotl", "lakes", "worms"),
        ("dugong", "seas", "grass"),
        ("ibex", "mountains", "moss"),
        ("fennec", "deserts", "locusts"),
    ]
]
QUESTIONS = [
    "Who lives in caves or lakes?",
    "Who eats insects or worms?",
    "Who eats grass, moss or fruit in deserts?",
]


@pytest.fixture
def animals(embedding: HashEmbeddings) -> Iterator[MultiGranularFAISS]:
    with MultiGranularFAISS(embedding, propositionizer=SENTENCES) as store:
        store.add_documents(ANIMALS)
        yield store


@pytest.mark.parametrize("parents", ["document", "unit"])
async def test_multi_query_returns_each_document_once(
    animals: MultiGranularFAISS, parents: str
) -> None:
    retriever = MultiGranularRetriever(store=animals, k=4, parents=parents, lexical=0)
    several = [document.id for question in QUESTIONS for document in retriever.invoke(question)]
    assert len(several) == 12 > len(set(several))
    llm = FakeListChatModel(responses=["\n".join(QUESTIONS)])
    fused = MultiQueryRetriever.from_llm(retriever, llm).invoke("Who lives where?")
    assert [document.id for document in fused] == list(dict.fromkeys(several))
    again = await MultiQueryRetriever.from_llm(retriever, llm).ainvoke("Who lives where?")
    assert [document.id for document in again] == [document.id for document in fused]
    if parents == "document":
        assert all(document.metadata["matches"][0]["score"] > 0 for document in fused)


@pytest.mark.filterwarnings("ignore:The function `loads` is in beta")
def test_what_is_dumped_comes_back_equal_with_its_score(animals: MultiGranularFAISS) -> None:
    several = [
        document
        for question in QUESTIONS
        for document in MultiGranularRetriever(store=animals).invoke(question)
    ]
    back = [loads(dumps(document), allowed_objects="core") for document in several]
    assert back == several
    assert [document.metadata["score"] for document in back] == [
        document.metadata["score"] for document in several
    ]
    assert len({document.id for document in back}) < len(
        back
    )  # by which rank fusion tells documents apart


def test_an_entity_is_one_whatever_the_mention(tmp_path: Path) -> None:
    articles = [
        Document("Tern is a controller.", metadata={"title": "Tern 40", "aliases": ["T40"]})
    ]
    retriever = EntityRetriever.from_documents(articles, path=tmp_path / "articles.sqlite")
    llm = FakeListChatModel(responses=["What is the Tern 40?\nHow heavy is a T40?"])
    [fused] = MultiQueryRetriever.from_llm(retriever, llm).invoke("Tell me of it")
    assert fused.metadata["mention"] == "Tern 40"
