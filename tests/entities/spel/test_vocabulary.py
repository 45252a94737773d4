"""The order of ids, rule by rule, and files that would move it."""

from __future__ import annotations

import pytest

from factoid.entities.spel.vocabulary import Vocabulary, VocabularyFiles, make_vocabulary, read_lines, title_of
from factoid.errors import InvalidInputError, UnreadableFileError
from tests.entities.spel import tiny_spel


@pytest.fixture
def files(tmp_path):
    tiny_spel.write_vocabulary(tmp_path)
    return VocabularyFiles.in_folder(tmp_path)


def test_outside_and_padding_come_first():
    assert make_vocabulary(["A"]).entries == ("|||O|||", "<pad>", "A")


def test_aida_comes_second_in_its_order():
    assert make_vocabulary(["B", "A"], ["C"]).entries[2:] == ("B", "A", "C")


def test_each_line_of_aida_has_an_id():
    assert make_vocabulary(["A", "B", "A"], ["C"]).entries[2:] == ("A", "B", "A", "C")


def test_further_files_add_only_what_is_not_there_yet():
    made = make_vocabulary(["B"], ["A", "B", "A", "C"], ["C", "D", "A", "<pad>", "D"])
    assert made.entries[2:] == ("B", "A", "C", "D")


def test_line_ends_at_the_end_of_files_give_one_empty_entry_at_the_first_of_them():
    assert make_vocabulary(["A"], "B\n".split("\n"), "C\n".split("\n")).entries[2:] == ("A", "B", "", "C")


def test_the_whole_vocabulary_is_that_of_the_published_order(files):
    assert files.read(len(tiny_spel.ENTRIES)).entries == tuple(tiny_spel.ENTRIES)


def test_a_shrunk_checkpoint_knows_outside_padding_and_aida_only(files):
    assert files.read(2 + 3).entries == tuple(tiny_spel.ENTRIES[:5])


def test_lines_end_at_newlines_only(tmp_path):
    path = tmp_path / "titles.txt"
    odd = ["One\u2028Two", "Three\x0bFour", "Five\x85Six", "Seven\x1cEight", "Nine\rTen"]
    path.write_bytes("\n".join(odd).encode())
    assert read_lines(path) == odd


def test_ids_are_those_of_first_entries():
    vocabulary = Vocabulary(("|||O|||", "<pad>", "A", "B", "A"))
    assert vocabulary.ids == {"|||O|||": 0, "<pad>": 1, "A": 2, "B": 3}


def test_outside_padding_and_the_empty_entry_name_no_entity():
    vocabulary = Vocabulary(tuple(tiny_spel.ENTRIES))
    named = [entry for at, entry in enumerate(vocabulary.entries) if vocabulary.names_entity(at)]
    assert named == ["Ada_Lovelace", "Lava", "Basel", "Mount_Etna", "Comet", "Mira_(star)", "Harbor_%27s_End"]


def test_titles_have_spaces_and_no_escapes():
    assert title_of("Harbor_%27s_End_%26_Co.") == "Harbor 's End & Co."


def test_a_title_is_found_with_spaces_or_underscores():
    vocabulary = Vocabulary(tuple(tiny_spel.ENTRIES))
    assert vocabulary.find("Ada Lovelace") == vocabulary.find("Ada_Lovelace") == 2
    assert vocabulary.find("Harbor 's End") == vocabulary.find("Harbor_%27s_End") == 9
    assert [vocabulary.find(title) for title in ("", "|||O|||", "<pad>", "Unknown")] == [None] * 4


def refused(files, rows):
    with pytest.raises(InvalidInputError) as caught:
        files.read(rows)
    return str(caught.value)


def test_a_missing_enwiki_file_is_named_with_both_lengths(files):
    (files.enwiki).unlink()
    message = refused(VocabularyFiles.in_folder(files.aida.parent), 500_000)
    assert "8 entries" in message
    assert "500,000" in message
    assert "enwiki_20230827.txt is missing" in message


def test_a_missing_line_end_is_suspected_when_one_row_is_left_over(files):
    files.enwiki.write_bytes(files.enwiki.read_bytes().removesuffix(b"\n"))
    files.out_of_domain.write_bytes(files.out_of_domain.read_bytes().removesuffix(b"\n"))
    message = refused(files, len(tiny_spel.ENTRIES))
    assert "9 entries" in message
    assert "10 rows" in message
    assert "line end at the end of" in message
    assert "out_of_domain.txt" in message


