from __future__ import annotations

import json
import re

import pytest

from factoid.evaluate.comparison import Comparison

pytest.importorskip("jinja2")

LINES = [
    {"question": "How high is the tower?", "answers": ["56 m"], "document": "pisa.md"},
    {
        "question": "Who straightened it?",
        "quote": "John Burland straightened it",
        "document": "Leaning Tower of Pisa",
    },
    {"question": "When did the Vasa sink?", "answers": ["1628"], "document": "vasa.md"},
]
CSV = "question,answer,source\nHow high is the tower?,56 m,pisa.md\nWhen did the Vasa sink?,1628,vasa.md\n"


@pytest.fixture
def asked(tmp_path):
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, LINES)), encoding="utf-8")
    return file


def test_one_command_writes_a_page(run, docs, asked, tmp_path):
    page = tmp_path / "out" / "page.html"
    page.parent.mkdir()
    code, out, err = run("compare", docs, "--questions", asked, "--page", page)
    assert code == 0, err
    assert out.startswith("3 questions about 2 documents cannot tell ")
    assert (
        "settings apart: keep passages + propositions, the default, until there are more questions."
        in out
    )
    assert "few questions: 3 questions are few" in err
    assert "cost: about" in err
    assert f"wrote {page}" in out
    assert "How high is the tower?" in page.read_text(encoding="utf-8")
    saved = Comparison.load(page.with_suffix(".results.json"))
    assert [question.text for question in saved.asked] == [line["question"] for line in LINES]
    # The next run has its answers in the cache.
    before = page.read_bytes()
    results = page.with_suffix(".results.json")
    table = tmp_path / "table.csv"
    code, out, _ = run(
        "compare", docs, "--questions", asked, "--page", page, "--earlier", results, "--csv", table
    )
    assert code == 0
    assert page.read_bytes() == before
    assert out.startswith("nothing differs")
    assert table.read_text(encoding="utf-8").count("How high is the tower?") == len(saved.tried)


def test_csv_and_chosen_settings(run, docs, tmp_path):
    file = tmp_path / "questions.csv"
    file.write_text(CSV)
    page = tmp_path / "page.html"
    arguments = [
        "--questions",
        file,
        "--page",
        page,
        "--setting",
        "passages",
        "--setting",
        "words only",
    ]
    code, out, err = run(
        "compare", docs, *arguments, "--measure", "MRR", "--sample", 1, "--json", "-q"
    )
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert list(found["means"]) == ["passages", "words only"]
    assert "so far MRR is the same with all settings" in found["sentence"]
    assert found["sentence"].startswith(
        "1 question about 1 document cannot tell 2 of 2 settings apart"
    )


def test_settings_on_demand(run, docs, asked, tmp_path):
    pytest.importorskip("langchain_text_splitters")
    names = ["words only", "reranked by tokens", "sections of 40 characters + BM25"]
    arguments = [part for name in names for part in ("--setting", name)]
    arguments += ["--chunk", 40, "--page", tmp_path / "p.html", "--json", "-q"]
    code, out, err = run("compare", docs, "--questions", asked, *arguments)
    assert (code, err) == (0, "")
    assert list(json.loads(out)["means"]) == names


def test_a_dry_run_writes_nothing(run, docs, asked, tmp_path):
    code, out, err = run(
        "compare",
        docs,
        "--questions",
        asked,
        "--page",
        tmp_path / "p.html",
        "--dry-run",
        "--price",
        2,
    )
    assert (code, out) == (0, "")
    assert re.search(
        r"cost: about \d+ texts of \d+ tokens to encode, \d+ s from cold, for 0.00", err
    )
    assert not list(tmp_path.glob("p.*"))


