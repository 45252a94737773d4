"""Documents added, found in every way, and deleted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from langchain_core.documents import Document

from factoid.errors import InvalidInputError
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder
from langchain_factoid import (
    EncoderEmbeddings,
    EntityRetriever,
    MultiGranularFAISS,
    PassageTextSplitter,
    PropositionTextSplitter,
)
from tests.langchain.conftest import HashEmbeddings
from tests.langchain.documents import KAKAPO, OLM, SENTENCES, TITAN


def test_ids(store: MultiGranularFAISS) -> None:
    plain = Document(page_content="Ice floats.", metadata={"page": 1})
    other = Document(page_content="Ice floats.", metadata={"page": 2})
    ids = store.add_documents([KAKAPO, plain, other, plain], ids=["given", None, None, None])
    assert ids[0] == "given"
    assert ids[1] == ids[3] != ids[2]
    assert store.get_by_ids(ids[1:3]) == [
        plain.model_copy(update={"id": ids[1]}),
        other.model_copy(update={"id": ids[2]}),
    ]
    assert store.add_documents([OLM]) == ["olm"]
    assert plain.id is None
    with pytest.raises(InvalidInputError, match="got 1"):
        store.add_documents([TITAN, OLM], ids=["titan"])
    assert store.get_by_ids(["titan"]) == []


def test_from_texts(embedding: Any) -> None:
    with MultiGranularFAISS.from_texts(
        ["Ice floats."], embedding, [{"page": 1}], ids=["a"], path=None
    ) as store:
        assert store.get_by_ids(["a"]) == [
            Document(page_content="Ice floats.", metadata={"page": 1}, id="a")
        ]


async def test_documents_are_read_as_they_are_needed(embedding: HashEmbeddings) -> None:
    def documents() -> Iterator[Document]:
        for n in range(600):
            embedded.append(len(embedding.embedded))
            yield Document(id=str(n), page_content=f"Row {n} is here.")

    for awaited in (False, True):
        embedded: list[int] = []
        with MultiGranularFAISS(embedding, granularities=["passage"]) as store:
            ids = (
                await store.aadd_documents(documents())
                if awaited
                else store.add_documents(documents())
            )
            assert ids == [str(n) for n in range(600)]
            assert len({*embedded}) == 3  # batches
            assert len(store.similarity_search("row", k=999)) == 600


async def test_a_progress_bar_over_documents(
    embedding: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with MultiGranularFAISS(
        embedding, propositionizer=SENTENCES, progress=True, granularities=GRANULARITIES
    ) as store:
        store.add_documents([KAKAPO, OLM, TITAN])
        assert "3/3" in capsys.readouterr().err
        await store.aadd_documents([OLM])
        assert "1/1" in capsys.readouterr().err


def test_metadata_are_plain_and_those_handed_out_the_callers_own(
    filled: MultiGranularFAISS,
) -> None:
    filled.similarity_search("parrot", k=1)[0].metadata["tags"].append("changed")
    assert filled.get_by_ids(["kakapo"]) == [KAKAPO]
    filled.add_texts(["Ice floats."], [{"published": date(2020, 1, 2)}], ids=["ice"])
    [found] = filled.similarity_search("ice", filter={"published": {"$gte": "2020-01-01"}})
    assert found.metadata == {"published": "2020-01-02"}


def test_bad_documents_are_refused_before_any_work(
    filled: MultiGranularFAISS, embedding: Any
) -> None:
    embedded = list(embedding.embedded)
    for bad, message in [
        ("text", "got str"),
        (Document.model_construct(page_content="a\ud800b", metadata={}, id=None), "lone surrogate"),
        (Document(page_content="x", metadata={"when": object()}), "'when'"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            filled.add_documents([Document(page_content="New and good."), bad])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="bach_size"):
        filled.add_documents([OLM], bach_size=2)
    assert embedding.embedded == embedded
    assert len(filled.similarity_search("it", k=99, parents="document")) == 3


@pytest.mark.parametrize(
    "name",
    [
        "similarity_search",
        "similarity_search_with_score",
        "similarity_search_by_vector",
        "max_marginal_relevance_search",
        "max_marginal_relevance_search_by_vector",
    ],
)
async def test_async_searches_give_the_same(
    filled: MultiGranularFAISS, embedding: Any, name: str
) -> None:
    query: Any = embedding.embed_query("parrot eyes") if "vector" in name else "parrot eyes"
    options: dict[str, Any] = {
        "k": 2,
        "granularity": "sentence",
        "filter": {"year": {"$gt": 1700}},
        "parents": "unit",
    }
    expected = getattr(filled, name)(query, **options)
    embedding.threads.clear()
    assert await getattr(filled, f"a{name}")(query, **options) == expected != []
    assert threading.get_ident() not in embedding.threads  # which would block the event loop


def test_delete(filled: MultiGranularFAISS) -> None:
    filled.delete(["kakapo", "unknown"])
    filled.delete()
    filled.delete([])
    assert filled.get_by_ids(["kakapo", "olm", "titan"]) == [OLM, TITAN]
    (unit,) = filled.similarity_search("no eyes", k=1, parents="unit")
    with pytest.raises(
        InvalidInputError, match="is the id of a proposition: delete it with unit_ids"
    ):
        filled.delete([str(unit.id), "titan"])
    assert unit in filled.similarity_search("no eyes", k=99, parents="unit")
    filled.delete(unit_ids=[str(unit.id)])
    assert unit not in filled.similarity_search("no eyes", k=99, parents="unit")
    for conditions in ({"ids": ["olm"], "filter": {"year": 1768}}, {"filter": {}}):
        with pytest.raises(InvalidInputError):
            filled.delete(**conditions)
    assert filled.get_by_ids(["olm"]) == [OLM]
    filled.delete(filter={"year": {"$gt": 1700}})
    filled.delete(filter=lambda metadata: metadata["year"] < 1000)
    assert filled.similarity_search("it", k=9) == [TITAN]
    assert filled.similarity_search("it", document_ids=[]) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda store: store.add_texts("Ice."), "a list of texts, got the string 'Ice.'"),
        (lambda store: store.add_texts(b"Ice."), "a list of texts, got the string b'Ice.'"),
        (lambda store: store.add_texts(["Ice.", None]), "expected texts, got None: leave it out"),
        (lambda store: store.add_texts(["Ice."], {"a": 1}), "a list of metadatas, got a single"),
        (lambda store: store.add_texts(["Ice."], [None]), "dict of metadata for each text, got No"),
        (lambda store: store.add_texts(["a", "b"], ids="ab"), "a list of ids, got the string 'ab'"),
        (lambda store: store.add_documents("Ice."), "a list of documents, got the string"),
        (lambda store: store.add_documents(OLM), "a list of documents, got a single one"),
        (lambda store: store.add_embeddings("Ice."), "a list of texts with their embeddings"),
        (lambda store: store.get_by_ids("ab"), "a list of ids, got the string 'ab'"),
        (lambda store: store.delete("ab"), "a list of ids, got the string 'ab'"),
        (lambda store: store.embeddings.embed_documents("Ice."), "a list of texts, got"),
        (lambda _: PassageTextSplitter().create_documents("Ice."), "a list of texts, got"),
        (lambda _: PassageTextSplitter().create_documents([7]), "expected texts, got 7"),
        (lambda _: PassageTextSplitter().split_documents(OLM), "a list of documents, got a single"),
        (lambda _: PropositionTextSplitter().split_documents("Ice."), "a list of documents, got"),
        (lambda _: EntityRetriever.from_documents(OLM), "a list of documents, got a single one"),
    ],
)
def test_one_thing_in_place_of_a_list_is_refused(call: Any, message: str) -> None:
    with MultiGranularFAISS(EncoderEmbeddings(HashEncoder())) as store:
        with pytest.raises(InvalidInputError, match=message):
            call(store)
        assert store.store.ids() == []


async def test_one_thing_in_place_of_a_list_is_refused_by_async_methods(embedding: Any) -> None:
    with MultiGranularFAISS(embedding) as store:
        with pytest.raises(InvalidInputError, match="a list of texts, got the string"):
            await store.aadd_texts("Ice.")
        with pytest.raises(InvalidInputError, match="a list of documents, got a single one"):
            await store.aadd_documents(OLM)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="a list of texts, got the string"):
            MultiGranularFAISS.from_texts("Ice.", embedding)
