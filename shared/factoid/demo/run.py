"""The demo from beginning to end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from factoid.demo import show
from factoid.demo.corpus import Question, find_data, heading_questions, load_encyclopedia, measure
from factoid.encode import Encoder
from factoid.errors import InvalidInputError
from factoid.files.readers import read_documents
from factoid.late_interaction import PropCite
from factoid.progress import progress
from factoid.propositions import Propositionizer
from factoid.search import Weights
from factoid.store import GRANULARITIES, UnitStore
from factoid.terminal import count, excerpt, plain, wrap
from factoid.units import Document, Hit

# Picked by hand: the answer stands in an aside of a long sentence.
SHOWN = (
    "What was the occupation of Mary Anning's father?",
    "How many lunar months make up the Saros eclipse period?",
    "Who founded the New York conservatory that hired Dvořák as its director?",
)
# Written by hand from what is found for the last of them; a language model would write it.
CITED = SHOWN[-1]
ANSWER = (
    "Jeannette Thurber, a rich patron, founded the conservatory in New York and won Dvořák as its director in 1892. Before that "
    "he had played the viola in Prague under Smetana, and Brahms had recommended him to a publisher in Berlin. He went home in "
    "1895, homesick."
)
_ALONE = Weights(passage=0, lexical=0)
MEASURED: dict[str, dict[str, Any]] = {
    **{f"{kind}s alone": {"granularity": kind, "weights": _ALONE} for kind in GRANULARITIES},
    "sentences, passage, words": {"granularity": "sentence"},
    "propositions, passage, words": {},
}
_BESIDE = 5  # best passages whose documents the frameworks index again


class Framework(NamedTuple):
    """A framework, by its package and the extra that installs it.

    The core imports no framework, so the code is text: it is shown and run. `texts`, `question` and `encoder` are given;
    `found` is the result, of which `best` returns the text and score.
    """

    name: str
    package: str
    extra: str
    setup: str
    code: str
    best: Callable[[Any], tuple[str, float]]


FRAMEWORKS = (
    Framework(
        *("LangChain", "langchain_core", "langchain"),
        setup="from langchain_factoid import EncoderEmbeddings; embeddings = EncoderEmbeddings(encoder)",
        code="""\
from langchain_core.documents import Document
from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever, PassageTextSplitter
passages = PassageTextSplitter().split_documents([Document(text) for text in texts])
store = MultiGranularFAISS(embeddings)
store.add_documents(passages)
found = MultiGranularRetriever(store=store, k=1).invoke(question)
""",
        best=lambda results: (results[0].page_content, results[0].metadata["score"]),
    ),
    Framework(
        *("LlamaIndex", "llama_index", "llama-index"),
        setup="from llama_index_factoid import EncoderEmbedding; embed_model = EncoderEmbedding(encoder)",
        code="""\
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index_factoid import MultiGranularFaissVectorStore, MultiGranularNodeParser
nodes = MultiGranularNodeParser()([Document(text=text) for text in texts])
storage = StorageContext.from_defaults(vector_store=MultiGranularFaissVectorStore())
index = VectorStoreIndex(nodes, storage_context=storage, embed_model=embed_model)
found = index.as_retriever(vector_store_query_mode="hybrid").retrieve(question)
""",
        best=lambda results: (results[0].text, results[0].score),
    ),
)


def run_demo(
    docs: str | Path | None = None,
    questions: Sequence[str] = (),
    *,
    encoder: Encoder,
    propositionizer: Propositionizer | None = None,
    citer: PropCite | None = None,
    color: bool = False,
    show_progress: bool = False,
) -> None:
    """Cut documents, index them at three granularities and print what each of these finds.

    Args:
        docs: A file or folder; None for the encyclopedia, on which answers are known and counted.
        questions: What to ask; by default three of the encyclopedia's questions, or headings of the documents.
        encoder: Encodes units and questions.
        propositionizer: None for `SyntaxPropositionizer`.
        citer: Cites a prepared answer on the encyclopedia; None leaves that part out.
        color: Use ANSI colours.
        show_progress: Show a progress bar.

    Raises:
        InvalidInputError: The documents hold no text.
        UnreadableFileError: A file cannot be read, or the encyclopedia is not there.
    """
    documents, prepared = load_encyclopedia(find_data()) if docs is None else (list(read_documents([docs])), [])
    with UnitStore(encoder=encoder) as store:
        report = store.add_documents(documents, propositionizer=propositionizer, show_progress=show_progress)
        units = store.get(store.ids())
        if not units:
            raise InvalidInputError(f"{docs} holds no text")
        print(show.headline(f"{count(report.documents, 'document')}, cut three ways"))
        print(show.counts(units, report.decomposition))
        chosen = [Question(text) for text in questions]
        if not chosen:
            by_text = {question.text: question for question in prepared}
            chosen = [by_text[text] for text in SHOWN if text in by_text] or heading_questions(units)
            if docs is not None:
                print('\nNo question was given: some headings serve as questions. Yours: factoid demo --docs DIR "…"')
        for question in chosen:
            print(show.headline(plain(question.text)))
            best = [(kind, hit) for kind in GRANULARITIES for hit in store.search(question.text, 1, granularity=kind)]
            print("\n\n".join(show.best_unit(kind, hit, question, color=color) for kind, hit in best))
        if prepared:
            print(show.headline("How often the answer is found"))
            rows = progress(MEASURED.items(), show=show_progress, unit=" rows")
            print(show.table({name: measure(store, prepared, **options) for name, options in rows}, len(prepared)))
        if citer is not None and any(question.text == CITED for question in prepared):
            print(show.headline("An answer, cited fact by fact"))
            passages = [hit.unit for hit in store.search(CITED, _BESIDE, granularity="passage")]
            print(show.citations(CITED, citer.cite(ANSWER, passages), len(passages)))
        hits = store.search(chosen[0].text, _BESIDE)
    # Not everything is indexed again, only the documents of the best hits.
    ids = {hit.unit.document_id for hit in hits}
    best_documents = list({document.id: document for document in documents if document.id in ids}.values())
    for framework in FRAMEWORKS:
        print(show.headline(f"The same in six lines of {framework.name}"))
        print(run_framework(framework, best_documents, chosen[0].text, encoder, hits[0]))
    if docs is None:
        print('\nThe same on your own files: factoid demo --docs DIR "your question"')


def run_framework(
    framework: Framework, documents: Sequence[Document], question: str, encoder: Encoder, expected: Hit
) -> str:
    """Run a framework's six lines; return these and what they found beside the core's best hit, or how to install it."""
    if find_spec(framework.package) is None:
        return f'{framework.name} is not installed. Run: pip install "factoid[{framework.extra}]"'
    names = {"encoder": encoder, "question": question, "texts": [document.text for document in documents]}
    exec(f"{framework.setup}\n{framework.code}", names)  # noqa: S102 - the code above
    text, score = framework.best(names["found"])
    # Words weigh by how rare they are, here among fewer documents.
    verdict = "the same passage as above" if text == expected.unit.text else "above it was another passage"
    comment = f"# texts: {count(len(documents), 'document')} of the best hits. question: {plain(question)}"
    lines = [wrap(comment, indent="    # ", first="    "), *(f"    {line}" for line in framework.code.splitlines())]
    return "\n".join([*lines, "", f"  score {score:.3f} · {verdict}", wrap(excerpt(text), indent=" " * 6)])