def test_squad_is_corpus_and_questions(run, tmp_path):
    paragraph = {
        "context": "The Vasa sank in 1628. She lay there.",
        "qas": [{"id": "a", "question": "When did it sink?", "answers": [{"text": "1628"}]}],
    }
    file = tmp_path / "dev.json"
    file.write_text(json.dumps({"data": [{"title": "Vasa", "paragraphs": [paragraph]}]}))
    code, out, err = run("compare", file, "--questions", file, "--page", tmp_path / "p.html", "-q")
    assert code == 0, err
    assert "1 question about 1 document cannot" in out


@pytest.mark.parametrize(
    ("questions", "arguments", "message"),
    [
        ("", [], "holds no question with gold"),
        ('{"text": "x"}', [], "no question: expected a field such as"),
        (
            '{"question": "Why?", "answers": ["gold bars"]}',
            [],
            "the gold of none of 1 questions: check that",
        ),
        (
            '{"question": "Why?", "answers": ["1628"]}',
            ["--setting", "pages"],
            "--setting must be one of passages",
        ),
        (
            '{"question": "Why?", "answers": ["1628"]}',
            ["--measure", "P@5"],
            "expected a measure such as",
        ),
        (
            '{"question": "Why?", "answers": ["1628"]}',
            ["--baseline", "x"],
            "the baseline must be one of",
        ),
        (
            '{"question": "Why?", "answers": ["1628"]}',
            ["--sample", "0"],
            "--sample must be at least 1",
        ),
    ],
)
def test_errors_are_one_line(run, docs, tmp_path, questions, arguments, message):
    file = tmp_path / "q.jsonl"
    file.write_text(questions)
    code, out, err = run(
        "compare", docs, "--questions", file, "--page", tmp_path / "p.html", *arguments
    )
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("option", ["--page", "--csv"])
def test_inputs_are_not_overwritten(run, docs, asked, option):
    before = asked.read_bytes()
    code, _, err = run("compare", docs, "--questions", asked, option, asked)
    assert (code, "would be overwritten: name another file" in err) == (1, True)
    assert asked.read_bytes() == before


@pytest.mark.parametrize("option", ["--page", "--csv"])
def test_no_folder_is_an_output(run, docs, asked, tmp_path, option):
    code, out, err = run("compare", docs, "--questions", asked, option, tmp_path)
    assert (code, out) == (1, "")
    assert f"{tmp_path} is a folder: name a file to write" in err


def test_a_missing_file_and_an_empty_corpus(run, docs, asked, tmp_path):
    code, _, err = run("compare", docs, "--questions", tmp_path / "none.csv")
    assert (code, err.count("\n")) == (1, 1)
    assert "there is no file" in err
    assert (
        "write one with the columns question, quote and document, or let a chat model write it"
        in err
    )
    (tmp_path / "empty").mkdir()
    code, _, err = run("compare", tmp_path / "empty", "--questions", asked)
    assert code == 1
    (tmp_path / "empty" / "blank.md").write_text(" \n")
    code, _, err = run("compare", tmp_path / "empty", "--questions", asked)
    assert (code, "the corpus holds no text" in err) == (1, True)


# -- A reader, written questions, figures --


class Client:
    """A server that quotes the last sentence of a passage, and reads "1628" from everything."""

    def __init__(self, base_url=None):
        assert base_url == "http://127.0.0.1:9/v1"
        self.chat = self
        self.completions = self

    def create(self, messages, model, temperature):
        assert (model, temperature) == ("tiny", 0.0)
        prompt = messages[0]["content"]
        content = "1628"
        if "Write one question" in prompt:
            quote = re.split(r"(?<=\.)\s", prompt.rpartition("Passage: ")[2].strip())[-1]
            question = f"Which facts about {quote.split()[1]} are worth knowing today?"
            content = json.dumps(
                {"question": question, "quote": quote, "answer": quote.split()[-1].strip(".")}
            )
        return {"choices": [{"message": {"content": content}}]}


@pytest.fixture
def chat(monkeypatch):
    openai = pytest.importorskip("openai")
    monkeypatch.setattr(openai, "OpenAI", Client)
    return ["--model", "tiny", "--base-url", "http://127.0.0.1:9/v1"]


