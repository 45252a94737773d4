"""HTML as blocks of what a reader sees."""

from __future__ import annotations

import pytest

from factoid.text.html import TAGS, html_blocks


def read(source):
    return html_blocks(source, 0, len(source))


def texts(source):
    return [block.visible.text for block in read(source)]


def leads(source, text):
    return next(
        [lead.text for lead in block.leads] for block in read(source) if block.visible.text == text
    )


# Real shapes

README = """<h1 align="center">
  <br>
  <a href="https://example.org"><img src="https://example.org/logo.png?a=1&b=2" alt="Kettle &amp; Co" width="200"></a>
  <br>
  Kettle
</h1>

<p align="center">
  <a href="https://ci"><img src="https://ci/badge.svg" alt="Build passing"></a><a href="https://x"><img
     src="data:image/png;base64,iVBORw0KGgo=" alt="MIT"></a>
  <img src="https://img.shields.io/x.svg">
</p>
<div align="center"><b>Boils water.</b><br/>And <i>tea</i>.</div>
"""

MKDOCS = """<details class="note" open markdown="1">
<summary>How it works</summary>
<p>The <code>pump.start()</code> call runs. See <kbd>Ctrl</kbd>+<kbd>C</kbd>.</p>
<div class="highlight"><table class="highlighttable"><tr><td class="linenos"><div class="linenodiv"><pre>1
2</pre></div></td><td class="code"><div><pre><span></span><code><span class="k">if</span> a <span>&lt;</span> b:
    stop()
</code></pre></div></td></tr></table></div>
</details>"""

OPTIONS = """<p>The keys are:</p>
<ul>
<li><b>host</b> – where to listen
<!-- <li>port – the default is 80</li> -->
<ul><li>a name, or</li><li>an address</li></ul></li>
<li><p>port</p><p>A number.</p></li>
</ul>
<p>All are needed.</p>"""


def test_the_header_of_a_readme():
    heading, badges, slogan = read(README)
    assert (heading.kind, heading.level) == ("heading", 1)
    assert heading.visible.text == "Kettle & Co\nKettle"
    assert README[heading.start : heading.start + 17] == 'Kettle &amp; Co" '
    assert (badges.kind, badges.visible.text) == ("paragraph", "Build passing MIT")
    assert (slogan.kind, slogan.visible.text) == ("paragraph", "Boils water.\nAnd tea.")


def test_details_with_code():
    summary, paragraph, code = read(MKDOCS)
    assert (summary.kind, summary.visible.text) == ("paragraph", "How it works")
    assert paragraph.visible.text == "The pump.start() call runs. See Ctrl+C."
    protected = [paragraph.visible.text[start:end] for start, end in paragraph.visible.protected]
    assert protected == ["pump.start()", "Ctrl", "C"]
    assert (code.kind, code.visible.text) == ("code", "if a < b:\n    stop()")
    assert code.visible.protected == ((0, len(code.visible.text)),)


def test_a_list_with_a_default_in_a_comment():
    found = [
        (block.kind, block.level, block.visible.text, [lead.text for lead in block.leads])
        for block in read(OPTIONS)
    ]
    host = "host – where to listen"
    assert found == [
        ("paragraph", 0, "The keys are:", []),
        ("item", 1, host, ["The keys are:"]),
        ("item", 2, "a name, or", ["The keys are:", host]),
        ("item", 2, "an address", ["The keys are:", host]),
        ("item", 1, "port", ["The keys are:"]),
        ("paragraph", 0, "A number.", []),
        ("paragraph", 0, "All are needed.", []),
    ]
    lead = read(OPTIONS)[2].leads[1]
    assert OPTIONS[lead.start : lead.end] == "host</b> – where to listen"


# Paragraphs and headings


@pytest.mark.parametrize(
    "tag",
    "p div section article blockquote center figcaption summary dt dd header footer main address form fieldset".split(),
)
def test_elements_that_end_a_paragraph(tag):
    assert texts(f"before<{tag}>in <i>it</i></{tag}>after") == ["before", "in it", "after"]


@pytest.mark.parametrize(
    "tag", "a b i em span font small tt mark u ins abbr label time bdi o-o".split()
)
def test_elements_in_a_line(tag):
    assert texts(f"be<{tag} class='x'>twe</{tag}>en, and <{tag}>\n more </{tag}> words") == [
        "between, and more words"
    ]


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        (
            "<p>It costs <del>7</del> <ins>6</ins> kroner, to<strike>o</strike>.",
            ["It costs 6 kroner, to."],
        ),
        ("<h2><s>Old</s></h2><p><s>It is red.</s></p><p>It is new.", ["It is new."]),
        ("<del><p>It is red.</p><ul><li>One</ul></del>It is new.", ["It is new."]),
        ("<li style='text-decoration:line-through'>Red<li>Blue", ["Blue"]),
        ("<del>a <del>b</del> c</del>d", ["d"]),
        ("<p>A <s> that nobody closes.<p>It stays.", ["A that nobody closes.", "It stays."]),
        ("<pre><del>-a</del>\n+b</pre>", ["-a\n+b"]),
        ("A <s>mill. It turns.<p>It <s>was</s> is red.", ["A mill. It turns.", "It is red."]),
    ],
)
def test_text_that_is_struck_out(source, seen):
    assert texts(source) == seen


