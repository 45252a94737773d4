"""Messages of chats below a line of their own with the name and the time."""

import pytest

from factoid import Document, split_passages, split_sentences
from factoid.propositions.decompose import decompose
from factoid.propositions.syntax import SyntaxPropositionizer
from factoid.sentences import sentence_spans
from factoid.text.messages import message_headers

MARKUP = {"markup": "plain"}  # as a file that ends in .txt
FORMS = [
    "{name}  {time} AM",
    "{name} {time} AM",
    "{name}  [{time} AM]",
    "{name}\n  {time} AM",
    "{name}  Yesterday at {time} AM",
    "{name}  Nov 27th at {time} AM",
    "{name}  {time}",
    "{name}\t{time}",
    "[{time}] {name}",
    "[{time} AM] {name}",
    "[Yesterday {time}] {name}",
    "[27/11 {time}] {name}",
    "{name} — Today at {time} AM",
    "{name} — Yesterday at {time}",
    "{name} — 27/11/2026 {time}",
    "{name} – {time} AM",
    "{time}:05 From {name} to Everyone:",
    "{time}:05\t From  {name}  to  Ben Okafor(Direct Message):",
]
SAID = [
    ("Ana Meyer", "10:32", "The server is down."),
    ("Ben Okafor", "10:35", "The disk of the server is full. We bought a new one."),
    ("Ana Meyer", "10:41", "It arrived at noon."),
]


def written(form, *, gap="\n", below="\n", said=SAID):
    """Write a conversation in a form of its header lines."""
    messages = []
    for name, time, message in said:
        messages.append(form.format(name=name, time=time) + below + message)
    return gap.join(messages)


def passages_of(text):
    """Return the passages of a plain text, whose spans are checked."""
    passages = split_passages(Document(text, metadata=MARKUP))
    for passage in passages:
        assert text[passage.start : passage.end] == passage.text
    return passages


def sentences_of(text):
    """Return the sentences of a plain text, whose spans are checked."""
    units = []
    for passage in passages_of(text):
        units += split_sentences(passage)
    for unit in units:
        assert text[unit.start : unit.end] == unit.text
    return units


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("gap", ["\n", "\n\n"])
@pytest.mark.parametrize("below", ["\n", "\n\n", "\n\t"])
def test_the_line_above_a_message_is_in_none_of_its_sentences(form, gap, below):
    text = written(form, gap=gap, below=below)
    said = [unit.text for unit in sentences_of(text)]
    assert said[1] == "The server is down."
    assert said[3:5] == ["The disk of the server is full.", "We bought a new one."]
    assert said[6:] == ["It arrived at noon."]
    assert [said[place][:4] for place in (0, 2, 5)] == ["Ana ", "Ben ", "Ana "]
    assert not any("10:" in sentence for sentence in said)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_a_conversation_is_one_passage_that_holds_all_of_it(form, gap):
    text = written(form, gap=gap, below=gap)
    (passage,) = passages_of(text)
    assert passage.text == text
    assert passage.title == passage.section == ""


def test_what_is_embedded_begins_with_the_speaker():
    text = written("{name}  {time} AM")
    (passage,) = passages_of(text)
    assert passage.search_text.split("\n")[:2] == ["Ana Meyer", "The server is down."]
    embedded = [unit.search_text for unit in sentences_of(text)]
    assert embedded[1] == "Ana Meyer: The server is down."
    assert embedded[3] == "Ben Okafor: The disk of the server is full."
    assert embedded[4] == "We bought a new one."


@pytest.mark.parametrize("form", ["{name}  {time} AM", "[{time}] {name}"])
def test_propositions_name_the_speaker_as_in_messages_on_one_line(form):
    text = written(form)
    units = decompose(passages_of(text), SyntaxPropositionizer()).units
    line = decompose(passages_of(written("[{time}] {name}:", below=" ")), SyntaxPropositionizer())
    assert [unit.text for unit in units] == [unit.text for unit in line.units]
    for unit in units:
        assert text[unit.start : unit.end] in unit.text


def test_notes_of_the_app_are_in_no_sentence_of_a_message():
    text = (
        "Ana Meyer  10:32 AM\nThe server is down. (edited)\n:+1: 3  :eyes: 1\n👍 2\n"
        "Thread · 3 replies\nBen Okafor  10:35 AM\nThe disk is full\n10:36\nand hot\n3 replies\n"
    )
    assert [unit.text for unit in sentences_of(text)] == [
        "Ana Meyer",
        "The server is down.",
        "(edited)",
        ":+1: 3  :eyes: 1",
        "👍 2",
        "Thread · 3 replies",
        "Ben Okafor",
        "The disk is full",
        "10:36",
        "and hot",
        "3 replies",
    ]


