from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document

from factoid.testing import ScriptedPropositionizer
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import GRANULARITIES, KAKAPO, OLM, TITAN


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_documents_come_back_unchanged(filled: MultiGranularFAISS, granularity: str) -> None:
    assert filled.similarity_search("Which parrot cannot fly?", k=1, granularity=granularity) == [KAKAPO]
    assert filled.similarity_search("seas of methane", k=1, granularity=granularity) == [TITAN]
    assert filled.get_by_ids(["olm", "none", "kakapo"]) == [OLM, KAKAPO]


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


def test_metadata_that_is_handed_out_is_the_callers_own(filled: MultiGranularFAISS) -> None:
    filled.similarity_search("parrot", k=1)[0].metadata["tags"].append("changed")
    assert filled.get_by_ids(["kakapo"]) == [KAKAPO]


def test_delete(filled: MultiGranularFAISS) -> None:
    filled.delete(["kakapo", "unknown"])
    assert filled.get_by_ids(["kakapo"]) == []
    for granularity in GRANULARITIES:
        found = filled.similarity_search("Which parrot cannot fly?", k=9, granularity=granularity)
        assert {document.id for document in found} == {"olm", "titan"}
    filled.delete()
    filled.delete([])
    assert len(filled.similarity_search("olm", k=9)) == 2
    (unit,) = filled.similarity_search("no eyes", k=1, parents="unit")
    filled.delete([str(unit.id)])
    assert unit not in filled.similarity_search("no eyes", k=99, parents="unit")
    assert filled.get_by_ids(["olm"]) == [OLM]


def test_failed_decompositions_fall_back_and_are_reported(embedding: Any) -> None:
    with MultiGranularFAISS(embedding, propositionizer=ScriptedPropositionizer({})) as store:
        assert store.last_report is None
        store.add_documents([OLM])
        assert store.last_report is not None
        assert store.last_report.decomposition.failures == {"not in the script": 1}
        (unit,) = store.similarity_search("eyes", k=9, parents="unit")
        assert (unit.page_content, unit.metadata["fallback"]) == (OLM.page_content, "not in the script")
        assert store.similarity_search("eyes") == [OLM]
