"""Options: each where users look for it, and a wrong one is refused by the class that was called,
with the right name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.vectorstores import InMemoryVectorStore

from factoid import AnyGranularityRanker
from factoid.errors import FactoidError, InvalidInputError, UnknownOptionError
from langchain_factoid import (
    AnyGranularityReranker,
    ChatModelPropositionizer,
    ChatModelReader,
    EntityRetriever,
    MultiGranularFAISS,
    MultiGranularRetriever,
    PassageTextSplitter,
    PropositionTextSplitter,
)
from tests.langchain.conftest import HashEmbeddings
from tests.langchain.documents import KAKAPO, OLM, TITAN
from tests.late_interaction.word_vectors import WordVectors


@pytest.fixture
def store(embedding: HashEmbeddings) -> Iterator[MultiGranularFAISS]:
    with MultiGranularFAISS(embedding) as opened:
        opened.add_documents([KAKAPO, OLM, TITAN])
        yield opened


WRONG: dict[str, tuple[Callable[[MultiGranularFAISS], Any], str]] = {
    "path": (
        lambda store: MultiGranularFAISS(store.embeddings, pth="x"),
        "MultiGranularFAISS has no option 'pth': did you mean 'path'",
    ),
    "persist_dir": (
        lambda store: MultiGranularFAISS(store.embeddings, persist_dir="x"),
        "MultiGranularFAISS has no option 'persist_dir': did you mean 'path'",
    ),
    "search_kwargs": (
        lambda store: MultiGranularFAISS(store.embeddings, search_kwargs={"k": 3}),
        r"MultiGranularFAISS has no option 'search_kwargs': it is an option of .* as_retriever",
    ),
    "from_texts": (
        lambda store: MultiGranularFAISS.from_texts(["a"], store.embeddings, persist_directory="x"),
        "MultiGranularFAISS has no option 'persist_directory': did you mean 'path'",
    ),
    "a subclass": (
        lambda store: type("Mine", (MultiGranularFAISS,), {})(store.embeddings, wrds=9),
        "Mine has no option 'wrds': did you mean 'words'",
    ),
    "retriever": (
        lambda store: MultiGranularRetriever(store=store, granularty="x"),
        "MultiGranularRetriever has no option 'granularty': did you mean 'granularity'",
    ),
    "top_k": (
        lambda store: MultiGranularRetriever(store=store, top_k=3),
        "MultiGranularRetriever has no option 'top_k': did you mean 'k'",
    ),
    "in search_kwargs": (
        lambda store: MultiGranularRetriever(store=store, search_kwargs={"filtr": {}}),
        "MultiGranularRetriever has no option 'filtr': did you mean 'filter'",
    ),
    "in a call": (
        lambda store: MultiGranularRetriever(store=store).invoke("olm", min_scor=1),
        "MultiGranularRetriever has no option 'min_scor': did you mean 'min_score'",
    ),
    "search": (
        lambda store: store.similarity_search("olm", granularty="x"),
        "a search of MultiGranularFAISS has no option 'granularty': did you mean 'granularity'",
    ),
    "as_retriever": (
        lambda store: store.as_retriever(search_kwargs={"top_k": 3}).invoke("olm"),
        "a search of MultiGranularFAISS has no option 'top_k': did you mean 'k'",
    ),
    "mmr": (
        lambda store: store.max_marginal_relevance_search("olm", expnd=3),
        "a search of MultiGranularFAISS has no option 'expnd': did you mean 'expand'",
    ),
    "mmr's own": (
        lambda store: store.max_marginal_relevance_search("olm", lambda_multi=0.3),
        "a search of MultiGranularFAISS has no option 'lambda_multi': did you mean 'lambda_mult'",
    ),
    "mmr in search_kwargs": (
        lambda store: store.as_retriever(
            search_type="mmr", search_kwargs={"lambda_mul": 0.3}
        ).invoke("olm"),
        "a search of MultiGranularFAISS has no option 'lambda_mul': did you mean 'lambda_mult'",
    ),
    "search_type": (
        lambda store: store.similarity_search("olm", search_type="mmr"),
        "a search of MultiGranularFAISS has no option 'search_type': it is an option of as_retr",
    ),
    "k of as_retriever": (
        lambda store: store.as_retriever(k=2),
        "as_retriever has no option 'k': it is an option of a search: give search_kwargs",
    ),
    "search_kwargs of as_retriever": (
        lambda store: store.as_retriever(serch_kwargs={"k": 2}),
        "as_retriever has no option 'serch_kwargs': did you mean 'search_kwargs'",
    ),
    "another store": (
        lambda store: MultiGranularRetriever(
            vectorstore=InMemoryVectorStore(store.embeddings)
        ).invoke("olm", top_k=2),
        "MultiGranularRetriever has no option 'top_k': did you mean 'k'",
    ),
    "core": (
        lambda store: store.store.search("olm", granularty="x"),
        "UnitStore.search has no option 'granularty': did you mean 'granularity'",
    ),
    "reranker": (
        lambda _: AnyGranularityReranker(
            ranker=AnyGranularityRanker(WordVectors()), granularty="x"
        ),
        "AnyGranularityReranker has no option 'granularty': did you mean 'granularity'",
    ),
    "nothing near": (
        lambda store: MultiGranularRetriever(store=store, zzz=1),
        "MultiGranularRetriever has no option 'zzz': it takes .*min_score",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_option_is_named_with_who_was_called_and_the_right_one(
    store: MultiGranularFAISS, name: str
) -> None:
    call, message = WRONG[name]
    with pytest.raises(UnknownOptionError, match=message) as caught:
        call(store)
    assert isinstance(caught.value, FactoidError)
    assert isinstance(caught.value, TypeError)


def test_a_store_of_ours_is_no_store_of_another_make(store: MultiGranularFAISS) -> None:
    with pytest.raises(ValueError, match="give it as store="):
        MultiGranularRetriever(vectorstore=store)


def test_sizes_are_checked_where_they_are_given(embedding: HashEmbeddings) -> None:
    for words in (0, -1, 2.5):
        with pytest.raises(InvalidInputError, match="words must be"):
            MultiGranularFAISS(embedding, words=words)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="words must be"):
            PropositionTextSplitter(words=words)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="min_words must be from 0 to words=20, got 30"):
        PassageTextSplitter(words=20, min_words=30)


def test_few_words_need_no_other_option(embedding: HashEmbeddings) -> None:
    text = " ".join(f"Gauge {number} stands at mill {number}." for number in range(9))
    with MultiGranularFAISS(embedding, words=12) as few:
        few.add_texts([text])
        found = few.similarity_search("gauge", k=9)
    assert sorted(len(document.page_content.split()) for document in found) == [6, 12, 12, 12, 12]


def test_the_frameworks_own_names_work(store: MultiGranularFAISS) -> None:
    found = MultiGranularRetriever(
        store=store, search_kwargs={"k": 2, "filter": {"year": {"$lt": 1800}}}
    ).invoke("olm")
    assert [document.id for document in found] == ["olm", "titan"]
    assert (
        len(MultiGranularRetriever(store=store, k=1, search_kwargs={"k": 2}).invoke("olm", k=3))
        == 3
    )
    assert len(store.as_retriever(search_kwargs={"k": 2}).invoke("olm")) == 2
    ranker = AnyGranularityReranker(ranker=AnyGranularityRanker(WordVectors()), top_n=1)
    assert len(ranker.compress_documents(found, "olm")) == 1


def test_every_option_of_a_search_is_a_field(store: MultiGranularFAISS) -> None:
    retriever = MultiGranularRetriever(
        store=store, k=3, min_score=0.1, expand=1, document_ids=["olm"], lexical=0.0
    )
    [document] = retriever.invoke("Which animal has no eyes?")
    assert (document.id, "neighbours" in document.metadata) == ("olm", True)
    assert retriever.model_copy(update={"document_ids": []}).invoke("eyes") == []
    assert MultiGranularRetriever(store=store, score_threshold=5.0).invoke("eyes") == []


LLM = FakeListChatModel(responses=["[]"])
BUILT: dict[str, tuple[Callable[[], Any], str]] = {
    "splitter": (
        lambda: PassageTextSplitter(chunk_size=100),
        "PassageTextSplitter has no option 'chunk_size': did you mean 'words'",
    ),
    "propositions": (
        lambda: PropositionTextSplitter(min_wrds=10),
        "PropositionTextSplitter has no option 'min_wrds': did you mean 'min_words'",
    ),
    "from_llm": (
        lambda: PropositionTextSplitter.from_llm(LLM, max_concurency=4),
        "PropositionTextSplitter.from_llm has no option 'max_concurency': did you mean 'max_concurrency'",
    ),
    "model": (
        lambda: ChatModelPropositionizer(LLM, request_per_minute=4),
        "ChatModelPropositionizer has no option 'request_per_minute': did you mean 'requests_per_minute'",
    ),
    "reader": (
        lambda: ChatModelReader(LLM, batchsize=4),
        "ChatModelReader has no option 'batchsize': did you mean 'batch_size'",
    ),
    "entities": (
        lambda: EntityRetriever.from_documents([], title_kye="name"),
        "EntityRetriever.from_documents has no option 'title_kye': did you mean 'title_key'",
    ),
    "entity fields": (
        lambda: EntityRetriever(articles="a", wrds=9),
        "EntityRetriever has no option 'wrds': did you mean 'words'",
    ),
    "entity call": (
        lambda: EntityRetriever.from_documents(GLOSSARY).invoke("Tern", top_k=2),
        "a call of EntityRetriever has no option 'top_k': did you mean 'k'",
    ),
}
GLOSSARY = [Document("Tern is a pump.", metadata={"title": "Tern"})]


@pytest.mark.parametrize("name", BUILT)
def test_a_wrong_option_of_what_builds_is_named_too(name: str) -> None:
    call, message = BUILT[name]
    with pytest.raises(UnknownOptionError, match=message):
        call()


def test_right_options_of_what_builds() -> None:
    splitter = PropositionTextSplitter.from_llm(
        LLM, max_concurrency=2, words=60, unsupported="keep", progress=False
    )
    assert splitter.split_text("Ice floats.") == ["Ice floats."]
    retriever = EntityRetriever.from_documents(
        GLOSSARY, k=2, words=9, tags=["glossary"], aliases_key="other"
    )
    assert [document.id for document in retriever.invoke("Is Tern a pump?", k=1)]
