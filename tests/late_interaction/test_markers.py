"""Markers of citations: those of models are taken out, and ours put in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.late_interaction.markers import with_markers, without_markers
from tests.late_interaction.answer_pieces import PIECES

texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@pytest.mark.parametrize(
    ("sentence", "bare"),
    [
        ("Alpha [1] beta [2][13].", "Alpha beta."),
        ("[1] Alpha", "Alpha"),
        ("[1]", ""),
        ("See [1](http://a.b).", "See [1](http://a.b)."),
        ("Oslo[1], Bergen.[2] Then", "Oslo, Bergen. Then"),
        ("Up to 40 %[1] of it", "Up to 40 % of it"),
        ("`a[1]` and a [2019] war [1–3]\nlong", "`a[1]` and a [2019] war\nlong"),
        (r"Alpha \[1\] beta", r"Alpha \[1\] beta"),
        ("It sank [[2]](http://x). [[3]](u) Then", "It sank. Then"),
        ('It sank [[2]](http://x.y/a_(b) "Source"), [\\[4\\]](#c) too.', "It sank, too."),
        ("Oslo【4:0†source】 and 【12†a.pdf】 Bergen 【3】.", "Oslo and Bergen."),
        ("Le 【2024年】 stays", "Le 【2024年】 stays"),
        ("It follows (see Eq. [2]) from Fig. [3] [4].", "It follows (see Eq. [2]) from Fig. [3]."),
        (
            "According to [1], and as table [2] says, see [3].",
            "According to [1], and as table [2] says, see [3].",
        ),
        (
            "The index lies in [0, 1]; a[1] is the [1]: first.",
            "The index lies in [0, 1]; a[1] is the [1]: first.",
        ),
        # runs
        ("It sank [1]-[3], and rose [4]–[6].", "It sank, and rose."),
        ("It sank [1], [2] and [3].", "It sank."),
        ("It sank [1][2]; it rose [3] [4–6]. [7] - [9]", "It sank; it rose."),
        (
            "It sank ([1], [2]), Vasa (a ship)[3] rose<sup>[4]</sup>.",
            "It sank, Vasa (a ship) rose.",
        ),
        ("It sank [1; 2] and rose [3 and 4], [5, 6, and 7].", "It sank and rose."),
        ("Eqs. [2]-[4] hold, see [2] and [3].", "Eqs. [2]-[4] hold, see [2] and [3]."),
        # other marks
        ("It sank[^1][^2]. It rose.[^3]", "It sank. It rose."),
        ("[^1]: http://x.y", "[^1]: http://x.y"),
        (
            "It sank[^4^][^12^], and rose [^3^]. It is 2^4^ or ^[5][6]^.",
            "It sank, and rose. It is 2^4^ or.",
        ),
        # images
        ("![3](map.png) shows it [4].", "![3](map.png) shows it."),
        (
            "See ![1, 2](a/b.png)[3] and [![5](c.svg)](http://x.y).",
            "See ![1, 2](a/b.png) and [![5](c.svg)](http://x.y).",
        ),
        ("It sank![1] It rose! [2](http://x.y)", "It sank! It rose!"),
        ("It sank [1](http://x.y/a) and rose [2](#c).", "It sank and rose."),
        ("It sank [doc1] and rose [Source 2], [citation:3].", "It sank and rose."),
        ("It sank.¹ The king knew¹,² it¹.", "It sank. The king knew it¹."),
        ("It sank<sup>1,2</sup> on 5 m² or x<sup>2</sup>.", "It sank on 5 m² or x<sup>2</sup>."),
        ("It sank [1, p. 3] and rose [2, §4; 3, lines 7–9].", "It sank and rose."),
        ("It sank (source 1), or so (refs. 2 and 3).", "It sank, or so."),
        ("It sank [ref. 1] and rose [#2] [ 3 ] ［4］〔5〕^[6]^.", "It sank and rose."),
        ("It sank [^log]. It rose.[^a-2] Then", "It sank. It rose. Then"),
        (
            "It matches [^abc] here (1), see (source 2b).",
            "It matches [^abc] here (1), see (source 2b).",
        ),
        ("It sank [4†], and :contentReference[oaicite:0]{index=0} rose.", "It sank, and rose."),
        ("It sank \ue200cite\ue202turn0search1\ue202turn0search2\ue201.", "It sank."),
        (
            "A room [1, 2 m] of [page 3], [1, p] (documents).",
            "A room [1, 2 m] of [page 3], [1, p] (documents).",
        ),
        ("E = mc², sin²x, 10² feet², Ca²⁺, (x + 1)²", "E = mc², sin²x, 10² feet², Ca²⁺, (x + 1)²"),
    ],
)
def test_markers_are_taken_out(sentence: str, bare: str) -> None:
    assert without_markers(sentence) == bare


@pytest.mark.parametrize(
    "sentence",
    [
        "Set x = [1, 2, 3] first.",
        "Set y := [1].",
        "The list [1, 2, 3] has three items.",
        "[1, 2, 3] has three items.",
        "sorted([3, 1, 2]) returns [1, 2, 3].",
        "[1, 2, 3].append(4)",
        "The values are [1, 2] and the output is: [1, 2, 3].",
        "Rate it on a scale [1-5], in the range [2, 4].",
        "It is my_list[1] or find(x)[2].",
        "for x in [1, 2, 3]",
    ],
)
def test_lists_stay(sentence: str) -> None:
    assert without_markers(sentence) == sentence


@pytest.mark.parametrize(
    ("sentence", "bare"),
    [
        ("The treaty is on the list [1].", "The treaty is on the list."),
        ("The ship [1, 2, 3] sank in 1628 [1, 2].", "The ship sank in 1628."),
        ("Set x = [1, 2] [3].", "Set x = [1, 2]."),
        ("Sources: [1, 2]", "Sources:"),
        ("C++ [1] is old.", "C++ is old."),
    ],
)
def test_marks_beside_words_of_lists(sentence: str, bare: str) -> None:
    assert without_markers(sentence) == bare


@pytest.mark.parametrize(
    ("sentence", "marked"),
    [
        ("Alpha.", "Alpha [3][1]."),
        ("Alpha", "Alpha [3][1]"),
        ('He said "Yes!"', 'He said "Yes [3][1]!"'),
        ("**Bold.**", "**Bold [3][1].**"),
        ("Use `a.`", "Use `a.` [3][1]"),
        ("See [it](http://a.b.)", "See [it](http://a.b.) [3][1]"),
        ("Vraiment ?", "Vraiment [3][1] ?"),
        ("首都です。", "首都です [3][1]。"),
        ("...", "... [3][1]"),
    ],
)
def test_markers_go_before_the_final_punctuation(sentence: str, marked: str) -> None:
    assert with_markers(sentence, [3, 1])[0] == marked
    assert with_markers(sentence, [])[0] == sentence


@given(texts)
def test_markers_that_were_put_in_come_out_again(sentence: str) -> None:
    bare = without_markers(" ".join(sentence.split()))
    marked, place = with_markers(bare, [7, 88])
    assert marked == f"{bare[:place]} [7][88]{bare[place:]}"
