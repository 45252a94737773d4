"""Tables whose columns are held apart by white space, in plain text."""

from __future__ import annotations

import time

import pytest

from factoid import Document, SyntaxPropositionizer, split_passages
from factoid.propositions import decompose
from factoid.sentences import sentence_spans
from factoid.text.plain import plain_blocks


def facts(text):
    passages = split_passages(Document(text, id="d"))
    return [unit.text for unit in decompose(passages, SyntaxPropositionizer(), log=False).units]


def sentences(text):
    return [text[start:end] for start, end in sentence_spans(text)]


PRICES = ["Name: Pump; Price: 5", "Name: Valve; Price: 7"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Name      Price\nPump      5\nValve     7\n", PRICES),
        (" Name  | Price\n-------+-------\n Pump  |     5\n Valve |     7\n", PRICES),
        ("Name\tPrice\nPump\t5\nValve\t7\n", PRICES),
        ("Name\t\tPrice\nPump\t\t\t5\nValve\t\t7\n", PRICES),
        ("Name     Price\n-------  -----\nPump     5\nValve    7\n", PRICES),
        (
            "=======  =====\nName     Price\n=======  =====\nPump     5\nValve    7\n=======  =====\n",
            PRICES,
        ),
        (
            "Quarter        Revenue    Profit\nQ1 2020          1,200       300\nQ2 2020          1,350       400\n",
            [
                "Quarter: Q1 2020; Revenue: 1,200; Profit: 300",
                "Quarter: Q2 2020; Revenue: 1,350; Profit: 400",
            ],
        ),
        (
            "Name   City    Team\nAnna   Oslo    Red\nBo     Bergen  Blue\n",
            ["Name: Anna; City: Oslo; Team: Red", "Name: Bo; City: Bergen; Team: Blue"],
        ),
        (
            "Place  Hours  Staff\nA      9-17   Bo\nB      9-18   Cai\n",
            ["Place: A; Hours: 9-17; Staff: Bo", "Place: B; Hours: 9-18; Staff: Cai"],
        ),
        (
            "POD    READY\nweb-1  yes\ndb-1   no\nx      no\n",
            [f"POD: {pod}" for pod in ("web-1; READY: yes", "db-1; READY: no", "x; READY: no")],
        ),
        (
            "Monday    closed  Anna\nTuesday   9-17    Bo\nSaturday  9-14    Cai\n",
            ["Monday; closed; Anna", "Tuesday; 9-17; Bo", "Saturday; 9-14; Cai"],
        ),
        (
            "Anna   Oslo    Red\nBo     Bergen  Blue\nCai    Hamar   Green\n",
            ["Anna; Oslo; Red", "Bo; Bergen; Blue", "Cai; Hamar; Green"],
        ),
        (
            "Weight ........ 12 kg\nPower ......... 500 W\nVoltage:        230 V\n",
            ["Weight; 12 kg", "Power; 500 W", "Voltage: 230 V"],
        ),
        (
            "Soup .... 5 euros\nFish and chips ......... 12 euros\nTea . . . . . 2 euros\n",
            ["Soup; 5 euros", "Fish and chips; 12 euros", "Tea; 2 euros"],
        ),
        (
            "He waited .... and left.\nIt was late.... She left.\n",
            ["He waited .... and left.", "It was late....", "She left."],
        ),
        (
            "Our prices:\n\nName     Price\nPump     5\nValve    7\n\nWe deliver.\n",
            [*(f"Our prices: {row}" for row in PRICES), "We deliver."],
        ),
        (
            "Options:\n"
            "  --verbose   say more about\n"
            "              each step\n"
            "  --quiet     say nothing\n"
            "  --limit N   stop early\n",
            [
                "Options: --verbose; say more about each step",
                "Options: --quiet; say nothing",
                "Options: --limit N; stop early",
            ],
        ),
        (
            "Day      Morning   Evening\nMonday   open      closed\nTuesday            open\n",
            ["Day; Morning; Evening", "Monday; open; closed", "Tuesday; open"],
        ),
    ],
)
def test_each_row_is_a_fact_with_the_names_of_its_columns(text, expected):
    assert facts(text) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1.  First do this.\n2.  Then do that.\n3.  Then stop.\n", 3),  # a list
        (
            "The fox ran.  It was quick.\nThe dog ran.  It was slow.\nThe owl sat.  It was old.\n",
            6,
        ),  # sentences
        (
            "The old mill  stands by the\nriver and it has not turned\nfor many  years now.\n",
            1,
        ),  # a slip
        (  # prose set in two columns
            "The quick fox ran over the     and then it was seen that the\n"
            "hill to the house where he     man had not come home at all\n"
            "lived with his old mother      in the last two or three weeks\n",
            1,
        ),
    ],
)
def test_what_is_no_table_stays_text(text, count):
    assert {block.kind for block in plain_blocks(text)} <= {"paragraph", "item"}
    assert len(sentences(text)) == count


def test_what_is_seen_of_a_row_stands_at_its_places():
    text = "Options:\n  --verbose   say more about\n              each step\n  --quiet     say nothing\n  --limit N   stop\n"
    rows = [block for block in plain_blocks(text) if block.kind == "row"]
    assert [row.visible.text for row in rows] == [
        "--verbose | say more about each step",
        "--quiet | say nothing",
        "--limit N | stop",
    ]
    for row in rows:
        offsets = list(row.visible.offsets)
        assert offsets == sorted(offsets)
        assert (row.start, row.end) == (offsets[0], offsets[-1] + 1)
        for start, end in row.cells:
            cell = row.visible.text[start:end]
            assert all(
                text[offsets[start + at]] == character
                for at, character in enumerate(cell)
                if not character.isspace()
            )


@pytest.mark.parametrize(
    "line", ["a  b\n", "a\tb\n", "a word more  b word more than one or two\n", "a  b  c\n a\tb\n"]
)
def test_many_lines_are_read_in_linear_time(line):
    def seconds(count):
        start = time.process_time()
        plain_blocks(line * count)
        return time.process_time() - start

    def is_linear():
        return seconds(16_000) < max(10 * seconds(4_000), 1)

    assert any(is_linear() for _ in range(3))
