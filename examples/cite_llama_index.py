"""A LlamaIndex query engine whose answers are cited fact by fact while they stream.

python examples/cite_llama_index.py
"""

from llama_index.core import Document, SummaryIndex
from llama_index.core.base.response.schema import StreamingResponse
from llama_index.core.llms import LLM, MockLLM
from llama_index.core.prompts import PromptTemplate

from factoid import PropCite
from factoid.late_interaction import LateInteractionEncoder
from llama_index_factoid import PropCiteQueryEngine, citations_of

DOCUMENTS = [
    Document(
        text="The grey lighthouse at Skagen, a brick tower designed by the architect Niels "
        "Sigfried Nebelong, was lit "
        "in 1858.",
        metadata={"title": "Skagen Lighthouse"},
    ),
    Document(
        text="The Rubjerg Knude lighthouse stood so near the cliff that it was moved 70 metres "
        "inland in 2019.",
        metadata={"title": "Rubjerg Knude"},
    ),
]
ANSWER = (
    "The lighthouse at Skagen was designed by Niels Nebelong. "
    "The one at Rubjerg Knude stood near a cliff and was moved inland in 2019."
)


def main(citer: PropCite | None = None, llm: LLM | None = None) -> str:
    # Better: PropCite("colbert-ir/colbertv2.0"), which is downloaded.
    citer = citer or PropCite(LateInteractionEncoder(None, projection=False))
    # The mock repeats its prompt, so that the prompt is the answer; leave text_qa_template out with
    # a real model.
    options = {} if llm else {"text_qa_template": PromptTemplate(ANSWER)}
    engine = SummaryIndex.from_documents(DOCUMENTS).as_query_engine(
        llm=llm or MockLLM(), streaming=True, **options
    )
    response = PropCiteQueryEngine(engine, citer).query("Which Danish lighthouses are famous?")
    if isinstance(response, StreamingResponse):
        response.print_response_stream()
    print()
    for citation in citations_of(response):
        print(f"[{citation['number']}] {citation['title']}: {citation['cited_text']}")
    return str(response)


if __name__ == "__main__":
    main()
