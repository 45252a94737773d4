"""Vocabulary files, the order of ids, and tokenizers."""

from __future__ import annotations

import pytest

from factoid.entities.spel.model import load_tokenizer
from factoid.entities.spel.vocabulary import VocabularyFiles, entity_title, make_vocabulary, read_lines
from factoid.errors import InvalidInputError, UnreadableFileError
from tests.entities.spel import tiny_spel


@pytest.fixture
def files(tmp_path):
    tiny_spel.write_vocabulary(tmp_path)
    return VocabularyFiles.in_folder(tmp_path)


@pytest.mark.parametrize(
    ("lines", "entries"),
    [
        ([["B", "A", "B"], ["C"]], "B A B C"),  # each line of aida.txt has an id
        ([["B"], ["A", "B", "A", "C"], ["C", "D", "A", "<pad>", "D"]], "B A C D"),
        ([["A"], ["B", ""], ["C", ""]], "A B  C"),  # files that end in a line end give one empty entry
    ],
)
def test_ids_are_those_of_the_lines_in_order(lines, entries):
    assert make_vocabulary(*lines) == ["|||O|||", "<pad>", *entries.split(" ")]


def test_the_vocabulary_is_that_of_the_published_order(files):
    for rows in (len(tiny_spel.ENTRIES), 2 + 3):  # a shrunk checkpoint knows aida.txt only
        assert files.read(rows) == tiny_spel.ENTRIES[:rows]


def test_outside_padding_and_the_empty_entry_have_no_title():
    titles = [entity_title(tiny_spel.ENTRIES, at) for at in range(len(tiny_spel.ENTRIES))]
    assert titles == ["", "", *"Ada Lovelace|Lava|Basel|Mount Etna|Comet||Mira (star)|Harbor 's End".split("|")]


def test_lines_end_at_newlines_only(tmp_path):
    odd = ["One\u2028Two", "Three\x0bFour", "Five\x85Six", "Seven\x1cEight", "Nine\rTen"]
    (tmp_path / "titles.txt").write_bytes("\n".join(odd).encode())
    assert read_lines(tmp_path / "titles.txt") == odd


def test_another_length_names_a_suspect(files):
    with pytest.raises(InvalidInputError, match=r"10 entries.* 11 rows: no file is missing; .* a line end"):
        files.read(11)


def test_line_ends_that_move_ids_and_keep_the_length_are_refused(files):
    aida, enwiki = files.aida.read_bytes(), files.enwiki.read_bytes()
    for changed in ((aida + b"\n", enwiki), (aida, enwiki.removesuffix(b"\n"))):
        for path, raw in zip((files.aida, files.enwiki), changed, strict=True):
            path.write_bytes(raw)
        with pytest.raises(UnreadableFileError, match="taken for its neighbour"):
            files.read(len(tiny_spel.ENTRIES))


@pytest.mark.parametrize(
    "raw", [b"", b"version https://git-lfs.github.com/spec/v1\n", b"A\r\nB\r\n", b"\xef\xbb\xbfA\nB", b"\xfc", None]
)
def test_files_that_are_missing_or_were_changed_are_refused(tmp_path, raw):
    if raw is not None:
        (tmp_path / "aida.txt").write_bytes(raw)
    with pytest.raises(UnreadableFileError, match=r"is not as it was published|cannot be read as UTF-8"):
        read_lines(tmp_path / "aida.txt")
    with pytest.raises(UnreadableFileError, match=r"holds no aida\.txt"):
        VocabularyFiles.in_folder(tmp_path / "none")


def test_a_file_in_the_place_of_another_is_refused(files):
    """Swapped files make a vocabulary of the right length."""
    with pytest.raises(InvalidInputError, match=r"given as enwiki.*published file out_of_domain"):
        VocabularyFiles(files.aida, files.out_of_domain, files.enwiki)
    with pytest.raises(InvalidInputError, match=r"given as aida.*published file out_of_domain"):
        VocabularyFiles(files.out_of_domain)


tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

TEXTS = ["who was Ada Lovelace?", " Mira \n 東京 😀", "<s> a<mask> b</s>", "", "state's (quote) don't 12,000"]


@pytest.mark.parametrize("name", ["", "tokenizer.json", "vocab.json and merges.txt"])
def test_a_tokenizer_file_or_its_folder_will_do(tmp_path, name):
    tokenizer = tiny_spel.make_tokenizer(tmp_path)
    expected = [(encoding.ids, encoding.offsets) for encoding in map(tokenizer.encode, TEXTS)]
    if "vocab" not in name:
        (tmp_path / "vocab.json").unlink()
        tokenizer.enable_truncation(4)
        tokenizer.enable_padding(length=8)
        tokenizer.save(str(tmp_path / "tokenizer.json"))
    encodings = map(load_tokenizer(tmp_path / name if "vocab" not in name else tmp_path).encode, TEXTS)
    assert [(encoding.ids, encoding.offsets) for encoding in encodings] == expected  # neither cut off nor padded


def test_only_a_name_is_looked_for_on_the_hub(tmp_path, monkeypatch):
    asked = []
    monkeypatch.chdir(tmp_path)

    class Hub:
        @staticmethod
        def from_pretrained(name):
            asked.append(name)
            return tiny_spel.make_tokenizer()

    monkeypatch.setattr(tokenizers, "Tokenizer", Hub)
    for path in (tmp_path, tmp_path / "none", "./none", "nope"):
        with pytest.raises(UnreadableFileError, match=r"no such file.*hub: roberta-base, roberta-large"):
            load_tokenizer(path)
    load_tokenizer("roberta-base")
    assert asked == ["roberta-base"]


def test_others_are_refused(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UnreadableFileError, match="cannot load the tokenizer"):
        load_tokenizer(tmp_path)
    foreign = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[CLS]": 0, "a": 1, "[UNK]": 2}, unk_token="[UNK]"))
    without_ends = tiny_spel.make_tokenizer()
    without_ends.post_processor = tokenizers.processors.ByteLevel()
    for tokenizer in (foreign, without_ends):
        tokenizer.save(str(tmp_path / "tokenizer.json"))
        with pytest.raises(UnreadableFileError, match="not a tokenizer of RoBERTa"):
            load_tokenizer(tmp_path)
