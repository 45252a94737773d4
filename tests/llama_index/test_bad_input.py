from __future__ import annotations

import numpy as np
import pytest
from llama_index.core.schema import (
    Document,
    TextNode,
)
from llama_index.core.vector_stores.types import (
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from factoid.errors import EncoderMismatchError, InvalidInputError, PropositionizerError, StoreError
from llama_index_factoid import MultiGranularFaissVectorStore, MultiGranularNodeParser, PropositionNodeParser
from tests.llama_index.nodes import DIM, TEXT, ask, bare, by_sentence, node, of, where


@pytest.mark.parametrize("text", ["", " \n\t ", "\0", "\r\n\r\n"])
def test_nothing_comes_of_nothing(parser, text):
    nodes = parser([Document(text=text)])
    assert [node.text for node in of(nodes, "passage")] == ([text] if text.strip() else [])


def test_crlf_mixed_scripts_emoji_and_a_line_of_2_mb():
    parser = MultiGranularNodeParser(by_sentence(), granularities=["sentence"])
    text = "Es regnet 😀.\r\nОн ушёл.\r\n\r\n彼は走った。雨だ。\r\n\r\n" + "word " * 400_000
    nodes = parser([Document(text=text)])
    assert all(text[each.start_char_idx : each.end_char_idx] == each.text for each in nodes)
    assert "".join("".join(each.text.split()) for each in nodes) == "".join(text.split())


def test_a_paragraph_of_50000_words_without_punctuation():
    parser = MultiGranularNodeParser(by_sentence(), granularities=["passage"])
    text = " ".join(f"w{i}" for i in range(50_000))
    nodes = of(parser([Document(text=text)]), "passage")
    assert all(len(node.text.split()) <= 200 for node in nodes)
    assert " ".join(node.text for node in nodes) == text


def test_lone_surrogates_are_refused(parser):
    with pytest.raises(InvalidInputError, match="lone surrogate"):
        parser([TextNode(text="a\ud800b")])


def test_duplicate_documents(parser):
    same = parser([Document(text=TEXT, id_="d"), Document(text=TEXT, id_="d")])
    assert len(same) == 22
    assert len({node.node_id for node in same}) == 11
    assert {len(of(same, "proposition")), len(of(parser([Document(text=TEXT)]), "proposition")) * 2} == {8}


@pytest.mark.parametrize(
    "options",
    [{"wrods": 3}, {"granularities": ["document"]}, {"granularities": []}, {"unsupported": "no"}, {"words": "many"}],
)
def test_bad_options_are_refused_at_once(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        MultiGranularNodeParser(**options)


def test_bad_sizes():
    with pytest.raises(InvalidInputError, match="words >= 1"):
        MultiGranularNodeParser(by_sentence(), words=0)([Document(text=TEXT)])


def test_a_propositionizer_that_breaks_its_contract():
    class Broken:
        def propositionize(self, passages):
            return []

    with pytest.raises(PropositionizerError, match="0 lists for 2 passages"):
        PropositionNodeParser(Broken())([Document(text=TEXT)])


@pytest.mark.parametrize("k", [0, -1])
@pytest.mark.parametrize("mode", ["default", "mmr"])
def test_k_below_one(store, k, mode):
    with pytest.raises(InvalidInputError, match="at least 1"):
        store.query(ask(np.ones(DIM), k, mode=mode), mmr_prefetch_k=9)


def test_an_empty_store_has_no_results():
    store = MultiGranularFaissVectorStore()
    assert store.add([]) == []
    assert store.query(ask([1, 0], 3)).nodes == []


@pytest.mark.parametrize("mode", ["hybrid", "sparse", "svm", "text_search"])
def test_modes_without_sense_here(store, mode):
    with pytest.raises(InvalidInputError, match="default or mmr"):
        store.query(ask(np.ones(DIM), mode=VectorStoreQueryMode(mode)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda store: store.add(TextNode(text="x", embedding=[0.0] * DIM)),
            "expected a list of nodes, got a single one",
        ),
        (lambda store: store.add([{"text": "x"}]), "got dict among them"),
        (lambda store: store.delete(None), "the id of one document, got None"),
        (lambda store: store.delete(["pisa"]), "the id of one document"),
        (lambda store: store.get_nodes("pisa"), "node_ids must be a list of ids, got the string 'pisa'"),
        (lambda store: store.delete_nodes("pisa"), "node_ids must be a list of ids"),
        (lambda store: store.get_nodes(filters={"year": 1}), "filters must be MetadataFilters, got dict"),
        (
            lambda store: store.query(ask(np.ones(DIM), filters={"year": 1})),
            "filters must be MetadataFilters, got dict",
        ),
        (lambda store: store.query(ask(np.ones(DIM), filters={})), "filters must be MetadataFilters, got dict"),
    ],
)
def test_arguments_of_another_type_are_refused(store, nodes, call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(store)
    assert store.get_nodes() == [bare(each) for each in nodes]


@pytest.mark.parametrize("settings", [{"device": "gpu"}, {"device": []}, {"similarity": "l2"}])
def test_bad_settings_are_refused_before_a_store_is_made(tmp_path, settings):
    with pytest.raises(InvalidInputError, match="expected"):
        MultiGranularFaissVectorStore(tmp_path / "store", gpu_shard=True, gpu_float16=True, **settings)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"granularity": "paragraph"}, "unknown granularity 'paragraph'"),
        ({"granularity": "document"}, "no index of documents"),
        ({"returns": "both"}, "returns must be one of parents, units"),
        ({"granularty": "sentence"}, "unknown options .'granularty'"),
        ({"mmr_threshold": 1.5}, "from 0 to 1"),
    ],
)
def test_bad_query_options(store, options, message):
    mode = "mmr" if "mmr_threshold" in options else "default"
    with pytest.raises(InvalidInputError, match=message):
        store.query(ask(np.ones(DIM), mode=mode), **options)


