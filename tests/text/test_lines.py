"""Lines of plain text that start a unit."""

from __future__ import annotations

import pytest

from factoid.text.lines import line_starts
from factoid.text.sentence_ends import block_sentences


def sentences(text):
    return [text[start:end] for start, end in block_sentences(text)]


@pytest.mark.parametrize("bullet", [*"●•▪■○◦➢►⁃\uf0b7\uf0a7", "·", "-", "*", "–"])
def test_bullets(bullet):
    text = f"Fees\n{bullet} rent\n  {bullet} light and\nheat\n{bullet} water"
    assert sentences(text) == ["Fees", "rent", "light and\nheat", "water"]


@pytest.mark.parametrize(
    "marks",
    [
        ("(a)", "(b)", "(c)"),
        ("(1)", "(2)", "(3)"),
        ("i.", "ii.", "iii."),
        ("(iv)", "(v)", "(vi)"),
        ("7.", "8.", "9."),
        ("A)", "B)", "C)"),
        ("а)", "б)", "в)"),
    ],
)
def test_numbers_and_letters_are_part_of_their_item(marks):
    items = [
        f"{mark} the {word}" for mark, word in zip(marks, ("rent", "heat", "water"), strict=True)
    ]
    assert sentences("\n".join(["The tenant pays", *items])) == ["The tenant pays", *items]


@pytest.mark.parametrize(
    "text",
    [
        "He was born in\n1990. the year was dry",
        "It was found by\nI. newton and others",
        "as equation\n(3) and the text show",
        "the law of\nJ. smith",
    ],
)
def test_wrapped_lines_are_no_items(text):
    assert line_starts(text) == []


def test_a_number_behind_a_mark_starts_an_item():
    assert sentences("It is so:\n4. one\ngoes on") == ["It is so:", "4. one\ngoes on"]


@pytest.mark.parametrize("mark", ["o ", "o\t", "o   "])
def test_round_bullets_as_word_copies_them(mark):
    text = f"Steps\n{mark}Unlock the\ngate\n{mark}Lift the bar\n{mark}Push"
    assert sentences(text) == ["Steps", "Unlock the\ngate", "Lift the bar", "Push"]


@pytest.mark.parametrize(
    "items",
    [
        ["1º Cortar la luz", "2º Soltar el cable"],
        ["1ª Parte del curso", "2ª Parte del curso", "3ª Parte"],
        ["1° Couper le courant", "2° Retirer le câble"],
        ["b.1 The gate", "b.2 The bar", "c.1 The lock"],
        ["A.1.1 the gate", "A.1.2 the bar"],
        ["3 onions", "250 ml cream", "½ tsp sugar", "Pepper"],
        ["1/2 cup oats", "2-3 pears", "1½ cups milk"],
        ["500ml Milch", "3 Eier", "1 EL Zucker"],
        ["9 am Arrival", "10 am Coffee", "11 am Tour"],
    ],
)
def test_items_with_ordinals_letters_and_amounts(items):
    assert sentences("\n".join(items)) == items


@pytest.mark.parametrize(
    "text",
    [
        "Vino Elena\no Marta con la\nllave",
        "Trae pan\no vino\no agua",
        "o Marta\nviene o no",
        "It was 20° C\n21° C or more",
        "as annex\nB.1 and the text of\nB.4 show",
        "They had six cows,\n3 dogs and\n2 cats, and\n5 birds that sang.",
        "In all there were\n12 men\n13 women\n14 children\nand a dog",
        "Anna Lund\n14 Mill Lane\n5020 Bergen\nNorway",
        "10 20 30\n11 21 31\n12 22 32",
    ],
)
def test_lines_that_only_look_like_items(text):
    assert line_starts(text) == []


def test_boxes_belong_to_their_item():
    assert sentences("Paid\n☐ yes\n☒ no") == ["Paid", "☐ yes", "☒ no"]


def test_bullets_in_a_line_that_starts_with_one():
    assert sentences("• one • two ●three • four") == ["one", "two ●three", "four"]
    assert sentences("Home • News") == ["Home • News"]


