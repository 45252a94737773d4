"""Shortcuts of reading: each gives what the rule behind it gives, asked everywhere."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import islice
from uuid import uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.sentences import read_sentences
from factoid.split import visible_text
from factoid.text import abbreviations, aligned, lines, marked_headings, markup, sentence_ends
from factoid.text.heading_context import Line
from factoid.text.plain import is_plain_line
from factoid.text.plain_headings import find_headings
from factoid.units import NAMESPACE, content_id

EVERYWHERE = re.compile("")  # matches any text

PIECES = st.sampled_from(
    [
        *"#`~|[]<>&*_=^{}:!?/.+-;,()\"'“”»•–—…。！？।①☐§²",
        *("\n", "\n\n", " ", "  ", "\t", "...", " . .", "---", "===", "::", "1.", "2)", "3.)"),
        *("data:image/png;base64,AA", ".. note:: x", "&amp;", "__init__", "**bold**", "<b>"),
        *("Dr", "No", "vol", "ca", "min", "iv", "II", "z. B.", "e.g.", "U.S.", "etc", "Abb", "im"),
        *("The pump", "is old", "Die Pumpe", "und", "La pompe", "est", "Straße", "μ", "ş", "и др"),
        *("17", "1990", "Heading", "= Title =", "Q: why?", "\u200b", "\u00a0", "\u037e", "ա:"),
    ]
)
TEXTS = st.lists(PIECES, max_size=30).flatmap(
    lambda pieces: st.sampled_from([" ".join(pieces), "".join(pieces), "\n".join(pieces)])
)


@given(TEXTS)
def test_candidates_are_those_of_finditer(text):
    found = [match.span() for match in sentence_ends._candidates(text)]
    assert found == [match.span() for match in sentence_ends._CANDIDATE.finditer(text)]


@given(TEXTS)
def test_a_plain_word_ends_a_sentence_by_all_rules(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_ends, "_is_plain", lambda *_: False)
        by_rules = sentence_ends.sentence_ends(text)
    assert sentence_ends.sentence_ends(text) == by_rules


@given(TEXTS)
def test_the_language_has_most_function_words(text):
    words = Counter(match[0].lower() for match in islice(re.finditer(r"[^\W\d_]+", text), 300))

    def occurrences(language):
        return sum(words[word] for word in language.function_words)

    best = max(abbreviations.LANGUAGES, key=occurrences)
    assert abbreviations.language_of(text) is best


@given(TEXTS)
def test_text_without_signs_gives_no_evidence(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markup, "_SIGN", EVERYWHERE)
        by_rules = markup._by_evidence.__wrapped__(text)
    assert markup._by_evidence.__wrapped__(text) == by_rules


@given(TEXTS)
def test_text_without_rules_and_signs_marks_no_heading(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marked_headings, "_MARK", EVERYWHERE)
        by_rules = marked_headings.marked_headings(text)
    assert marked_headings.marked_headings(text) == by_rules


@given(TEXTS)
def test_gaps_and_leaders_have_what_is_looked_for(text):
    if not ("  " in text or "\t" in text):
        assert not aligned._GAP.search(text)
    if not ("..." in text or " . ." in text):
        assert not aligned._LEADER.search(text)


@given(TEXTS)
def test_lists_on_a_line_have_what_is_looked_for(text):
    if not lines._NUMBER_AND_MARK.search(text):
        assert not lines._NUMBER_IN_LINE.search(text)
    if ":" not in text and "：" not in text:
        assert not lines._BULLET_AFTER_COLON.search(text)


@given(TEXTS)
def test_a_plain_line_is_seen_as_it_is(text):
    if is_plain_line(text):
        assert visible_text(read_sentences(text, markup="plain")) == text


def test_prose_is_a_plain_line():
    assert (
        is_plain_line("Dr. Lee (aged 42) built the pump in 1990. It is old! Is it - no, it's new.")
        is False
    )
    assert is_plain_line(
        "Dr. Lee (aged 42) built the pump in 1990. It is old! Is it? No, it's new."
    )


def test_long_lines_are_no_headings():
    assert find_headings([Line("A long line. " * 20)]) == []
    assert find_headings([Line("A short line"), Line("A long line. " * 20)]) != []


@given(st.lists(st.one_of(TEXTS, st.integers(), st.dictionaries(st.text(), st.integers()))))
def test_ids_are_uuid5(parts):
    written = json.dumps(tuple(parts), ensure_ascii=True, sort_keys=True, default=str)
    assert content_id(*parts) == str(uuid5(NAMESPACE, written))
