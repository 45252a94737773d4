"""The question sets of the papers, in the files in which they are published.

Natural Questions (open), TriviaQA, Web Questions, SQuAD, EntityQuestions, PopQA, FactoidQA and
StrategyQA. The form is told from the content; `read_questions` reads many other forms, but keeps
neither the entities of a question, nor their popularity, nor answers of yes and no.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factoid.entities.articles.names import canonical_title
from factoid.errors import InvalidInputError, UnreadableFileError, shown
from factoid.evaluate.questions import read_corpus, read_questions
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits
from factoid.files.lines import filled_lines, parse_json, parse_object, read_whole
from factoid.units import Document

_TEMPLATES = "relation_query_templates.json"  # of EntityQuestions
_PAIRS = "question_answer_pairs.txt"  # of FactoidQA, in a folder for each year
_RELATION = re.compile(r"P\d+")
_NOTHING = ("", "NULL")
_DESCRIPTION = re.compile(r'\(description (?:"((?:[^"\\]|\\.)*)"|([^()"]+))\)')


@dataclass(frozen=True, slots=True)
class DatasetQuestion:
    """A question of a data set.

    Attributes:
        text: The question.
        answers: The expected answers, any of which counts; empty for a question of yes or no.
        truth: The answer to a question of yes or no, else None.
        entities: Titles of the articles about the entities that the question is annotated with.
        popularity: A number that says how well the entity is known, None if none is given.
        source: The title of the article that the question was written for, or "".
    """

    text: str
    answers: tuple[str, ...] = ()
    truth: bool | None = None
    entities: tuple[str, ...] = ()
    popularity: float | None = None
    source: str = ""


def read_dataset(path: str | Path, *, limits: ReadLimits = DEFAULT_LIMITS) -> list[DatasetQuestion]:
    """Return the questions of a data set that have an answer.

    Args:
        path: A file of a data set named above, or a folder: of EntityQuestions' relations, or of
            FactoidQA's years. EntityQuestions' entities are found by
            `relation_query_templates.json` in its folder or one above.
        limits: What a file may ask for.

    Raises:
        UnreadableFileError: The file is missing, damaged or of another form, or has no question
            with an answer.
    """
    path = Path(path)
    try:
        questions = list(_read(path, limits))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidInputError | UnreadableFileError):
            raise
        raise UnreadableFileError(
            f"{path} has another layout than its data set: {type(error).__name__} {error}"
        ) from error
    if not questions:
        raise UnreadableFileError(f"{path} holds no question with an answer")
    return questions


def read_dataset_corpus(
    path: str | Path, limits: ReadLimits = DEFAULT_LIMITS
) -> list[Document] | None:
    """Return the documents that come with a data set: SQuAD's paragraphs, FactoidQA's articles.

    None if it comes with none.

    Raises:
        UnreadableFileError: A file is damaged.
    """
    path = Path(path)
    if path.is_dir():
        documents = []
        for file in sorted(path.glob("*/data/*/*.txt.clean")):
            title, _, text = _decoded(file, limits).partition("\n")
            documents.append(Document(text.strip(), title=canonical_title(title.strip())))
        if documents:
            return documents
    return read_corpus(path, limits)


def _read(path: Path, limits: ReadLimits) -> Iterator[DatasetQuestion]:
    if path.is_dir():
        return _of_folder(path, limits)
    if path.name == _PAIRS:
        return _of_factoidqa(path, limits)
    if path.suffix.lower() == ".tsv":
        text = _decoded(path, limits)
        if "possible_answers" in text.partition("\n")[0]:
            return _of_popqa(text)
    if path.suffix.lower() == ".json":
        whole = _json(path, limits)
        if isinstance(whole, Mapping) and "Data" in whole:
            return _of_triviaqa(whole["Data"])
        if isinstance(whole, list) and whole:
            return _of_rows(whole, path, limits)
    if path.suffix.lower() in (".jsonl", ".json"):
        rows = [parse_object(line) for _, line in _first_lines(path, limits)]
        if rows and _is_special(rows[0]):
            return map(_of_row, (parse_object(line) for _, line in filled_lines(path, limits)))
    return _general(path, limits)


def _general(path: Path, limits: ReadLimits) -> Iterator[DatasetQuestion]:
    """Yield questions of the forms that `read_questions` knows."""
    for question in read_questions(path, limits=limits):
        if question.answers:
            yield DatasetQuestion(question.text, question.answers, source=question.group)


def _json(path: Path, limits: ReadLimits) -> Any:
    try:
        return parse_json(read_whole(path, limits))
    except InvalidInputError:
        return None  # an object in each line, or damaged, as `read_questions` will say


def _first_lines(path: Path, limits: ReadLimits) -> list[tuple[int, bytes]]:
    for number, line in filled_lines(path, limits):
        if line.lstrip().startswith(b"{") and line.rstrip().endswith(b"}"):
            return [(number, line)]
        break
    return []


def _is_special(row: Mapping[str, Any]) -> bool:
    """Return whether a row is of a form that `read_questions` does not know."""
    is_boolean = isinstance(row.get("answer"), bool)
    is_nested = isinstance(row.get("answer"), Mapping)
    return is_boolean or is_nested or "qText" in row or "utterance" in row


def _of_rows(rows: Sequence[Any], path: Path, limits: ReadLimits) -> Iterator[DatasetQuestion]:
    if not isinstance(rows[0], Mapping):
        raise InvalidInputError(f"{path}: expected a list of objects, got {shown(rows[0])}")
    if _is_special(rows[0]):
        return map(_of_row, rows)
    relation = _RELATION.match(path.name)
    if relation is not None:
        return _of_relation(rows, _template(path, relation[0], limits))
    return _general(path, limits)


def _of_row(row: Mapping[str, Any]) -> DatasetQuestion:
    """Return a question of StrategyQA, Web Questions, or TriviaQA as a row."""
    if "qText" in row:
        return DatasetQuestion(row["qText"], tuple(map(str, row["answers"])))
    if "utterance" in row:
        answers = []
        for quoted, bare in _DESCRIPTION.findall(row["targetValue"]):
            answers.append((quoted or bare).replace('\\"', '"').strip())
        return DatasetQuestion(row["utterance"], tuple(answers))
    answer = row["answer"]
    if isinstance(answer, bool):
        # The term that it was written for is no annotation: the paper has none for this set.
        return DatasetQuestion(row["question"], truth=answer, source=str(row.get("term", "")))
    return DatasetQuestion(row["question"], _aliases(answer))


def _of_triviaqa(entries: Iterable[Mapping[str, Any]]) -> Iterator[DatasetQuestion]:
    for entry in entries:
        if "Answer" in entry:
            yield DatasetQuestion(entry["Question"], _aliases(entry["Answer"]))


def _aliases(answer: Mapping[str, Any]) -> tuple[str, ...]:
    by_name = {name.lower(): value for name, value in answer.items()}
    return tuple(dict.fromkeys([by_name["value"], *by_name.get("aliases", ())]))


def _of_popqa(text: str) -> Iterator[DatasetQuestion]:
    for row in csv.DictReader(io.StringIO(text), delimiter="\t"):
        title = row.get("s_wiki_title") or row.get("subj") or ""
        popularity = None
        if row.get("s_pop"):
            popularity = float(row["s_pop"])
        entities = tuple(filter(None, [title]))
        answers = tuple(parse_json(row["possible_answers"]))
        yield DatasetQuestion(
            row["question"], answers, entities=entities, popularity=popularity, source=title
        )


# -- EntityQuestions --


def _of_folder(folder: Path, limits: ReadLimits) -> Iterator[DatasetQuestion]:
    years = sorted(folder.glob(f"*/{_PAIRS}"))
    for file in years:
        yield from _of_factoidqa(file, limits)
    if years:
        return
    for file in sorted(folder.glob("*.json")):
        if _RELATION.match(file.name):
            yield from _read(file, limits)


def _template(path: Path, relation: str, limits: ReadLimits) -> str:
    """Return the template of a relation's questions, "" if there is no file of templates."""
    for folder in path.resolve().parents[:4]:
        file = folder / _TEMPLATES
        if file.is_file():
            return str(parse_object(read_whole(file, limits)).get(relation, ""))
    return ""