def test_cells_that_are_struck_out():
    rows = "<tr><th>Pump<th>Price<tr><td>A<td><s>7</s> 6<tr style='text-decoration: line-through'><td>B<td>5"
    assert texts(f"<table>{rows}<tr><td>C<td>4</table>") == ["Pump | Price", "A | 6", "C | 4"]


def test_a_price_that_is_struck_out_names_no_row():
    rows = "<tr><th>Was<th>Now<tr><td><del>$12</del></td><td>$7<tr><td><s>5 June</s><td>6 June"
    assert texts(f"<table>{rows}</table>") == ["Was | Now", "| $7", "| 6 June"]


def test_a_row_whose_name_is_struck_out():
    rows = "<tr><th>Pump<th>Price<tr><td><del>A</del><td>7<tr><th><s>B</s> D<td>5<tr><td><td>4"
    assert texts(f"<table>{rows}</table>") == ["Pump | Price", "D | 5", "| 4"]


@pytest.mark.parametrize("level", range(1, 7))
def test_headings(level):
    source = (
        f'<H{level} id="a">Set <em>up</em><a class="headerlink" href="#a">&para;</a></H{level}>Text'
    )
    heading, text = read(source)
    assert (heading.kind, heading.level, heading.visible.text) == ("heading", level, "Set up")
    assert (text.kind, text.visible.text) == ("paragraph", "Text")


def test_a_heading_ends_where_a_paragraph_starts():
    assert [
        (block.kind, block.visible.text) for block in read("<h2>Use<p>It runs.<h3><p>In</p></h3>")
    ] == [
        ("heading", "Use"),
        ("paragraph", "It runs."),
        ("heading", "In"),
    ]


def test_bold_blocks():
    bold = [
        block.visible.is_strong
        for block in read("<p><b>All <i>of</i></b> <strong>it</strong></p><p><b>not</b> all<p>none")
    ]
    assert bold == [True, False, False]


def test_lines_and_rules():
    assert texts("one<br>two <br/> three<hr>four<br>") == ["one\ntwo\nthree", "four"]


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("a&nbsp;&nbsp;b", "a b"),
        ("&amp;lt; &lt;b&gt;", "&lt; <b>"),
        ("&#x1F600;&#233;&eacute;", "😀éé"),
        ("R&D, AT&T &nosuch; & &#; &", "R&D, AT&T &nosuch; & &#; &"),
        ("&copy 2020, a&b;", "© 2020, a&b;"),
        (
            "10<sup>-3</sup> m<sup>2</sup>, 4<sup>th</sup>, x<sup>&minus;1</sup>, CO<sub>2</sub>",
            "10⁻³ m², 4th, x⁻¹, CO2",
        ),
        ("word<sup><a href='#fn1'>12</a></sup>.", "word¹²."),
        ("to<wbr>day", "today"),
        ("a\u00a0 \n\tb", "a b"),
    ],
)
def test_characters(source, seen):
    assert texts(source) == [seen]


def test_an_entity_is_within_the_span():
    (block,) = read("<p> &lt;a&gt; </p>")
    assert (block.start, block.end) == (4, 13)
    assert block.visible.offsets == [4, 8, 9]


# What is not seen


@pytest.mark.parametrize(
    "unseen",
    [
        "<script>if (a<b) { x('</p>') }</script>",
        "<style>p > a { color: red }</style>",
        "<!-- a <p>comment</p> -->",
        "<!-->",
        "<!DOCTYPE html>",
        "<?xml version='1.0'?>",
        "<![CDATA[ data ]]>",
        "<head><title>Name</title><meta name=a></head>",
        "<nav><ul><li><a href=x>Home</a><li>News</ul></nav>",
        "<div hidden>no<div>no</div>no</div>",
        "<span style='color:red; DISPLAY : none'>no</span>",
        "<svg viewBox='0 0 1 1'><title>Icon</title><path d='M0'/></svg>",
        "<button>Copy</button>",
        "<select><option>1<option>2</select>",
        "<template><p>no</p></template>",
        "<noscript>Turn it on</noscript>",
        "<textarea>no</textarea>",
        "<video src=x>no</video>",
        "<input type=text value=no>",
        "<img src=x.png>",
        "<img alt='https://a.b/c.png'><img alt='data:image/png;base64,AAAA'>",
        "<img hidden alt=no>",
    ],
)
def test_unseen(unseen):
    assert " ".join(texts(f"one {unseen} two")) == "one two"


def test_a_formula_has_no_annotation():
    source = (
        "<math><mi>x</mi><mo>=</mo><mn>2</mn><annotation encoding='tex'>x=2</annotation></math>"
    )
    assert texts(source) == ["x=2"]


