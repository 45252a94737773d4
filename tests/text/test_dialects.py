"""Lines of each dialect as its tool documents them, and plain Markdown, which stays as it is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.text.dialect_rules import LINES, PARTS, REGIONS
from factoid.text.dialects import BREAK, FILLER, without_dialects
from tests.hostile_texts import FRAGMENTS, seconds

# Each is what a tool documents, and what is left of it; "¶" is the mark of a block of its own.
DOCUMENTED = [
    # Containers
    ("Docusaurus", ":::warning\n\nSome **content**.\n\n:::", "\n\nSome **content**.\n\n"),
    ("Docusaurus", ":::note[Your Title **with** some _Markdown_ `syntax`!]", "¶Your Title **with** some _Markdown_ `syntax`!"),
    ("Docusaurus", ":::tip Use tabs {#tabs}", "¶Use tabs"),
    ("Docusaurus", "::::info[Parent]\n\n:::danger\n:::\n::::", "¶Parent\n\n\n\n"),
    ("VuePress", "::: danger STOP\nDanger zone, do not proceed\n:::", "¶STOP\nDanger zone, do not proceed\n"),
    ("VitePress", "::: details Click me to view the code {open}", "¶Click me to view the code"),
    ("VitePress", "::: code-group", ""),
    ("Pandoc", "::: {#special .sidebar}\nHere is a paragraph.\n:::", "\nHere is a paragraph.\n"),
    ("Pandoc", "::: Warning ::::::\nThis is a warning.\n::::::::::", "\nThis is a warning.\n"),
    ("Quarto", '::: {.callout-tip title="Tip with Title"}', "¶Tip with Title"),
    ("mkdocstrings", "::: fastapi.WebSocket\n    options:\n        members:\n\nText", "\n\n\n\nText"),
    ("MS Learn", ':::image type="content" source="media/a.png" alt-text="Screenshot of it.":::', "¶Screenshot of it."),
    ("MS Learn", 'Select :::image type="icon" source="a.png" alt-text="Save"::: and go.', "Select Save and go."),
    ("MS Learn", ':::row:::\n   :::column span="2":::\n      Text\n   :::column-end:::', "\n\n      Text\n"),
    ("MS Learn", '::: moniker range="<=azure-devops-2019"\nText\n::: moniker-end', "\nText\n"),
    ("MS Learn", ':::code language="azurecli" source="~/a.sh" id="step1":::', ""),
    ("Astro", '::github{repo="withastro/starlight"}', ""),
    # MyST
    ("MyST", ":::{admonition} My title with *Markdown*\n:class: tip\n\nText\n:::", "¶My title with *Markdown*\n\n\nText\n"),
    ("MyST", "```{note} Notes can have **Markdown**\n:class: dropdown\nText\n```", "¶Notes can have **Markdown**\n\nText\n"),
    ("MyST", ":::{tip} Turn the valve\nto the left.\n:::", "Turn the valve\nto the left.\n"),
    ("MyST", ":::{tip} Turn it.\n- Left\n:::", "¶Turn it.\n- Left\n"),
    ("MyST", ":::{figure} a.png\n:alt: |\n:  Two red\n:  pumps\n:width: 1\n\nText\n:::", "\n\nTwo red\npumps\n\n\nText\n"),
    ("MyST", "```{figure} a.png\n---\nalt: 'Two red\n  pumps'\n---\nText\n```", "\n\nTwo red\n  pumps\n\nText\n"),
    ("MyST", "````{dropdown} Title\n```python\nx = 1\n```\n````\nText", "¶Title\n```python\nx = 1\n```\n\nText"),
    ("MyST", "```{versionadded} 1.2\nText\n```", "\nText\n"),
    ("MyST", "```{figure} ../fun.png\n---\nwidth: 200px\n---\nThe *caption*\n```", "\n\n\n\nThe *caption*\n"),
    ("MyST", "```{toctree}\n:maxdepth: 2\n\nintro\nmarkdown\n```\nText", "\n\n\n\n\n\nText"),
    ("MyST", "````{grid} 1 2 2 3\n```{card} Title\nText\n```\n````", "\n¶Title\nText\n\n"),
    ("MyST", "```{eval-rst}\n.. note:: A note\n```", "\nA note\n"),
    ("MyST", "```{image} a.png\n:width: 20px\n```", "\n\n"),
    ("MyST", ":::{figure} a.png\n:alt: Two fish\n\nThe caption\n:::", "\n¶Two fish\n\nThe caption\n"),
    ("MyST", "```{py:function} send(a)\nSends it.\n```", "¶send(a)\nSends it.\n"),
    ("MyST", "````{code}\nx\n    ````\n{a}`b`\n````\nText", "````{code}\nx\n    ````\n{a}`b`\n````\nText"),
    ("mkdocstrings", "#### ::: mkdocs.plugins.event\n", "#### mkdocs.plugins.event\n"),
    # reStructuredText in Markdown
    ("Sphinx", "Text.\n\n.. note::\n\n   The pump.\n", "Text.\n\n\n\n   The pump.\n"),
    ("Sphinx", ".. warning:: Switch it off\n   before you go.", "Switch it off\n   before you go."),
    ("Sphinx", ".. admonition:: Title\n   :class: tip\n\n   Text.", "Title\n\n\n   Text."),
    ("Sphinx", ".. note::\n\n    Four spaces.\n\nText", "\n\nFour spaces.\n\nText"),
    ("Sphinx", ".. versionadded:: 2.1\n   The option.", "\n   The option."),
    ("Sphinx", ".. image:: a.png\n   :alt: A pump\n\nText", "\n   ¶A pump\n\nText"),
    ("Sphinx", ".. toctree::\n   :maxdepth: 2\n\n   intro\n   usage\n\nText", "\n\n\n\n\n\nText"),
    ("Sphinx", ".. _a-label:\n\nText", "\n\nText"),
    ("Sphinx", ".. note:: Text\n\n.. A comment\n   goes on\n\nText", "Text\n\n\n\n\nText"),
    ("MyST", '```{code-block} python\n:lineno-start: 10\na = "{.x}"\n```', '```{code-block} python\n\na = "{.x}"\n```'),
    ("MyST", ":::{code-block} python\n# {.x}\n:::\nText {#a}", "```{code-block} python\n# {.x}\n```\nText"),
    ("MyST", "(syntax/targets)=\n# Targets", "\n# Targets"),
    ("MyST", "See {ref}`syntax/roles` and {doc}`the guide <../guide>`.", "See `syntax/roles` and the guide."),
    ("MyST", 'Text\n\n+++ {"tags": []}\n\nText', "Text\n\n\n\nText"),
    ("MyST", "Text\n\n% Draft of it.\n% ```python\n% x\n% ```\n\nText", "Text\n\n\n\n\n\n\nText"),
    ("Text", "It is 5\n% of all.", "It is 5\n% of all."),
    ("MyST", ":depth: How deep it is.\n:local: Of this section only.", "¶depth: How deep it is.\n¶local: Of this section only."),
    ("GitHub", ":runner: Improve it.", ":runner: Improve it."),
    ("MyST", "$$\ne = mc^2\n$$ (eqn:best)\n\n:::{tip}\nText\n:::", "$$\ne = mc^2\n$$ (eqn:best)\n\n\nText\n"),
    ("MyST", "```{my-config}\n:sphinx:\n:scope: global\n```", "```{my-config}\n\n\n```"),
    # Callouts
    ("GitHub", "> [!NOTE]\n> Useful information.", ">\n> Useful information."),
    ("GitHub", "- > [!TIP]\n  > Use it.", "- >\n  > Use it."),
    ("Obsidian", "> [!faq]- Are callouts foldable?\n> Yes!", "> ¶Are callouts foldable?\n> Yes!"),
    ("MS Learn", '> [!div class="checklist"]\n> * Create it', ">\n> * Create it"),
    ("MS Learn", "[!INCLUDE [az-upgrade](includes/az-upgrade.md)]", ""),
    ("MS Learn", "> [!VIDEO https://learn.microsoft.com/_themes/a]", ">"),
    # Hugo, Liquid
    ("Hugo", "{{< note >}}\nUse it.\n{{< /note >}}", "\nUse it.\n"),
    ("Hugo", '{{% tab name="Linux" %}}', "¶Linux"),
    ("Hugo", '{{% list path=/methods %}}{class="small"}\n\nText', "\n\nText"),
    ("GitBook", 'Open <i class="fa-gear">:gear-open:</i> Settings.', 'Open <i class="fa-gear"></i> Settings.'),
    ("Hugo", '{{< alert title="Note" color="info" >}}', "¶Note"),
    ("Hugo", 'A {{< glossary_tooltip text="Pod" term_id="pod" >}} runs.', "A Pod runs."),
    ("Hugo", 'Each {{< glossary_tooltip term_id="kubelet" >}} runs.', "Each kubelet runs."),
    ("Hugo", '{{< figure src="/a.svg"\n   alt="A cluster"\n   caption="The parts" >}}', "\n\n   ¶The parts"),
    ("Hugo", 'See the {{< link text="documentation of Kubernetes" url="/docs" >}}.', "See the documentation of Kubernetes."),
    ("GitBook", '{% hint style="info" %}\nText\n{% endhint %}', "\nText\n"),
    ("GitBook", '{% tab title="Ruby" %}', "¶Ruby"),
    ("Jekyll", "{% raw %}{{ page.title }}{% endraw %}", "{{ page.title }}"),
    ("Jekyll", "See [it]({% link docs/a.md %}#b).", "See [it](#b)."),
    ("Liquid", "Text\n{% comment %}\nNot this.\n{% endcomment %}", "Text\n\n\n"),
    ("Liquid", "- Text {% comment %}TODO link{% endcomment %}", "- Text"),
    ("Jekyll", "The {{ site.title }} stays.", "The {{ site.title }} stays."),
    # Includes, blocks and tables of contents
    ("FastAPI", "{* ../../docs_src/body/tutorial001_py310.py hl[16] *}", ""),
    ("pymdownx", '--8<-- "filename.ext"', ""),
    ("pymdownx", ';--8<-- "filename.ext"', ""),
    ("pymdownx", "--8<--\na.md\nb.md\n--8<--\nText", "\n\n\n\nText"),
    ("Markdown-Include", "{!docs/file.md!}", ""),
    ("mdBook", "{{#include file.rs}}", ""),
    ("VitePress", "<<< @/snippets/snippet.js{2}", ""),
    ("VuePress", "@[code](../foo.js)", ""),
    ("pymdownx", "/// note | Some title\nSome content\n///", "¶Some title\nSome content\n"),
    ("pymdownx", "/// details | Title\n    type: warning\n    open: true\n\nText\n///", "¶Title\n\n\n\nText\n"),
    ("Python-Markdown", "[TOC]", ""),
    ("Markdown Preview", "[toc]", ""),
    ("GitLab", "[[_TOC_]]", ""),
    ("VuePress", "[[toc]]", ""),
    ("kramdown", "# Contents\n{:.no_toc}\n\n* Will be replaced\n{:toc}", "# Contents\n\n\n\n"),
    # Attributes
    ("kramdown", "{: .note }\nText", "\nText"),
    ("kramdown", "A paragraph\n{: #para-one .class}", "A paragraph\n"),
    ("kramdown", '{::options parse_block_html="true" /}', ""),
    ("kramdown", "{::comment}\nNot this.\n{:/comment}\nText", "\n\n\nText"),
    ("kramdown", "Text\n{:refdef: .a}\nMore\n{:/}", "Text\n\nMore\n"),
    ("Material for MkDocs", "{ .annotate }", ""),
    ("Material for MkDocs", "[Subscribe](#newsletter){ .md-button .md-button--primary }", "[Subscribe](#newsletter)"),
    ("Material for MkDocs", "![Image](a.png){ loading=lazy }", "![Image](a.png)"),
    ("FastAPI", "## Query parameters { #query-parameters }", "## Query parameters"),
    ("Docusaurus", "## Requirements {/* #requirements */}", "## Requirements"),
    ("VitePress", "# Using custom anchors {#my-anchor}", "# Using custom anchors"),
    ("kramdown", "Hello {#id}\n-----", "Hello\n-----"),
    ("Pandoc", "## Preface {-}", "## Preface"),
    ("Pandoc", "[Small caps]{.smallcaps} and ![](f.jpg){width=50%}.", "Small caps and ![](f.jpg)."),
    ("Pandoc", "`<$>`{.haskell} is an operator.", "`<$>` is an operator."),
    ("Quarto", ': A caption {#tbl-letters tbl-colwidths="[60,40]"}', ": A caption"),
    # MDX
    ("MDX", "import Tabs from '@theme/Tabs';\nimport TabItem from '@theme/TabItem';", "\n"),
    ("MDX", "import {\n  A,\n  B,\n} from '../chart.js'\n\nText", "\n\n\n\n\nText"),
    ("MDX", "export const year = 2023", ""),
    ("MDX", "export const Highlight = ({children}) => (\n  <span>\n    {children}\n  </span>\n);\n\nText", "\n\n\n\n\n\nText"),
    ("Docusaurus", '<Tabs>\n<TabItem value="mac" label="macOS">\n\nText\n\n</TabItem>\n</Tabs>', "\n¶macOS\n\nText\n\n\n"),
    ("Docusaurus", '<Tabs groupId="os">\nText\n</Tabs>', "\nText\n"),
    ("Docusaurus", "<Tabs\n  values={[\n    {label: 'Apple', value: 'a'},\n  ]}>\n\nText", "\n\n\n\n\nText"),
    ("MDX", "<Foo />", ""),
    ("MDX", "{props.children}", ""),
    ("MDX", '<Tab label="A">\n\n    Text:\n\n    - Item\n\n</Tab>\n\n    code {.a}', "¶A\n\nText:\n\n¶Item\n\n\n\n    code {.a}"),
    ("MDX", "{list.map((one) => (\n  <li>{one}</li>\n))}\n\nText", "\n\n\n\nText"),
    ("Hugo", "{{/* A comment */}}", ""),
    ("Quarto", '![](a.png){.border fig-alt="A line drawing."}', "![](a.png)A line drawing."),
    ("MDX", "<Details title={`How it works`}>\nText\n</Details>", "¶How it works\nText\n"),
    ("MDX", "<>\nText\n</>", "\nText\n"),
    ("MDX", "Press <Icon name=\"x\" /> to{' '}close <Badge>it</Badge>.", "Press  toclose it."),
    ("MDX", 'Begin with <Card title="First steps" href="/a" /> and go on.', "Begin with First steps and go on."),
    ("MDX", 'Begin with <Card href="/a" title="First steps"></Card>.', "Begin with First steps."),
    ("MDX", '<Card title="First steps" href="/a">Wash the pump.</Card>', "First steps: Wash the pump."),
    ("MDX", '- <Step title="Dry?">Wait.</Step>\n- <Step title="Go">Run.</Step>', "- Dry? Wait.\n- Go: Run."),
    ("MDX", '| a | <Badge label="New" /> |\n|---|---|', "| a | New |\n|---|---|"),
    ("MDX", 'A <Tooltip title="Moves water">pump</Tooltip> <Icon title="x" />hums.', "A pump hums."),
    ("MDX", 'See <Card title="First"\n  href="/a">the pump.</Card>', "See First:\n  the pump."),
    ("MDX", '<Tab title="Go">Run.</Tab><Tab title="Stop">Wait.</Tab>', "Go: Run. Stop: Wait."),
    ("MDX", "{/* A comment\n over lines */}\nText", "\n\nText"),
    # Footnotes, definitions, abbreviations and comments
    ("Python-Markdown", "[^1]: My reference.\n[^note]: Named\n    and wrapped.", "¶My reference.\n¶Named\n    and wrapped."),
    ("Python-Markdown", "*[HTML]: Hyper Text Markup Language", ""),
    ("Python-Markdown", "Apple\n:   Pomaceous fruit", "Apple\n¶Pomaceous fruit"),
    ("Python-Markdown", "Apple\n\n:   A fruit.\n\n    It is red.\n\nText", "Apple\n\n¶A fruit.\n\nIt is red.\n\nText"),
    ("Material for MkDocs", ":   [x]\n", ":   [x]\n"),
    ("Obsidian", "This is an %%inline%% comment.", "This is an  comment."),
    ("Obsidian", "%%\nThis is a block comment.\n%%\nText", "\n\n\nText"),
    ("Obsidian", "The block of text. ^37066d", "The block of text."),
    ("CriticMarkup", "A {++red++} {--blue--} pump {~~hums~>sings~~}{>>Why?\nSo.<<}.", "A red  pump sings\n."),
    ("CriticMarkup", "{==It is *red*==}{>> or not <<} {~~now~>~~}`{++a++}` x_{--}", "It is *red* `{++a++}` x_{--}"),
    ("CriticMarkup", "{--Gone is it.--}\n\nText", "\n\nText"),
    ("Font Awesome", "Open :fa-home: and :fas-user-gear:, :fan-a:", "Open  and , :fan-a:"),
    ("Jekyll", '{% include note.html content="Close it." %}', "¶Close it."),
    ("Jekyll", '{% include tip.html title="Mind" content="It is **hot**." %}', "¶It is **hot**."),
    ("Jekyll", '{% include image.html file="a.png" caption="The pump" %}', "¶The pump"),
    ("Jekyll", "{% include footer.html text=page.note %}", ""),
    ("HTML", "<del>\n\n*Gone*.\n\n- It\n\n</del>\nText", "\n\n\n\n\n\n\nText"),
    ("HTML", "<s>\n\nText <s>a</s>", "<s>\n\nText <s>a</s>"),
    ("Material for MkDocs", "-   :material-clock-fast:{ .lg .middle } __Set up in 5 minutes__", "-    __Set up in 5 minutes__"),
    ("Material for MkDocs", ":octicons-x-16: :fontawesome-brands-github: :simple-x: Text", "   Text"),
]  # fmt: skip

PLAIN = [
    "# Title\n\nA *b* **c** `d` [e](f 'g') ![h](i) <https://j.k> [l][m] ~~n~~\n\n[m]: /url 'title'\n",
    "- a\n  - b\n\n    code\n1. c\n   > d\n   > - e\n- [ ] f\n- [x] g\n\n***\n\n| a | b |\n|---|:-:|\n| c | d |\n",
    "Title\n===\n\nOther\n---\n\n    indented {.code}\n    ::: note\n\n<div>\n<b>x</b>\n</div>\n\nText\\\nbreak  \nmore\n",
    "Set {x} to {1, 2}, ${VAR}, {a: 1}, {'a': 1}, f'{x}', {x=1} and \\{.a}. A List<String>, a<b and c>d, x_{i=1}^{n}.\n",
    '{"a": {"b": [1, 2]}}\n\n$$\n\\sum_{i=1} %% x\n$$\n\n\\begin{align}\nx &= \\sqrt[3]{x=1}\n\\end{align}\n',
    "From 10:30, at a::b, `:::note` and `{{< x >}}`, 50%% of 100%%, x ^2 and see [^1]. Export of goods; import duty.\n",
    "export goods\nimport them from 'there' today\n/// Adds one to a number\nNote: ::: is R. <kbd>a</kbd>\n",
    "Use `{% if\nx %}` in code that wraps, and ``` {.x} ``` too. The <YourName> and Map<K, V> stay.\n",
    "```jsx\n<Foo a={1} />\n:::note\n{% x %}\n```\n\n~~~~\n```{note}\n~~~\n{#a}\n~~~~\n",
    "> ```\n> ::: x\n> ```\n\n- a\n\n  ```\n  {: .x}\n  ```\n",
    "<pre>\n{% x %}\n:::note\n</pre>\n\n<!--\n:::note\n{#x}\n-->\n\n[!NOTE] is no callout.\n",
]  # fmt: skip


def seen(text: str) -> str:
    lines = text.replace(FILLER, "").replace(BREAK, "¶").split("\n")
    return "\n".join(line.rstrip() for line in lines)


@pytest.mark.parametrize(("tool", "source", "expected"), DOCUMENTED)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_documented_line(tool, source, expected, line_end):
    text = source.replace("\n", line_end)
    result = without_dialects(text)
    assert seen(result.replace("\r\n", "\n")) == expected
    assert_same_places(text, result)


@pytest.mark.parametrize("source", PLAIN)
def test_plain_markdown_stays(source):
    assert without_dialects(source) == source
    assert without_dialects(source.replace("\n", "\r\n")) == source.replace("\n", "\r\n")


def test_each_rule_has_a_documented_line():
    tools = {tool for tool, *_ in DOCUMENTED}
    unseen = {"All with containers"}
    for rule in (*LINES, *PARTS, *REGIONS):
        names = re.split(r", | and ", rule.dialect.partition(":")[0])
        assert tools.union(unseen).intersection(names), rule.dialect


def test_each_rule_matches_a_documented_line():
    documented = "\n".join(source for _, source, _ in DOCUMENTED)
    for rule in (*LINES, *PARTS):
        places = [match.start() for match in re.finditer(re.escape(rule.mark), documented)]
        assert any(rule.pattern.match(documented, place) for place in places), rule.dialect


def test_characters_and_what_is_hidden():
    assert without_dialects("{{< note >}}") == " " * 12
    assert without_dialects("> > [!NOTE]") == "> > " + " " * 7
    assert without_dialects("  :::tip Title") == "  " + BREAK + FILLER * 6 + "Title"
    assert without_dialects(":   Text") == ":   Text"
    assert without_dialects("A\n: Text") == "A\n" + BREAK + FILLER + "Text"
    assert without_dialects("a {#b}") == "a " + FILLER * 4


def test_the_hidden_characters_of_a_source_are_not_taken_for_hidden_ones():
    source = f"a{FILLER}b {BREAK}\n\n## c {{#d}}"
    result = without_dialects(source)
    assert result == f"a\ue0f2b \ue0f2\n\n## c {FILLER * 4}"


def test_a_line_in_html_does_not_end_it():
    source = "<td>\n        {% channel %}\n        <b>a</b>\n</td>"
    assert without_dialects(source).split("\n")[1] == " " * 8 + FILLER * 13


def test_code_in_a_definition_is_a_fence_to_commonmark():
    source = "Term\n\n:   Text\n\n    ``` yaml\n    a: {.b}\n    ```\n"
    lines = without_dialects(source).split("\n")
    assert lines[4:7] == ["   ```` yaml", "    a: {.b}", "   ````"]


def assert_same_places(source: str, result: str) -> None:
    assert len(result) == len(source)
    breaks = [(at, character) for at, character in enumerate(source) if character in "\r\n"]
    assert breaks == [(at, character) for at, character in enumerate(result) if character in "\r\n"]
    changed = [(old, new) for old, new in zip(source, result, strict=True) if old != new]
    assert {new for _, new in changed} <= {FILLER, BREAK, " ", ":", "\ue0f2", "`", "~"}


_PIECES = [
    *FRAGMENTS, *(source for _, source, _ in DOCUMENTED), *PLAIN,
    "{", "}", "{{<", ">}}", "{%", "%}", ":::", "/>", "<A", '="', "{.a}", "%%", "{/*", "*/}", "///",
    "export const a = {", FILLER, BREAK,
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=12))
def test_places_stay(pieces):
    source = "".join(pieces)
    assert_same_places(source, without_dialects(source))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([source for _, source, _ in DOCUMENTED]), max_size=4),
    st.sampled_from(["", "> ", "  ", "1. "]),
)
def test_code_in_fences_stays(pieces, indent):
    code = "\n".join(pieces)
    spaces = "   " if indent == "1. " else indent
    lines = [
        f"{indent}~~~~~~",
        *(spaces + line for line in code.split("\n")),
        f"{spaces}~~~~~~",
        "",
        "Text",
    ]
    source = "\n".join(lines)
    assert without_dialects(source) == source


_SLOW = [
    ".. a:: b\n", ".. note::\n  a\n", ".. _a:\n", ".. code::\n\n  a\n",
    "{", "{{<", "{{< a ", "{%a ", "{/*", "<A ", '<A a="', "<A a={",
    "<A\n", "<A b={\n", "<A>", "`", "`a``", ":::", ":::a[", "{.a ",
    "){.a}", "]{.a}", "[a]{.a}", "%%a ", "a %%", "```{toctree}\n",
    ":::{toctree}\n", "/// a\n", "export const a = {\n", "<pre>\n",
    "<!--\n", "$$\n", "%%\n", "--8<--\n", "{::comment}\n", "import {\n",
    "import a from 'b'", "[^a]: b\n", "a\n: b\n", "> ", "- ", "\n",
    ":material-a", ":material-a-", "^abcd",
    "[!INCLUDE [", ':::image a="', "{a}`", "{a}`b<", "@[a](", "(a", "    <A>\n", "<b>\n{% a %}\n",
]  # fmt: skip


@pytest.mark.parametrize("fragment", _SLOW)
def test_long_texts_take_linear_time(fragment):
    short = fragment * (20_000 // len(fragment))
    without_dialects(short)
    once = max(seconds(without_dialects, short), 0.002)
    assert seconds(without_dialects, short * 4) < once * 12
