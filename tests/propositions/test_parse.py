from __future__ import annotations

import json
import logging
from unicodedata import category

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from factoid.propositions.parse import read_propositions
from factoid.propositions.protocol import NoPropositions

A, B, C = "Ada wrote it.", "It is 5.5 m tall.", "Bo is a dog."
AB = [A, B]

# JSON, whole or cut off, over lines, fenced and in prose: see
# `test_json_is_read_exactly_wherever_it_ends`
READABLE = {
    "fenced, last bracket missing": (f'```json\n["{A}", "{B}"\n```', AB),
    "brackets in the prose around it": (f'As in [3], a list [JSON]: ["{A}", "{B}"] [sic]', AB),
    "quotes in the prose around it": (f'I read "the text": ["{A}", "{B}"] and "that" is it.', AB),
    "thinking before it": (f'<think>["no", "{C}"]</think>\n["{A}", "{B}"]', AB),
    "thinking begun by the template": (f'Say ["{C}"]?</think>["{A}", "{B}"]', AB),
    "reasoning of other names": (f'<thought>Is it ["{C}"]?</thought>\n["{A}", "{B}"]', AB),
    "reasoning in brackets": (f'[THINK]Perhaps ["{C}"].[/THINK]["{A}", "{B}"]', AB),
    "reasoning with bullets": (f"<thinking>\n- {C}\n</thinking>\n- {A}\n- {B}", AB),
    "reasoning after some words": (f'Let me see. <reasoning>["{C}"]</reasoning> ["{A}", "{B}"]', AB),
    "reasoning in a channel": (
        ('<|channel|>analysis<|message|>So '
        f'["{C}"]?<|end|><|start|>assistant<|channel|>final<|message|>["{A}", "{B}"]'),
        AB,
    ),
    "reasoning in a channel without its marks": (f'analysisWe try ["{C}"].assistantfinal["{A}", "{B}"]', AB),
    "tags in a string": (f'["The <think> tag ends at </think>.", "{B}"]', ["The <think> tag ends at </think>.", B]),
    "a tag in a fenced list": (f'```json\n["A <think>\n</think> B.", "{B}"]\n```', ["A <think> </think> B.", B]),
    "LaTeX that is not escaped": (
        r'["$\frac{1}{2} \beta \times \theta$", "$\nabla \neq \rho$ or \(a \not= b\)", "$\tau \to \bar{x}$"]',
        [r"$\frac{1}{2} \beta \times \theta$", r"$\nabla \neq \rho$ or \(a \not= b\)", r"$\tau \to \bar{x}$"],
    ),
    "paths that are not escaped": (
        r'["The files are in C:\new\table.", "Drive D:\bin and E:\root."]',
        [r"The files are in C:\new\table.", r"Drive D:\bin and E:\root."],
    ),
    "paths that are escaped, and new lines": (
        r'["It is in C:\\new\\bin.", "See C:\\Users\nNext.", "Option C:\nIt is red."]',
        [r"It is in C:\new\bin.", r"See C:\Users Next.", "Option C: It is red."],
    ),
    "LaTeX that is escaped": (r'["$\\frac{1}{2} \\nu$", "B."]', [r"$\frac{1}{2} \nu$", "B."]),
    "new lines and tabs beside it": (
        r'["It is\nnot new.\tThe $\nu$", "A\tb\rest."]',
        [r"It is not new. The $\nu$", "A b est."],
    ),
    "form feeds and backspaces, which nobody means": (
        r'["Match \bcat\b in it.", "The flags are \foo and \bar."]',
        [r"Match \bcat\b in it.", r"The flags are \foo and \bar."],
    ),
    "formulas with escapes that JSON has not": (
        r'["$B = \{y \mid \|y\| < 1\}$, $$u \, v$$", "\(s\;t\) and \[ p \& q \] and $\tfrac \rangle$"]',
        [r"$B = \{y \mid \|y\| < 1\}$, $$u \, v$$", r"\(s\;t\) and \[ p \& q \] and $\tfrac \rangle$"],
    ),
    "formulas with escapes that JSON has": (r'["\\(s \\; t\\) in $\\{a\\}$"]', [r"\(s \; t\) in $\{a\}$"]),
    "escapes beside prices and formulas": (
        r'["It costs $7 and isn\'t \_new\_ at \$9.", "$f\'(x)$ is \#1, see \[2\]."]',
        ["It costs $7 and isn't _new_ at $9.", "$f'(x)$ is #1, see [2]."],
    ),
    "patterns in code": (r'["Use `\w+\.\w*` or 1\. as \*that\*.", "B."]', [r"Use `\w+\.\w*` or 1. as *that*.", "B."]),
    "paths of a server": (
        r'["Open \\host\team\notes\best.", "It is \pub\new\files.", "See \\\\host\\team\\new."]',
        [r"Open \\host\team\notes\best.", r"It is \pub\new\files.", r"See \\host\team\new."],
    ),
    "lines that are no path": (r'["They are:\nred\ntan\nblue \_x\_y", "B."]', ["They are: red tan blue _x_y", "B."]),
    "objects with several strings": (
        json.dumps([{"id": "1", "fact": A, "evidence": C * 3}, {"id": "2", "fact": B, "evidence": C * 3}]),
        AB,
    ),
    "objects of which no key says so": (json.dumps([{"type": "x", "text": A, "source": C * 9}, {"text": B}]), AB),
    "objects with a reason": (json.dumps([{"reason": C * 5, "statement": A}, {"reason": C, "statement": B}]), AB),
    "objects with a key for each word": (
        json.dumps([{"subject": "Ada", "verb": "wrote", "full": A}, {"subject": "It", "verb": "is", "full": B}]),
        AB,
    ),
    "a list of facts beside others": (json.dumps({"entities": ["Ada"], "facts": AB}), AB),
    "facts by their subjects": (json.dumps({"Ada": [A], "It": [B]}), AB),
    "facts that are objects": (json.dumps({"facts": [{"fact": A, "section": C}, {"fact": B, "section": C}]}), AB),
    "another example invented after it": (f'["{A}", "{B}"]\n\nInput: Title: X. Content: Y.\nOutput: ["{C}"]', AB),
    "single quotes": (f"['{A}', '{B}']", AB),
    "single quotes and apostrophes": ("['A hare's form.', 'The hares' form.']", ["A hare's form.", "The hares' form."]),
    "escaped single quotes": (r"['The hare\'s form.', 'B.']", ["The hare's form.", "B."]),
    "Python's repr": (repr(["The hare's form.", 'He said "no".', A]), ["The hare's form.", 'He said "no".', A]),
    "typographic quotes": (f"[“{A}”, “{B}”]", AB),
    "typographic quotes within": ("[“He said “yes”, twice.”, “B.”]", ["He said “yes”, twice.", "B."]),
    "typographic single quotes": ("[‘The hare’s form.’, ‘B.’]", ["The hare’s form.", "B."]),
    "German and French quotes": (f"[„{A}“, «{B}»]", AB),
    "one closing quote typographic": (f'["{A}”, "{B}", "{C}"]', [A, B, C]),
    "strings wrapped over lines": ('["Ada\nwrote it.", "It is\n   5.5 m tall."]', AB),
    "another key": (json.dumps({"facts": AB}), AB),
    "other keys beside it": (json.dumps({"title": "X", "entities": ["Ada"], "propositions": AB, "n": 2}), AB),
    "objects in the list": (json.dumps([{"proposition": A}, {"proposition": B}]), AB),
    "objects with the sentence": (json.dumps([{"sentence": C, "propositions": AB}]), AB),
    "numbered keys": (json.dumps({"1": A, "2": B}), AB),
    "JSON lines": (f'{{"proposition": "{A}"}}\n{{"proposition": "{B}"}}', AB),
    "a JSON string around it": (json.dumps(json.dumps(AB)), AB),
    "a set": (f'{{"{A}", "{B}"}}', AB),
    "unescaped quotes": (f'["He said "yes" to her.", "{B}"]', ['He said "yes" to her.', B]),
    "unescaped quotes and commas": ('["She sang "A", "B" and "C".", "D."]', ['She sang "A", "B" and "C".', "D."]),
    "an unescaped quote at the end": (f'["He said "Go."", "{B}"]', ['He said "Go."', B]),
    "an unescaped quote at the start": (f'["{A}", ""Hello" is a song."]', [A, '"Hello" is a song.']),
    "an unescaped quote and a number": ('["The song "1999", 2 of it.", "B."]', ['The song "1999", 2 of it.', "B."]),
    "an unescaped quote and a colon": ('{"propositions": ["The "Dune": it.", "B."]}', ['The "Dune": it.', "B."]),
    "a closing quote missing": (f'["{A}, "{B}", "{C}"]', [A, B, C]),
    "commas missing": (f'["{A}"\n"{B}" "{C}"]', [A, B, C]),
    "a comma too much": (f'["{A}", "{B}",]', AB),
    "semicolons": (f'["{A}"; "{B}"]', AB),
    "last bracket missing, prose": (f'["{A}", "{B}"\n\nThese are all.', AB),
    "brackets missing": (f'"{A}", "{B}"', AB),
    "first bracket missing": (f'"{A}", "{B}"]', AB),
    "numbers and nulls": (f'["{A}", 5, 5.5, null, "{B}", true]', AB),
    "a number first": (f'[1, "{A}", "{B}"]', AB),
    "numbered strings": (f'[1. "{A}", 2. "{B}"]', AB),
    "comments": (f'[\n  "{A}", // from "1"\n  # next\n  "{B}"\n]', AB),
    "an ellipsis": (f'["{A}", "{B}", ...]', AB),
    "nested lists": (f'[["{A}"], [], [["{B}"]]]', AB),
    "two lists": (f'["{A}"]\n["{B}"]', AB),
    "a loop to the token limit": (f'["{A}"' + f', "{B}"' * 40 + ', "It is 5', [A, *[B] * 40]),
    "escapes": (r'["caf\u00e9 \ud83d\ude00", "a\/b\\c\td"]', ["café 😀", "a/b\\c d"]),
    "escapes that JSON has not": (r'["It\'s 5\% \alpha.", "B."]', ["It's 5% \\alpha.", "B."]),
    "half a character": (r'["x\ud83dy", "B."]', ["x\ufffdy", "B."]),
    # NUL ends a text for C and SQLite
    "escaped control characters": (r'["Ada\u0000 wrote\u009f it.", "B."]', [A, "B."]),
    "control characters": ('["Ada\0wrote it.", "B."]', [A, "B."]),
    "control characters after bullets": ("- Ada\x1bwrote it.", [A]),  # what they do to a terminal
    "bullets": (f"- {A}\n- {B}\n", AB),
    "bullets after a line": (f"Here they are:\n\n• {A}\n• {B}", AB),
    "numbered lines": (f"1. {A}\n2) {B}", AB),
    "bullets with quotes": (f'* "{A}",\n* “{B}”', AB),
    "bullets wrapped over lines": ("- Ada\n  wrote it.\n- It is 5.5 m\n  tall.", AB),
    "an empty list": ("[]", []),
    "a list of empty strings": ('["", " "]', []),
    "an empty list in an object": ('{"propositions": []}', []),
}  # fmt: skip


