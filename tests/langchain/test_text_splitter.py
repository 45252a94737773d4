from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document

from factoid.errors import InvalidInputError
from factoid.testing import ScriptedPropositionizer
from langchain_factoid import PassageTextSplitter, PropositionTextSplitter

TEXT = """# Kakapo

The kakapo is a parrot of New Zealand and it cannot fly.

## Diet

It eats the fruit of the rimu tree. Its beak grinds food finely.
"""


def test_passages_are_their_spans_and_know_their_place() -> None:
    source = Document(page_content=TEXT, metadata={"source": "kakapo.md"}, id="k")
    chunks = PassageTextSplitter().split_documents([source])
    assert [chunk.page_content for chunk in chunks] == [
        "The kakapo is a parrot of New Zealand and it cannot fly.",
        "It eats the fruit of the rimu tree. Its beak grinds food finely.",
    ]
    assert PassageTextSplitter().split_text(TEXT) == [chunk.page_content for chunk in chunks]
    for chunk in chunks:
        assert (
            chunk.page_content == TEXT[chunk.metadata["start_index"] : chunk.metadata["end_index"]]
        )
    assert chunks[1].metadata == {
        "source": "kakapo.md",
        "granularity": "passage",
        "start_index": TEXT.index("It eats"),
        "end_index": len(TEXT) - 1,
        "parent_id": "k",
        "passage_id": chunks[1].id,
        "title": "Kakapo",
        "section": "Diet",
    }


def test_propositions_know_passage_and_source(propositionizer: ScriptedPropositionizer) -> None:
    source = Document(page_content=TEXT, metadata={"source": "kakapo.md"}, id="k")
    passages = PassageTextSplitter().split_documents([source])
    chunks = PropositionTextSplitter(propositionizer).split_documents([source])
    assert "it cannot fly." in [chunk.page_content for chunk in chunks]
    assert {chunk.metadata["passage_id"] for chunk in chunks} == {
        passage.id for passage in passages
    }
    for chunk in chunks:
        assert (
            chunk.metadata.items()
            >= {"granularity": "proposition", "parent_id": "k", "title": "Kakapo"}.items()
        )
    flies = next(chunk for chunk in chunks if chunk.page_content == "it cannot fly.")
    assert TEXT[flies.metadata["start_index"] : flies.metadata["end_index"]] == "it cannot fly."


def test_the_callers_keys_are_never_lost(propositionizer: ScriptedPropositionizer) -> None:
    metadata: dict[str, Any] = {
        "title": None,
        "section": "Birds",
        "start_index": 7,
        "source_start_index": 9,
    }
    metadata |= {"granularity": "page", "tags": ["bird"]}
    first, second = PassageTextSplitter().create_documents([TEXT], [metadata])
    first.metadata["tags"].append("changed")
    chunk = second.metadata
    assert chunk["tags"] == metadata["tags"] == ["bird"]
    assert (chunk["title"], chunk["source_title"]) == ("Kakapo", None)
    assert (chunk["section"], chunk["source_section"]) == ("Birds, Diet", "Birds")
    assert (chunk["granularity"], chunk["source_granularity"]) == ("passage", "page")
    assert (chunk["source_start_index"], chunk["source_source_start_index"]) == (9, 7)


def test_failures_fall_back_and_are_reported() -> None:
    splitter = PropositionTextSplitter(ScriptedPropositionizer({}))
    assert splitter.last_report is None
    chunks = splitter.create_documents([TEXT, "It swims."], [{"fallback": "mine"}, {}])
    assert [chunk.metadata["fallback"] for chunk in chunks] == ["mine"] * 3 + ["not in the script"]
    assert splitter.last_report is not None
    assert splitter.last_report.failures == {"not in the script": 3}


def test_bad_input_is_refused() -> None:
    splitter = PassageTextSplitter()
    with pytest.raises(InvalidInputError, match="got str"):
        splitter.split_documents(["text"])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="got 1"):
        splitter.create_documents(["a", "b"], [{}])
