"""Stores saved, loaded and merged: in folders, and on the file systems of fsspec."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import fsspec
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from factoid import Document as CoreDocument
from factoid import UnitStore
from factoid.errors import EncoderMismatchError, InvalidInputError, StoreError, StoreFormatError
from factoid.testing import HashEncoder
from langchain_factoid import EncoderEmbeddings, MultiGranularFAISS
from tests.langchain.documents import GRANULARITIES, KAKAPO, OLM, SENTENCES, TITAN


def found(store: MultiGranularFAISS) -> list[Any]:
    return [
        store.similarity_search_units_with_score("parrot eyes", k=99, granularity=granularity)
        for granularity in store.granularities
    ]


@pytest.fixture
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"memory://{tmp_path.name}/{request.node.name[:20]}"


@pytest.mark.parametrize("index_name", [None, "facts"])
@pytest.mark.parametrize("remote", [False, True])
async def test_a_round_trip(
    filled: MultiGranularFAISS, embedding: Any, tmp_path: Path, address: str, index_name: str | None, remote: bool
) -> None:
    place: Any = address if remote else tmp_path / "saved"
    filled.save_local(place, index_name)
    embedded = len(embedding.embedded)
    with MultiGranularFAISS.load_local(place, embedding, index_name) as loaded:
        assert found(loaded) == found(filled)
        assert loaded.get_by_ids(["titan", "olm", "kakapo"]) == [TITAN, OLM, KAKAPO]
        assert loaded.granularities == filled.granularities
    assert len(embedding.embedded) == embedded
    await filled.adelete(["olm"])
    await filled.asave_local(place, index_name)
    async with await MultiGranularFAISS.aload_local(place, embedding, index_name) as loaded:
        assert found(loaded) == found(filled)
        assert loaded.get_by_ids(["olm"]) == []


def test_a_file_system_of_ones_own(filled: MultiGranularFAISS, embedding: Any, tmp_path: Path, address: str) -> None:
    fs = fsspec.filesystem("memory")
    filled.save_local(address.removeprefix("memory:/"), fs=fs)
    options: dict[str, Any] = {"fs": fs, "path": tmp_path / "fetched", "propositionizer": SENTENCES}
    with MultiGranularFAISS.load_local(address.removeprefix("memory:/"), embedding, **options) as loaded:
        loaded.add_texts(["Ice floats."], ids=["ice"])
        assert len(loaded.get_by_ids(["ice", "olm"])) == 2
    with MultiGranularFAISS.load_local(tmp_path / "fetched", embedding) as again:
        assert again.similarity_search("ice floats", k=1)[0].id == "ice"
    with MultiGranularFAISS.load_local(address, embedding) as untouched:
        assert untouched.get_by_ids(["ice"]) == []
        temporary = untouched.store.path
        assert temporary is not None
        assert temporary.exists()
    assert not temporary.exists()


def test_a_folder_is_opened_as_it_is(filled: MultiGranularFAISS, embedding: Any, tmp_path: Path) -> None:
    filled.save_local(str(tmp_path / "saved"))
    with MultiGranularFAISS.load_local(
        str(tmp_path / "saved"), embedding, allow_dangerous_deserialization=True, propositionizer=SENTENCES
    ) as loaded:
        loaded.add_texts(["Ice floats."], ids=["ice"])
        loaded.save_local(tmp_path / "saved")  # itself
    assert filled.get_by_ids(["ice"]) == []
    with MultiGranularFAISS.load_local(tmp_path / "saved", embedding, read_only=True) as loaded:
        assert loaded.similarity_search("ice floats", k=1)[0].id == "ice"
        for change in (
            lambda: loaded.add_texts(["Lead."]),
            lambda: loaded.delete(["ice"]),
            lambda: loaded.update_metadata({"a": 1}, ids=["ice"]),
        ):
            with pytest.raises(StoreError, match="read_only=True"):
                change()
        assert "Lead." not in embedding.embedded


@pytest.mark.parametrize("granularities", [("sentence",), ("passage", "proposition"), ("passage",)])
def test_what_was_embedded_is_what_is_searched(embedding: Any, tmp_path: Path, granularities: tuple[str, ...]) -> None:
    options: dict[str, Any] = {"propositionizer": SENTENCES, "granularities": granularities, "similarity": "cosine"}
    with MultiGranularFAISS.from_documents([KAKAPO, OLM], embedding, **options) as store:
        store.save_local(tmp_path / "saved")
    for opened in (
        MultiGranularFAISS.load_local(tmp_path / "saved", embedding),
        MultiGranularFAISS(embedding, path=tmp_path / "saved"),
    ):
        with opened:
            assert opened.granularities == granularities
            assert opened.store.similarity == "cosine"
            assert opened.similarity_search("eyes", k=1) == [OLM]


def test_bad_places_are_refused(filled: MultiGranularFAISS, embedding: Any, tmp_path: Path) -> None:
    with pytest.raises(StoreFormatError, match="no store in"):
        MultiGranularFAISS.load_local(tmp_path / "nowhere", embedding)
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "index.pkl").write_bytes(pickle.dumps({}))
    with pytest.raises(StoreFormatError, match="add the documents to a new store"):
        MultiGranularFAISS.load_local(tmp_path / "old", embedding)
    with pytest.raises(
        StoreFormatError, match="add the documents to a new store"
    ):  # the community's name for the files
        MultiGranularFAISS.load_local(tmp_path / "old", embedding, "index", allow_dangerous_deserialization=True)
    with pytest.raises(StoreFormatError):
        filled.save_local(tmp_path / "old")
    with pytest.raises(StoreFormatError, match="no store at"):
        MultiGranularFAISS.load_local("memory://nowhere/at/all", embedding)
    with pytest.raises(InvalidInputError, match="no address"):
        MultiGranularFAISS.load_local("nonsense://a", embedding)
    for name in ("", "..", "a/b", "a\\b"):
        with pytest.raises(InvalidInputError, match="index_name"):
            filled.save_local(tmp_path, name)
    filled.save_local(tmp_path / "saved")
    with pytest.raises(InvalidInputError, match="leave path out"):
        MultiGranularFAISS.load_local(tmp_path / "saved", embedding, path=tmp_path / "x")
    with pytest.raises(EncoderMismatchError):
        MultiGranularFAISS.load_local(tmp_path / "saved", DeterministicFakeEmbedding(size=5))


async def test_merging(filled: MultiGranularFAISS, embedding: Any, tmp_path: Path) -> None:
    changed = Document(id="olm", page_content="The olm is blind.", metadata={"year": 2000})
    ice = Document(id="ice", page_content="Ice floats on water.")
    both: dict[str, Any] = {"propositionizer": SENTENCES}
    with MultiGranularFAISS.from_documents([changed, ice], embedding, path=tmp_path / "other", **both) as other:
        embedded = len(embedding.embedded)
        filled.merge_from(other)
        assert len(embedding.embedded) == embedded
        assert filled.get_by_ids(["olm", "ice", "titan"]) == [changed, ice, TITAN]
        for granularity in GRANULARITIES:
            assert filled.similarity_search("floats on water", k=1, granularity=granularity) == [ice]
            units = filled.similarity_search_units("olm", k=99, granularity=granularity, document_ids=["olm"])
            assert [unit.page_content for unit in units] == [changed.page_content]
        with pytest.raises(InvalidInputError):
            other.merge_from(other)
    with MultiGranularFAISS.from_documents([OLM], embedding, **both) as kept:
        await kept.amerge_from(tmp_path / "other", on_conflict="keep")
        assert kept.get_by_ids(["olm", "ice"]) == [OLM, ice]
    with MultiGranularFAISS(DeterministicFakeEmbedding(size=5), **both) as foreign:
        foreign.add_texts(["Ice."])
        with pytest.raises(EncoderMismatchError):
            foreign.merge_from(tmp_path / "other")


def test_a_store_of_the_core_is_searched_as_it_is(tmp_path: Path) -> None:
    text = "\n\n".join(f"Paragraph {n} tells of thing{n}. " + "It is long. " * 40 for n in range(4))
    encoder = HashEncoder()
    with UnitStore(tmp_path / "store", encoder=encoder) as core:
        core.add_documents([CoreDocument(text, id="book", metadata={"shelf": 1})])
        passages = [hit.unit for hit in core.search("thing2", 9, granularity="passage")]
    with MultiGranularFAISS.load_local(tmp_path / "store", EncoderEmbeddings(encoder)) as store:
        (passage,) = store.similarity_search("thing2", k=1, granularity="passage")
        assert passage.page_content == passages[0].text
        assert passage.metadata["parent_id"] == "book"
        (around,) = store.similarity_search("thing2", k=1, granularity="passage", expand=1)
        assert len(around.metadata["neighbours"]) == 3
        (book,) = store.similarity_search("thing2", parents="document", filter={"shelf": 1})
        assert book == Document(id="book", page_content=text, metadata={"shelf": 1})
        store.delete(["book"])
        assert store.similarity_search("thing2") == []
