from __future__ import annotations

import pytest
from llama_index.core.schema import Document, MetadataMode, NodeRelationship, TextNode

from factoid.heading_template import with_heading
from factoid.split import split_passages
from factoid.store import GRANULARITIES
from factoid.units import Document as CoreDocument
from llama_index_factoid import MultiGranularNodeParser, PropositionNodeParser
from tests.llama_index.nodes import KINDS, TEXT, by_sentence, of, relation


def test_source_parent_and_siblings(parser):
    nodes = parser([Document(text=TEXT, id_="d")])
    by_id = {node.node_id: node for node in nodes}
    assert {node.ref_doc_id for node in nodes} == {"d"}
    for node in nodes:
        parent = by_id.get(relation(node, "PARENT"))
        if node.metadata["granularity"] == "passage":
            assert relation(node, "PARENT") is None
            continue
        assert parent.metadata["granularity"] == "passage"
        assert parent.node_id == node.metadata["passage_id"]
        assert nodes.index(parent) < nodes.index(node)
        assert (
            parent.start_char_idx <= node.start_char_idx < node.end_char_idx <= parent.end_char_idx
        )
    for granularity in KINDS:
        ids = [node.node_id for node in of(nodes, granularity)]
        assert [relation(node, "NEXT") for node in of(nodes, granularity)] == [*ids[1:], None]
        assert [relation(node, "PREVIOUS") for node in of(nodes, granularity)] == [None, *ids[:-1]]


def test_siblings_never_cross_documents_and_can_be_left_out(parser):
    nodes = parser([Document(text="One here.", id_="d"), Document(text="Two here.", id_="e")])
    nodes += MultiGranularNodeParser(
        by_sentence(), include_prev_next_rel=False, granularities=GRANULARITIES
    )([Document(text=TEXT)])
    assert not any(relation(node, "NEXT") or relation(node, "PREVIOUS") for node in nodes)


def test_a_chunk_with_a_known_place_keeps_its_source(parser):
    document = Document(text="Before it.\n\n" + TEXT, id_="d")
    chunk = TextNode(
        text=TEXT,
        id_="c",
        start_char_idx=12,
        end_char_idx=12 + len(TEXT),
        relationships={NodeRelationship.SOURCE: document.as_related_node_info()},
    )
    nodes = parser([chunk])
    assert {relation(node, "SOURCE") for node in nodes} == {"d"}
    assert {relation(node, "PARENT") for node in of(nodes, "passage")} == {"c"}
    for node in of(nodes, "sentence") + of(nodes, "passage"):
        assert document.text[node.start_char_idx : node.end_char_idx] == node.text


@pytest.mark.parametrize("place", [(None, None), (0, 3)])
def test_a_chunk_with_an_unknown_place_gives_no_wrong_indices(parser, place):
    source = Document(text="elsewhere", id_="d").as_related_node_info()
    chunk = TextNode(
        text=TEXT,
        start_char_idx=place[0],
        end_char_idx=place[1],
        relationships={NodeRelationship.SOURCE: source},
    )
    assert {(node.start_char_idx, node.end_char_idx) for node in parser([chunk])} == {(None, None)}


def test_parsers_chain():
    passages = MultiGranularNodeParser(by_sentence(), granularities=["passage"])(
        [Document(text=TEXT, id_="d")]
    )
    nodes = PropositionNodeParser(by_sentence())(passages)
    assert {relation(node, "PARENT") for node in nodes} == {node.node_id for node in passages}
    assert {relation(node, "SOURCE") for node in nodes} == {"d"}
    for node in nodes:
        assert node.metadata.items() >= {"granularity": "proposition", "title": "Pisa"}.items()
        assert "source_granularity" not in node.metadata
        heading = "Pisa — Site: " if node.metadata.get("section") else "Pisa: "
        assert node.get_content(metadata_mode=MetadataMode.EMBED) == heading + node.text


def test_title_from_metadata_else_from_headings(parser):
    given = parser([Document(text=TEXT, metadata={"title": "Torre", "file_name": "pisa.md"})])
    assert {node.metadata["title"] for node in given} == {"Torre"}
    derived = parser([Document(text=TEXT, metadata={"file_name": "pisa.md"})])
    assert {node.metadata["title"] for node in derived} == {"Pisa"}
    assert [node.metadata.get("section") for node in of(derived, "passage")] == [None, "Site"]
    assert parser.propositionizer.calls[0][0].title == "Torre"
    assert parser.propositionizer.calls[1][1].section == "Site"


def test_title_and_section_are_embedded_and_models_read_the_rest_too(parser):
    document = Document(
        text=TEXT, metadata={"year": 1173}, text_template="{metadata_str} | {content}"
    )
    node = of(parser([document]), "sentence")[-2]
    heading, text = "title: Pisa\nsection: Site", "The soil is soft."
    assert node.get_content(metadata_mode=MetadataMode.EMBED) == f"{heading} | {text}"
    assert node.get_content(metadata_mode=MetadataMode.LLM) == f"{heading}\nyear: 1173 | {text}"


@pytest.mark.parametrize("mode", [MetadataMode.EMBED, MetadataMode.LLM])
def test_a_heading_alone_stands_before_the_text_as_in_the_core(parser, mode):
    units = [
        *split_passages(CoreDocument(TEXT)),
        *split_passages(CoreDocument("Pisa is old.", "Pisa")),
    ]
    nodes = [
        *parser([Document(text=TEXT)]),
        *parser([Document(text="Pisa is old.", metadata={"title": "Pisa"})]),
    ]
    assert [node.get_content(metadata_mode=mode) for node in of(nodes, "passage")] == [
        with_heading(unit) for unit in units
    ]
    assert with_heading(units[1]) == "Pisa — Site: The soil is soft. It is old."
    assert with_heading(units[2]) == "Pisa is old."


def test_callers_values_under_our_keys_are_kept(parser):
    metadata = {"granularity": "daily", "source_granularity": "x", "section": "legal", "title": 7}
    node = of(parser([Document(text=TEXT, metadata=metadata)]), "passage")[1]
    assert node.metadata == {
        "granularity": "passage",
        "source_granularity": "x",
        "source_source_granularity": "daily",
        "section": "legal",
        "title": 7,
    }


def test_metadata_are_inherited_or_not_and_never_shared(parser):
    document = Document(text=TEXT, metadata={"year": 1173})
    nodes = parser([document])
    nodes[0].metadata["year"] = 0
    assert document.metadata == {"year": 1173}
    assert nodes[1].metadata["year"] == 1173
    bare = MultiGranularNodeParser(
        by_sentence(), include_metadata=False, granularities=GRANULARITIES
    )([document])
    assert all("year" not in node.metadata for node in bare)
