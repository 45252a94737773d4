from __future__ import annotations

import pytest

from factoid.entities.spel.tokenizer import load_tokenizer
from factoid.errors import UnreadableFileError
from tests.entities.spel import tiny_spel

tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

TEXTS = ["who was Ada Lovelace?", " Mira \n 東京 😀", "<s> a<mask> b</s>", "", "state's (quote) don't 12,000"]


@pytest.fixture
def folder(tmp_path):
    tiny_spel.make_tokenizer(tmp_path)
    return tmp_path


def test_vocab_and_merges_give_the_tokenizer_of_transformers(folder):
    theirs = transformers.RobertaTokenizerFast.from_pretrained(folder)
    ours = load_tokenizer(folder)
    for text in TEXTS:
        expected = theirs(text, return_offsets_mapping=True)
        encoding = ours.encode(text)
        assert encoding.ids == expected["input_ids"]
        assert encoding.offsets == [tuple(span) for span in expected["offset_mapping"]]


@pytest.mark.parametrize("name", ["", "tokenizer.json"])
def test_a_tokenizer_file_or_its_folder_will_do(tmp_path, name):
    tokenizer = tiny_spel.make_tokenizer()
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=8)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    loaded = load_tokenizer(tmp_path / name)
    for text in TEXTS:  # neither cut off nor padded
        assert loaded.encode(text).ids == tiny_spel.make_tokenizer().encode(text).ids


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
    for path in (tmp_path / "none", str(tmp_path / "none"), "./none", "../none", "a/b/c", "nope", "there/none"):
        with pytest.raises(
            UnreadableFileError, match=r"there is no file or folder .* roberta-base, roberta-large, owner/name"
        ):
            load_tokenizer(path)
    assert asked == []
    load_tokenizer("roberta-base")
    load_tokenizer("FacebookAI/roberta-base")
    assert asked == ["roberta-base", "FacebookAI/roberta-base"]


def test_a_name_that_the_hub_does_not_give_is_one_error():
    with pytest.raises(UnreadableFileError, match="cannot load the tokenizer 'no-owner/no-model'"):
        load_tokenizer("no-owner/no-model")  # the tests are offline


def test_others_are_refused(tmp_path):
    with pytest.raises(UnreadableFileError, match="holds no tokenizer"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UnreadableFileError, match="cannot load the tokenizer"):
        load_tokenizer(tmp_path)
    other = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[CLS]": 0, "a": 1, "[UNK]": 2}, unk_token="[UNK]"))
    other.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(UnreadableFileError, match="no tokenizer of RoBERTa"):
        load_tokenizer(tmp_path)
    bare = tiny_spel.make_tokenizer()
    bare.post_processor = tokenizers.processors.ByteLevel()
    bare.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(UnreadableFileError, match="does not put <s> and </s> around"):
        load_tokenizer(tmp_path)