UNREADABLE = [
    "",
    " \n",
    '"I cannot do that."',
    '"Content" is missing, so there is nothing to decompose.',
    "The tower leans. It is old.\nIt stands in Pisa.",
    "The tower leans [1, 2] and is old [3].",
    '{"error": "I cannot do that."}',
    '{"propo',
    '["',
    '["Ada wrote',
    "[Ada wrote it., It is tall.]",
    "42",
    "```json\n```",
    "We found:\n- one thing\nand then a good deal of prose\nabout it all.",
]


@pytest.mark.parametrize(("output", "expected"), READABLE.values(), ids=READABLE)
def test_readable(output, expected):
    texts = read_propositions(output)
    assert texts == expected
    assert texts or texts.reason == "empty list"


@pytest.mark.parametrize("output", UNREADABLE)
def test_unreadable(output):
    assert read_propositions(output).reason == (
        "unreadable output" if output.strip() else "empty output"
    )


def test_an_unreadable_output_is_logged_in_part(caplog):
    with caplog.at_level(logging.INFO, "factoid"):
        read_propositions("no " * 1000)
    [message] = caplog.messages
    assert message.startswith("expected a JSON list of strings from the model, got 'no no ")
    assert len(message) < 200


@pytest.mark.parametrize(
    "output",
    [
        f'<think>\nI could write ["{C}"] but',
        f'<thought>["{C}", "{A}"]',
        f"[THINK]Maybe:\n- {C}\n- {A}",
        f'Sure.\n<reasoning type="draft">\n["{C}"]',
        f'<|channel|>analysis<|message|>I could write ["{C}"]',
        f'analysisWe need a list: ["{C}"]',
        f'<think>["{C}"]</think>\n<think>["{A}"]',
        f'◁think▷["{C}"]',
    ],
)
def test_an_output_cut_off_in_its_reasoning(output):
    result = read_propositions(output, cut_off=True)
    assert isinstance(result, NoPropositions)
    assert result.reason == "output cut off"


