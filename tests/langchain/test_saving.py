"""Stores saved, loaded and merged: in folders, and on the file systems of fsspec."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from factoid.errors import InvalidInputError, StoreError, StoreFormatError
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import KAKAPO, OLM, SENTENCES, TITAN


@pytest.mark.parametrize("index_name", [None, "facts"])
def test_a_round_trip(filled: MultiGranularFAISS, embedding: Any, tmp_path: Path, index_name: str | None) -> None:
    options: dict[str, Any] = {"k": 99, "parents": "unit"}
    filled.save_local(tmp_path / "saved", index_name)
    embedded = len(embedding.embedded)
    with MultiGranularFAISS.load_local(
        str(tmp_path / "saved"), embedding, index_name, allow_dangerous_deserialization=True, propositionizer=SENTENCES
    ) as loaded:
        expected = filled.similarity_search_with_score("parrot eyes", **options)
        assert loaded.similarity_search_with_score("parrot eyes", **options) == expected
        assert loaded.get_by_ids(["titan", "olm", "kakapo"]) == [TITAN, OLM, KAKAPO]
        assert len(embedding.embedded) == embedded
        loaded.add_texts(["Ice floats."], ids=["ice"])
    assert filled.get_by_ids(["ice"]) == []
    with MultiGranularFAISS.load_local(tmp_path / "saved", embedding, index_name, read_only=True) as loaded:
        assert loaded.similarity_search("ice floats", k=1)[0].id == "ice"
        with pytest.raises(StoreError, match="read_only=True"):
            loaded.add_texts(["Lead."])
    filled.save_local(tmp_path / "saved", index_name)  # in place of what was there
    with MultiGranularFAISS.load_local(tmp_path / "saved", embedding, index_name) as loaded:
        assert loaded.get_by_ids(["ice", "olm"]) == [OLM]


def test_bad_places_are_refused(embedding: Any, tmp_path: Path) -> None:
    with pytest.raises(StoreFormatError, match=r"no store in .*add the documents to a new store"):
        MultiGranularFAISS.load_local(tmp_path / "nowhere", embedding)
    assert not (tmp_path / "nowhere").exists()


def test_urls_are_refused(filled: MultiGranularFAISS, embedding: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    url, advice = "s3://bucket/facts", r"local folder, got 's3://bucket/facts': .*save_to.*load_from"
    for call in (
        lambda: filled.save_local(url),
        lambda: MultiGranularFAISS.load_local(url, embedding),
        lambda: MultiGranularFAISS(embedding, path=url),
    ):
        with pytest.raises(InvalidInputError, match=advice):
            call()
    assert not list(tmp_path.glob("s3*"))


def test_settings_are_those_of_the_store(embedding: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"granularities": ("sentence",), "similarity": "cosine", "path": tmp_path / "store"}
    MultiGranularFAISS.from_documents([OLM], embedding, **options).close()
    with MultiGranularFAISS.load_local(tmp_path / "store", embedding) as opened:
        assert (opened.store.granularities, opened.store.similarity) == (("sentence",), "cosine")


def test_merging(filled: MultiGranularFAISS, embedding: Any, tmp_path: Path) -> None:
    changed = Document(id="olm", page_content="The olm is blind.", metadata={"year": 2000})
    with MultiGranularFAISS.from_documents([changed], embedding, path=tmp_path / "other") as other:
        filled.merge_from(other)
    assert filled.get_by_ids(["olm", "titan"]) == [changed, TITAN]
    filled.add_documents([OLM])
    filled.merge_from(tmp_path / "other", keep=True)
    assert filled.get_by_ids(["olm"]) == [OLM]
