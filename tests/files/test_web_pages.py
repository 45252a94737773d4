"""Web pages and DOCX as Markdown: headings, tables with their headers, line breaks, and nothing of
what readers do not see.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import split_passages
from factoid.files.limits import DEFAULT_LIMITS
from factoid.files.readers import read_file
from factoid.files.web_pages import escaped, page_markdown
from factoid.text.inline import inline
from tests.files import bombs
from tests.files.test_readers import write

pytest.importorskip("markdownify")
pytest.importorskip("lxml")


def markdown(page: str) -> str:
    return page_markdown(page.encode(), "a.html", DEFAULT_LIMITS)[0]


@pytest.mark.parametrize(
    "unseen",
    [
        "<script>var a = 1;</script>",
        "<style>p { color: red }</style>",
        "<template><p>No.</p></template>",
        "<noscript>Turn it on.</noscript>",
        "<!-- a comment -->",
        "<nav><a href='/'>Home</a></nav>",
        "<div role='navigation'><a href='/'>Home</a></div>",
        "<form role='search'>Find</form>",
        "<p hidden>No.</p>",
        "<p style='display: none'>No.</p>",
        "<svg><text>No.</text></svg>",
        "<button>Copy</button>",
        "<select><option>German</option></select>",
        "<ol id='breadcrumbs'><li><a href='/'>Home</a></li></ol>",
        "<span class='trail breadcrumb'>Home / Mills</span>",
        "<a class='x' href='#main'>Skip to main content</a>",
        "<del>No.</del>",
        "<strike>No, <b>never</b>.</strike>",
        "<del><p>No.</p><p>Never.</p></del>",
        "<p style='color: red; text-decoration: line-through'>No.</p>",
    ],
)
def test_what_readers_do_not_see(unseen):
    assert markdown(f"<p>The mill</p>{unseen}<p>turns.</p>") == "The mill\n\nturns."
    assert markdown(f"<p>The mill {unseen} turns.</p>").split() == ["The", "mill", "turns."]


def test_struck_out_text_in_cells_and_in_code():
    rows = "<tr><th>Mill<th>Price<th>Year</tr><tr><td>A<td><del>7</del> 6<td><s>1901</s></tr>"
    assert markdown(f"<table>{rows}</table>").endswith("| A | 6 |  |")
    rows += (
        "<tr><td><s>B</s></td><td>9</td><td>1902</td></tr><tr><td></td><td>8</td><td>1903</td></tr>"
    )
    assert markdown(f"<table>{rows}</table>").endswith("| A | 6 |  |\n|  | 8 | 1903 |")
    assert markdown("<pre><del>-a</del>\n+b</pre>") == "```\n-a\n+b\n```"


def test_rows_that_are_names_with_values():
    rows = "<tr><th>Owner:</th><td>Ann</td></tr><tr><th>Phone</th><td>5*5</td></tr>"
    assert markdown(f"<table>{rows}</table>") == "- Owner: Ann\n- Phone: 5\\*5"
    wide = "<tr><th>Oslo</th><td>5</td><td>7</td></tr><tr><th>Bergen</th><td>2</td><td>3</td></tr>"
    assert markdown(f"<table>{wide}</table>").startswith(
        "|  |  |  |\n| --- | --- | --- |\n| Oslo |"
    )


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<h1>Mills <a class='headerlink' href='#mills'>¶</a></h1>", "# Mills"),
        ("<h2><a href='/mills'>Mills</a> of<br>Varn</h2>", "## [Mills](/mills) of Varn"),
        ("<details><summary>Mills</summary>They turn.</details>", "Mills\n\nThey turn."),
        ("<fieldset><legend>Mills</legend>They turn.</fieldset>", "Mills\n\nThey turn."),
        ("<p>It turns.<br>It hums.</p>", "It turns.  \nIt hums."),
        ("<p>10<sup>3</sup> m<sup>-2</sup>, H<sub>2</sub>O</p>", "10³ m⁻², H2O"),
        ("<p><b><strong>Old</strong></b> <em><i>mill</i></em></p>", "**Old** *mill*"),
        (
            '<p><img src="data:image/png;base64,AAAA" alt="a mill"> <img src="b.png" alt="sails"></p>',
            "a mill ![sails](b.png)",
        ),
        ("<p><a href='javascript:go()'>Go</a> <a href='#top'>up</a></p>", "Go up"),
        ("<ul><li>One</li><li>Two<ul><li>Three</li></ul></li></ul>", "- One\n- Two\n  - Three"),
        (
            "<p>2*3 = 6 and __init__, a\\*b, p &lt;i and `x` &amp;amp;</p>",
            "2\\*3 = 6 and \\_\\_init\\_\\_, a\\\\\\*b, p \\<i and \\`x\\` \\&amp;",
        ),
        ("<p># 7</p><p>1984. A novel</p><p>- no</p>", "\\# 7\n\n1984\\. A novel\n\n\\- no"),
        ("<pre>a_b *c* &lt;d&gt;</pre>", "```\na_b *c* <d>\n```"),
    ],
)
def test_pages(page, text):
    assert markdown(page) == text


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (
            "<tr><th>Mill<th>Height<tr><td>Old<td>12",
            "| Mill | Height |\n| --- | --- |\n| Old | 12 |",
        ),
        ("<caption>Mills</caption><tr><th>A<tr><td>b|c", "Mills\n\n| A |\n| --- |\n| b\\|c |"),
        # merged cells
        (
            "<tr><th>Town<th colspan=2>Mill<tr><td rowspan=2>Varn<td>Old<td>1<tr><td>New<td>2",
            "| Town | Mill | Mill (3) |\n| --- | --- | --- |\n| Varn | Old | 1 |\n| Varn | New | 2 |",
        ),
        (
            "<tr><th>Year<th>Month<tr><th rowspan=2>2025</th><tr><td>May",
            "| Year | Month |\n| --- | --- |\n| 2025 | May |",
        ),
        (
            "<tr><th>A<th>B<tr><td colspan=2>Wind<tr><td>a<td>1",
            "| A | B |\n| --- | --- |\n| Wind |  |\n| a | 1 |",
        ),
        # a header without marks
        (
            "<tr><td>Mill<td>Height<tr><td>Old<td>12",
            "| Mill | Height |\n| --- | --- |\n| Old | 12 |",
        ),
        (
            "<tr><td><b>Who</b><td><b>Where</b><tr><td>Ann<td>Varn",
            "| Who | Where |\n| --- | --- |\n| Ann | Varn |",
        ),
        (
            "<tr><td>Who<td>Where<td>What<tr><td>Ann<td>Varn<td>mill",
            "| Who | Where | What |\n| --- | --- | --- |\n| Ann | Varn | mill |",
        ),
        (
            "<tr><td>Name<td>Ann Lee<tr><td>Town<td>Varn",
            "|  |  |\n| --- | --- |\n| Name | Ann Lee |\n| Town | Varn |",
        ),
        # in cells
        (
            "<tr><th>A<th>B<tr><td><p>x</p><p>y</p><td><ul><li>1<li>2</ul>",
            "| A | B |\n| --- | --- |\n| x y | 1 2 |",
        ),
        (
            "<tr><th>A<th>B<tr><td>x<td><table><tr><td>i<td>j</table><tr><td>y<td>z",
            "| A | B |\n| --- | --- |\n| x | i j |\n| y | z |",
        ),
        (
            "<tr><th>A<th>Open<tr><td>x<td><input type=checkbox checked>Yes <input type=checkbox>No",
            "| A | Open |\n| --- | --- |\n| x | Yes |",
        ),
        # for the layout
        ("<tr><td><h2>Mills</h2><td><p>They turn.</p>", "## Mills\n\nThey turn."),
        ("<tr><td>One<tr><td>Two", "One\n\nTwo"),
        (
            "<tr><td>A menu<td><h1>M</h1><table><tr><th>A<tr><td>b</table>",
            "A menu\n\n# M\n\n| A |\n| --- |\n| b |",
        ),
    ],
)
def test_tables(rows, text):
    assert (
        markdown(f"<p>Before.</p><table>{rows}</table><p>After.</p>")
        == f"Before.\n\n{text}\n\nAfter."
    )


@given(
    st.text("ab12 *_`<>[](){}#&;~\\|!/:.-+", max_size=30).map(lambda text: " ".join(text.split()))
)
def test_what_is_escaped_is_seen_unchanged(text):
    source = f"x {escaped(text)}"
    assert inline(source, range(len(source))).text == f"x {text}".strip()


def test_docx_tables_have_a_header_and_no_pictures(tmp_path):
    def row(*cells):
        return f"<w:tr>{''.join(f'<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>' for cell in cells)}</w:tr>"

    table = f"<w:tbl>{row('Mill', 'Height')}{row('Old', '12')}{row('a_b', '7')}</w:tbl>"
    path = bombs.archive(tmp_path / "a.docx", bombs.office(bombs.document_xml(table)))
    (document,) = read_file(path)
    assert document.text == "| Mill | Height |\n| --- | --- |\n| Old | 12 |\n| a_b | 7 |"
    assert document.metadata == {"source": path.as_posix(), "content_type": "text/markdown"}


def test_docx_without_what_is_struck_out_or_deleted(tmp_path):
    struck = "<w:r><w:rPr><w:strike/></w:rPr><w:t>Of wood.</w:t></w:r>"
    deleted = '<w:del w:id="1" w:author="a"><w:r><w:delText>Of clay.</w:delText></w:r></w:del>'
    runs = f"<w:r><w:t>Of stone.</w:t></w:r>{struck}{deleted}"
    path = bombs.archive(
        tmp_path / "a.docx", bombs.office(bombs.document_xml(f"<w:p>{runs}</w:p>"))
    )
    (document,) = read_file(path)
    assert document.text == "Of stone."


def test_a_page_says_that_it_became_markdown(tmp_path):
    path = write(tmp_path / "a.html", "<title>Mills of Varn</title><p>They turn.</p>")
    (document,) = read_file(path)
    assert (document.title, document.text, [*document.metadata]) == (
        "Mills of Varn",
        "They turn.",
        ["source", "title", "content_type"],
    )


def test_a_page_whose_only_marks_are_escaped_is_read_as_markdown(tmp_path):
    path = write(tmp_path / "a.html", "<p>Use 5 * 6 of them :+1: each.</p>")
    (document,) = read_file(path)
    (passage,) = split_passages(document)
    assert passage.search_text == "Use 5 * 6 of them :+1: each."


def test_a_title_of_docx_is_a_heading(tmp_path):
    title = '<w:p><w:pPr><w:pStyle w:val="Title"/></w:pPr><w:r><w:t>Mills</w:t></w:r></w:p>'
    styles = (
        f'<w:styles xmlns:w="{bombs.WORD}"><w:style w:type="paragraph" w:styleId="Title"><w:name '
        'w:val="Title"/>'
        "</w:style></w:styles>"
    )
    members = bombs.office(bombs.document_xml(title + bombs.PARAGRAPH)) | {
        "word/styles.xml": styles
    }
    (document,) = read_file(bombs.archive(tmp_path / "a.docx", members))
    assert document.text == f"# Mills\n\n{bombs.SENTENCE}"
