"""Show and measure what passages, sentences and propositions find in a small encyclopedia."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from textwrap import indent
from typing import Any

import factoid
from factoid.encode import Encoder
from factoid.errors import InvalidInputError
from factoid.evaluate.answers import has_answer_dpr
from factoid.evaluate.rankings import judge, top_k_accuracy
from factoid.files.readers import read_documents
from factoid.late_interaction import CitedAnswer, PropCite
from factoid.packing import pack_context
from factoid.progress import tracked
from factoid.propositions import Propositionizer, Report
from factoid.ranking import Weights
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
# Written by hand from the passages found for the last question; in an app a language model writes
# it.
CITED = SHOWN[-1]
ANSWER = (
    "Jeannette Thurber, a rich patron, founded the conservatory in New York and won Dvořák as its "
    "director in 1892. Before that he had played the viola in Prague under Smetana, and Brahms "
    "had recommended him to a publisher in Berlin. He went home in 1895, homesick."
)
_ALONE = Weights(passage=0, lexical=0)
MEASURED: dict[str, dict[str, Any]] = {
    **{f"{name}s alone": {"granularity": name, "weights": _ALONE} for name in GRANULARITIES},
    "sentences, passage, words": {"granularity": "sentence"},
    "propositions, passage, words": {},
}
CUTOFFS = (1, 5)
BUDGETS = (50, 100, 200)  # words
_CITABLE = 5  # passages from which the prepared answer cites
_INDENT = " " * 6
_WHOLE = 900  # characters: passages of up to about 140 words are shown whole
_SOURCE = 260


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its accepted answers and the article that holds them, if known."""

    text: str
    answers: tuple[str, ...] = ()
    title: str = ""


# Text, because the core imports no framework.
FRAMEWORKS = {
    "LangChain": """\
from langchain_factoid import EncoderEmbeddings, MultiGranularFAISS, MultiGranularRetriever
store = MultiGranularFAISS(EncoderEmbeddings(encoder))
store.add_documents(documents)
hits = MultiGranularRetriever(store=store, k=5).invoke(question)
""",
    "LlamaIndex": """\
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index_factoid import EncoderEmbedding
from llama_index_factoid import MultiGranularFaissVectorStore, MultiGranularNodeParser
storage = StorageContext.from_defaults(vector_store=MultiGranularFaissVectorStore())
nodes = MultiGranularNodeParser()(documents)
index = VectorStoreIndex(nodes, storage_context=storage, embed_model=EncoderEmbedding(encoder))
hits = index.as_retriever().retrieve(question)
""",
}


def run_demo(
    docs: str | Path | None = None,
    questions: Sequence[str] = (),
    *,
    encoder: Encoder,
    propositionizer: Propositionizer | None = None,
    citer: PropCite | None = None,
    color: bool = False,
    progress: bool | None = None,
) -> None:
    """Split documents, index them at three granularities and print what each finds.

    Without a file or folder in `docs`, use the encyclopedia: its answers are known and counted, and
    `citer` cites a prepared answer. Without questions, ask three of the encyclopedia's, or headings
    of the documents.
    """
    prepared: Sequence[Question] = []
    if docs is None:
        documents, prepared = load_encyclopedia(find_data())
    else:
        documents = list(read_documents([docs]))
    with UnitStore(encoder=encoder, granularities=GRANULARITIES) as store:
        report = store.add_documents(documents, propositionizer=propositionizer, progress=progress)
        units = store.get(store.ids())
        if not units:
            raise InvalidInputError(f"{docs} holds no text")
        _print_head(f"{count(report.documents, 'document')}, cut three ways")
        print(_counts(units, report.decomposition))
        by_text = {question.text: question for question in prepared}
        chosen = list(map(Question, questions)) or [
            by_text[text] for text in SHOWN if text in by_text
        ]
        if not chosen:
            chosen = heading_questions(units)
            print(
                "\nNo question was given: some headings serve as questions. Ask your own: "
                'factoid demo --docs DIR "…"'
            )
        for question in chosen:
            _print_head(plain(question.text))
            best = []
            for granularity in GRANULARITIES:
                for hit in store.search(question.text, 1, granularity=granularity):
                    best.append((granularity, hit))
            results = [_best_unit(name, hit, question, color=color) for name, hit in best]
            print("\n\n".join(results))
        if prepared:
            _print_head("How often the answer is found")
            rows = tracked(MEASURED.items(), show=progress, unit=" rows")
            print(
                _table(
                    {name: measure(store, prepared, **options) for name, options in rows},
                    len(prepared),
                )
            )
        if citer is not None and CITED in by_text:
            _print_head("An answer, cited fact by fact")
            passages = [hit.unit for hit in store.search(CITED, _CITABLE, granularity="passage")]
            print(_citations(citer.cite(ANSWER, passages), len(passages)))
    for framework, code in FRAMEWORKS.items():
        _print_head(f"The same in {framework}")
        print(indent(code, "    "), end="")
    if docs is None:
        print('\nThe same on your own files: factoid demo --docs DIR "your question"')


# The encyclopedia, and how often each granularity finds the answers


def find_data() -> Path:
    """Return the folder of the demo's data, in the installed package or beside its source code."""
    package = Path(factoid.__file__).parent
    installed = package / "demo_data"
    if installed.is_dir():
        return installed
    return package.parents[1] / "examples" / "data"


