"""`factoid reproduce`: the papers' tables on given data, beside the published numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from factoid._optional import require
from factoid.cli import options as opts
from factoid.cli.articles import read_articles
from factoid.cli.options import argument, option
from factoid.errors import InvalidInputError
from factoid.files.atomic import write_file
from factoid.units import Document, Granularity, whole_number

if TYPE_CHECKING:
    from factoid.encode import Encoder
    from factoid.entities.articles.article import Record
    from factoid.evaluate.datasets import DatasetQuestion
    from factoid.evaluate.reproduce.tables import ReproducedTable
    from factoid.late_interaction import AnyGranularityRanker
    from factoid.readers import Reader
    from factoid.store import UnitStore

app = typer.Typer(
    no_args_is_help=True,
    help="Repeat the papers' experiments on given data, beside the published numbers.",
)

_DEFAULT = "all-MiniLM-L6-v2"
_TOKENS = "all-MiniLM-L6-v2 tokens"
_STATISTICS = 1000  # units that are read at once
_LEGEND = "In brackets: the published numbers."

Corpus = Annotated[
    list[str] | None,
    argument(
        "PATH",
        "The corpus: files and folders; by default the documents that come with the questions "
        "(SQuAD, FactoidQA).",
    ),
]
Questions = Annotated[
    list[str] | None,
    option(
        "NAME=FILE",
        "Questions under the name of their set, as in NQ=nq-test.csv: Natural Questions, TriviaQA, "
        "Web Questions, SQuAD, EntityQuestions, PopQA, FactoidQA or StrategyQA, as published; may "
        "be repeated.",
        "--questions",
        default=False,
    ),
]
Sample = Annotated[
    int | None, option("N", "Only so many questions of each set, evenly spread.", default="all")
]
ReaderName = Annotated[
    str | None,
    option(
        "NAME",
        "What answers from the texts: extractive (a baseline without a model), unified-qa, or "
        "seq2seq:MODEL, fusion:MODEL, causal:MODEL by name or folder, openai:MODEL.",
        "--reader",
        default="none",
    ),
]
Retrievers = Annotated[
    list[str] | None,
    option(
        "NAME",
        "A retriever, as --encoder of factoid index takes it: simcse, dpr:QUESTIONS,TEXTS, or any "
        "model by name or folder; may be repeated.",
        "--retriever",
        default=_DEFAULT,
    ),
]
CacheFolder = Annotated[
    Path | None,
    option("DIR", "Keep propositions and vectors, so that a killed run goes on.", "--cache"),
]
Report = Annotated[
    Path | None, option("FILE", "Write the tables as Markdown, too.", "--output", default="none")
]


@app.command("dense-x")
@opts.grouped
def dense_x(
    corpus: Corpus = None,
    questions: Questions = None,
    retriever: Retrievers = None,
    reader: ReaderName = None,
    sample: Sample = None,
    cache: CacheFolder = None,
    report: Report = None,
    *,
    reading: opts.Reading,
    splitting: opts.Splitting,
    output: opts.Output,
) -> None:
    """Repeat Dense X Retrieval: Tables 1 to 3, Figures 3 and 4, and the split of Section 5.2."""
    from factoid.evaluate.reproduce.dense_x import reproduce_dense_x

    asked = _questions(questions, sample, reading)
    tables = reproduce_dense_x(
        _documents(corpus, questions, reading),
        asked,
        _retrievers(retriever),
        words=splitting.words,
        propositionizer=opts.make_propositionizer(splitting),
        reader=_reader(reader, splitting.base_url),
        cache=cache,
        progress=output.progress,
    )
    _print(tables, report, output)


@app.command("agrame")
@opts.grouped
def agrame(
    corpus: Corpus = None,
    questions: Questions = None,
    model: Annotated[
        list[str] | None,
        option(
            "NAME=MODEL",
            "A late-interaction model under its row's name: ColBERTv2, Ours (trained for "
            'sentences), "One marker" (Table 5, A3), or any other; may be repeated.',
            default=_TOKENS,
        ),
    ] = None,
    retriever: Retrievers = None,
    first: Annotated[
        str | None,
        option("NAME", "What finds the passages that are ranked.", "--first", default=_DEFAULT),
    ] = None,
    answers: Annotated[
        Path | None,
        option("FILE", "Table 9: answers with passages, as factoid.evaluate.citations reads them."),
    ] = None,
    nli: Annotated[
        str | None,
        option(
            "MODEL", "What judges citations: an entailment model.", default="the gold citations"
        ),
    ] = None,
    facts: Annotated[
        str | None,
        option(
            "QUERIES,TARGETS", "Table 7: two files of JSON lines, as PropSegmEnt's authors have."
        ),
    ] = None,
    sample: Sample = None,
    cache: CacheFolder = None,
    report: Report = None,
    *,
    reading: opts.Reading,
    output: opts.Output,
) -> None:
    """Repeat AGRaME: Tables 3, 5, 7 and 9, each where its data are given."""
    from factoid.evaluate.atomic_facts import read_fact_corpus
    from factoid.evaluate.citations import read_cited
    from factoid.evaluate.nli import NliModel
    from factoid.evaluate.reproduce.agrame import (
        reproduce_citations,
        reproduce_facts,
        reproduce_rankings,
    )

    rankers = _rankers(model)
    tables: list[ReproducedTable] = []
    if questions:
        tables += reproduce_rankings(
            _documents(corpus, questions, reading),
            _questions(questions, sample, reading),
            {**_retrievers(retriever), **rankers},
            first=opts.make_encoder(first),
            cache=cache,
            progress=output.progress,
        )
    if facts is not None:
        queries, _, targets = facts.partition(",")
        tables.append(reproduce_facts(read_fact_corpus(queries, targets), rankers))
    if answers is not None:
        judge = None
        if nli is not None:
            judge = NliModel(nli)
        texts = opts.evenly_spread(list(read_cited(answers)), sample)
        tables.append(reproduce_citations(texts, _last(rankers), judge=judge))
    if not tables:
        raise InvalidInputError(
            "nothing to measure: give --questions NAME=FILE (Tables 3 and 5), --facts (Table 7) or "
            "--answers (Table 9)"
        )
    _print(tables, report, output)


@app.command("entity-retrieval")
@opts.grouped
def entity_retrieval(
    corpus: Corpus = None,
    questions: Questions = None,
    articles: Annotated[
        Path | None,
        option(
            "FILE",
            "The article store that entities are looked up in.",
            default="made of the corpus, by titles",
        ),
    ] = None,
    spel: Annotated[
        Path | None,
        option("DIR", "A model of SpEL as the linker.", default="titles, row ERTi"),
    ] = None,
    retriever: Annotated[
        list[str] | None,
        option("NAME", "A dense retriever, as in dense-x; may be repeated.", default="none"),
    ] = None,
    reader: ReaderName = None,
    sample: Sample = None,
    cache: CacheFolder = None,
    report: Report = None,
    *,
    reading: opts.Reading,
    base_url: opts.BaseUrl = None,
    output: opts.Output,
) -> None:
    """Repeat Entity Retrieval: Tables 1, 2, 3 and 5, and Figures 3 and 4."""
    from factoid.entities import ArticleStore, EntityLinker, TitleLinker, build_own_articles
    from factoid.evaluate.reproduce.entity_retrieval import reproduce_entity_retrieval

    documents: list[Document] = []
    if corpus or articles is None:
        documents = _documents(corpus, questions, reading)
    titled = [document for document in documents if document.title]
    with _articles(articles, titled, ArticleStore, build_own_articles) as store:
        linkers: dict[str, EntityLinker] = {"ERTi": TitleLinker(store)}
        if spel is not None:
            from factoid.entities.spel.linker import SpELLinker

            linkers = {"ERSp": SpELLinker(spel)}
        dense = {}
        if retriever:
            dense = _retrievers(retriever)
        tables = reproduce_entity_retrieval(
            documents,
            _questions(questions, sample, reading),
            store,
            linkers=linkers,
            retrievers=dense,
            reader=_reader(reader, base_url),
            cache=cache,
            progress=output.progress,
        )
    _print(tables, report, output)


@app.command("factoid-wiki")
@opts.grouped
def factoid_wiki(
    sources: Annotated[
        list[str],
        argument(
            "SOURCE",
            "A MediaWiki XML dump (.xml, .bz2), KILT's knowledge source (.json), Parquet files of "
            "wikimedia/wikipedia, or your own articles (.jsonl, .csv, .tsv).",
        ),
    ],
    store: Annotated[str, option("DIR", "The store to make or to go on with.", default=False)],
    articles: Annotated[
        int | None, option("N", "Only the first N articles.", default="all")
    ] = None,
    workers: Annotated[int, option("N", "Number of processes that read a MediaWiki dump.")] = 1,
    encoder: opts.EncoderName = None,
    cache: opts.CacheFile = None,
    *,
    reading: opts.Reading,
    splitting: opts.Splitting,
    output: opts.Output,
) -> None:
    """Make FactoidWiki: articles as passages, sentences and propositions, and print Table 1.

    Call it again to go on after an interruption: articles that are in the store are skipped.
    """
    from factoid.evaluate.reproduce.corpus import KINDS
    from factoid.evaluate.reproduce.tables import beside_published
    from factoid.store import UnitStore

    records = read_articles(
        list(map(Path, sources)), workers=workers, words=sys.maxsize, limits=reading.limits
    )
    maker = opts.make_propositionizer(splitting)
    with UnitStore(
        store, encoder=opts.make_encoder(encoder), granularities=list(KINDS), index="auto"
    ) as opened:
        added = opened.add_documents(
            _article_documents(records, articles),
            propositionizer=maker,
            words=whole_number("--words", splitting.words),
            join_paragraphs=False,
            cache=cache,
            progress=output.progress,
        )
        measured = _statistics(opened)
    table = beside_published(
        "dense-x",
        "Table 1",
        measured,
        [
            f"{added.documents:,} articles added, {added.unchanged:,} were there; "
            f"{added.decomposition}",
            f"Propositions are made by {getattr(maker, 'name', type(maker).__name__)}.",
        ],
    )
    _print([table], None, output)


# -- What the commands read --


def _documents(
    corpus: Sequence[str] | None, questions: Sequence[str] | None, reading: opts.Reading
) -> list[Document]:
    """Return the documents of files and folders, or those that come with the questions."""
    from factoid.evaluate.datasets import read_dataset_corpus

    if corpus:
        documents = opts.read_corpora(corpus, reading, read_dataset_corpus)
    else:
        documents = []
        for _, file in _pairs("--questions", questions):
            documents += read_dataset_corpus(file, reading.limits) or []
    if not documents:
        raise InvalidInputError(
            "there is no corpus: name files or folders with texts (only SQuAD and FactoidQA come "
            "with theirs)"
        )
    return documents


def _questions(
    questions: Sequence[str] | None, sample: int | None, reading: opts.Reading
) -> dict[str, list[DatasetQuestion]]:
    """Return the questions of each set."""
    from factoid.evaluate.datasets import read_dataset

    asked: dict[str, list[DatasetQuestion]] = {}
    for name, file in _pairs("--questions", questions):
        asked.setdefault(name, []).extend(read_dataset(file, limits=reading.limits))
    if not asked:
        raise InvalidInputError("expected --questions NAME=FILE, as in NQ=nq-test.csv")
    return {name: opts.evenly_spread(rows, sample) for name, rows in asked.items()}


def _pairs(name: str, values: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """Yield the two sides of NAME=VALUE."""
    for value in values or ():
        left, equals, right = value.partition("=")
        if not (left and equals and right):
            raise InvalidInputError(f"{name} takes NAME=VALUE, got {value!r}")
        yield left, right


def _retrievers(names: Sequence[str] | None) -> dict[str, Encoder]:
    """Return retrievers by name: those of the paper by theirs, whatever their folder."""
    from factoid.dual_encoders import RETRIEVERS

    if not names:
        return {_DEFAULT: opts.make_encoder(None)}
    retrievers = {}
    for name in names:
        short = name.partition(":")[0]
        if short not in RETRIEVERS:
            short = Path(name).name
        retrievers[short] = opts.make_encoder(name)
    return retrievers


def _rankers(models: Sequence[str] | None) -> dict[str, AnyGranularityRanker]:
    from factoid.late_interaction import AnyGranularityRanker, LateInteractionEncoder

    if not models:
        encoder = LateInteractionEncoder(None, projection=False)
        return {_TOKENS: AnyGranularityRanker(encoder)}
    rankers = {}
    for name, model in _pairs("--model", models):
        rankers[name] = AnyGranularityRanker(model)
    return rankers


def _last(rankers: dict[str, AnyGranularityRanker]) -> AnyGranularityRanker:
    """Return the model for citations: ours, else the last one."""
    return rankers.get("Ours") or list(rankers.values())[-1]


def _reader(name: str | None, base_url: str | None) -> Reader | None:
    """Return the reader that --reader names, None for none."""
    if name is None:
        return None
    from factoid.readers import CausalReader, ExtractiveReader, FusionReader, Seq2SeqReader

    kind, _, model = name.partition(":")
    if kind == "extractive":
        return ExtractiveReader()
    if kind == "unified-qa":
        return Seq2SeqReader()
    makers: dict[str, Callable[[str], Reader]] = {
        "seq2seq": Seq2SeqReader,
        "fusion": FusionReader,
        "causal": CausalReader,
        "openai": lambda model: _chat_reader(model, base_url),
    }
    if kind not in makers or not model:
        raise InvalidInputError(
            "--reader must be extractive, unified-qa, or seq2seq:MODEL, fusion:MODEL, causal:MODEL "
            f"or openai:MODEL, got {name!r}"
        )
    return makers[kind](model)


def _chat_reader(model: str, base_url: str | None) -> Reader:
    """Return a reader that asks a server with OpenAI's interface."""
    from factoid.errors import PropositionizerError
    from factoid.readers import LLMReader

    openai = require("openai", extra="openai")
    try:
        client = openai.OpenAI(base_url=base_url)
    except openai.OpenAIError as error:
        raise PropositionizerError(str(error)) from error

    def complete(prompt: str) -> str:
        messages = [{"role": "user", "content": prompt}]
        answer = client.chat.completions.create(model=model, messages=messages)
        return answer.choices[0].message.content or ""

    return LLMReader(complete)


