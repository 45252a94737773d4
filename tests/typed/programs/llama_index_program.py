"""A user's program with LlamaIndex: from files to a cited answer, with every way to call a
store.
"""

from __future__ import annotations

from pathlib import Path

from llama_index.core import Document, Settings, StorageContext, VectorStoreIndex
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import LLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import BaseNode, NodeWithScore, TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from factoid import AnyGranularityRanker, PropCite, SentenceTransformerEncoder, Weights
from llama_index_factoid import (
    AnyGranularityRerank,
    EncoderEmbedding,
    EntityRetriever,
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
    MultiGranularRetriever,
    PropCiteQueryEngine,
    PropositionNodeParser,
    citations_of,
    matches_of,
    span_of,
)


def read(folder: Path) -> list[Document]:
    return [
        Document(text=path.read_text(), metadata={"file": path.name})
        for path in folder.glob("*.md")
    ]


def answer(folder: Path, llm: LLM) -> str:
    embed_model = EncoderEmbedding(SentenceTransformerEncoder())
    Settings.transformations = [MultiGranularNodeParser()]
    with MultiGranularFaissVectorStore(
        folder / "store", embed_model=embed_model, similarity="cosine"
    ) as store:
        index = VectorStoreIndex.from_documents(
            read(folder),
            storage_context=StorageContext.from_defaults(vector_store=store),
            transformations=[MultiGranularNodeParser(words=80)],
            embed_model=embed_model,
        )
        index.insert(Document(text="The office cat is called Maurice."))
        filters = MetadataFilters(filters=[MetadataFilter(key="file", value="a.md")])
        retriever = MultiGranularRetriever(
            index, k=3, filters=filters, weights=Weights(0.4, 0.2), expand=1
        )
        for result in retriever.retrieve("question"):
            show(result)
        engine = RetrieverQueryEngine.from_args(retriever, llm=llm)
        cited = PropCiteQueryEngine(
            engine, PropCite(AnyGranularityRanker("colbert-ir/colbertv2.0"))
        )
        response = cited.query("question")
        for citation in citations_of(response):
            print(
                citation["number"], citation["source_id"], citation["claim"], citation["cited_text"]
            )
        plain = index.as_retriever(similarity_top_k=2, vector_store_kwargs={"granularity": "mixed"})
        print(len(plain.retrieve("question")))
        return str(response)


def show(result: NodeWithScore) -> None:
    print(result.text, result.score, result.metadata["title"], span_of(result.node))
    for match in matches_of(result):
        print(match["text"], match["start"], match["end"], round(match["score"], 2))


def pipeline(
    documents: list[Document], llm: LLM, store: MultiGranularFaissVectorStore
) -> list[BaseNode]:
    parser = PropositionNodeParser.from_llm(llm, words=80)
    made = IngestionPipeline(transformations=[parser], vector_store=store).run(documents=documents)
    nodes = store.get_nodes(node_ids=[node.node_id for node in made])
    texts = [node.text for node in nodes if isinstance(node, TextNode)]
    print(texts)
    return nodes


async def ask(index: VectorStoreIndex) -> list[NodeWithScore]:
    found = await MultiGranularRetriever(index, k=2).aretrieve("question")
    ranker = AnyGranularityRanker("colbert-ir/colbertv2.0")
    reranked = AnyGranularityRerank(ranker=ranker, top_n=1).postprocess_nodes(
        found, query_str="question"
    )
    named = await EntityRetriever.from_documents(
        [Document(text="A pump.", metadata={"title": "Tern"})]
    ).aretrieve("Tern")
    return [*reranked, *named]