def test_numbers_in_a_line():
    assert sentences("1) Open it 2) Wait") == ["1) Open it", "2) Wait"]
    assert sentences("Do this: 1. Open it. 2. Wait 3. Close") == [
        "Do this:",
        "1. Open it.",
        "2. Wait",
        "3. Close",
    ]
    assert sentences("Take 1. It was slow, take 2. It is fast") == [
        "Take 1.",
        "It was slow, take 2.",
        "It is fast",
    ]


def test_places_of_marks_and_texts():
    assert line_starts("a\n  • b\n  1. c") == [(4, 6)]
    assert line_starts("1. c\n| d") == [(0, 0), (5, 5)]


def test_ordered_lists_of_asciidoc():
    text = ". Open it\n. Fill it\n.. Slowly\n"
    assert [text[start.text :].split("\n")[0] for start in line_starts(text)] == [
        "Open it",
        "Fill it",
        "Slowly",
    ]
    assert line_starts("It was late\n. Nobody asked\n") == []


def test_signs_dashed_numbers_and_outlines_start_units():
    assert sentences("Parts\n→ Rope\n» Wire\n") == ["Parts", "→ Rope", "» Wire"]
    assert sentences("Do this:\n1- start it\n2- stop it\n") == [
        "Do this:",
        "1- start it",
        "2- stop it",
    ]
    outline = "1 Adults\n1.1 On Monday 12 euros\n2 Children\n2.1 On Monday 6 euros"
    assert sentences(outline) == outline.split("\n")
    assert len(sentences("It holds 1.5 litres and\n2 Cups of oil for each of\n3 Pumps.")) == 1


MESSAGES = [
    "[09:15] {}: {}",
    "[9:15 AM] {}: {}",
    "(09:15:22) {}: {}",
    "[2024-05-01, 09:15:22] {}: {}",
    "[2024-05-01T09:15:22Z] {}: {}",
    "[5/1/24, 9:15:22\u202fAM] {}: {}",
    "\u200e[01.05.24, 09:15:22] {}: {}",
    "01/05/2024, 09:15 - {}: {}",
    "2024-05-01 09:15 {}: {}",
    "[Yesterday 9:15 PM] {}: {}",
    "00:03:12 {}: {}",
    "00:03:12.480\t{}: {}",
    "09:15:22\t From {}: {}",
]


@pytest.mark.parametrize("form", MESSAGES)
@pytest.mark.parametrize(
    "speaker", ["Ana", "Bo van Dyk", "+49 170 1234567", "~Ana", "Анна", "安娜"]
)
def test_the_time_of_a_message_is_a_mark(form, speaker):
    text = "\n".join(form.format(speaker, said) for said in ("We shipped it.", "The lid is on."))
    assert sentences(text) == [f"{speaker}: We shipped it.", f"{speaker}: The lid is on."]
    for start in line_starts(text):
        assert ":" in text[start.mark : start.text]
        assert text.startswith(f"{speaker}:", start.text)


def test_a_message_may_go_on_in_further_lines_and_have_several_sentences():
    text = "Chat\n[09:15] Ana: It is late. We go\nhome now.\n[09:16] <bo> fine with me"
    assert sentences(text) == ["Chat", "Ana: It is late.", "We go\nhome now.", "<bo> fine with me"]


def test_times_without_brackets_need_somebody_who_speaks_twice():
    schedule = "09:15 Breakfast: eggs and bread.\n10:30 Tour: the old town."
    assert line_starts(schedule) == []
    chat = "09:15 Ana: We shipped it.\n09:16 Bob: Great.\n09:20 Ana: I am off."
    assert sentences(chat) == ["Ana: We shipped it.", "Bob: Great.", "Ana: I am off."]


@pytest.mark.parametrize(
    "text",
    [
        "[2024-05-01 09:15:22] ERROR: the disk is full",
        "[09:15:22] warning: the lid is open",
        "[09:15] the lamp: it is off",
        "We met at 09:15 Ana: was late",
        "[09:15] Ana came and went",
        "09:15",
        "[09:15]",
        "[09:15] A report of the harbour master and all of his men: it was late",
    ],
)
def test_other_times_stay(text):
    assert line_starts(text) == []
    assert sentences(text) == [text]
