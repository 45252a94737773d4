"""A user's program with LangChain: from files to a cited answer, with every way to call a store."""

from __future__ import annotations

import asyncio
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from factoid import (
    AnyGranularityRanker,
    PropCite,
    SentenceTransformerEncoder,
    UnitStore,
    Weights,
    pack_context,
)
from langchain_factoid import (
    AnyGranularityReranker,
    EncoderEmbeddings,
    EntityRetriever,
    MultiGranularFAISS,
    MultiGranularRetriever,
    PassageTextSplitter,
    PropCiteRunnable,
    PropositionTextSplitter,
    citations_of,
    matches_of,
    with_headings,
)

PROMPT = ChatPromptTemplate.from_template("{facts}\n\n{question}")


def read(folder: Path) -> list[Document]:
    return [
        Document(path.read_text(), metadata={"source": str(path)}) for path in folder.glob("*.md")
    ]


def facts(documents: list[Document]) -> str:
    return "\n".join(match["text"] for document in documents for match in matches_of(document))


def answer(folder: Path, model: BaseChatModel) -> str:
    embeddings = EncoderEmbeddings(SentenceTransformerEncoder())
    with MultiGranularFAISS(embeddings, path=folder / "store", source_key="source") as store:
        store.add_documents(read(folder))
        report = store.last_report
        print(report.documents if report is not None else 0)
        retriever = MultiGranularRetriever(
            store=store, k=3, expand=1, filter={"source": {"$exists": True}}
        )
        chain = (
            {"facts": retriever | facts, "question": RunnablePassthrough[str]()}
            | PROMPT
            | model
            | StrOutputParser()
        )
        for document, score in store.similarity_search_with_score(
            "question", k=2, granularity="sentence"
        ):
            print(document.page_content, f"{score:.2f}")
        for match in matches_of(retriever.invoke("question")[0]):
            place = (match["start"], match["end"])
            print(match["text"], place, round(match["score"], 2))
        plain = store.as_retriever(search_type="mmr", search_kwargs={"k": 2, "lambda_mult": 0.3})
        print(len(plain.invoke("question")))
        return chain.invoke("question")


async def ask(store: MultiGranularFAISS) -> list[Document]:
    ids = await store.aadd_documents([Document("A text.")], ids=["a"])
    found = await store.asimilarity_search("question", k=1)
    print(ids, [document.id for document in found])
    store.delete(ids)
    return await MultiGranularRetriever(store=store, weights=Weights(0.4, 0.2)).ainvoke(
        "question", k=2
    )


def cite(documents: list[Document], model: BaseChatModel) -> list[str]:
    citer = PropCite(AnyGranularityRanker("colbert-ir/colbertv2.0"))

    def retrieve(_: str) -> list[Document]:
        return documents

    sources = {"documents": RunnableLambda(retrieve), "question": RunnablePassthrough[str]()}
    chain = (
        sources | RunnablePassthrough.assign(answer=PROMPT | model) | PropCiteRunnable(citer=citer)
    )
    message = chain.invoke("question")
    return [
        f"[{citation['number']}] {citation['cited_text']}, {citation['url']}"
        for citation in citations_of(message)
    ]


def split(documents: list[Document], model: BaseChatModel) -> list[Document]:
    chunks = PropositionTextSplitter.from_llm(model, words=80).split_documents(documents)
    return with_headings([*chunks, *PassageTextSplitter().split_documents(documents)])


def rest(documents: list[Document], store: UnitStore) -> str:
    ranker = AnyGranularityRanker("colbert-ir/colbertv2.0")
    reranked = AnyGranularityReranker(ranker=ranker, top_n=2).compress_documents(
        documents, "question"
    )
    named = EntityRetriever.from_documents(documents).invoke("question")
    print(len(reranked), len(named))
    return pack_context(store.search("question", k=3), words=100)


if __name__ == "__main__":
    asyncio.run(ask(MultiGranularFAISS(EncoderEmbeddings(SentenceTransformerEncoder()))))
