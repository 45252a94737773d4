from __future__ import annotations

import json

import pytest

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.evaluate.questions import Question, Quote, Span, read_corpus, read_questions

LINE = {"question": "When did the Vasa sink?", "answers": ["1628"], "document": "vasa.md"}
SQUAD = {
    "data": [
        {
            "title": "The_Vasa",
            "paragraphs": [
                {
                    "context": "The Vasa sank in 1628.",
                    "qas": [
                        {
                            "id": "a",
                            "question": "When?",
                            "answers": [{"text": "1628"}, {"text": "1628"}],
                        },
                        {"id": "b", "question": "Why?", "answers": []},
                    ],
                }
            ],
        }
    ]
}
LEGAL = {"tests": [{"query": "When?", "snippets": [{"file_path": "vasa.txt", "span": [4, 9]}]}]}
LABELLED = {
    "examples": [
        {
            "query": "When?",
            "query_by": {"type": "ai"},
            "reference_contexts": ["It sank."],
            "reference_answer": "1628",
        }
    ]
}
PAIRS = {"queries": {"q": "When?"}, "corpus": {"n": "It sank."}, "relevant_docs": {"q": ["n"]}}
DPR = [
    {
        "question": "When?",
        "answers": ["1628"],
        "positive_ctxs": [{"title": "Vasa", "text": "It sank."}],
    }
]
WHEN = {"text": "When?"}


def write(folder, name, content):
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "ours.jsonl",
            json.dumps(LINE),
            Question(text=LINE["question"], id="1", answers=("1628",), documents=("vasa.md",)),
        ),
        (
            "quotes.jsonl",
            json.dumps({"query": "When?", "evidence": "sank in 1628", "file": "vasa.md", "id": 7}),
            Question(
                **WHEN, id="7", quotes=(Quote("sank in 1628", "vasa.md"),), documents=("vasa.md",)
            ),
        ),
        (
            "spans.jsonl",
            json.dumps({"q": "When?", "doc": "vasa.md", "start": 4, "end": 9}),
            Question(**WHEN, id="1", spans=(Span("vasa.md", 4, 9),), documents=("vasa.md",)),
        ),
        (
            "table.csv",
            'question,quote,document\nHow many?,"| Vasa | 64 |",guns.md\nWhy?,"[1] It sank",vasa.md\n',
            Question(
                text="How many?",
                id="1",
                quotes=(Quote("| Vasa | 64 |", "guns.md"),),
                documents=("guns.md",),
            ),
        ),
        (
            "nq-open.jsonl",
            '{"question": "When?", "answer": ["1628", "in 1628"]}',
            ("1628", "in 1628"),
        ),
        (
            "langsmith.jsonl",
            '{"inputs": {"question": "When?"}, "outputs": {"answer": "1628"}}',
            ("1628",),
        ),
        (
            "loose.csv",
            "Query;Expected answer\nWhen?;1628|in 1628\nWhere?;Stockholm\n",
            ("1628", "in 1628"),
        ),
        ("dpr.tsv", "When?\t['1628', \"in '28\"]\nWhere?\t['Stockholm']\n", ("1628", "in '28")),
        ("dpr.json", DPR, ("1628",)),
        ("squad.json", SQUAD, Question(**WHEN, id="a", answers=("1628",), group="The Vasa")),
        ("legal.json", LEGAL, Question(**WHEN, id="1", spans=(Span("vasa.txt", 4, 9),))),
        (
            "labelled.json",
            LABELLED,
            Question(
                **WHEN, id="1", answers=("1628",), quotes=(Quote("It sank."),), is_generated=True
            ),
        ),
        ("pairs.json", PAIRS, Question(**WHEN, id="q", quotes=(Quote("It sank."),))),
    ],
)
def test_forms(tmp_path, name, content, expected):
    first = read_questions(write(tmp_path, name, content))[0]
    assert (first == expected) if isinstance(expected, Question) else (first.answers == expected)


def test_folders_of_beir_and_trec(tmp_path):
    write(
        tmp_path, "queries.jsonl", '{"_id": "1", "text": "When?"}\n{"_id": "2", "text": "Where?"}'
    )
    write(tmp_path, "corpus.jsonl", '{"_id": "d", "title": "Vasa", "text": "It sank."}')
    (tmp_path / "qrels").mkdir()
    write(tmp_path / "qrels", "test.tsv", "query-id\tcorpus-id\tscore\n1\td\t1\n2\td\t0\n")
    assert read_questions(tmp_path) == [Question(**WHEN, id="1", documents=("d",))]
    assert [(document.id, document.title) for document in read_corpus(tmp_path)] == [("d", "Vasa")]
    trec = tmp_path / "trec"
    trec.mkdir()
    write(trec, "topics.tsv", "301\tWhen?\n")
    write(trec, "qrels.txt", "301 0 d 2\n301 0 e 0\n")
    assert read_questions(trec) == [Question(**WHEN, id="301", documents=("d",))]


