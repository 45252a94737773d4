"""Stores saved and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from factoid.errors import StoreError, StoreFormatError
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import KAKAPO, OLM, SENTENCES, TITAN


def test_a_round_trip(filled: MultiGranularFAISS, embedding: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"k": 99, "parents": "unit"}
    filled.save_local(tmp_path / "saved")
    embedded = len(embedding.embedded)
    with MultiGranularFAISS.load_local(
        str(tmp_path / "saved"),
        embedding,
        allow_dangerous_deserialization=True,
        propositionizer=SENTENCES,
    ) as loaded:
        expected = filled.similarity_search_with_score("parrot eyes", **options)
        assert loaded.similarity_search_with_score("parrot eyes", **options) == expected
        assert loaded.get_by_ids(["titan", "olm", "kakapo"]) == [TITAN, OLM, KAKAPO]
        assert len(embedding.embedded) == embedded
        loaded.add_texts(["Ice floats."], ids=["ice"])
    assert filled.get_by_ids(["ice"]) == []
    with MultiGranularFAISS.load_local(tmp_path / "saved", embedding, read_only=True) as loaded:
        assert loaded.similarity_search("ice floats", k=1)[0].id == "ice"
        with pytest.raises(StoreError, match="read_only=True"):
            loaded.add_texts(["Lead."])
    filled.save_local(tmp_path / "saved")  # in place of what was there
    with MultiGranularFAISS.load_local(tmp_path / "saved", embedding) as loaded:
        assert loaded.get_by_ids(["ice", "olm"]) == [OLM]


def test_bad_places_are_refused(embedding: Any, tmp_path: Path) -> None:
    with pytest.raises(StoreFormatError, match=r"no store in .*add the documents to a new store"):
        MultiGranularFAISS.load_local(tmp_path / "nowhere", embedding)
    assert not (tmp_path / "nowhere").exists()