def _articles(
    path: Path | None, documents: Sequence[Document], store: Any, build: Callable[..., Any]
) -> Any:
    """Return an article store: the given one, or one in memory that is made of documents."""
    if path is not None:
        return store(path)
    if not documents:
        raise InvalidInputError("no document has a title: give --articles FILE")
    return build(documents, duplicates="join")


def _article_documents(
    sources: Iterable[Iterable[Record]], limit: int | None
) -> Iterator[Document]:
    """Yield the articles of sources as documents; redirects have no text."""
    from factoid.entities import Article

    count = 0
    for source in sources:
        for record in source:
            if isinstance(record, Article) and record.text.strip():
                if count == limit:
                    return
                count += 1
                yield Document(record.text, title=record.title)


def _statistics(store: UnitStore) -> dict[tuple[str, str], float]:
    """Return the number and mean length of the units of each granularity in a store."""
    from factoid.evaluate.reproduce.corpus import KINDS
    from factoid.words import count_words

    units = dict.fromkeys(KINDS, 0)
    words = dict.fromkeys(KINDS, 0)
    ids = store.ids()
    for start in range(0, len(ids), _STATISTICS):
        for unit in store.get(ids[start : start + _STATISTICS]):
            kind = Granularity(unit.granularity)
            units[kind] += 1
            words[kind] += count_words(unit.text)
    measured = {}
    for kind in KINDS:
        measured[kind.title(), "# units"] = float(units[kind])
        measured[kind.title(), "Avg. # words"] = words[kind] / max(units[kind], 1)
    return measured


def _print(tables: Sequence[ReproducedTable], report: Path | None, output: opts.Output) -> None:
    text = "\n\n".join(table.to_markdown() for table in tables)
    if report is not None:
        content = f"{text}\n".encode()
        write_file(report, lambda file: file.write(content))
    output.print([table.to_json() for table in tables], f"{text}\n\n{_LEGEND}")
