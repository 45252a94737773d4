from __future__ import annotations

import pytest
from langchain_core.documents import Document

from factoid.errors import InvalidInputError
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import KAKAPO, OLM, TITAN


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
    filled.delete()
    filled.delete([])
    assert filled.get_by_ids(["kakapo", "olm", "titan"]) == [OLM, TITAN]
    (unit,) = filled.similarity_search("no eyes", k=1, parents="unit")
    filled.delete([str(unit.id)])
    assert unit not in filled.similarity_search("no eyes", k=99, parents="unit")
    for conditions in ({"ids": ["olm"], "filter": {"year": 1768}}, {"filter": {}}):
        with pytest.raises(InvalidInputError):
            filled.delete(**conditions)
    assert filled.get_by_ids(["olm"]) == [OLM]
    filled.delete(filter={"year": {"$gt": 1700}})
    filled.delete(filter=lambda metadata: metadata["year"] < 1000)
    assert filled.similarity_search("it", k=9) == [TITAN]
    assert filled.similarity_search("it", document_ids=[]) == []
