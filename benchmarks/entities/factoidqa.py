"""Questions about Wikipedia articles, and the articles (Smith et al., 2008; FactoidQA in Entity
Retrieval, §4.2).

Of the data set's three years, those whose folders lie in the given one. Files are read line by
line, as UTF-8 or, where a line is not, as Windows-1252.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from factoid.entities.articles.article import Article
from factoid.entities.articles.names import canonical_title
from factoid.evaluate.answers import normalize_answer

_COLUMNS = [
    "ArticleTitle",
    "Question",
    "Answer",
    "DifficultyFromQuestioner",
    "DifficultyFromAnswerer",
    "ArticleFile",
]
_PAIRS = "question_answer_pairs.txt"
_NOTHING = {"", "NULL"}


@dataclass(frozen=True)
class Question:
    """A question about an article.

    Attributes:
        text: As it is written, without white space around it.
        answers: Distinct answers of those who answered it, in order; several rows of the data set
            are one question.
        title: Of the article, as MediaWiki shows it.
        difficulty: From who asked it: "easy", "medium", "hard", or "" where it is not told.
        yes_no: Whether all answers are a yes or a no, which documents do not hold as they hold a
            name.
    """

    text: str
    answers: tuple[str, ...]
    title: str
    difficulty: str
    yes_no: bool


@dataclass(frozen=True)
class FactoidQA:
    """What was read.

    Attributes:
        questions: Those with an answer.
        articles: All of them, also those that nobody asked about.
        rows: Question-answer pairs in the files.
        left_out: Rows without a question or an answer, by reason.
    """

    questions: list[Question]
    articles: list[Article]
    rows: int
    left_out: Counter[str]


def read(folder: Path) -> FactoidQA:
    """Read the data set.

    Raises:
        FileNotFoundError: There is no year of it in the folder.
        ValueError: A row has other columns, or names an article that is not there.
    """
    files = sorted(folder.glob(f"*/{_PAIRS}"))
    if not files:
        raise FileNotFoundError(f"{folder} holds no */{_PAIRS}")
    found: dict[tuple[str, str], list[list[str]]] = {}
    articles: dict[str, Article] = {}
    rows = 0
    left_out = Counter[str]()
    for file in files:
        own = {}
        for path in sorted(file.parent.glob("data/*/*.txt.clean")):
            own[path] = _article(path)
            articles[own[path].title] = own[path]
        for number, row in _rows(file):
            rows += 1
            title = canonical_title(row[0])
            question = row[1]
            answer = row[2]
            article = row[5]
            path = file.parent / f"{article}.txt.clean"
            if path not in own or own[path].title != title:
                raise ValueError(f"{file}, line {number}: no article {title!r} in {article!r}")
            if question in _NOTHING:
                left_out["no question"] += 1
                continue
            if answer in _NOTHING:
                left_out["no answer"] += 1
                continue
            found.setdefault((title, " ".join(question.lower().split())), []).append(row)
    questions = [_question(title, rows_of_one) for (title, _), rows_of_one in found.items()]
    return FactoidQA(questions, list(articles.values()), rows, left_out)


def _question(title: str, rows: list[list[str]]) -> Question:
    answers = tuple(dict.fromkeys(row[2] for row in rows))
    difficulty = next((row[3] for row in rows if row[3] not in _NOTHING), "")
    yes_no = all(normalize_answer(answer) in ("yes", "no", "true", "false") for answer in answers)
    return Question(rows[0][1], answers, title, difficulty, yes_no)


def _rows(file: Path) -> list[tuple[int, list[str]]]:
    """Return the rows with the numbers of their lines."""
    header, *lines = _lines(file)
    if header.split("\t") != _COLUMNS:
        raise ValueError(
            f"{file} begins with {header!r}, expected the columns {', '.join(_COLUMNS)}"
        )
    rows = []
    for number, line in enumerate(lines, start=2):
        row = list(map(str.strip, line.split("\t")))
        if len(row) != len(_COLUMNS):
            raise ValueError(
                f"{file}, line {number}: expected {len(_COLUMNS)} columns, got {len(row)}"
            )
        rows.append((number, row))
    return rows


def _article(path: Path) -> Article:
    title, *lines = _lines(path)
    return Article(canonical_title(title), "\n".join(lines).strip())


def _lines(path: Path) -> list[str]:
    lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    return [_decode(line).rstrip("\r") for line in lines]


def _decode(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", errors="replace")  # five bytes mean nothing in it
