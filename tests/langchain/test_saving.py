"""Stores saved, loaded and merged: in folders, and on the file systems of fsspec."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from factoid.errors import StoreError, StoreFormatError
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import KAKAPO, OLM, SENTENCES, TITAN


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


def test_settings_are_those_of_the_store(embedding: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"propositionizer": SENTENCES, "granularities": ("sentence",), "similarity": "cosine"}
    with MultiGranularFAISS.from_documents([KAKAPO, OLM], embedding, **options) as store:
        store.save_local(tmp_path / "saved")
    with MultiGranularFAISS.load_local(tmp_path / "saved", embedding) as opened:
        assert (opened.granularities, opened.store.similarity) == (("sentence",), "cosine")
        assert opened.similarity_search("eyes", k=1) == [OLM]


def test_bad_places_are_refused(embedding: Any, tmp_path: Path) -> None:
    with pytest.raises(StoreFormatError, match=r"no store in .*add the documents to a new store"):
        MultiGranularFAISS.load_local(tmp_path / "nowhere", embedding)
    assert not (tmp_path / "nowhere").exists()


def test_merging(filled: MultiGranularFAISS, embedding: Any, tmp_path: Path) -> None:
    changed = Document(id="olm", page_content="The olm is blind.", metadata={"year": 2000})
    with MultiGranularFAISS.from_documents([changed], embedding, path=tmp_path / "other") as other:
        embedded = len(embedding.embedded)
        filled.merge_from(other)
        assert filled.get_by_ids(["olm", "titan"]) == [changed, TITAN]
        assert len(embedding.embedded) == embedded
    filled.add_documents([OLM])
    filled.merge_from(tmp_path / "other", on_conflict="keep")
    assert filled.get_by_ids(["olm"]) == [OLM]