def _of_relation(rows: Sequence[Any], template: str) -> Iterator[DatasetQuestion]:
    before, _, after = template.partition("[X]")
    for row in rows:
        text = row["question"]
        entities: tuple[str, ...] = ()
        if template and text.startswith(before) and text.endswith(after):
            entities = (text[len(before) : len(text) - len(after)],)
        yield DatasetQuestion(text, tuple(row["answers"]), entities=entities)


# -- FactoidQA --


def _of_factoidqa(file: Path, limits: ReadLimits) -> Iterator[DatasetQuestion]:
    """Yield the questions of a year; rows with one question are answers to it."""
    header, *lines = _decoded(file, limits).split("\n")
    columns = header.strip().split("\t")
    rows: dict[tuple[str, str], list[str]] = {}
    texts: dict[tuple[str, str], str] = {}
    for line in lines:
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != len(columns):
            continue  # the end of the file
        row = dict(zip(columns, cells, strict=True))
        text = row["Question"]
        if text in _NOTHING or row["Answer"] in _NOTHING:
            continue
        key = (canonical_title(row["ArticleTitle"]), " ".join(text.lower().split()))
        texts.setdefault(key, text)
        rows.setdefault(key, []).append(row["Answer"])
    for key, answers in rows.items():
        title, _ = key
        yield DatasetQuestion(
            texts[key], tuple(dict.fromkeys(answers)), entities=(title,), source=title
        )


def _decoded(file: Path, limits: ReadLimits) -> str:
    """Return a text in UTF-8 or, line by line where it is not, in Windows-1252."""
    lines = []
    for line in read_whole(file, limits).split(b"\n"):
        try:
            lines.append(line.decode().rstrip("\r"))
        except UnicodeDecodeError:
            lines.append(line.decode("cp1252", errors="replace").rstrip("\r"))
    return "\n".join(lines)