def test_what_is_hidden_ends_with_the_element_around_it():
    assert texts("<p hidden>no<p>yes") == ["yes"]
    assert texts("<div><button>no</div>yes") == ["yes"]
    assert texts("<ul><li hidden>no<li>yes</ul>") == ["yes"]
    assert texts("<div>a<div hidden>no</div>b</div>c") == ["a", "b", "c"]
    assert texts("<head><title>no</title><body>yes") == ["yes"]
    assert texts("<head>yes") == ["yes"]


# What is no tag


@pytest.mark.parametrize(
    "text",
    [
        "0 <i and q> 1",
        "a<b and c>d",
        "run <foo> or <your-key> x",
        "1 < 2, 3 <4, a<",
        "<a and <<b",
        "<foo bar='baz'>",
        "see <https://a.b> or <me@a.b>",
        "</foo> <! > <3",
        "<tablespoon>",
    ],
)
def test_text_with_angle_brackets(text):
    assert texts(text) == [text]


@pytest.mark.parametrize(
    "tail",
    [
        '<a href="http://x',
        "<img src='x' alt='y",
        "</tab",
        "</p",
        '<div class="',
        "<!-- a",
        "<script> x",
    ],
)
def test_a_tag_that_is_cut(tail):
    assert texts(f"<p>text {tail}") == ["text"]


def test_quotes_in_tags():
    assert texts('<td width=5"><p class="x">a</p>') == ["a"]
    assert texts('<a title="1 > 0 <b>">a</a> <a href="foo>b</a>') == ["a b"]
    assert texts("<a title='it is \"so\"' checked>a</a>") == ["a"]
    assert texts('<img alt="a <b> &gt; c" src=x>') == ["a <b> > c"]


def test_elements_of_a_pages_own():
    assert texts("<x-tabs a='b'>one <x-y></x-y>two</x-tabs> <x-z>") == ["one two <x-z>"]


def test_names_of_elements():
    assert {"a", "h1", "svg", "math", "font", "center", "tt", "details"} <= TAGS
    assert not {"foo", "path", "dir", "https"} & TAGS
    assert all(name == name.lower() for name in TAGS)


# Lists


def test_items_without_their_ends():
    found = [
        (block.kind, block.level, block.visible.text)
        for block in read("<ol><li>a<ul><li>b<li>c</ul>d<li>e</ol><li>f")
    ]
    assert found == [
        ("item", 1, "a"),
        ("item", 2, "b"),
        ("item", 2, "c"),
        ("paragraph", 0, "d"),
        ("item", 1, "e"),
        ("item", 1, "f"),
    ]


def test_a_long_paragraph_leads_to_nothing():
    words = "word " * 29
    assert leads(f"<p>{words}list:</p><ul><li>a</ul>", "a") == [f"{words}list:"]
    assert leads(f"<p>{words}longer list:</p><ul><li>a</ul>", "a") == []
    assert leads("<p>A list.</p><ul><li>a</ul>", "a") == []
    assert leads("<p>Not this:</p><p>Text.</p><ul><li>a</ul>", "a") == []


def test_an_introduction_within_an_item():
    assert leads("<ul><li>Rent<p>It has:</p><ul><li>heat</ul></ul>", "heat") == ["Rent", "It has:"]
    assert leads("<ul><li>Rent has:<ul><li>heat</ul></ul>", "heat") == ["Rent has:"]
    assert leads("<ul><li><ul><li>heat</ul></ul>", "heat") == []


def test_terms_and_descriptions():
    source = "<dl><dt>Rent<dt>Fee<dd>Due in May.<dd>Never late.<ul><li>or else</ul><dt>Heat<dd>Free.</dl>"
    assert texts(source) == [
        "Rent",
        "Fee",
        "Due in May.",
        "Never late.",
        "or else",
        "Heat",
        "Free.",
    ]
    assert leads(source, "Due in May.") == leads(source, "Never late.") == ["Rent, Fee"]
    assert leads(source, "or else") == ["Rent, Fee"]
    assert leads(source, "Free.") == ["Heat"]
    assert leads(source, "Heat") == []


def test_boxes():
    source = (
        "<ul><li><input type=checkbox checked disabled>done<li><input type='checkbox'> open</ul>"
    )
    assert texts(source) == ["☒ done", "☐ open"]


# Code


def test_code_keeps_white_space():
    source = "<pre>\n\n  a\tb\r\n\n    c &amp; d <br>e\n</pre>"
    (block,) = read(source)
    assert (block.kind, block.visible.text) == ("code", "  a\tb\n\n    c & d \ne")
    assert source[block.start : block.end] == "  a\tb\r\n\n    c &amp; d <br>e"


def test_code_and_its_surroundings():
    source = "a<pre><div>b</div><div>c</div><ul><li>d</ul></pre>e <code>f. G</code>"
    assert [(block.kind, block.visible.text) for block in read(source)] == [
        ("paragraph", "a"),
        ("code", "b\nc\nd"),
        ("paragraph", "e f. G"),
    ]
    text = read("<p>Run <code>a. B <samp>c</samp>. D</code> now. <kbd> E</kbd></p>")[0].visible
    assert [text.text[start:end] for start, end in text.protected] == ["a. B c. D", "E"]
