"""All inputs as HTML: places, characters and hostile texts."""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.text.html import html_blocks


def read(source):
    return html_blocks(source, 0, len(source))


def texts(source):
    return [block.visible.text for block in read(source)]


HOSTILE = [
    *(
        "<",
        "<!--",
        "<!-- -->",
        "<a b=",
        "<a b='",
        '<a b="',
        '<a =""="',
        "&#",
        "&",
        "<!",
        "<?",
        "</",
        "<![",
    ),
    *(
        "<![CDATA[",
        "<script>",
        "<script></script ",
        "<div>",
        "<ul><li>a",
        "<b>",
        "<b><div>",
        "</b>",
        "<p>a",
    ),
    *(
        "<table>",
        "<table><tr><td>a<td>b",
        "<tr><td>a",
        "<td>a",
        "<dl><dt>a",
        "<dt>a",
        "<pre>",
        "<code>a",
    ),
    *(
        "<sup>1",
        "<nav>",
        "<head>",
        "<h1>a",
        "<br>",
        "<img alt=a>",
        "a ",
        "<caption>a",
        "<a href='#'>#",
    ),
    *(
        "<tr><td rowspan=999 colspan=999>a",
        "<tr><th rowspan=999 colspan=999>a",
        "<p hidden>",
        "</table>",
    ),
    *("</ul>", "<x-y></x-y>"),
]
NAMES = "p div b i code pre ul ol li dl dt dd table tr td th thead caption h2 a sup nav head span".split()
PIECES = [
    *(f"<{name}>" for name in NAMES),
    *(f"</{name}>" for name in NAMES),
    *(
        "<td rowspan=3 colspan=2>",
        "<p hidden>",
        "<td hidden>",
        "<tr hidden>",
        "<img alt='x y'>",
        "<br>",
    ),
    *(
        "<input type=checkbox>",
        "<script>",
        "</script>",
        "<!--",
        "-->",
        "<a href='#x' class=anchor>",
        "#",
        "<",
    ),
    *(
        ">",
        '"',
        "'",
        "=",
        "<foo>",
        "a",
        "b c",
        ":",
        "1",
        " ",
        "\n",
        "\r\n",
        "&amp;",
        "&nbsp;",
        "&",
        "é",
    ),
    *("<table role=none>", "<details>", "<x-y>", "</x-y>"),
]
AS_WRITTEN = [piece for piece in PIECES if "&" not in piece and "rowspan" not in piece]
WITHOUT_TAGS = [piece for piece in PIECES if piece[0] not in "<-\"'=>&"]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_inputs(unit):
    """The tags are too many for recursion; a block for each, and not more text than in proportion."""
    source = unit * (2 * sys.getrecursionlimit())
    found = read(source)
    assert len(found) <= source.count("<") + 1
    assert sum(len(block.visible.text) for block in found) <= 20 * len(source)
    check(source, 0, len(source), found)


def check(source, start, end, found):
    """Assert what holds for all blocks."""
    for block in found:
        text = block.visible.text
        offsets = block.visible.offsets
        assert text.strip()
        assert len(text) == len(offsets)
        assert all(first <= second for first, second in pairwise(offsets))
        assert start <= block.start <= offsets[0]
        assert offsets[-1] < block.end <= end
        assert not block.visible.opening
        assert not block.visible.closing
        assert all(
            0 <= first <= last <= len(text)
            for first, last in (*block.cells, *block.visible.protected)
        )
        assert len(block.names) in (0, len(block.cells))
        for lead in block.leads:
            assert start <= lead.start < lead.end <= end
            assert lead.text


@given(
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    st.text(max_size=3),
    st.text(max_size=3),
)
def test_places_are_in_order_and_inside(middle, before, after):
    source = before + middle + after
    start = len(before)
    found = html_blocks(source, start, start + len(middle))
    check(source, start, start + len(middle), found)
    alone = html_blocks(middle, 0, len(middle))
    assert [block.visible.text for block in found] == [block.visible.text for block in alone]
    assert [block.start - start for block in found] == [block.start for block in alone]


@given(st.lists(st.sampled_from(AS_WRITTEN)).map("".join))
def test_characters_are_those_of_the_source(source):
    for block in read(source):
        for character, place in zip(block.visible.text, block.visible.offsets, strict=True):
            is_put = character.isspace() or character in "|☐"
            is_raised = character == "¹" and source[place] == "1"
            assert is_put or is_raised or source[place] == character


@given(st.lists(st.sampled_from([*WITHOUT_TAGS, "&amp;", "&nbsp;"])).map("".join))
def test_text_without_tags_is_one_paragraph(source):
    expected = " ".join(source.replace("&nbsp;", " ").replace("&amp;", "&").split())
    assert " ".join(texts(source)) == expected
    assert len(texts(source)) <= 1


@given(st.text(alphabet=st.characters(exclude_characters="<&")))
def test_plain_characters(source):
    assert " ".join(texts(source)) == " ".join(source.split())
