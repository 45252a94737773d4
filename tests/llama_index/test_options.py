"""Options: each where users look for it, and a wrong one is refused by the class that was called,
with the right name.
"""

from __future__ import annotations

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.schema import Document, NodeWithScore, QueryBundle, TextNode

from factoid import AnyGranularityRanker
from factoid.errors import FactoidError, InvalidInputError, UnknownOptionError
from llama_index_factoid import (
    AnyGranularityRerank,
    EntityRetriever,
    LLMPropositionizer,
    LLMReader,
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
    MultiGranularRetriever,
    PassageNodeParser,
)
from tests.late_interaction.word_vectors import WordVectors
from tests.llama_index.nodes import ask

WRONG = {
    "path": (
        lambda store, model: MultiGranularFaissVectorStore(pth="x"),
        "MultiGranularFaissVectorStore has no option 'pth': did you mean 'path'",
    ),
    "persist_dir": (
        lambda store, model: MultiGranularFaissVectorStore(persist_dir="x"),
        "MultiGranularFaissVectorStore has no option 'persist_dir': did you mean 'path'",
    ),
    "similarity_top_k": (
        lambda store, model: MultiGranularFaissVectorStore(similarity_top_k=3),
        "MultiGranularFaissVectorStore has no option 'similarity_top_k': it is an option of MultiGranularRetriever",
    ),
    "settings": (
        lambda store, model: MultiGranularFaissVectorStore(settings={"indx": "Flat"}),
        "settings of MultiGranularFaissVectorStore has no option 'indx': did you mean 'index'",
    ),
    "retriever": (
        lambda store, model: MultiGranularRetriever(store, model, granularty="x"),
        "MultiGranularRetriever has no option 'granularty': did you mean 'granularity'",
    ),
    "top_k": (
        lambda store, model: MultiGranularRetriever(store, model, top_k=3),
        "MultiGranularRetriever has no option 'top_k': did you mean 'k'",
    ),
    "similarity_topk": (
        lambda store, model: MultiGranularRetriever(store, model, similarity_topk=3),
        "MultiGranularRetriever has no option 'similarity_topk': did you mean 'similarity_top_k'",
    ),
    "vector_store_query_mode": (
        lambda store, model: MultiGranularRetriever(store, model, vector_store_query_mode="mmr"),
        "MultiGranularRetriever has no option 'vector_store_query_mode': did you mean 'mode'",
    ),
    "alpha": (
        lambda store, model: MultiGranularRetriever(store, model, alpha=0.5),
        "MultiGranularRetriever has no option 'alpha': did you mean 'lexical'",
    ),
    "lambda_mult": (
        lambda store, model: MultiGranularRetriever(store, model, lambda_mult=0.5),
        "MultiGranularRetriever has no option 'lambda_mult': did you mean 'mmr_threshold'",
    ),
    "kwargs of the retriever": (
        lambda store, model: MultiGranularRetriever(
            store, model, vector_store_kwargs={"expand": 1}
        ),
        "MultiGranularRetriever has no option 'vector_store_kwargs': give its options by name",
    ),
    "query": (
        lambda store, model: store.query(ask([1] * 8), min_scor=1),
        "MultiGranularFaissVectorStore.query has no option 'min_scor': did you mean 'min_score'",
    ),
    "query's k": (
        lambda store, model: store.query(ask([1] * 8), k=1),
        "MultiGranularFaissVectorStore.query has no option 'k': it is an option of MultiGranularRetriever",
    ),
    "vector_store_kwargs": (
        lambda store, model: (
            VectorStoreIndex.from_vector_store(store, embed_model=model)
            .as_retriever(vector_store_kwargs={"expnd": 1})
            .retrieve("olm")
        ),
        "MultiGranularFaissVectorStore.query has no option 'expnd': did you mean 'expand'",
    ),
    "parser": (
        lambda store, model: MultiGranularNodeParser(wrds=9),
        "MultiGranularNodeParser has no option 'wrds': did you mean 'words'",
    ),
    "chunk_size": (
        lambda store, model: PassageNodeParser.from_defaults(chunk_size=9),
        "PassageNodeParser has no option 'chunk_size': did you mean 'words'",
    ),
    "rerank": (
        lambda store, model: AnyGranularityRerank(
            ranker=AnyGranularityRanker(WordVectors()), granularty="x"
        ),
        "AnyGranularityRerank has no option 'granularty': did you mean 'granularity'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_option_is_named_with_who_was_called_and_the_right_one(store, embed_model, name):
    call, message = WRONG[name]
    with pytest.raises(UnknownOptionError, match=message) as caught:
        call(store, embed_model)
    assert isinstance(caught.value, FactoidError)
    assert isinstance(caught.value, TypeError)


def test_a_wrong_value_is_refused_before_the_first_query(store, embed_model):
    for options in (
        {"granularity": "words"},
        {"expand": -1},
        {"weights": 0.5},
        {"mode": "mmr", "mmr_threshold": 2},
    ):
        with pytest.raises(ValueError):
            MultiGranularRetriever(store, embed_model, **options)
    lean = MultiGranularFaissVectorStore(granularities=["passage"])
    with pytest.raises(InvalidInputError, match="no index of sentences"):
        MultiGranularRetriever(lean, embed_model, granularity="sentence")


def test_an_unknown_mode_is_told_the_known_ones(store, embed_model):
    for mode in ("foo", "svm"):
        with pytest.raises(InvalidInputError, match=r"use (mode )?default, hybrid, text_search"):
            MultiGranularRetriever(store, embed_model, mode=mode)


def test_a_store_of_ours_is_no_store_of_another_make(store, embed_model):
    index = VectorStoreIndex.from_vector_store(store, embed_model=embed_model)
    for ours in (store, index):
        with pytest.raises(InvalidInputError, match="give it, or the index over it, without"):
            MultiGranularRetriever(vectorstore=ours, embed_model=embed_model)


def test_sizes_are_checked_where_they_are_given():
    with pytest.raises(InvalidInputError, match="words must be at least 1"):
        MultiGranularNodeParser(words=0)
    [node] = PassageNodeParser(words=12)([Document(text="A gauge. A mill.")])
    assert node.text == "A gauge. A mill."


def test_the_frameworks_own_names_work(embed_model):
    nodes = [
        NodeWithScore(node=TextNode(text=text))
        for text in ("An olm has no eyes.", "A kakapo is a parrot.")
    ]
    ranker = AnyGranularityRerank(ranker=AnyGranularityRanker(WordVectors()), top_n=1)
    assert len(ranker.postprocess_nodes(nodes, QueryBundle("olm"))) == 1
    same = AnyGranularityRerank(ranker=AnyGranularityRanker(WordVectors()), **ranker.to_dict())
    assert same.top_n == 1
    index = VectorStoreIndex.from_vector_store(
        MultiGranularFaissVectorStore(), embed_model=embed_model
    )
    index.insert_nodes([scored.node for scored in nodes])
    assert len(MultiGranularRetriever(index, similarity_top_k=1).retrieve("olm")) == 1
    assert len(index.as_retriever(similarity_top_k=1).retrieve("olm")) == 1


BUILT = {
    "from_llm": (
        lambda: PassageNodeParser.from_llm(MockLLM(), max_concurency=4),
        "PassageNodeParser.from_llm has no option 'max_concurency': did you mean 'max_concurrency'",
    ),
    "model": (
        lambda: LLMPropositionizer(MockLLM(), request_per_minute=4),
        "LLMPropositionizer has no option 'request_per_minute': did you mean 'requests_per_minute'",
    ),
    "reader": (
        lambda: LLMReader(MockLLM(), batchsize=4),
        "LLMReader has no option 'batchsize': did you mean 'batch_size'",
    ),
    "entities": (
        lambda: EntityRetriever.from_documents([], title_kye="name"),
        "EntityRetriever.from_documents has no option 'title_kye': did you mean 'title_key'",
    ),
    "entity options": (
        lambda: EntityRetriever("a", similarity_top_k=9),
        "EntityRetriever has no option 'similarity_top_k': did you mean 'k'",
    ),
}


@pytest.mark.parametrize("name", BUILT)
def test_a_wrong_option_of_what_builds_is_named_too(name):
    call, message = BUILT[name]
    with pytest.raises(UnknownOptionError, match=message):
        call()


def test_right_options_of_what_builds():
    parser = MultiGranularNodeParser.from_llm(
        MockLLM(), max_concurrency=2, words=20, cache=None, progress=False
    )
    assert (parser.words, parser.progress, parser.propositionizer.max_concurrency) == (20, False, 2)