@pytest.mark.parametrize("output", ["no", " "])
def test_an_output_cut_off_before_its_list(output):
    result = read_propositions(output, cut_off=True)
    assert isinstance(result, NoPropositions)
    assert result.reason == "output cut off"
    assert read_propositions(f'["A.", "{output}', cut_off=True) == ["A."]


STRINGS = st.one_of(
    # without what a model means as the letters behind a backslash
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\b\f"), max_size=20),
    st.text("ab .,:[]{}\"'“”‘’\\/#-1\n`", max_size=20),  # what the parser decides by
)
BEFORE = ["", "Here are the propositions:\n\n", "```json\n", "Sure! As JSON:\n```\n", "Output: "]
AFTER = ["", "\n```", "\n\nI hope this helps. Let me know!", "\n```\nThat's all, folks."]


@settings(max_examples=300, deadline=None)
@given(
    strings=st.lists(STRINGS, max_size=5),
    before=st.sampled_from(BEFORE),
    after=st.sampled_from(AFTER),
    wrap=st.booleans(),
    ascii_only=st.booleans(),
    indent=st.sampled_from([None, 0, 2]),
    data=st.data(),
)
def test_json_is_read_exactly_wherever_it_ends(
    strings, before, after, wrap, ascii_only, indent, data
):
    def dump(value):
        return json.dumps(value, ensure_ascii=ascii_only, indent=indent)

    whole = before + dump({"propositions": strings} if wrap else strings) + after
    cut = data.draw(st.one_of(st.just(len(whole)), st.integers(0, len(whole))))
    ends = []  # where each string is complete
    at = len(before) + (whole[len(before) :].index("[") + 1)
    for text in strings:
        at = whole.index(dump(text), at) + len(dump(text))
        ends.append(at)
    plain = [
        "".join(" " if category(character) == "Cc" else character for character in text)
        for text in strings
    ]
    expected = [" ".join(text.split()) for text, end in zip(plain, ends, strict=True) if end <= cut]
    assert read_propositions(whole[:cut]) == [text for text in expected if text]


@settings(max_examples=300, deadline=None)
@given(st.text("ab .,:[]{}\"'“”‘’\\/#-1\n`", max_size=60) | st.text(max_size=60))
@example('["\\')
def test_any_text_gives_clean_strings(output):
    for text in read_propositions(output):
        assert text == " ".join(text.split()) != ""
        assert not any(category(character) == "Cc" for character in text)
        text.encode()
