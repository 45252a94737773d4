"""A LangChain chain whose answer is cited fact by fact while it streams, whatever model writes it.

python examples/cite_langchain.py            # a fake chat model and a small encoder, no download
python examples/cite_langchain.py --openai   # OPENAI_API_KEY is set, pip install langchain-openai
"""

import sys

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from factoid import PropCite
from factoid.late_interaction import LateInteractionEncoder
from langchain_factoid import PropCiteRunnable, citations_of

DOCUMENTS = [
    Document(
        "The grey lighthouse at Skagen, a brick tower designed by the architect Niels Sigfried "
        "Nebelong, was lit in 1858.",
        metadata={"title": "Skagen Lighthouse"},
    ),
    Document(
        "The Rubjerg Knude lighthouse stood so near the cliff that it was moved 70 metres inland "
        "in 2019.",
        metadata={"title": "Rubjerg Knude"},
    ),
]
ANSWER = (
    "The lighthouse at Skagen was designed by Niels Nebelong. "
    "The one at Rubjerg Knude stood near a cliff and was moved inland in 2019."
)


def retrieve(_question: str) -> list[Document]:
    return DOCUMENTS  # or any retriever


PROMPT = ChatPromptTemplate.from_template(
    "Answer from these texts only.\n\n{documents}\n\nQuestion: {question}"
)


def main(citer: PropCite | None = None, chat: BaseChatModel | None = None) -> str:
    # Better: PropCite("colbert-ir/colbertv2.0"), which is downloaded.
    citer = citer or PropCite(LateInteractionEncoder(None, projection=False))
    if chat is None and "--openai" in sys.argv[1:]:
        from langchain_openai import ChatOpenAI

        chat = ChatOpenAI(model="gpt-5-mini")
    chat = chat or FakeListChatModel(responses=[ANSWER])
    sources = {"documents": RunnableLambda(retrieve), "question": RunnablePassthrough[str]()}
    chain = (
        sources | RunnablePassthrough.assign(answer=PROMPT | chat) | PropCiteRunnable(citer=citer)
    )
    chunks = []
    for chunk in chain.stream("Which Danish lighthouses are famous?"):
        print(chunk.text, end="", flush=True)
        chunks.append(chunk)
    print()
    answer = add_ai_message_chunks(*chunks)
    for citation in citations_of(answer):
        print(f"[{citation['number']}] {citation['title']}: {citation['cited_text']}")
    return answer.text


if __name__ == "__main__":
    main()
