"""What a reader sees of reStructuredText: directives, code, tables, definitions and inline markup, each in its place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import Document, SyntaxPropositionizer, split_passages
from factoid.sections import outline
from factoid.text.markup import markup_of
from factoid.text.reading import read, sentences_of
from factoid.text.restructured import restructured_blocks, restructured_inline
from tests.hostile_texts import seconds


def blocks(text):
    return [(block.kind, block.visible.text) for block in read(text, "rst")]


def seen(text):
    return restructured_inline(text, range(len(text))).text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("The **pump** needs *oil* and ``water_2``.", "The pump needs oil and `water_2`."),
        ("It is 2*3*4, *args and **kwargs.", "It is 2*3*4, *args and **kwargs."),
        ("See :ref:`the guide <top>` and :doc:`/intro`.", "See the guide and /intro."),
        (":class:`~flask.Flask` is :func:`!run`.", "Flask is run."),
        ("`Python <https://python.org>`_ and `the docs`__.", "Python and the docs."),
        ("Flask_ is small. A name_ too.", "Flask is small. A name too."),
        ("It is __init__ and snake_case and a_b_.", "It is __init__ and snake_case and a_b."),
        ("Use :code:`a_b <c>` or :code-tex:`\\\\def~x`.", "Use `a_b <c>` or `\\\\def~x`."),
        ("Write ``:option:`-a```.", "Write `` :option:`-a` ``."),
        ("Write ```a` b``, or ``a ` b``.", "Write `` `a` b ``, or ``a ` b``."),
        ("Set `debug.on` here.", "Set `debug.on` here."),
        ("As said [1]_, and [#note]_.", "As said, and."),
        (r"Of x86\_64 machines.", "Of x86_64 machines."),
        (r"A \*star\* and re\ ``set``.", "A *star* and re`set`."),
        ("Version |version| is out.", "Version version is out."),
        ("An _`inline target` here.", "An inline target here."),
    ],
)
def test_inline_markup(source, expected):
    assert seen(source) == expected


def test_directives_show_their_titles_and_texts():
    text = (
        "Text.\n\n.. note::\n\n   The tank is *empty*.\n\n   - one\n\n"
        ".. warning:: Switch it off\n   before you go.\n\n.. admonition:: A title\n   :class: tip\n\n   Body.\n\n"
        ".. versionadded:: 2.1\n   The option.\n\nEnd.\n"
    )
    shown = [
        "Text.",
        "The tank is empty.",
        "one",
        "Switch it off\n   before you go.",
        "A title",
        "Body.",
        "The option.",
        "End.",
    ]
    assert [visible for _, visible in blocks(text)] == shown


def test_comments_targets_and_contents_are_nothing():
    text = (
        ":orphan:\n\n.. _top:\n\n.. toctree::\n   :maxdepth: 2\n\n   intro\n   usage\n\n.. A comment\n   that goes on\n\n"
        "..\n   Another.\n\n.. |x| replace:: y\n\n__ https://example.com\n\nText.\n"
    )
    assert blocks(text) == [("paragraph", "Text.")]


def test_names_are_their_substitutes():
    text = (
        "The |Pump| costs |fee|_, not |price|.\n\n.. |pump| replace:: *new*\n   pump\n"
        ".. |fee| replace:: 7\n\n* One |pump| and 3 |fee| 4 || 5\n\n.. |fee| replace:: 8\n"
    )
    assert blocks(text) == [
        ("paragraph", "The new pump costs 7, not price."),
        ("item", "One new pump and 3 7 4 || 5"),
    ]
    visible = read(text, "rst")[0].visible
    assert [text[visible.offsets[at]] for at in (4, 11, 13)] == ["|", "|", "c"]


def test_a_long_substitute_is_not_repeated():
    text = f"It is |x|.\n\n.. |x| replace:: {'long ' * 50}\n"
    assert blocks(text) == [("paragraph", "It is x.")]


def test_code_is_code():
    text = (
        ".. code-block:: python\n   :linenos:\n\n   def run(*args):\n       return 1\n\n   run()\n\n"
        "Example::\n\n  $ make *all*\n\n::\n\n    x = **y\n\n>>> 1 + 1\n2\n\nText.\n"
    )
    assert blocks(text) == [
        ("code", "def run(*args):\n    return 1\n\nrun()"),
        ("paragraph", "Example:"),
        ("code", "$ make *all*"),
        ("code", "x = **y"),
        ("code", ">>> 1 + 1\n2"),
        ("paragraph", "Text."),
    ]


def test_pictures_are_their_texts():
    text = ".. image:: a.png\n   :alt: A red pump\n   :width: 20\n\n.. figure:: b.png\n\n   The *caption*.\n"
    assert [visible for _, visible in blocks(text)] == ["A red pump", "The caption."]


def test_options_that_go_on_below():
    text = (
        ".. image:: a.png\n   :alt: A *red* pump\n      beside a wall\n   :width:\n      20\n\n"
        ".. code-block:: sh\n   :caption:\n      Run it\n   :linenos:\n\n   make\n     all\n"
    )
    assert blocks(text) == [
        ("paragraph", "A red pump\n      beside a wall"),
        ("paragraph", "Run it"),
        ("code", "make\n  all"),
    ]


def test_modules_and_roles_that_are_described():
    text = (
        ".. py:module:: pumps\n   :synopsis: All.\n\n   Moves water.\n\n"
        ".. rst:role:: pump\n\n   Names a pump.\n\n.. role:: red(strong)\n   :class: red\n"
    )
    assert [visible for _, visible in blocks(text)] == ["Moves water.", "pump", "Names a pump."]


def test_definitions_and_fields_name_what_they_say():
    text = "pump\n    It moves ``water``.\n\n    It is loud.\n\n:Author: Ann\n:param path: The path\n    of a file.\n"
    units = [
        (block.visible.text, [lead.text for lead in block.leads]) for block in read(text, "rst")
    ]
    assert units == [
        ("pump", []),
        ("It moves `water`.", ["pump"]),
        ("It is loud.", ["pump"]),
        ("Author: Ann", []),
        ("param path: The path\n    of a file.", []),
    ]


def test_text_that_goes_on_below_a_mark():
    text = (
        ".. [1] See `the\n   guide <x>`_ now.\n\n#. First\n   goes on.\n#. Second.\n\n"
        ".. function:: run(a)\n              run(a, b)\n   :noindex:\n\n   It runs.\n\n.. note:: One\n   two.\n"
    )
    shown = [
        "See the\n   guide now.",
        "First\n   goes on.",
        "Second.",
        "run(a)\n              run(a, b)",
        "It runs.",
        "One\n   two.",
    ]
    assert [visible for _, visible in blocks(text)] == shown


def test_tables_name_their_columns():
    text = (
        ".. list-table:: Fares\n   :header-rows: 1\n\n   * - From\n     - Fare\n   * - **Oslo**\n     - 40\n   * - Bergen\n"
        '       (west)\n     -\n\n.. csv-table::\n   :header: Treat, Price\n\n   "Gull, fresh", 2.99\n\n'
        "======  =====\nOption  Means\n======  =====\n``-a``  *all*\n``-b``  none\n======  =====\n"
    )
    passages = split_passages(Document(text, metadata={"source": "fares.rst"}))
    made = [fact for facts in SyntaxPropositionizer().propositionize(passages) for fact in facts]
    rows = [block for block in read(text, "rst") if block.kind == "row" and not block.is_header]
    assert [block.names for block in rows] == [("From", "Fare")] * 2 + [("Treat", "Price")] + [
        ("Option", "Means")
    ] * 2
    assert [block.visible.text for block in rows] == [
        "Oslo | 40",
        "Bergen (west)",
        "Gull, fresh | 2.99",
        "`-a` | all",
        "`-b` | none",
    ]
    assert made


def test_headings_are_sections_without_marks():
    text = "=====\nPumps\n=====\n\nText.\n\nThe ``run`` *pump*\n==================\n\nIt is loud.\n"
    title, paragraphs = outline(Document(text, metadata={"source": "a.rst"}))
    assert (title, [paragraph.section for paragraph in paragraphs]) == (
        "Pumps",
        ["", "The run pump"],
    )


@pytest.mark.parametrize(
    ("text", "metadata", "expected"),
    [
        ("Text.", {"source": "a.rst"}, "rst"),
        ("Text.\n\n.. note::\n\n   More.", {}, "rst"),
        ("See :ref:`top` for *more*.", {}, "rst"),
        ("# Title\n\n.. note::\n\n   More.", {}, "markdown"),
        ("He said .. nothing:: at all.", {}, "plain"),
        ("Text.", {"markup": "rst"}, "rst"),
    ],
)
def test_what_is_restructured_text(text, metadata, expected):
    assert markup_of(text, metadata) == expected


PIECES = [
    ".. note:: a\n",
    "   b *c*\n",
    "\n",
    "Text::\n",
    "    code\n",
    "``x`` :ref:`y <z>` \\*\n",
    "term\n",
    "* i\n",
    ":f: v\n",
]
PIECES += [
    "| line\n",
    "====  ==\n",
    "a     b\n",
    ".. [1] n_\n",
    "  .. list-table::\n",
    "     * - a\n",
    "       - b\n",
    "\\",
    "`",
    "**",
]


@given(st.lists(st.sampled_from(PIECES), max_size=14))
@settings(max_examples=300, deadline=None)
def test_places_stay(pieces):
    text = "".join(pieces)
    last = 0
    for sentence in sentences_of(read(text, "rst")):
        assert 0 <= sentence.start < sentence.end <= len(text)
        for at, character in zip(sentence.visible.offsets, sentence.visible.text, strict=True):
            assert character.isspace() or text[at] == character or character == "|"
        assert sentence.start >= last
        last = sentence.start


@pytest.mark.parametrize(
    "piece",
    [
        "``a ",
        "*a ",
        "`a <b ",
        ".. a\n\n",
        "a::\n\n b\n\n",
        ":a",
        ":ref:`",
        "|a ",
        "\\",
        "* - a\n",
        "a_ [",
    ],
)
def test_long_texts_take_linear_time(piece):
    short = ".. note::\n\n   x\n\n" + piece * (10_000 // len(piece))
    once = max(seconds(restructured_blocks, short), 0.005)
    assert seconds(restructured_blocks, short + 3 * piece * (10_000 // len(piece))) < once * 12