@pytest.mark.parametrize(
    ("rows", "suspect"),
    [(4, "aida.txt alone has more"), (9, "one line is too many"), (8, "shrunk checkpoint"), (20, "short")],
)
def test_other_lengths_name_a_suspect_too(files, rows, suspect):
    message = refused(files, rows)
    assert f"{rows} rows" in message
    assert suspect in message


def test_a_missing_out_of_domain_file_is_named(files):
    message = refused(VocabularyFiles(files.aida, files.enwiki), 100)
    assert "out_of_domain.txt is missing" in message


def test_a_line_end_that_aida_has_not_in_the_published_files_is_refused(files):
    """The empty entry would come sooner, and the length would stay the same."""
    files.aida.write_bytes(files.aida.read_bytes() + b"\n")
    with pytest.raises(UnreadableFileError, match="taken for its neighbour"):
        files.read(len(tiny_spel.ENTRIES))


def test_a_line_end_that_enwiki_lacks_is_refused(files):
    """The empty entry would come later, and the length would stay the same."""
    files.enwiki.write_bytes(files.enwiki.read_bytes().removesuffix(b"\n"))
    with pytest.raises(UnreadableFileError, match="does not end in a line end"):
        files.read(len(tiny_spel.ENTRIES))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"A\r\nB\r\n", "Windows line ends"),
        (b"A\rB\rC", "carriage returns as line ends"),
        (b"A\rB\rC\r", "carriage returns as line ends"),
        (b"A\rB\n", "carriage returns as line ends"),
        ("\ufeffA\nB".encode(), "byte order mark"),
        ("Zürich".encode("latin-1"), "not UTF-8"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "Git LFS pointer"),
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
        (("enwiki_20230827", "aida"), "given as aida", "published file enwiki"),
        (("aida", None, "enwiki_20230827"), "given as out_of_domain", "published file enwiki"),
        (("out_of_domain",), "given as aida", "published file out_of_domain"),
    ],
)
def test_a_file_in_the_place_of_another_is_refused(files, places, wrong, named):
    """Swapped files make a vocabulary of the right length."""
    folder = files.aida.parent
    with pytest.raises(InvalidInputError, match=f"{wrong}.*{named}"):
        VocabularyFiles(*(name and folder / f"{name}.txt" for name in places))


def test_names_of_ones_own_tell_nothing(files):
    own = [path.rename(path.with_name(f"own-{path.name}")) for path in (files.aida, files.enwiki, files.out_of_domain)]
    assert VocabularyFiles(*own).read(len(tiny_spel.ENTRIES)).entries == tuple(tiny_spel.ENTRIES)


def large(folder, *, aida=5_598, enwiki=100_000, further=50):
    """Write files of published size; return the rows that they make."""
    for name, count, end in (
        ("aida", aida, ""),
        ("enwiki_20230827", enwiki, "\n"),
        ("out_of_domain", further, "\n"),
    ):
        (folder / f"{name}.txt").write_text("\n".join(f"{name}_{at}" for at in range(count)) + end)
    return 2 + aida + enwiki + further + 1


def test_files_of_published_size(tmp_path):
    rows = large(tmp_path)
    assert len(VocabularyFiles.in_folder(tmp_path).read(rows).entries) == rows


def test_an_aida_of_another_length_than_the_published_is_refused(tmp_path):
    rows = large(tmp_path, aida=5_599)
    with pytest.raises(InvalidInputError, match=r"has 5,599 lines, and the published aida.txt has 5,598"):
        VocabularyFiles.in_folder(tmp_path).read(rows)
    files = VocabularyFiles(
        (tmp_path / "aida.txt").rename(tmp_path / "own.txt"),
        *(tmp_path / f"{n}.txt" for n in ("enwiki_20230827", "out_of_domain")),
    )
    assert len(files.read(rows).entries) == rows


def test_files_that_were_renamed_for_each_other_are_refused(tmp_path):
    rows = large(tmp_path, enwiki=50, further=100_000)
    with pytest.raises(InvalidInputError, match=r"out_of_domain has 100,001 lines and enwiki 51, .* swapped"):
        VocabularyFiles.in_folder(tmp_path).read(rows)


def test_missing_files_are_refused(tmp_path):
    with pytest.raises(UnreadableFileError, match=r"holds no aida\.txt"):
        VocabularyFiles.in_folder(tmp_path)
    with pytest.raises(UnreadableFileError, match="cannot be read"):
        read_lines(tmp_path / "aida.txt")
