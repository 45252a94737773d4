"""What code that was written for LlamaIndex's own classes calls."""

from __future__ import annotations

import copy

import pytest
from llama_index.core import MockEmbedding
from llama_index.core.schema import Document

from factoid.errors import EncoderMismatchError, StoreError
from llama_index_factoid import (
    LlamaIndexEncoder,
    EncoderEmbedding,
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
    PassageNodeParser,
    PropositionNodeParser,
)
from tests.llama_index.nodes import ask, node
from tests.test_encode import write_model


@pytest.mark.parametrize(
    "parser", [MultiGranularNodeParser, PassageNodeParser, PropositionNodeParser]
)
def test_parsers_are_made_from_defaults(parser):
    documents = [Document(text="The tower leans. It is old.", id_="d")]
    assert parser.from_defaults(words=50)(documents) == parser(words=50)(documents)
    assert parser.from_defaults().words == 100


def test_a_store_is_closed_by_with(tmp_path):
    with MultiGranularFaissVectorStore(tmp_path / "facts") as store:
        store.add([node("a", [1, 0])])
    with pytest.raises(StoreError, match="closed"):
        store.add([node("b", [1, 0])])
    with MultiGranularFaissVectorStore(tmp_path / "facts", read_only=True) as again:
        assert again.query(ask([1, 0])).ids == ["a"]


def test_copies_share_the_open_store():
    with MultiGranularFaissVectorStore(granularity="passage") as store:
        store.add([node("a", [1, 0])])
        for copied in (copy.deepcopy(store), copy.copy(store), store.model_copy(deep=True)):
            assert copied.client is store.client
            assert copied.granularity == "passage"
            assert copied.query(ask([1, 0])).ids == ["a"]


def test_a_store_made_on_a_laptop_opens_on_a_server(tmp_path):
    path = tmp_path / "facts"
    for folder in ("home/me/minilm", "models/all-MiniLM-L6-v2"):
        model = MockEmbedding(2, model_name=str(write_model(tmp_path / folder)))
        with MultiGranularFaissVectorStore(path, embed_model=model) as store:
            store.add([node("a", [1, 0])])
    tuned = MockEmbedding(2, model_name=str(write_model(tmp_path / "tuned", seed=1)))
    with pytest.raises(
        EncoderMismatchError, match=r"same weights, .* of LlamaIndexEncoder"
    ) as caught:
        MultiGranularFaissVectorStore(path, embed_model=tuned)
    name = str(caught.value).split("name='")[1].split("'")[0]
    same = EncoderEmbedding(LlamaIndexEncoder(tuned, name=name))  # as it says
    with MultiGranularFaissVectorStore(path, embed_model=same) as store:
        assert store.query(ask([1, 0])).ids == ["a"]
