"""Questions with what a right result holds, and the files in which people keep them.

Gold is best a *quote with its document*: it survives every splitter, which ids of chunks do not.
The forms that are read are JSON lines, CSV, SQuAD, NQ-open, DPR, EntityQuestions, folders of BEIR
and of TREC, LegalBench-RAG, and the data sets of LlamaIndex and LangSmith.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import Any

from factoid.errors import InvalidInputError, UnreadableFileError, shown
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits
from factoid.files.lines import filled_lines, located, parse_json, parse_object, read_whole
from factoid.files.tables import read_rows
from factoid.units import Document, check_text

# Names of fields and columns, in any case, the best first.
_QUESTION = ("question", "query", "q", "prompt", "input", "user_input")
_ANSWERS = (
    "answers",
    "answer",
    "expected_answer",
    "gold_answer",
    "reference_answer",
    "reference",
    "ground_truth",
    "output",
    "expected",
)
_QUOTES = (
    "quote",
    "quotes",
    "evidence",
    "excerpt",
    "snippet",
    "context",
    "contexts",
    "reference_contexts",
    "passage",
)
_DOCUMENT = (
    "document",
    "documents",
    "document_id",
    "doc",
    "doc_id",
    "source",
    "file",
    "file_path",
    "filename",
    "title",
)
_ID = ("id", "_id", "qid", "question_id", "query_id")
_GENERATED = ("is_generated", "generated", "synthetic")
_POPULARITY = ("popularity", "frequency", "s_pop")  # the last of PopQA

_TOPICS = ("queries.tsv", "topics.tsv", "queries.txt", "topics.txt")
# TREC's topics, with end tags and without: <top> <num> Number: 301 <title> …
_TOPIC = re.compile(r"<top(?:ic)?\b(?P<attributes>[^<>]*)>(?P<body>.*?)</top(?:ic)?>", re.S | re.I)
_NUMBER = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]+)", re.I)
_ATTRIBUTE = re.compile(r"""\bnumber\s*=\s*["']([^"']+)""", re.I)
_TITLE = re.compile(r"<(?:title|query)>\s*(?:Topic:)?([^<]*)", re.I)
_TAG = re.compile(r"<[^<>]*>")
_SEPARATOR = "|"  # of several answers in a cell


@dataclass(frozen=True, slots=True)
class Quote:
    """A text that a right result holds, word for word, and the document in which it stands.

    Attributes:
        text: A run of the document's text; white space and marks of Markdown may differ.
        document: Id, path, file name or title of the document, or "" for any.
    """

    text: str
    document: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """The place of the answer: characters `[start, end)` of a document's text."""

    document: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and how a right result is told from a wrong one.

    A result is right if it covers half of a span or quote. Without those, it is right if it holds
    an answer, in one of the named documents if there are any; and without answers if it is of a
    named document, which cannot tell one granularity from another.

    Attributes:
        text: As it was asked.
        id: Any string, unlike those of other questions.
        answers: Short answers; any of them will do.
        quotes: Evidence, word for word.
        spans: Evidence by place.
        documents: Ids, paths, file names or titles of the documents that answer.
        group: What questions share that are not independent, such as an article of SQuAD; "" for
            the document of the evidence. Resampling draws groups.
        is_generated: Whether a model wrote the question. Pages say so.
        popularity: How often what it asks about occurs, in any unit: pages also show settings for
            rare and for frequent things apart (Dense X Retrieval, Figure 3).

    Raises:
        InvalidInputError: There is no gold, a popularity is below 0, or the text, an answer, a
            quote or a span is empty.
    """

    text: str
    id: str = ""
    answers: tuple[str, ...] = ()
    quotes: tuple[Quote, ...] = ()
    spans: tuple[Span, ...] = ()
    documents: tuple[str, ...] = ()
    group: str = ""
    is_generated: bool = False
    popularity: float | None = None

    def __post_init__(self) -> None:
        check_text(self.text, "question")
        if self.popularity is not None and not 0 <= self.popularity < math.inf:
            raise InvalidInputError(
                f"expected a popularity of at least 0, got {self.popularity} for {self.text!r:.80}"
            )
        if not self.text.strip():
            raise InvalidInputError("a question is empty: leave it out")
        if not (self.answers or self.quotes or self.spans or self.documents):
            raise InvalidInputError(
                f"the question {self.text!r:.80} has no gold: give it a quote with its document, "
                "or answers"
            )
        texts = list(self.answers)
        for quote in self.quotes:
            texts.append(quote.text)
        if not all(map(str.strip, texts)):
            raise InvalidInputError(
                f"an answer or a quote of {self.text!r:.80} is empty: leave it out"
            )
        for span in self.spans:
            if not 0 <= span.start < span.end:
                raise InvalidInputError(
                    f"expected a span with 0 <= start < end, got {span.start} and {span.end} "
                    f"for {self.text!r:.80}"
                )


# -- Files --


def read_questions(
    path: str | Path, *, split: str = "test", limits: ReadLimits = DEFAULT_LIMITS
) -> list[Question]:
    """Return the questions of a file or folder, whose form is told from its content.

    Args:
        path: JSON lines, CSV or TSV, JSON (SQuAD, DPR, EntityQuestions, LegalBench-RAG, LlamaIndex,
            or a list of objects), or a folder of BEIR or TREC.
        split: Which judgements of a BEIR folder: qrels/SPLIT.tsv.
        limits: What a file may ask for.

    Raises:
        UnreadableFileError: The file is missing or damaged, is of another form, or has no question
            with gold; the message says what was expected.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    whole = None
    if suffix == ".json" and not path.is_dir():
        whole = _json(path, limits)
    with _damage_located(path):
        if path.is_dir():
            questions = list(_read_judged(path, split, limits))
        elif suffix in (".csv", ".tsv"):
            questions = list(_read_table(path, limits))
        elif whole is not None:
            questions = list(_of_json(whole))
        else:
            questions = list(_read_lines(path, limits))
    if not questions:
        raise UnreadableFileError(
            f"{path} holds no question with gold: expected lines such as "
            '{"question": "…", "quote": "…", "document": "…"}'
        )
    return _numbered(questions)


def read_corpus(path: str | Path, limits: ReadLimits = DEFAULT_LIMITS) -> list[Document] | None:
    """Return the documents that come with a data set: paragraphs of SQuAD, the corpus of BEIR.

    None if the path is neither, but a file or folder of texts.

    Raises:
        UnreadableFileError: A file is damaged, or a field is missing in it.
    """
    path = Path(path)
    corpus = path / "corpus.jsonl"
    if corpus.is_file():
        with _damage_located(corpus):
            return list(_read_texts(corpus, limits))
    if path.suffix.lower() != ".json" or not path.is_file():
        return None
    whole = _json(path, limits)
    if not _is_squad(whole):
        return None
    documents = {}
    with _damage_located(path):
        for article in whole["data"]:
            title = _title(_checked(article))
            for paragraph in article["paragraphs"]:
                document = Document(paragraph["context"], title=title)
                documents[document.id] = document
    return list(documents.values())


def _read_texts(corpus: Path, limits: ReadLimits) -> Iterator[Document]:
    """Yield the documents of BEIR."""
    for row in _objects(corpus, limits):
        title = str(row.get("title", ""))
        yield Document(str(row["text"]), title=title, id=str(row["_id"]))


@contextmanager
def _damage_located(path: Path) -> Iterator[None]:
    """Turn what a missing field or an odd value raises into an UnreadableFileError."""
    try:
        yield
    except InvalidInputError as error:
        raise UnreadableFileError(f"{path}: {error}") from error
    except KeyError as error:
        raise UnreadableFileError(
            f"{path} has another layout than its data set: {error} is missing in it"
        ) from error
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise UnreadableFileError(
            f"{path} has another layout than its data set: {error}"
        ) from error


def _numbered(questions: Iterable[Question]) -> list[Question]:
    """Return questions with distinct ids: a missing one is a number, a repeated one gets it."""
    seen: set[str] = set()
    numbered = []
    for number, question in enumerate(questions, start=1):
        name = question.id or str(number)
        if name in seen:
            name = f"{name} ({number})"
        seen.add(name)
        numbered.append(replace(question, id=name))
    return numbered


def _json(path: Path, limits: ReadLimits) -> Any:
    """Return the value of a JSON file, or None if it has an object in each line."""
    try:
        return parse_json(read_whole(path, limits))
    except InvalidInputError as error:
        _, first = next(filled_lines(path, limits), (0, b""))
        try:
            parse_object(first)
        except InvalidInputError:
            raise UnreadableFileError(f"{path}: {error}") from error
        return None


def _objects(path: Path, limits: ReadLimits) -> Iterator[dict[str, Any]]:
    for number, line in filled_lines(path, limits):
        with located(f"{path}:{number}"):
            yield parse_object(line)


# -- Forms --


def _of_json(whole: Any) -> Iterator[Question]:
    """Yield the questions of a JSON value of any form."""
    if _is_squad(whole):
        return _of_squad(whole["data"])
    if isinstance(whole, Mapping):
        for key, read in _BY_KEY.items():
            if key in whole:
                return read(whole)
    if isinstance(whole, list):
        return map(_of_fields, map(_checked, whole))
    raise InvalidInputError(
        "expected SQuAD's data, LegalBench-RAG's tests, a data set of LlamaIndex or a list of "
        f"questions, got {shown(whole)}"
    )


def _is_squad(whole: Any) -> bool:
    return isinstance(whole, Mapping) and isinstance(whole.get("data"), list)


def _title(article: Mapping[str, Any]) -> str:
    return str(article.get("title", "")).replace("_", " ")


def _of_squad(articles: Sequence[Mapping[str, Any]]) -> Iterator[Question]:
    """Yield questions with an answer.

    As in the papers, an answer counts in whichever passage it stands.
    """
    for article in articles:
        for paragraph in _checked(article).get("paragraphs", ()):
            for entry in paragraph["qas"]:
                answers = [answer["text"] for answer in entry["answers"]]
                if answers:
                    yield Question(
                        text=entry["question"],
                        id=str(entry.get("id", "")),
                        answers=tuple(dict.fromkeys(answers)),
                        group=_title(article),
                    )


def _of_legalbench(whole: Mapping[str, Any]) -> Iterator[Question]:
    for test in whole["tests"]:
        spans = []
        for snippet in test["snippets"]:
            start, end = map(int, snippet["span"])
            spans.append(Span(str(snippet["file_path"]), start, end))
        yield Question(text=test["query"], spans=tuple(spans))


def _of_labelled(whole: Mapping[str, Any]) -> Iterator[Question]:
    """Yield the questions of LlamaIndex's `LabelledRagDataset`."""
    for example in whole["examples"]:
        is_generated = "ai" in str(example.get("query_by") or "").lower()
        yield _of_fields({**_checked(example), "is_generated": is_generated})


def _of_pairs(whole: Mapping[str, Any]) -> Iterator[Question]:
    """Yield the questions of LlamaIndex's `EmbeddingQAFinetuneDataset`.

    The texts of nodes are quotes.
    """
    for key, text in whole["queries"].items():
        nodes = whole["relevant_docs"][key]
        quotes = [Quote(whole["corpus"][node]) for node in nodes]
        yield Question(text=text, id=key, quotes=tuple(quotes))


_BY_KEY: dict[str, Callable[[Mapping[str, Any]], Iterator[Question]]] = {
    "tests": _of_legalbench,
    "examples": _of_labelled,
    "relevant_docs": _of_pairs,
}


def _read_lines(path: Path, limits: ReadLimits) -> Iterator[Question]:
    for number, line in filled_lines(path, limits):
        with located(f"{path}:{number}"):
            if number == 1 and not line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{"):
                raise InvalidInputError(
                    "expected a question in each line, as a JSON object, or a file that ends in "
                    f".csv, .tsv or .json, got {shown(line.decode(errors='replace'), 80)}"
                )
            yield _of_fields(parse_object(line))


def _read_table(path: Path, limits: ReadLimits) -> Iterator[Question]:
    _, first = next(filled_lines(path, limits), (0, b""))
    cells = first.decode(errors="replace").rstrip("\r\n").split("\t")
    if len(cells) == 2 and cells[1].lstrip('" ').startswith("["):
        yield from _read_dpr_table(path, limits)  # which has no header
        return
    for row in read_rows(path, limits):
        if row.cells:
            with located(f"{path}{row.place}"):
                yield _of_fields(row.cells)


def _read_dpr_table(path: Path, limits: ReadLimits) -> Iterator[Question]:
    """Yield the questions of DPR's tables: a question, a tab, and a list as Python writes it."""
    for number, line in filled_lines(path, limits):
        with located(f"{path}:{number}"):
            text, _, answers = line.decode().strip().partition("\t")
            yield Question(text=text, answers=_texts(answers.strip('"').replace('""', '"')))


def _read_judged(folder: Path, split: str, limits: ReadLimits) -> Iterator[Question]:
    """Yield the questions of a BEIR or TREC folder, with the documents judged relevant."""
    texts = _texts_of_queries(folder, limits)
    choices = [folder / "qrels" / f"{split}.tsv", *sorted(folder.glob("*qrels*"))]
    judgements = [file for file in choices if file.is_file()]
    if not texts or not judgements:
        raise UnreadableFileError(
            f"{folder} is no folder of BEIR (queries.jsonl, qrels/{split}.tsv) or TREC "
            f"({', '.join(_TOPICS[:2])} and a file of qrels): name the file with the questions"
        )
    relevant: dict[str, list[str]] = {}
    for number, line in filled_lines(judgements[0], limits):
        cells = line.decode().split()
        if number == 1 and not cells[-1].lstrip("-").isdigit():
            continue  # BEIR's header
        if len(cells) not in (3, 4):
            raise UnreadableFileError(
                f"{judgements[0]}:{number}: expected query, document and grade, got "
                f"{shown(line.decode())}"
            )
        if int(cells[-1]) > 0:
            relevant.setdefault(cells[0], []).append(cells[-2])
    for key, documents in relevant.items():
        if key in texts:
            yield Question(text=texts[key], id=key, documents=tuple(documents))


def _texts_of_queries(folder: Path, limits: ReadLimits) -> dict[str, str]:
    """Return the text of each query of a BEIR or TREC folder, by its id."""
    texts: dict[str, str] = {}
    queries = folder / "queries.jsonl"
    if queries.is_file():
        for row in _objects(queries, limits):
            texts[str(row["_id"])] = str(row["text"])
    if texts:
        return texts
    files = [folder / name for name in _TOPICS]
    for topics in [*files, *sorted(folder.glob("*topics*"))]:
        if topics.is_file():
            texts = _texts_of_topics(topics, limits)
        if texts:
            break
    return texts


def _texts_of_topics(file: Path, limits: ReadLimits) -> dict[str, str]:
    """Return the titles of TREC's topics, by number, from its markup or from lines with a tab."""
    texts: dict[str, str] = {}
    whole = read_whole(file, limits).decode(errors="replace")
    for topic in _TOPIC.finditer(whole):
        number = _NUMBER.search(topic["body"]) or _ATTRIBUTE.search(topic["attributes"])
        title = _TITLE.search(topic["body"])
        if title is not None:
            text = title[1]
        else:
            text = _TAG.sub(" ", _NUMBER.sub(" ", topic["body"]))
        if number is not None and text.strip():
            texts[number[1]] = " ".join(unescape(text).split())
    if texts:
        return texts
    for line in whole.splitlines():
        key, tab, text = line.strip().partition("\t")
        if tab:
            texts[key] = text
    return texts


# -- Fields --


def _checked(fields: Any) -> dict[str, Any]:
    if not isinstance(fields, Mapping):
        raise InvalidInputError(f"expected an object with a question, got {shown(fields)}")
    return dict(fields)


def reference_texts(fields: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the answers and the quotes in an object, whatever its fields are called."""
    by_name = _by_name(fields)
    answers = _texts(_first(by_name, _ANSWERS))
    quotes = _texts(_first(by_name, _QUOTES), separator=None)
    return list(answers), list(quotes)


def _by_name(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields by their names as `_first` looks for them."""
    by_name = {}
    for key, value in fields.items():
        name = str(key).strip().lower().replace(" ", "_")
        by_name[name] = value
    return by_name


def _of_fields(fields: Mapping[str, Any]) -> Question:
    """Return the question in an object or a row, whatever its fields are called."""
    for side in ("inputs", "outputs", "reference_outputs"):  # LangSmith's
        if isinstance(fields.get(side), Mapping):
            fields = {**fields, **fields[side]}
    by_name = _by_name(fields)
    text = _first(by_name, _QUESTION)
    if text is None:
        raise InvalidInputError(
            f"no question: expected a field such as {', '.join(_QUESTION[:3])}, got "
            f"{', '.join(map(str, fields))}"
        )
    documents = _texts(_first(by_name, _DOCUMENT))
    document = ""
    if documents:
        document = documents[0]
    texts_of_quotes = _texts(_first(by_name, _QUOTES), separator=None)
    quotes = [Quote(quote, document) for quote in texts_of_quotes]
    spans: tuple[Span, ...] = ()
    if "start" in by_name and "end" in by_name:
        start = _number(by_name["start"])
        end = _number(by_name["end"])
        spans = (Span(document, start, end),)
    generated = _first(by_name, _GENERATED)
    return Question(
        text=str(text),
        id=str(_first(by_name, _ID) or ""),
        answers=_texts(_first(by_name, _ANSWERS)),
        quotes=tuple(quotes),
        spans=spans,
        documents=documents,
        group=str(by_name.get("group") or ""),
        is_generated=str(generated).strip().lower() in ("true", "1", "yes"),
        popularity=_popularity(by_name),
    )


def _popularity(by_name: Mapping[str, Any]) -> float | None:
    """Return the count in the first such field, or None."""
    for name in _POPULARITY:
        value = by_name.get(name)
        if value is not None and str(value).strip():
            try:
                return float(str(value).replace(",", ""))
            except ValueError as error:
                raise InvalidInputError(
                    f"expected a count as {name}, got {shown(value)}"
                ) from error
    return None


def _first(by_name: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the first of some fields that is there and not empty."""
    for name in names:
        if by_name.get(name):
            return by_name[name]
    return None


def _number(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"expected a number of characters, got {shown(value)}") from error


def _texts(value: Any, separator: str | None = _SEPARATOR) -> tuple[str, ...]:
    """Return one or several texts.

    A value is a list, a list as JSON or Python write it, or texts between separators.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            try:
                value = ast.literal_eval(value.strip())
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                value = [value]
        elif separator is not None:
            value = value.split(separator)
    if not isinstance(value, list | tuple):
        value = [value]
    texts = [str(text).strip() for text in value if isinstance(text, str | int | float)]
    return tuple(dict.fromkeys(filter(None, texts)))
