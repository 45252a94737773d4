"""What a reader sees of the inside of a paragraph in Markdown."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.text.inline import inline

REFERENCES = {"1": {"href": "https://example.com", "title": ""}}


def seen(source: str) -> str:
    return inline(source, range(len(source)), REFERENCES).text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("**Mind the gap. Stand back.** It is *late*.", "Mind the gap. Stand back. It is late."),
        ("***Both*** and __strong__ and _emphasis_", "Both and strong and emphasis"),
        ("See ![[pump.png|200]] and ![[Pump]].", "See  and Pump."),
        ("The *un*clear **to**wer", "The unclear tower"),
        ("glob *foo*bar.txt, *a*b and src/*x*y", "glob *foo*bar.txt, *a*b and src/*x*y"),
        ("snake_case_name, 2*3*4 and \\*args", "snake_case_name, 2*3*4 and *args"),
        (
            "[the **manual**](https://example.com/a_b 'Title') and [the page][1]",
            "the manual and the page",
        ),
        ("[not a link] and [neither][2]", "[not a link] and [neither][2]"),
        ("![A map of the *harbour*](map.png)", "A map of the harbour"),
        ("![A map](data:image/svg+xml;base64,PHN2Zz4=) shows it", "A map shows it"),
        ("[![Build](https://example.com/b.svg)](https://example.com)", "Build"),
        ("`a*b*c` and ``x ` y``", "`a*b*c` and ``x ` y``"),
        ("$a*b*c$ costs $5, the other $6", "$a*b*c$ costs $5, the other $6"),
        ("\\(x_1*x_2*x_3\\) is \\[ y \\]", "\\(x_1*x_2*x_3\\) is \\[ y \\]"),
        ("The set $\\{1, 2\\}$", "The set $\\{1, 2\\}$"),
        ("Measured.[^2019] And again.[^a]", "Measured. And again."),
        ("See [[Opening hours]] and [[hours#monday|the hours]]", "See Opening hours and the hours"),
        ("{ref}`the guide <guide>` and {math}`a*b*c`", "the guide and {math}`a*b*c`"),
        ("~~Closed~~ ==open== ++ctrl+c++", "open ctrl+c"),
        ("a ~ b and c == d", "a ~ b and c == d"),
        ("It is ~~red\nand [big](a.md)~~ new, **~~not~~ old**", "It is  new,  old"),
        ("The mark <s> opens. The mark </s> ends.", "The mark  opens. The mark  ends."),
        ("It has <del>. It ends `</del>` later </del>.", "It has . It ends `</del>` later ."),
        ("Ola <s>left. He <s>was</s> is here.", "Ola left. He  is here."),
        ("Now<del>, *then* </del>, <s>a <s>b</s> c</s><strike>d</strike>!", "Now,!"),
        ("<span style='text-decoration: line-through'>x <span>y</span></span>z", "z"),
        ("Take ~~5 `a~~b` c~~ 6 and `~~7~~` and \\~~8\\~~", "Take  6 and `~~7~~` and ~~8~~"),
        ("a ~~ b ~~ c, ~~~d~~~, ~~e and ~/f", "a ~~ b ~~ c, ~~~d~~~, ~~e and ~/f"),
        ("==~~red~~ blue== and ^^new^^, a ^^ b ^^", "blue and new, a ^^ b ^^"),
        ("C~6~H~12~O~6~, V~in~ and (x + y)^2^ m^3^, 2^nd^", "C6H12O6, Vin and (x + y)² m³, 2nd"),
        (
            "~/bin and ~ann, 2^8, x^2 + y^2, a~b~c, 3~4~5, /a/b~2~C",
            "~/bin and ~ann, 2^8, x^2 + y^2, a~b~c, 3~4~5, /a/b~2~C",
        ),
        (
            "https://example.com/a~2~B `H~2~O` ^_^ a\\^2\\^",
            "https://example.com/a~2~B `H~2~O` ^_^ a^2^",
        ),
        (
            "It sank [@berg1998; @lie, p. 4], or not [see @lie, chap. 2] [-@berg1998].",
            "It sank, or not.",
        ),
        (
            "It sank [see also @lie] in rain [-@lie; cf. @bo].",
            "It sank  in rain.",
        ),
        (
            "By [@ann], [a@b.no; c@d.no] and [@ann2020](a.md)",
            "By [@ann], [a@b.no; c@d.no] and @ann2020",
        ),
        ("![A pump|250](a.png), ![Map|60x40](b.png), ![60x40](c.png)", "A pump, Map,"),
        ("![Left|right](a.png) or ![2019](b.png) and a|250", "Left|right or 2019 and a|250"),
        ("**Oslo.**Bergen and **Note:**text", "Oslo.Bergen and Note:text"),
        ("Find src.**Test** or /a.**Ab, f(x)**N", "Find src.**Test** or /a.**Ab, f(x)**N"),
        ("Match ^\\w+\\.\\d*\\[$ or \\*all\\*.", "Match ^\\w+\\.\\d*\\[$ or *all*."),
        ("It sank [^1], and [^2] rose ~~now~~.", "It sank, and  rose."),
        ("The <s> token and a <del>ed word", "The  token and a ed word"),
        ("<ins>New</ins> <u>and</u> <span style='color: red'>red</span>", "New and red"),
        ("_**Tell the truth.**_ It matters.", "Tell the truth. It matters."),
        ("Choose **Open all...**. Then wait.", "Choose Open all.... Then wait."),
        ("In *$HOME/bin*, which `$PATH` *has*", "In $HOME/bin, which `$PATH` has"),
        ("|**To:**|All of us|", "|To:|All of us|"),
        ("A __new__ page, or a __deprecated__ one", "A new page, or a deprecated one"),
        (
            "The method __new__ is called before __init__",
            "The method __new__ is called before __init__",
        ),
        ("See the [`plugins`][mkdocs.plugins] of *it*", "See the `plugins` of it"),
        ("Take a[first][second] and [x][0]", "Take a[first][second] and [x][0]"),
        (
            "Done :white_check_mark:, not :x: at 10:30:45, :unknown: to us",
            "Done ✅, not ❌ at 10:30:45, :unknown: to us",
        ),
        ("A std:pair:x", "A std:pair:x"),
        (
            "Ann <ann@example.com>, <https://example.com/x_y_z>",
            "Ann ann@example.com, https://example.com/x_y_z",
        ),
        ("A &amp; B &nbsp;C &unknown; &#65;", "A & B \xa0C &unknown; A"),
        ("10<sup>3</sup> m<sup>2</sup>, H<sub>2</sub>O<br>next", "10³ m², H2O\nnext"),
        ("<b>Bold</b> <!-- hidden --><span class='x'>text</span>", "Bold text"),
        ("safe if p <i and q> 3", "safe if p <i and q> 3"),
        ("a List<String> of <T>", "a List<String> of <T>"),
        ("one\ntwo  \nthree\\\nfour", "one\ntwo\nthree\nfour"),
        ("<img src='data:x' alt='A &lt; B'> here", "A < B here"),
    ],
)
def test_a_reader_sees(source: str, text: str) -> None:
    assert seen(source) == text


def test_places_are_those_of_the_source() -> None:
    source = "**The** [pump](x.md) needs `oil_a` &amp; \\*water\\*."
    visible = inline(source, range(100, 100 + len(source)))
    for character, place in zip(visible.text, visible.offsets, strict=True):
        assert source[place - 100] == (character if character != "&" else "&")


def test_code_and_formulas_are_protected() -> None:
    visible = inline("Run `a. B` and $x. Y$ now.", range(26))
    assert [visible.text[start:end] for start, end in visible.protected] == ["`a. B`", "$x. Y$"]


def test_marks_are_known_by_what_they_open_and_close() -> None:
    source = "**One.** [Two](x.md)"
    visible = inline(source, range(len(source)))
    opened = [source[start:end] for end, start in visible.opening.items()]
    closed = [source[start:end] for start, end in visible.closing.items()]
    assert opened == ["*", "*", "["]
    assert closed == ["*", "*", "](x.md)"]


@pytest.mark.parametrize(
    ("source", "strong"),
    [
        ("**All**", True),
        ("**All**:", True),
        ("**Some** of it", False),
        ("`code`", False),
        ("__x__ **y**", True),
        ("", False),
    ],
)
def test_a_text_is_strong_as_a_whole(source: str, strong: bool) -> None:
    assert inline(source, range(len(source))).is_strong is strong


@given(st.text(alphabet="ab *_`[]()!<>&;\\$~=\n{}^|:/\"'0", max_size=80))
def test_places_never_fall_and_stay_inside(source: str) -> None:
    visible = inline(source, range(len(source)))
    assert len(visible.text) == len(visible.offsets)
    assert list(visible.offsets) == sorted(visible.offsets)
    assert all(0 <= place < len(source) for place in visible.offsets)
    assert all(0 <= first < last <= len(visible.text) for first, last in visible.protected)


@given(st.text(alphabet="abc \n.,'-", max_size=80))
def test_text_without_marks_is_unchanged(source: str) -> None:
    assert seen(source).split() == source.split()


@pytest.mark.parametrize("written", ["Options menu", "Options\n  menu", "Options &amp; menu"])
def test_the_alternative_text_of_an_image_in_html_is_in_its_place(written):
    source = f'Open the <img src="a.svg" alt="{written}"> icon.'
    visible = inline(source, range(len(source)))
    assert visible.text == f"Open the {' '.join(html.unescape(written).split())} icon."
    for word in ("Options", "menu", "icon"):
        start = visible.text.index(word)
        places = visible.offsets[start : start + len(word)]
        assert "".join(source[at] for at in places) == word