def load_encyclopedia(folder: Path) -> tuple[list[Document], list[Question]]:
    """Read `encyclopedia/*.md`, and the questions about them in `questions.jsonl`."""
    documents = list(read_documents([folder / "encyclopedia"]))
    records = map(json.loads, (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    questions = []
    for record in records:
        answers = tuple(record["answers"])
        questions.append(Question(record["question"], answers, record["title"]))
    return documents, questions


def heading_questions(units: Iterable[Unit]) -> list[Question]:
    """Return up to three headings of passages as questions.

    Those of sections are preferred, since they say more.
    """
    passages = []
    for unit in units:
        if unit.granularity is Granularity.PASSAGE:
            passages.append(unit)
    passages = [passage for passage in passages if passage.section] or passages
    headings = list(dict.fromkeys(place(passage) or passage.text[:60] for passage in passages))
    return list(map(Question, headings[:: -(-len(headings) // 3)]))


def measure(store: UnitStore, questions: Sequence[Question], **options: Any) -> list[float]:
    """Return how often searches find the answer.

    Shares of the questions by CUTOFFS, then by BUDGETS.

    * R@k: one of the k best distinct passages, rolled up from the units that were searched, is from
      the article asked about and holds an answer. A question whose answer no passage of its article
      holds counts as not answered.
    * Answer within W words: an answer occurs in the first W words of the ranked units, in any
      article. This is the paper's measure (Dense X Retrieval, §4.4); a short answer such as a year
      can be there by chance.
    """
    texts = list(map(attrgetter("text"), questions))
    answers = list(map(attrgetter("answers"), questions))
    passages = store.search_batch(texts, max(CUTOFFS), **options)
    facts = store.search_batch(texts, max(BUDGETS), parents="unit", **options)
    gold = []
    for question, hits in zip(questions, passages, strict=True):
        gold.append([_is_right(hit, question) for hit in hits])
    contexts = []
    for words in BUDGETS:
        contexts.append([[pack_context(hits, words=words, headings=False)] for hits in facts])
    within = [top_k_accuracy(judge(packed, answers, has_answer_dpr), 1) for packed in contexts]
    return [*(top_k_accuracy(gold, cutoff) for cutoff in CUTOFFS), *within]


# What is printed


def _print_head(text: str) -> None:
    print(f"\n━━ {text} {'━' * (WIDTH - len(text) - 4)}\n")


def _counts(units: Sequence[Unit], report: Report) -> str:
    """Return units and words per unit at each granularity, and what became of the propositions."""
    lines = [f"{'':<12}{'units':>8}{'words per unit':>17}"]
    for granularity in GRANULARITIES:
        words = []
        for unit in units:
            if unit.granularity is granularity:
                words.append(count_words(unit.text))
        lines.append(f"{granularity:<12}{len(words):>8,}{sum(words) / max(len(words), 1):>17.1f}")
    return "\n".join([*lines, "", wrap(str(report))])


def _best_unit(granularity: Granularity, hit: Hit, question: Question, *, color: bool) -> str:
    """Return the best unit of a hit, and for a fact its source in the passage."""
    best = hit.matches[0].unit if hit.matches else hit.unit
    facts = [granularity.upper(), f"score {hit.score:.3f}", f"{count_words(best.text)} words"]
    if question.answers:
        if has_answer_dpr(best.text, question.answers):
            facts.append("holds the answer")
        else:
            facts.append("lacks the answer")
    start, end = (
        (0, 0)
        if granularity is Granularity.PASSAGE
        else (best.start - hit.unit.start, best.end - hit.unit.start)
    )
    rewritten = granularity is Granularity.PROPOSITION and plain(best.text) != plain(
        hit.unit.text[start:end]
    )
    lines = ["  " + " · ".join(facts), wrap(place(best), indent=_INDENT)]
    if rewritten:
        lines.append(wrap(plain(best.text), indent=_INDENT))
    chars = _WHOLE
    if end:
        chars = _SOURCE
    source = excerpt(hit.unit.text, start, end, chars=chars, color=color)
    first = None
    if rewritten:
        first = f"{_INDENT}from: "
    lines.append(wrap(source, indent=_INDENT, first=first))
    return "\n".join(filter(None, lines))


def _citations(answer: CitedAnswer, passages: int) -> str:
    """Return an answer with markers, and for each claim the passage and the sentence cited."""
    shown = count(passages, "best passage")
    note = f"Answer to: {CITED} The numbers refer to the {shown}, in the order of the search."
    lines = [wrap(note), "", wrap(answer.text, indent=" " * 2)]
    for support, of_unit in groupby(answer.citations, key=attrgetter("support.unit")):
        cited = list(of_unit)
        lines += [
            "",
            *(wrap(f"[{one.number}] {one.claim}", indent=_INDENT, first="  ") for one in cited),
        ]
        lines.append(wrap(place(cited[0].passage), indent=_INDENT))
        lines.append(wrap(plain(support.text), indent=_INDENT, first=f"{_INDENT}from: "))
    return "\n".join(lines)


def _table(scores: Mapping[str, list[float]], questions: int) -> str:
    heads = [*(f"R@{cutoff}" for cutoff in CUTOFFS), *(f"{words} words" for words in BUDGETS)]
    lines = [f"{'':<30}{''.join(f'{head:>11}' for head in heads)}"]
    for name, shares in scores.items():
        lines.append(f"{name:<30}{''.join(f'{share:>11.1%}' for share in shares)}")
    note = (
        f"Over all {questions} questions. R@k: one of the k best passages is from the article "
        "asked about and holds an answer. W words: an answer occurs in the first W words of the "
        f"ranked units. One question is {1 / questions:.1%}, so differences of a few are chance; "
        "docs/ranking.md has larger sets."
    )
    return "\n".join([*lines, "", wrap(note)])


def _is_right(hit: Hit, question: Question) -> bool:
    """Return whether a hit is of the right article, and holds an answer."""
    return hit.unit.title == question.title and has_answer_dpr(hit.unit.text, question.answers)
