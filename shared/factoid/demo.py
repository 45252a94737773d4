"""The demonstration: what passages, sentences and propositions find, shown and measured on a small encyclopedia."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import factoid
from factoid.context import pack_context
from factoid.encode import Encoder
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.readers import read_documents
from factoid.late_interaction import Citation, CitedAnswer, PropCite
from factoid.progress import progress
from factoid.propositions import Propositionizer, Report
from factoid.search import Weights
from factoid.sentences import Span
from factoid.store import GRANULARITIES, UnitStore
from factoid.terminal import WIDTH, count, excerpt, place, plain, wrap
from factoid.units import Document, Granularity, Hit, Unit
from factoid.words import count_words

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
CUTOFFS = (1, 5)
BUDGETS = (50, 100, 200)  # words
_BESIDE = 5  # best passages whose documents the frameworks index again
_BELOW = ": "  # a section below its title
_INDENT = " " * 6
_WHOLE = 900  # characters: passages of up to some 140 words are shown whole
_SOURCE = 260


@dataclass(frozen=True, slots=True)
class Question:
    """A question; with the accepted answers, and the title of the article that holds them, where they are known."""

    text: str
    answers: tuple[str, ...] = ()
    title: str = ""


class Framework(NamedTuple):
    """A framework and its six lines, which are text, as the core imports no framework: they are shown and run."""

    name: str
    package: str
    extra: str  # that installs it
    setup: str
    code: str  # finds `found` by `texts`, `question` and `encoder`
    best: Callable[[Any], tuple[str, float]]  # the text and score of `found`


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

    Without a file or folder in `docs` it takes the encyclopedia, on which answers are known and counted, and a prepared one is
    cited by `citer`; without questions it asks three of the encyclopedia's, or headings of the documents.
    """
    documents, prepared = load_encyclopedia(find_data()) if docs is None else (list(read_documents([docs])), [])
    with UnitStore(encoder=encoder) as store:
        report = store.add_documents(documents, propositionizer=propositionizer, show_progress=show_progress)
        units = store.get(store.ids())
        if not units:
            raise InvalidInputError(f"{docs} holds no text")
        _print_head(f"{count(report.documents, 'document')}, cut three ways")
        print(_counts(units, report.decomposition))
        chosen = [Question(text) for text in questions]
        if not chosen:
            by_text = {question.text: question for question in prepared}
            chosen = [by_text[text] for text in SHOWN if text in by_text] or heading_questions(units)
            if docs is not None:
                print('\nNo question was given: some headings serve as questions. Yours: factoid demo --docs DIR "…"')
        for question in chosen:
            _print_head(plain(question.text))
            best = [(kind, hit) for kind in GRANULARITIES for hit in store.search(question.text, 1, granularity=kind)]
            print("\n\n".join(_best_unit(kind, hit, question, color=color) for kind, hit in best))
        if prepared:
            _print_head("How often the answer is found")
            rows = progress(MEASURED.items(), show=show_progress, unit=" rows")
            print(_table({name: measure(store, prepared, **options) for name, options in rows}, len(prepared)))
        if citer is not None and any(question.text == CITED for question in prepared):
            _print_head("An answer, cited fact by fact")
            passages = [hit.unit for hit in store.search(CITED, _BESIDE, granularity="passage")]
            print(_citations(citer.cite(ANSWER, passages), len(passages)))
        hits = store.search(chosen[0].text, _BESIDE)
    # Not everything is indexed again, only the documents of the best hits.
    ids = {hit.unit.document_id for hit in hits}
    best_documents = list({document.id: document for document in documents if document.id in ids}.values())
    for framework in FRAMEWORKS:
        _print_head(f"The same in six lines of {framework.name}")
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
    return "\n".join([*lines, "", f"  score {score:.3f} · {verdict}", wrap(excerpt(text), indent=_INDENT)])


# The encyclopedia, and how often each granularity finds the answers


def find_data() -> Path:
    """Return the folder of the demo's data, in the installed package or beside its source code."""
    package = Path(factoid.__file__).parent
    for folder in (package / "demo_data", package.parents[1] / "examples" / "data"):
        if (folder / "questions.jsonl").is_file():
            return folder
    raise UnreadableFileError(
        f"the demo's encyclopedia is not in {package}: install factoid again, or show your own files with --docs"
    )


