"""Stores saved, loaded and merged: in folders, and on the file systems of fsspec."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from factoid import UnitStore
from factoid.errors import EncoderMismatchError, InvalidInputError, StoreError, StoreFormatError
from langchain_factoid import EmbeddingsEncoder, MultiGranularFAISS
from tests.langchain.documents import GRANULARITIES, KAKAPO, OLM, SENTENCES, TITAN


def found(store: MultiGranularFAISS) -> list[Any]:
    return [
        store.similarity_search_with_score("parrot eyes", k=99, granularity=granularity, parents="unit")
        for granularity in store.granularities
    ]


@pytest.mark.parametrize("index_name", [None, "facts"])
def test_a_round_trip(filled: MultiGranularFAISS, embedding: Any, tmp_path: Path, index_name: str | None) -> None:
    filled.save_local(tmp_path / "saved", index_name)
    embedded = len(embedding.embedded)
    with MultiGranularFAISS.load_local(tmp_path / "saved", embedding, index_name) as loaded:
        assert found(loaded) == found(filled)
        assert loaded.get_by_ids(["titan", "olm", "kakapo"]) == [TITAN, OLM, KAKAPO]
        assert loaded.granularities == filled.granularities
    assert len(embedding.embedded) == embedded
    filled.delete(["olm"])
    filled.save_local(tmp_path / "saved", index_name)
    with MultiGranularFAISS.load_local(tmp_path / "saved", embedding, index_name) as loaded:
        assert found(loaded) == found(filled)
        assert loaded.get_by_ids(["olm"]) == []


def test_a_store_sent_elsewhere_and_fetched(filled: MultiGranularFAISS, embedding: Any, tmp_path: Path) -> None:
    filled.store.save_to(f"memory://{tmp_path.name}/facts")
    core = UnitStore.load_from(
        f"memory://{tmp_path.name}/facts", tmp_path / "fetched", encoder=EmbeddingsEncoder(embedding)
    )
    with MultiGranularFAISS(store=core) as fetched:
        assert found(fetched) == found(filled)


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
    (tmp_path / "old" / "index.pkl").write_bytes(b"")
    with pytest.raises(StoreFormatError, match="add the documents to a new store"):
        MultiGranularFAISS.load_local(tmp_path / "old", embedding)
    with pytest.raises(StoreFormatError):
        filled.save_local(tmp_path / "old")
    filled.save_local(tmp_path / "saved")
    with pytest.raises(EncoderMismatchError):
        MultiGranularFAISS.load_local(tmp_path / "saved", DeterministicFakeEmbedding(size=5))


def test_merging(filled: MultiGranularFAISS, embedding: Any, tmp_path: Path) -> None:
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
            units = filled.similarity_search("olm", k=99, parents="unit", granularity=granularity, document_ids=["olm"])
            assert [unit.page_content for unit in units] == [changed.page_content]
        with pytest.raises(InvalidInputError):
            other.merge_from(other)
    with MultiGranularFAISS.from_documents([OLM], embedding, **both) as persisted:
        persisted.merge_from(tmp_path / "other", on_conflict="keep")
        assert persisted.get_by_ids(["olm", "ice"]) == [OLM, ice]
    with MultiGranularFAISS(DeterministicFakeEmbedding(size=5), **both) as foreign:
        foreign.add_texts(["Ice."])
        with pytest.raises(EncoderMismatchError):
            foreign.merge_from(tmp_path / "other")
