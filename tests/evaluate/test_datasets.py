"""The papers' question sets, in the forms in which they are published."""

from __future__ import annotations

import json

import pytest

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.evaluate.datasets import DatasetQuestion, read_dataset, read_dataset_corpus

POPQA = (
    "id\tsubj\tprop\tobj\tsubj_id\ts_aliases\ts_pop\to_pop\ts_wiki_title\tquestion\tpossible_answers\n"
    '1\tGeorge Rankin\toccupation\tpolitician\t2\t"[""George James Rankin""]"\t142\t25692\tGeorge Rankin\t'
    'What is George Rankin\'s occupation?\t"[""politician"", ""political leader""]"\n'
)
FORMS = {
    "NQ-open.dev.jsonl": (
        '{"question": "who?", "answer": ["A", "B"]}',
        DatasetQuestion("who?", ("A", "B")),
    ),
    "nq-test.csv": ("who?\t['A', \"B's\"]", DatasetQuestion("who?", ("A", "B's"))),
    "nq-dev.json": (
        '[{"question": "who?", "answers": ["A"], "positive_ctxs": []}]',
        DatasetQuestion("who?", ("A",)),
    ),
    "wikipedia-dev.json": (
        json.dumps(
            {
                "Data": [
                    {"Question": "Who?", "Answer": {"Value": "A", "Aliases": ["A", "The A"]}},
                    {"Question": "x"},
                ]
            }
        ),
        DatasetQuestion("Who?", ("A", "The A")),
    ),
    "tqa.jsonl": (
        '{"question": "Who?", "answer": {"value": "A", "aliases": ["B"]}}',
        DatasetQuestion("Who?", ("A", "B")),
    ),
    "webquestions.examples.test.json": (
        json.dumps(
            [
                {
                    "utterance": "what?",
                    "targetValue": '(list (description "Jazmyn \\"J\\" B") (description Rome))',
                }
            ]
        ),
        DatasetQuestion("what?", ('Jazmyn "J" B', "Rome")),
    ),
    "brmson.json": (
        '[{"qId": "1", "answers": ["Rome"], "qText": "where?"}]',
        DatasetQuestion("where?", ("Rome",)),
    ),
    "strategyqa.json": (
        '[{"qid": "1", "term": "Rome", "question": "Is it?", "answer": false}]',
        DatasetQuestion("Is it?", truth=False, source="Rome"),
    ),
    "popQA.tsv": (
        POPQA,
        DatasetQuestion(
            "What is George Rankin's occupation?",
            ("politician", "political leader"),
            entities=("George Rankin",),
            popularity=142.0,
            source="George Rankin",
        ),
    ),
    "squad.json": (
        json.dumps(
            {
                "data": [
                    {
                        "title": "A_B",
                        "paragraphs": [
                            {
                                "context": "x A",
                                "qas": [{"question": "who?", "answers": [{"text": "A"}]}],
                            }
                        ],
                    }
                ]
            }
        ),
        DatasetQuestion("who?", ("A",), source="A B"),
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_each_form_is_told_from_its_content(name, tmp_path):
    content, expected = FORMS[name]
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert read_dataset(path) == [expected]


def test_the_entity_of_a_question_is_what_its_template_leaves_out(tmp_path):
    folder = tmp_path / "dataset" / "dev"
    folder.mkdir(parents=True)
    (tmp_path / "relation_query_templates.json").write_text('{"P40": "Who is [X]\'s child?"}')
    row = {"question": "Who is Dan Gurney's child?", "answers": ["Alex Gurney"]}
    (folder / "P40.dev.json").write_text(json.dumps([row]))
    (folder / "other.json").write_text("[]")
    expected = [
        DatasetQuestion("Who is Dan Gurney's child?", ("Alex Gurney",), entities=("Dan Gurney",))
    ]
    assert read_dataset(folder) == read_dataset(folder / "P40.dev.json") == expected
    (tmp_path / "relation_query_templates.json").unlink()
    assert read_dataset(folder)[0].entities == ()


def test_rows_of_factoidqa_with_one_question_are_its_answers(tmp_path):
    year = tmp_path / "S08"
    (year / "data" / "set1").mkdir(parents=True)
    rows = [
        "ArticleTitle\tQuestion\tAnswer\tDifficultyFromQuestioner\tDifficultyFromAnswerer\tArticleFile",
        "Abraham_Lincoln\tWho was he?\tA lawyer\teasy\teasy\tdata/set1/a1",
        "Abraham_Lincoln\tWho  was he?\tA president\teasy\teasy\tdata/set1/a1",
        "Abraham_Lincoln\tNULL\tNULL\tNULL\tNULL\tdata/set1/a1",
    ]
    (year / "question_answer_pairs.txt").write_bytes(("\n".join(rows) + "\n").encode())
    (year / "data" / "set1" / "a1.txt.clean").write_bytes(
        "Abraham_Lincoln\nHe said “so”.".encode("cp1252")
    )
    expected = DatasetQuestion(
        "Who was he?",
        ("A lawyer", "A president"),
        entities=("Abraham Lincoln",),
        source="Abraham Lincoln",
    )
    assert read_dataset(tmp_path) == read_dataset(year / "question_answer_pairs.txt") == [expected]
    [document] = read_dataset_corpus(tmp_path)
    assert (document.title, document.text) == ("Abraham Lincoln", "He said “so”.")


@pytest.mark.parametrize(
    "content", ["", "[]", "[1]", '[{"qText": "x"}]', '{"Data": [{"Answer": {}}]}']
)
def test_what_is_no_data_set_is_one_clear_error(content, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises((UnreadableFileError, InvalidInputError), match=r"a\.json|question"):
        read_dataset(path)
    with pytest.raises(UnreadableFileError):
        read_dataset(tmp_path / "nowhere.json")


def test_the_published_counts(data):
    counts = {
        "strategyqa/dev.json": 229,
        "webquestions-brmson/main/test.json": 2032,
        "squad-v1.1-dev/dev-v1.1.even.json": None,
    }
    for name, count in counts.items():
        questions = read_dataset(data / name)
        assert count is None or len(questions) == count
    entity = read_dataset(data / "entityquestions" / "dataset" / "dev")
    assert all(question.entities for question in entity)