def load_encyclopedia(folder: Path) -> tuple[list[Document], list[Question]]:
    """Read `encyclopedia/*.md`, and the questions about them in `questions.jsonl`."""
    records = map(json.loads, (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    questions = [Question(record["question"], tuple(record["answers"]), record["title"]) for record in records]
    return list(read_documents([folder / "encyclopedia"])), questions


def heading_questions(units: Iterable[Unit], limit: int = 3) -> list[Question]:
    """Return some headings of passages as questions, spread evenly; if there are any, those of sections, which say more."""
    passages = (unit for unit in units if unit.granularity is Granularity.PASSAGE)
    headings = list(
        dict.fromkeys(
            _BELOW.join(filter(None, [passage.title, passage.section]))
            or Path(str(passage.metadata.get("source", ""))).stem
            or passage.text[:60]
            for passage in passages
        )
    )
    headings = [heading for heading in headings if _BELOW in heading] or headings
    limit = min(limit, len(headings))
    return [Question(headings[index * len(headings) // limit]) for index in range(limit)]


def find_answer(text: str, answers: Sequence[str]) -> int | None:
    """Return where the first answer in a text begins, as whole words without regard to case and white space; or None."""
    words = [r"\s+".join(map(re.escape, answer.split())) for answer in answers]
    matches = (re.search(rf"(?<!\w){part}(?!\w)", text, re.IGNORECASE) for part in words)
    return min((match.start() for match in matches if match), default=None)


def is_gold(passage: Unit, question: Question) -> bool:
    """Tell whether a passage is of the article asked about and holds an answer."""
    return passage.title == question.title and find_answer(passage.text, question.answers) is not None


def measure(store: UnitStore, questions: Sequence[Question], **options: Any) -> tuple[list[float], list[float]]:
    """Return how often searches find the answer: shares of the questions by CUTOFFS, and by BUDGETS.

    * R@k: among the k best distinct passages, rolled up from the units that were searched, is one that is of the article
      asked about and holds an answer. A question whose answer no passage of its article holds counts as not answered.
    * Answer within W words: an answer occurs in the first W words of the ranked units, in whatever article. So the paper
      measures it (Dense X Retrieval, §4.4); a short answer such as a year can be there by chance.
    """
    recall, within = [], []
    texts = [question.text for question in questions]
    passages = store.search_batch(texts, max(CUTOFFS), **options)
    facts = store.search_batch(texts, max(BUDGETS), parents="unit", **options)
    for question, hits, units in zip(questions, passages, facts, strict=True):
        gold = [is_gold(hit.unit, question) for hit in hits]
        recall.append([any(gold[:cutoff]) for cutoff in CUTOFFS])
        contexts = [pack_context(units, words=words, headings=False) for words in BUDGETS]
        within.append([find_answer(context, question.answers) is not None for context in contexts])
    return np.mean(recall, axis=0).tolist(), np.mean(within, axis=0).tolist()


# What is printed


def _print_head(text: str) -> None:
    print(f"\n━━ {text} {'━' * (WIDTH - len(text) - 4)}\n")


def _counts(units: Sequence[Unit], report: Report) -> str:
    """Return units and words per unit at each granularity, and what became of the propositions."""
    lines = [f"{'':<12}{'units':>8}{'words per unit':>17}"]
    for kind in GRANULARITIES:
        words = [count_words(unit.text) for unit in units if unit.granularity is kind]
        lines.append(f"{kind:<12}{len(words):>8,}{sum(words) / max(len(words), 1):>17.1f}")
    return "\n".join([*lines, "", wrap(str(report))])


def _best_unit(kind: Granularity, hit: Hit, question: Question, *, color: bool) -> str:
    """Return the best unit of a passage that was found; of a sentence or proposition also its source there."""
    best = hit.matches[0].unit if hit.matches else hit.unit
    facts = [kind.upper(), f"score {hit.score:.3f}", f"{count_words(best.text)} words"]
    if question.answers:
        facts.append("holds the answer" if find_answer(best.text, question.answers) is not None else "no answer in it")
    lines = ["  " + " · ".join(facts), wrap(place(best), indent=_INDENT)]
    if kind is Granularity.PASSAGE:
        lines.append(wrap(excerpt(best.text, chars=_WHOLE), indent=_INDENT))
    else:
        start, end = best.start - hit.unit.start, best.end - hit.unit.start
        rewritten = plain(best.text) != plain(hit.unit.text[start:end])
        if rewritten:
            lines.append(wrap(plain(best.text), indent=_INDENT))
        source = excerpt(hit.unit.text, start, end, chars=_SOURCE)
        lines.append(wrap(source, indent=_INDENT, first=f"{_INDENT}from: " if rewritten else None, color=color))
    return "\n".join(line for line in lines if line)


def _citations(answer: CitedAnswer, passages: int) -> str:
    """Return an answer with markers, and for each claim the passage and the sentence that it is cited for."""
    note = f"Answer to: {CITED} The numbers are those of the {count(passages, 'best passage')}, in the order of the search."
    lines = [wrap(note), "", wrap(answer.text, indent=" " * 2)]
    for support, of_unit in groupby(answer.citations, key=attrgetter("support.unit")):
        cited = _widest(list(of_unit))
        lines += ["", *(wrap(f"[{one.number}] {one.claim}", indent=_INDENT, first="  ") for one in cited)]
        lines.append(wrap(place(cited[0].passage), indent=_INDENT))
        lines.append(wrap(plain(support.text), indent=_INDENT, first=f"{_INDENT}from: "))
    return "\n".join(lines)


def _widest(citations: Sequence[Citation]) -> list[Citation]:
    """Return the citations whose claim is no part of the claim of another."""

    def lies_in(spans: Sequence[Span], others: Sequence[Span]) -> bool:
        return all(any(first <= start and end <= last for first, last in others) for start, end in spans)

    return [
        citation
        for citation in citations
        if not any(
            lies_in(citation.spans, other.spans) and not lies_in(other.spans, citation.spans) for other in citations
        )
    ]


def _table(scores: Mapping[str, tuple[list[float], list[float]]], questions: int) -> str:
    cutoffs = "".join(f"{f'R@{cutoff}':>10}" for cutoff in CUTOFFS)
    lines = [
        f"{'':<30}{'right passage found':^20}   {'answer within the first … words':>33}",
        f"{'':<30}{cutoffs}   {''.join(f'{words:>11}' for words in BUDGETS)}",
    ]
    for name, (recall, within) in scores.items():
        shares = "".join(f"{share:>10.1%}" for share in recall), "".join(f"{share:>11.1%}" for share in within)
        lines.append(f"{name:<30}{shares[0]}   {shares[1]}")
    note = (
        f"Over all {questions} questions. R@k: one of the k best passages is of the article asked about and holds an "
        "answer. Within W words: an answer occurs in the first W words of the ranked units. One question is "
        f"{1 / questions:.1%}, so that differences of a few are chance; larger sets stand in docs/ranking.md."
    )
    return "\n".join([*lines, "", wrap(note)])