def test_messages_may_have_lists_and_paragraphs():
    text = (
        "Notes of the week\n\nAna Meyer  10:32 AM\nTo do:\n- buy a disk\n- call Ben\n\nThanks all\n\n"
        "Ben Okafor  10:35 AM\nI will.\n\nSee you\n\nAna Meyer  10:36 AM\n\nBen Okafor  10:37 AM\nOk"
    )
    units = sentences_of(text)
    assert [unit.text for unit in units] == [
        *("Ana Meyer", "To do:", "buy a disk", "call Ben", "Thanks all"),
        *("Ben Okafor", "I will.", "See you", "Ana Meyer  10:36 AM", "Ben Okafor", "Ok"),
    ]
    assert units[1].search_text == "Ana Meyer: To do:"
    assert {unit.section for unit in units} == {""}


def test_a_speaker_stands_in_the_passage_of_the_message():
    said = []
    for minute in range(10, 40):
        message = " ".join(["The pump of the old mill is loud."] * (minute % 9 + 1))
        said.append(("Ana Meyer", f"10:{minute}", message))
    for words in (20, 60, 100):
        text = written("{name}  {time} AM", said=said)
        passages = split_passages(
            Document(text, metadata=MARKUP), words=words, min_words=words // 2
        )
        assert len(passages) > 3
        for passage in passages:
            assert not passage.search_text.endswith("Ana Meyer")


@pytest.mark.parametrize("name", ["Ana", "Meyer, Ana", "Bo van Dyk", "Ana Meyer (she/her)", "Анна"])
@pytest.mark.parametrize("form", ["{name}  {time} AM", "[{time}] {name}", "{name} — {time} AM"])
def test_names(form, name):
    text = written(form, said=[(name, "10:32", "we are late"), (name, "10:33", "so am I")])
    assert [unit.text for unit in sentences_of(text)] == [name, "we are late", name, "so am I"]


def test_times_on_the_hour_are_of_a_chat_if_somebody_says_so():
    said = [("Ana", "10:30", "Where are you?"), ("Ben", "10:35", "I am at the mill.")]
    assert len(message_headers(written("{name}  {time} AM", said=said))) == 2


OTHERS = {
    "one header": "Ana Meyer  10:32 AM\nThe server is down.",
    "schedule": "Breakfast  8:30 AM\nEggs and bread.\nLunch  12:30 PM\nThe buffet is in the hall.",
    "schedule in brackets": "[08:30] Breakfast\nEggs and bread.\n[12:30] Lunch\nThe hall is open.",
    "schedule with dates": (
        "Keynote — 27/11/2026 10:30\nIt is in the hall.\nWorkshop — 28/11/2026 09:00\nBring a pen."
    ),
    "schedule of days": (
        "Lunch  Monday at 12:30\nThe hall is open.\nLunch  Friday at 12:30\nThe hall is closed."
    ),
    "timetable": "Oslo S  10:32\nDrammen  11:07\nKongsberg  11:48\nBergen  17:04",
    "timetable with notes": "\n".join(
        f"{stop}  {time}\nChange here for the bus."
        for stop, time in [
            ("Oslo S", "10:32"),
            ("Asker", "10:51"),
            ("Hol", "11:07"),
            ("Ål", "12:24"),
        ]
    ),
    "two events": "Departure  10:32\nFrom the north quay.\nArrival  11:07\nAt the south quay.",
    "prose": (
        "The train left Oslo on Monday 10:32\nand it came to Bergen on Monday 17:04\nin the rain."
    ),
    "verses": "Matthew 10:32\nWhoever knows me.\n\nMark 8:27\nJesus went on.",
    "transcript": "Ana Meyer  0:03\nWelcome to the show.\nBen Okafor  0:17\nThank you.",
    "log": (
        "[10:32:05] Started\n  reading the disk\n[10:32:09] Stopped\n  the disk is full\n"
        "[10:32:11] 3 files"
    ),
    "short log": "[10:32] Started\n[10:33] Reading the disk\n[10:34] Stopped\n[10:36] Done",
    "subtitles": "1\n00:00:01,000 --> 00:00:04,000\nThe server is down.\n\n2\n"
    "00:00:05,000 --> 00:00:07,000\nThe disk is full.",
    "results": "Final score 10:32\nThe guests won.\nSecond match 21:17\nThe hosts won.",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS.keys())
def test_other_lines_with_times_stay(text):
    assert message_headers(text) == []
    seen = " ".join(unit.text for unit in sentences_of(text))
    assert all(word in seen for word in text.split() if ":" in word or "-" not in word)


def test_messages_on_one_line_stay():
    text = "[10:32] Ana Meyer: The server is down.\n[10:35] Ben: The disk is full.\n"
    assert message_headers(text) == []
    assert [text[start:end] for start, end in sentence_spans(text, markup="plain")] == [
        "Ana Meyer: The server is down.",
        "Ben: The disk is full.",
    ]
