"""A LangChain chain: retrieve documents by their propositions, answer from the matched facts.

python examples/langchain_chain.py            # a fake chat model, no key
python examples/langchain_chain.py --openai   # OPENAI_API_KEY is set, pip install langchain-openai
"""

import sys

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from factoid import SentenceTransformerEncoder
from langchain_factoid import EncoderEmbeddings, MultiGranularFAISS, MultiGranularRetriever

DOCUMENTS = [
    Document(
        "The grey lighthouse at Skagen, a brick tower designed by the architect Niels Sigfried "
        "Nebelong, was lit in 1858.",
        metadata={"title": "Skagen Lighthouse"},
    ),
    Document(
        "The Rubjerg Knude lighthouse stood so near the cliff that it was moved 70 metres inland "
        "in 2019 on rollers.",
        metadata={"title": "Rubjerg Knude"},
    ),
]
PROMPT = ChatPromptTemplate.from_template(
    "Answer from these facts only.\n\n{facts}\n\nQuestion: {question}"
)


def facts(documents: list[Document]) -> str:
    return "\n".join(
        match["text"] for document in documents for match in document.metadata["matches"]
    )


def main(embeddings: Embeddings | None = None, chat: BaseChatModel | None = None) -> str:
    store = MultiGranularFAISS(embeddings or EncoderEmbeddings(SentenceTransformerEncoder()))
    store.add_documents(DOCUMENTS)
    retriever = MultiGranularRetriever(store=store, k=1)
    if chat is None and "--openai" in sys.argv[1:]:
        from langchain_openai import ChatOpenAI

        chat = ChatOpenAI(model="gpt-5-mini")
    chat = chat or FakeListChatModel(responses=["Niels Sigfried Nebelong."])
    chain = (
        {"facts": retriever | RunnableLambda(facts), "question": RunnablePassthrough()}
        | PROMPT
        | chat
    )
    question = "Who designed the lighthouse at Skagen?"
    print(facts(retriever.invoke(question)))
    answer = (chain | StrOutputParser()).invoke(question)
    print("→", answer)
    return answer


if __name__ == "__main__":
    main()