@pytest.fixture
def long_docs(tmp_path):
    folder = tmp_path / "long"
    folder.mkdir()
    for name in ("Vasa", "Mars", "Fram"):
        text = (
            f"{name} was a ship of oak and had a crew of many men who came from the towns of "
            "the coast. "
        )
        (folder / f"{name}.md").write_text(
            f"# {name}\n\n{text * 2}Old {name} sank near Lund{name}.\n"
        )
    return folder


def test_a_model_writes_the_questions(run, long_docs, chat, tmp_path):
    file = tmp_path / "written.jsonl"
    arguments = [
        "compare",
        long_docs,
        "--questions",
        file,
        "--page",
        tmp_path / "p.html",
        "--write-questions",
        2,
    ]
    code, out, err = run(*arguments, *chat, "--dry-run")
    assert (code, file.exists()) == (0, False)
    assert "cost: about 3 requests to write questions" in err
    code, out, err = run(*arguments, *chat)
    assert code == 0, err
    assert f"wrote 2 questions from 3 passages into {file}: look at them" in " ".join(err.split())
    assert "2 questions written by a model" in out
    assert "generated questions: 2 questions were written by a model" in err
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert all(line["is_generated"] and line["document"].endswith(".md") for line in lines)
    code, _, err = run(*arguments, *chat)
    assert (code, "exists: leave out --write-questions to use it" in err) == (1, True)
    code, out, _ = run(*arguments[:-2], "--json", "-q")
    assert (code, json.loads(out)["written by a model"]) == (0, 2)


def test_questions_need_a_model_to_write_them(run, docs, tmp_path):
    code, _, err = run("compare", docs, "--questions", tmp_path / "q.jsonl", "--write-questions", 2)
    assert (code, err.count("\n")) == (1, 1)
    assert "a chat model needs --model, as in: --write-questions N --model NAME" in err


@pytest.mark.parametrize("name", ["extractive", "openai"])
def test_a_reader_answers(run, docs, tmp_path, chat, name):
    file = tmp_path / "q.csv"
    file.write_text(CSV)
    page = tmp_path / "p.html"
    arguments = [
        "--questions",
        file,
        "--page",
        page,
        "--setting",
        "words only",
        "--reader",
        name,
        *chat,
    ]
    code, out, err = run(
        "compare", docs, *arguments, "--read-words", 20, "--measure", "EM@20", "--json"
    )
    assert code == 0, err
    assert "2 answers of the reader from 40 words" in err
    means = json.loads(out)["means"]["words only"]
    assert {"EM@20", "F1@20"} <= set(means)
    if name == "openai":
        assert means["EM@20"] == 0.5  # 1628, and not 56 m
    assert "from 20 words" in page.read_text(encoding="utf-8")


def test_passages_in_context(run, docs, asked, tmp_path, chat):
    page = tmp_path / "p.html"
    arguments = ["--questions", asked, "--page", page, "--setting", "in context"]
    code, _, err = run("compare", docs, *arguments)
    assert (code, "a chat model needs --model, as in: --setting" in err) == (1, True)
    code, _, err = run("compare", docs, *arguments, *chat)
    assert code == 0, err
    assert "sentences of context to write" in err
    assert "contextualizer=contextualizer" in page.read_text(encoding="utf-8")


def test_figures_for_a_paper(run, docs, asked, tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "figures"
    arguments = ["--questions", asked, "--page", tmp_path / "p.html", "--setting", "words only"]
    code, _, err = run("compare", docs, *arguments, "--figures", folder)
    assert code == 0, err
    assert sorted(file.name for file in folder.iterdir()) == [
        "size.png",
        "size.svg",
        "words.png",
        "words.svg",
    ]
    code, _, err = run("compare", docs, *arguments, "--figures", asked)
    assert (code, "is a file: name a folder for --figures" in err) == (1, True)
