from __future__ import annotations

import json

import pytest

from factoid.store import UnitStore

SQUAD = {
    "data": [
        {
            "title": "Vasa",
            "paragraphs": [
                {
                    "context": "The Vasa sank in 1628. She carried too little ballast.",
                    "qas": [
                        {
                            "id": "1",
                            "question": "When did the Vasa sink?",
                            "answers": [{"text": "1628"}],
                        },
                        {
                            "id": "2",
                            "question": "What did she carry too little of?",
                            "answers": [{"text": "ballast"}],
                        },
                    ],
                },
                {
                    "context": "The tower of Pisa leans.",
                    "qas": [
                        {"id": "3", "question": "What leans?", "answers": [{"text": "The tower"}]}
                    ],
                },
            ],
        }
    ]
}


@pytest.fixture
def squad(tmp_path):
    file = tmp_path / "squad.json"
    file.write_text(json.dumps(SQUAD), encoding="utf-8")
    return file


def test_dense_x_beside_the_published_numbers(run, report, squad, docs, tmp_path):
    page = tmp_path / "tables.md"
    code, _, err = run(
        "reproduce",
        "dense-x",
        "--questions",
        f"SQuAD={squad}",
        "--retriever",
        "dpr:nowhere/a,nowhere/b",
    )
    assert code == 1
    assert "cannot load the encoder 'nowhere/b'" in err
    code, out, err = run(
        "reproduce", "dense-x", "--questions", f"SQuAD={squad}", "--retriever", "my/model", "--reader", "extractive",
        "--output", page, "--cache", tmp_path / "cache",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "| Passage | 2 (41,393,528) |" in out
    assert "| model, sentence | 100.0 | 100.0 |" in out
    assert out.startswith(page.read_text(encoding="utf-8").rstrip("\n"))
    tables = report("reproduce", "dense-x", docs, "--questions", f"SQuAD={squad}", "--sample", 1)
    assert [table["name"] for table in tables] == ["Table 1", "Table 2", "Figures 4 and 7"]
    assert "1 of SQuAD" in " ".join(tables[1]["notes"])


def test_entity_retrieval_on_articles_of_the_corpus(report, squad, tmp_path):
    articles = tmp_path / "a.jsonl"
    articles.write_text('{"title": "Vasa", "text": "The Vasa sank in 1628."}\n')
    options = ["--questions", f"FactoidQA={squad}", "--reader", "extractive"]
    tables = {
        table["name"]: table
        for table in report("reproduce", "entity-retrieval", articles, *options)
    }
    rows = {row["name"]: row["ours"] for row in tables["Table 1"]["rows"]}
    assert rows["ERTi50w"][0] == pytest.approx(1 / 3)
    assert tables["Table 3"]["rows"][0]["ours"] == [
        1.0,
        pytest.approx(1 / 3),
        pytest.approx(100 / 3),
    ]


def test_factoid_wiki_goes_on_where_it_was(run, report, tmp_path):
    articles = tmp_path / "a.jsonl"
    texts = ["The Vasa sank. It was raised.\n\nShe was a ship.", "Pisa leans."]
    articles.write_text(
        "\n".join(json.dumps({"title": f"T{n}", "text": text}) for n, text in enumerate(texts))
    )
    store = tmp_path / "wiki"
    [table] = report("reproduce", "factoid-wiki", articles, "--store", store, "--articles", 1)
    assert table["rows"][0]["ours"] == [2.0, 5.0]  # short paragraphs stay apart
    code, out, err = run("reproduce", "factoid-wiki", articles, "--store", store)
    assert (code, err) == (0, "")
    assert "| Sentence | 4 (114,219,127) | 3.0 (21.0) |" in out
    assert "1 articles added, 1 were there" in out
    with UnitStore(store, encoder=None, read_only=True) as opened:
        assert opened.counts()["proposition"] == 4


def test_agrame_needs_data_for_one_table_at_least(run, tmp_path):
    answers = tmp_path / "a.jsonl"
    answers.write_text('{"answer": "It leans [1].", "passages": ["It leans."], "gold": [[1]]}')
    assert run("reproduce", "agrame")[0] == 1
    assert "nothing to measure: give --questions" in run("reproduce", "agrame")[2]
    assert (
        "cannot load"
        in run("reproduce", "agrame", "--answers", answers, "--model", f"Ours={tmp_path / 'none'}")[
            2
        ]
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "expected --questions NAME=FILE"),
        (["--questions", "x"], "--questions takes NAME=VALUE, got 'x'"),
        (["--questions", "NQ=nowhere.csv"], "nowhere.csv"),
        (
            ["--questions", "SQuAD={squad}", "--reader", "bert"],
            "--reader must be extractive, unified-qa, or seq2seq:MODEL",
        ),
        (["--questions", "SQuAD={squad}", "--sample", "0"], "--sample must be at least 1"),
    ],
)
def test_what_is_wrong_is_one_line(run, squad, options, message):
    code, out, err = run(
        "reproduce", "dense-x", *[option.format(squad=squad) for option in options]
    )
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
