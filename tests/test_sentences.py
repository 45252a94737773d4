"""Where sentences end.

Each line of PROSE is one text; `|` stands where the one space between two sentences is.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.sentences import MAX_CHARS, MAX_WORDS, sentence_spans
from factoid.words import INVISIBLE, count_words

PROSE = """
Dr. Smith met Mrs. Jones and Prof. Lee.|They left.
Rev. Dr. Martin Luther King Jr. spoke.|Many heard.
He met Sammy Davis Jr.|They danced.
J. R. R. Tolkien wrote The Hobbit.|George W. Bush did not.
M. Dupont est ici.|Il part.
Der Motor hat z. B. Lager aus Stahl, d. h. Eisen.|Er läuft.
Am 3. Mai, im 19. Jahrhundert, lief er.|Er kostet 5 Euro inkl. Montage bzw. Ersatz.|Er ist alt.
Il dure 2 h.|Puis il part.|Tel. 030 1234 hilft.
It draws max. 8 kW and min. 2 kW.|It takes 5 min.|Then it stops.
He lives in the U.S. and works in Washington, D.C. for the U.S. Army.|He is happy.
The U.S. Supreme Court ruled.|It was final.
Edward III.|He was king.
The value is 3.14 and 2.5 percent.|It rose to 1,000.50 dollars.
He was 35.|She was 40.
The temperature was −5.5 °C.|It was cold.
Version 2.0.1 was released.|Python 3.11 followed.
He said no.|They left.
He was late (see Fig. 3).|She was early.
Smith et al. (2020) showed this.|Jones et al. disagreed.
She holds a Ph.D. in physics.|He holds an M.D. from Yale.
Apple Inc. was founded in 1976.|Microsoft Corp. followed.
Many animals, e.g. Dogs, are nice.|Cats too.
Apples, pears, etc. are fruit.|They grow.
The mass is approx. 5 kg.|It is heavy.
It was founded ca. 1200 B.C. by monks.|It fell in 300 A.D.|The end.
He woke at 6 a.m. and slept at 10 p.m.|The next day he left.
The meeting is at 9 a.m. Monday.|Bring food.
"Stop!" he shouted.|She stopped.
«C'est fini.»|Il part.
He wrote "A. B. Smith" on it.|Then he left.
Wait... what happened?|Nothing.
He paused… then spoke.|He paused…|Then he spoke.
Is it?|Yes!|No.
Who's Next? is an album.|It was great.
The tower leans.[3]|It was restored.[1][2]|It stands.
It fell.[12, 13]|Then it rose.[2-4]|It fell.[citation needed]|Nobody knows.
It was drained in 1952.[^1]|It was rewetted.[^moor][^2]|It rose.²|It fell.¹,²|It is 3.5 m² wide.
He came (it was late. Everyone slept.) and left.|She stayed.
Visit https://example.com/a.b?c=d.|It is good.
It works.|iPhone and eBay work too.|mRNA does.
**It is done.**|_It is not._|It may be.*|So be it.
Ends here.|¿Por qué?|¡Hola!
Das ist z.B. ein Satz.|Noch einer.
Im 3. Quartal stieg der Umsatz.|Nach dem 1. Start und beim 2. Versuch lief er.|Der 1. und 2. Absatz gilt.
Er kam am 3.|Die Feier war am 4. Tag.|I am 35.|Tom is 12.|They are 3.|Der Rest bleibt.
Siehe Abb. 4 und Tab. 2 in Kap. 5.|Press Tab.|Then wait.|He works for ABB.|Tom left.
Die Prüfung gem. DIN 4102 macht die Fa. Wasser.
This is a gem.|Tom works for the FA.|Ann left.
Er kostet 3 Mio. Euro.|Er wiegt 4 Tsd. Tonnen.|Er kostet 5 Mrd.|Die Zahl stimmt.
Frau Dipl.-Ing. Kurz und Dr.-Ing. Lang wohnen Hauptstr. 12.|Ich wohne in der Hauptstr.|Er auch.
مرحبا بك؟|نعم.
यह एक वाक्य है।|यह दूसरा है।
"""


def sentences(text):
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize("line", PROSE.strip().splitlines())
def test_prose(line):
    assert sentences(line.replace("|", " ")) == line.split("|")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t\r\n\u00a0", []),
        ("no end", ["no end"]),
        ("我来了。你走了！他在这里？好｡", ["我来了。", "你走了！", "他在这里？", "好｡"]),
        ("他说 OK. 然后走了。", ["他说 OK.", "然后走了。"]),
        ("1. First item\n2. Second item", ["1. First item", "2. Second item"]),
        ("Intro:\n- one\n- two\n  * three", ["Intro:", "one", "two", "three"]),
        ("One line.\nAnother line\ngoes on.", ["One line.", "Another line\ngoes on."]),
        ("One.\r\nTwo.\r\n\r\nThree\r\n\r\nFour", ["One.", "Two.", "Three", "Four"]),
        (
            "He said:\u00a0“Go.”\u00a0She went.\u2003He slept.",
            ["He said:\u00a0“Go.”", "She went.", "He slept."],
        ),
        ("No space.Here", ["No space.Here"]),
        ("Done. 😀", ["Done.", "😀"]),
        ("a\0b. C\0d.", ["a\0b.", "C\0d."]),
        ("# Head #\nOne. Two.", ["Head", "One.", "Two."]),
        ("One. <!-- Two. Three. --> Four.", ["One.", "Four."]),
        (
            "One.<sup>1</sup> Two.<sup>[2](#b), 3</sup> Three.",
            ["One.<sup>1</sup>", "Two.<sup>[2](#b), 3</sup>", "Three."],
        ),
        ("One.\n\n[^1]: A book.\n[^2]: Another book.", ["One.", "A book.", "Another book."]),
        (
            "It has two parts. 1. This. 2. That. Is it so? 5.",
            ["It has two parts.", "1. This.", "2. That.", "Is it so?", "5."],
        ),
        (
            "<p>One.</p><p>Two<br>lines</p>\n\n<ul>\n<li>three</li></ul>",
            ["One.", "Two<br>lines", "three"],
        ),
        (
            "| a | <ul><li>b</li><li>c</li></ul> |\n|-|-|\n| 1 | 2 |",
            ["a | <ul><li>b</li><li>c</li></ul>", "1 | 2"],
        ),
        (
            "It splits <!-- a note. Another. --> text.",
            ["It splits <!-- a note. Another. --> text."],
        ),
        ("Call `a. B` now. Then `c`.", ["Call `a. B` now.", "Then `c`."]),
        (
            "See [the page.](http://x.org 'A. B') It is long.",
            ["See [the page.](http://x.org 'A. B')", "It is long."],
        ),
        (
            "- [x](y) one\n  1. two\n\n     goes on\n+ three",
            ["[x](y) one", "two", "goes on", "three"],
        ),
        (
            "It is ozone (O\n3) and smells.",
            ["It is ozone (O\n3) and smells."],
        ),  # no item: it has no neighbour
        ("1984. A novel", ["1984.", "A novel"]),
        (
            "| a | b |\n|:--|--:|\n| 1 | 2 |\n\nc | d\n--|--\n3 | 4",
            ["a | b", "1 | 2", "c | d", "3 | 4"],
        ),
        (
            "Run:\n```sh\nmake. All\n\n  done\n```\nOver.",
            ["Run:", "```sh\nmake. All\n\n  done\n```", "Over."],
        ),
        (
            "Run:\n\n    a = 1. B\n      c = 2\n\nOver.",
            ["Run:", "    a = 1. B\n      c = 2", "Over."],
        ),
        ("    Plain texts indent, too.\n\n    Yes.", ["Plain texts indent, too.", "Yes."]),
        ("A.\n```\n```\n<!-- b -->\n***\n[c]: http://d.e", ["A."]),
        ("Up to 1 &amp; 2. A \\*star\\*.", ["Up to 1 &amp; 2.", "A \\*star\\*."]),
        (
            "e. Copies are made\nf. They are sold\ng) Gone",
            ["e. Copies are made", "f. They are sold", "g) Gone"],
        ),
        (
            "1.1. It is so.\n1.2. It costs 3.50.\n1.2.1. So be it.",
            ["1.1. It is so.", "1.2. It costs 3.50.", "1.2.1. So be it."],
        ),
        (
            r"Open C:\Users\ann\x. Then go. \*So\*.",
            [r"Open C:\Users\ann\x.", "Then go.", r"\*So\*."],
        ),
        (
            "One caf&eacute;\n\nHe said &quot;yes.&quot; Then not.",
            ["One caf&eacute;", "He said &quot;yes.&quot;", "Then not."],
        ),
        # turns of conversations, and values with names
        (
            "Dr. Lee: hi\nMax. load: 5 kg\nTel.: 030",
            ["Dr. Lee: hi", "Max. load: 5 kg", "Tel.: 030"],
        ),
        (
            "Ann: shall we meet\nBen: yes. At ten\nand not later",
            ["Ann: shall we meet", "Ben: yes.", "At ten\nand not later"],
        ),
        (
            "[10:02] Ann: hi\r\n12/03/2024, 10:03 - **Ben:** ho",
            ["Ann: hi", "**Ben:** ho"],
        ),
        (
            "Sizes\nWeight: 59 kg\nPower (max): 8 kW",
            ["Sizes", "Weight: 59 kg", "Power (max): 8 kW"],
        ),
        (
            "The radium of\nMarie Curie: all that\nis known of it",
            ["The radium of\nMarie Curie: all that\nis known of it"],
        ),
    ],
)
def test_other_texts(text, expected):
    assert sentences(text) == expected


# White space, what nobody sees, and what Markdown does not show: marks of lists, quotes, tables and
# headings, link definitions, marks of footnotes.
UNSEEN = re.compile(
    rf"(?:[\s>|*+•‣·∙–#=~`:_-]|{INVISIBLE.pattern}|\d{{1,9}}[.)]|\[[^\]]*\]:\s*\S+"
    r"|\[\^\w+\])*"
)


def holds(text, spans):
    """Spans lie in the text in order; each is trimmed; outside stands nothing that a reader
    would see.
    """
    at = 0
    for start, end in spans:
        assert at <= start < end <= len(text)
        assert UNSEEN.fullmatch(text, at, start), text[at:start]
        assert text[start:end].rstrip() == text[start:end]
        assert text[start:end].lstrip() == text[start:end] or text[start].isspace()
        at = end
    assert UNSEEN.fullmatch(text, at), text[at:]


CHARACTERS = "aB1 \n\t.!?…,;:()[]\"'“”*_-—。！」漢क।؟😀\0\u00a0\u2028\r"
PIECES = st.sampled_from(
    [*CHARACTERS, "\r\n", "\n\n", "Dr. ", "U.S. ", "[3]", "The ", "e.g. ", "x" * 50]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=200))
def test_nothing_that_a_reader_sees_stands_between_sentences(text):
    holds(text, sentence_spans(text))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.sampled_from(["word", "漢字", "x" * 900, ", ", " ", "\t"]), min_size=200, max_size=900
    ).map("".join)
)
def test_no_sentence_is_too_long(text):
    spans = sentence_spans(text)
    holds(text, spans)
    for start, end in spans:
        assert count_words(text[start:end]) <= MAX_WORDS
        assert end - start <= MAX_CHARS


def test_a_sentence_without_end_is_cut_at_line_ends_else_words_else_anywhere():
    words = ["word"] * 450
    assert [len(part.split()) for part in sentences(" ".join(words))] == [100, 100, 100, 100, 50]
    assert [len(part) for part in sentences("x" * 9000)] == [4000, 4000, 1000]
    line = " ".join(words[:79])
    assert sentences(f"```\n{line}\n{line}\n{line}\n```") == [f"```\n{line}", line, f"{line}\n```"]
