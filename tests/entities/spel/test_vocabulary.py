"""Vocabulary files, the order of ids, and tokenizers."""

from __future__ import annotations

import pytest

from factoid.entities.spel.model import load_tokenizer
from factoid.entities.spel.vocabulary import Vocabulary, VocabularyFiles, make_vocabulary, read_lines
from factoid.errors import InvalidInputError, UnreadableFileError
from tests.entities.spel import tiny_spel


@pytest.fixture
def files(tmp_path):
    tiny_spel.write_vocabulary(tmp_path)
    return VocabularyFiles.in_folder(tmp_path)


@pytest.mark.parametrize(
    ("lines", "entries"),
    [
        ([["A"]], "A"),
        ([["B", "A", "B"], ["C"]], "B A B C"),  # each line of aida.txt has an id
        ([["B"], ["A", "B", "A", "C"], ["C", "D", "A", "<pad>", "D"]], "B A C D"),
        ([["A"], ["B", ""], ["C", ""]], "A B  C"),  # files that end in a line end give one empty entry
    ],
)
def test_ids_are_those_of_the_lines_in_order(lines, entries):
    assert make_vocabulary(*lines).entries == ("|||O|||", "<pad>", *entries.split(" "))


@pytest.mark.parametrize("rows", [len(tiny_spel.ENTRIES), 2 + 3])  # a shrunk checkpoint knows aida.txt only
def test_the_vocabulary_is_that_of_the_published_order(files, rows):
    assert files.read(rows).entries == tuple(tiny_spel.ENTRIES[:rows])


def test_lines_end_at_newlines_only(tmp_path):
    path = tmp_path / "titles.txt"
    odd = ["One\u2028Two", "Three\x0bFour", "Five\x85Six", "Seven\x1cEight", "Nine\rTen"]
    path.write_bytes("\n".join(odd).encode())
    assert read_lines(path) == odd


def test_outside_padding_and_the_empty_entry_name_no_entity():
    vocabulary = Vocabulary(tuple(tiny_spel.ENTRIES))
    named = [entry for at, entry in enumerate(vocabulary.entries) if vocabulary.names_entity(at)]
    assert named == ["Ada_Lovelace", "Lava", "Basel", "Mount_Etna", "Comet", "Mira_(star)", "Harbor_%27s_End"]


def test_a_title_is_found_with_spaces_or_underscores():
    vocabulary = Vocabulary((*tiny_spel.ENTRIES, "Lava"))
    assert vocabulary.find("Lava") == 3
    assert vocabulary.find("Ada Lovelace") == vocabulary.find("Ada_Lovelace") == 2
    assert vocabulary.find("Harbor 's End") == vocabulary.find("Harbor_%27s_End") == 9
    assert [vocabulary.find(title) for title in ("", "|||O|||", "<pad>", "Unknown")] == [None] * 4


@pytest.mark.parametrize(
    ("files_used", "rows", "suspect"),
    [
        (1, 500_000, "5 entries.* 500,000 rows: enwiki_20230827.txt, out_of_domain.txt is missing"),
        (3, 11, "10 entries.* 11 rows: no file is missing; .* a line end"),
    ],
)
def test_another_length_names_a_suspect(files, files_used, rows, suspect):
    used = [files.aida, files.enwiki, files.out_of_domain][:files_used]
    with pytest.raises(InvalidInputError, match=suspect):
        VocabularyFiles(*used).read(rows)


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("aida", lambda raw: raw + b"\n", "aida.txt ends in a line end"),
        ("enwiki", lambda raw: raw.removesuffix(b"\n"), "does not end in a line end"),
    ],
)
def test_line_ends_that_move_ids_and_keep_the_length_are_refused(files, name, change, reason):
    path = getattr(files, name)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(UnreadableFileError, match=f"taken for its neighbour: .*{reason}"):
        files.read(len(tiny_spel.ENTRIES))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "holds no titles"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "Git LFS pointer"),
        (b"A\r\nB\r\n", "carriage returns"),
        (b"A\rB\n", "carriage returns"),
        ("\ufeffA\nB".encode(), "byte order mark"),
        ("Zürich".encode("latin-1"), "cannot be read as UTF-8"),
    ],
)
def test_a_file_that_was_changed_is_refused(tmp_path, raw, reason):
    path = tmp_path / "aida.txt"
    path.write_bytes(raw)
    with pytest.raises(UnreadableFileError, match=reason):
        read_lines(path)


@pytest.mark.parametrize(
    ("places", "wrong", "named"),
    [
        (("aida", "out_of_domain", "enwiki_20230827"), "given as enwiki", "published file out_of_domain"),
        (("out_of_domain",), "given as aida", "published file out_of_domain"),
    ],
)
def test_a_file_in_the_place_of_another_is_refused(files, places, wrong, named):
    """Swapped files make a vocabulary of the right length."""
    folder = files.aida.parent
    with pytest.raises(InvalidInputError, match=f"{wrong}.*{named}"):
        VocabularyFiles(*(name and folder / f"{name}.txt" for name in places))


def test_missing_files_are_refused(tmp_path):
    with pytest.raises(UnreadableFileError, match=r"holds no aida\.txt"):
        VocabularyFiles.in_folder(tmp_path)
    with pytest.raises(UnreadableFileError, match="cannot be read as UTF-8"):
        read_lines(tmp_path / "aida.txt")


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
    (tmp_path / "there").mkdir()

    class Hub:
        @staticmethod
        def from_pretrained(name):
            asked.append(name)
            return tiny_spel.make_tokenizer()

    monkeypatch.setattr(tokenizers, "Tokenizer", Hub)
    for path in (tmp_path / "none", "./none", "nope", "there/none"):
        with pytest.raises(UnreadableFileError, match=r"no such file.*hub: roberta-base, roberta-large"):
            load_tokenizer(path)
    assert asked == []
    load_tokenizer("roberta-base")
    load_tokenizer("FacebookAI/roberta-base")
    assert asked == ["roberta-base", "FacebookAI/roberta-base"]


def test_others_are_refused(tmp_path):
    with pytest.raises(UnreadableFileError, match="no such file"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UnreadableFileError, match="cannot load the tokenizer"):
        load_tokenizer(tmp_path)
    foreign = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[CLS]": 0, "a": 1, "[UNK]": 2}, unk_token="[UNK]"))
    without_ends = tiny_spel.make_tokenizer()
    without_ends.post_processor = tokenizers.processors.ByteLevel()
    for tokenizer in (foreign, without_ends):
        tokenizer.save(str(tmp_path / "tokenizer.json"))
        with pytest.raises(UnreadableFileError, match="no tokenizer of RoBERTa"):
            load_tokenizer(tmp_path)