def test_no_embedding(store):
    with pytest.raises(InvalidInputError, match="has no embedding"):
        store.query(VectorStoreQuery(query_str="hello"))
    with pytest.raises(InvalidInputError, match="node 'x' has no embedding"):
        store.add([TextNode(text="x", id_="x")])


def test_dimensions(store, nodes):
    with pytest.raises(EncoderMismatchError, match=r"shape \(n, 8\), got \(1, 2\)"):
        store.query(ask([1, 0]))
    with pytest.raises(EncoderMismatchError, match="holds vectors of 8 dimensions, got 2"):
        store.add([node("x", [1, 0])])
    with pytest.raises(EncoderMismatchError, match=r"different dimensions, \[2, 3\]"):
        MultiGranularFaissVectorStore().add([node("x", [1, 0]), node("y", [1, 0, 0])])
    with pytest.raises(EncoderMismatchError, match="not finite"):
        store.add([node("x", [float("nan")] * DIM)])
    assert store.get_nodes() == [bare(each) for each in nodes]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("similarity", ["inner_product", "cosine"])
def test_queries_that_are_not_finite(nodes, similarity, value):
    store = MultiGranularFaissVectorStore(similarity=similarity)
    store.add(nodes)
    for filters in (None, where("year", 1990)):
        with pytest.raises(EncoderMismatchError, match="not finite"):
            store.query(ask([value] + [1.0] * (DIM - 1), filters=filters))


def test_texts_and_metadata_that_cannot_be_stored(store):
    with pytest.raises(InvalidInputError, match="lone surrogate"):
        store.add([node("x", np.ones(DIM), text="a\ud800")])
    with pytest.raises(InvalidInputError, match=r"metadata\['x'\] = nan"):
        store.add([node("x", np.ones(DIM), x=float("nan"))])
    with pytest.raises(InvalidInputError, match=r"metadata\['x'\] = \(1, 2\)"):
        store.add([node("x", np.ones(DIM), x=(1, 2))])
    assert store.get_nodes(["x"]) == []


def test_a_granularity_that_the_store_lacks():
    with pytest.raises(InvalidInputError, match="granularity='proposition' is not one of"):
        MultiGranularFaissVectorStore(granularities=["passage"])
    for bad in ({"granularity": "paragraph"}, {"granularities": ["page"]}, {"returns": "x"}, {"granularty": "x"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            MultiGranularFaissVectorStore(**bad)
    only = MultiGranularFaissVectorStore(granularity="passage", granularities=["passage"])
    only.add([node("a", [1, 0])])
    with pytest.raises(InvalidInputError, match="no index of sentences"):
        only.query(ask([1, 0]), granularity="sentence")


def test_nothing_to_be_found_is_an_error_and_not_an_empty_answer():
    store = MultiGranularFaissVectorStore()
    store.add([node("p", [1, 0], granularity="passage")])
    with pytest.raises(InvalidInputError, match="holds passages, no propositions"):
        store.query(ask([1, 0]))


def test_a_closed_store(store):
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.query(ask(np.ones(DIM)))