OLD_TOPICS = """<top>
<num> Number: 301
<title> Ships &amp;
wrecks

<desc> Description:
When did they sink?
</top>
<top><num>302</num><title>Topic: Towers</title></top>
"""
NEW_TOPICS = '<topics><topic number="301"><query>Ships &amp; wrecks</query></topic><topic number="302">Towers</topic></topics>'


@pytest.mark.parametrize(
    ("name", "topics"), [("topics.301-302.txt", OLD_TOPICS), ("topics.xml", NEW_TOPICS)]
)
def test_topics_of_trec(tmp_path, name, topics):
    write(tmp_path, name, topics)
    write(tmp_path, "qrels.all", "301 0 d 2\n301 0 e -1\n302 0 e 1\n303 0 f 1\n")
    ships, towers = read_questions(tmp_path)
    assert (ships.text, ships.id, ships.documents) == ("Ships & wrecks", "301", ("d",))
    assert (towers.text, towers.id, towers.documents) == ("Towers", "302", ("e",))


def test_counts_are_popularity(tmp_path):
    rows = 'question,answer,s_pop\nWhen?,1628,"1,200"\nWhere?,Stockholm,\n'
    assert [question.popularity for question in read_questions(write(tmp_path, "q.csv", rows))] == [
        1200,
        None,
    ]
    with pytest.raises(UnreadableFileError, match="expected a count as s_pop, got 'many'"):
        read_questions(write(tmp_path, "q.csv", "question,answer,s_pop\nWhen?,1628,many\n"))
    with pytest.raises(InvalidInputError, match="popularity of at least 0"):
        Question(text="When?", answers=("1628",), popularity=-1)


def test_paragraphs_of_squad_are_a_corpus(tmp_path):
    [document] = read_corpus(write(tmp_path, "squad.json", SQUAD))
    assert (document.text, document.title) == ("The Vasa sank in 1628.", "The Vasa")
    assert read_corpus(write(tmp_path, "ours.jsonl", json.dumps(LINE))) is None


@pytest.mark.parametrize(
    ("name", "content", "field"),
    [
        ("squad.json", '{"data": [{"paragraphs": [{"text": "It sank."}]}]}', "context"),
        ("corpus.jsonl", '{"_id": "1"}', "text"),
    ],
)
def test_a_corpus_without_a_field(tmp_path, name, content, field):
    file = write(tmp_path, name, content)
    path = tmp_path if name == "corpus.jsonl" else file
    with pytest.raises(
        UnreadableFileError, match=f"{name} has another layout.*'{field}' is missing"
    ):
        read_corpus(path)


def test_ids_are_distinct(tmp_path):
    file = write(tmp_path, "q.jsonl", "\n".join([json.dumps({**LINE, "id": "x"})] * 2))
    assert len({question.id for question in read_questions(file)}) == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.jsonl", "", "holds no question with gold"),
        (
            "wrong.jsonl",
            '{"text": "It sank."}',
            "wrong.jsonl:1: no question: expected a field such as question",
        ),
        ("bare.jsonl", '{"question": "When?"}', "has no gold: give it a quote"),
        ("broken.json", "{[", "broken.json: not JSON"),
        ("other.json", '{"a": 1}', "expected SQuAD's data"),
        (
            "span.jsonl",
            '{"question": "When?", "start": "a", "end": 2}',
            "expected a number of characters",
        ),
        (
            "notes.md",
            "# Ships",
            "expected a question in each line, as a JSON object, or a file that ends in",
        ),
        ("squad.json", '{"data": [{"paragraphs": [{"context": "It sank."}]}]}', "'qas' is missing"),
        (
            "law.json",
            '{"tests": [{"query": "When?", "snippets": [{"file_path": "a", "span": [1]}]}]}',
            "law.json has",
        ),
        (
            "pairs.json",
            '{"queries": {"a": "When?"}, "relevant_docs": {}, "corpus": {}}',
            "'a' is missing",
        ),
        ("span.jsonl", '{"question": "When?", "start": 5, "end": 2}', "0 <= start < end"),
    ],
)
def test_errors_say_what_is_expected(tmp_path, name, content, message):
    with pytest.raises((UnreadableFileError, InvalidInputError)) as raised:
        read_questions(write(tmp_path, name, content))
    assert message in str(raised.value)


def test_a_folder_without_judgements(tmp_path):
    with pytest.raises(UnreadableFileError, match="is no folder of BEIR"):
        read_questions(tmp_path)


@pytest.mark.parametrize("gold", [{"answers": ("1628", " ")}, {"quotes": (Quote(""),)}])
def test_empty_gold_is_refused(gold):
    with pytest.raises(InvalidInputError, match="an answer or a quote of 'When\\?' is empty"):
        Question(**WHEN, **gold)
