"""A LangChain chain over a company's own glossary: entries of what is named, then the answer.

python examples/entity_langchain.py            # a fake chat model, no key
python examples/entity_langchain.py --openai   # OPENAI_API_KEY is set, pip install langchain-openai
"""

import sys

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from langchain_factoid import EntityRetriever

GLOSSARY = [
    Document(
        "A submersible pump for brackish water. Its impeller is of duplex steel, and its seal is "
        "changed every 4,000 hours.",
        metadata={"title": "Tern 40", "aliases": ["T40", "the Tern"], "page": 12},
    ),
    Document(
        "A controller that starts and stops up to six pumps by the level in the shaft. It "
        "replaces the older Pilot box.",
        metadata={"title": "Heron (controller)", "aliases": ["Heron"], "page": 31},
    ),
    Document(
        "The yearly inspection of a station: seals, cables, level switches and the record of "
        "alarms.",
        metadata={"title": "Station check", "aliases": ["annual check"], "page": 55},
    ),
]
PROMPT = ChatPromptTemplate.from_template(
    "{entries}\n\nBased on these texts, answer this question:\n{question}"
)


def entries(documents: list[Document]) -> str:
    return "\n\n".join(document.page_content for document in documents)


def main(chat: BaseChatModel | None = None) -> str:
    retriever = EntityRetriever.from_documents(GLOSSARY)
    if chat is None and "--openai" in sys.argv[1:]:
        from langchain_openai import ChatOpenAI

        chat = ChatOpenAI(model="gpt-5-mini")
    chat = chat or FakeListChatModel(responses=["Every 4,000 hours."])
    chain = (
        {"entries": retriever | entries, "question": RunnablePassthrough()}
        | PROMPT
        | chat
        | StrOutputParser()
    )
    question = "How often is the seal of a T40 changed, and is that part of the annual check?"
    for document in retriever.invoke(question):
        print(
            f"{document.metadata['mention']!r} is {document.metadata['title']}, page "
            f"{document.metadata['page']}"
        )
    answer = chain.invoke(question)
    print("→", answer)
    return answer


if __name__ == "__main__":
    main()
