from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from factoid import report
from factoid.evaluate.measures import Reading
from tests.report.saved import HOSTILE, comparison, of_granularities, tried

pytest.importorskip("jinja2")

from factoid.report.page import LARGEST, recommendations, render, write

VOID = {"meta", "input", "br", "img"}
FOLDER = Path(report.__file__).parent


class Page(HTMLParser):
    """The elements of a page, whose tags have to be nested."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.open, self.text = [], [], {}
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text[self.open[-1] if self.open else ""] = (
            self.text.get(self.open[-1] if self.open else "", "") + data
        )

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def test_the_page_is_readable_without_its_script():
    found = comparison(9)
    page = Page(render(found))
    words = " ".join(" ".join(page.text.values()).split())
    assert found.sentence in words
    assert all(f"When did it sink? {number}" in words for number in range(9))
    assert "Few: The Vasa" in words
    assert "written by a model" in words
    assert len(page.all("details")) == 9
    assert ["right" in attributes.get("class", "") for attributes in page.all("li")].count(
        True
    ) == 5 + 6
    # What only the script can do is hidden.
    [filters] = [attributes for attributes in page.all("div") if attributes.get("id") == "filters"]
    assert "hidden" in filters
    assert page.all("button") == []


def test_hostile_texts_are_texts():
    found = comparison(4, text=HOSTILE, name=HOSTILE, question=HOSTILE)
    html = render(found)
    page = Page(html)
    assert len(page.all("script")) == 1
    assert page.all("img") == []
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert "{{ 7 * 7 }}" in html
    assert html.count("alert(1)") == html.count("&gt;alert(1)&lt;") + html.count(
        "onerror=alert(1)&gt;"
    )


def test_nothing_is_requested_and_no_other_script_runs():
    html = render(comparison(3))
    page = Page(html)
    for _, attributes in page.elements:
        assert not {"src", "srcset", "action", "style"} & attributes.keys()
        assert attributes.get("href", "#").startswith("#")
    assert not re.search(r"https?:|url\(|@import", html)
    [policy] = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]
    assert policy.startswith("default-src 'none'")
    for tag in ("script", "style"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_labels_for_those_who_do_not_see_it():
    page = Page(render(comparison(3)))
    assert page.all("html") == [{"lang": "en"}]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        assert attributes.get("aria-labelledby", ids[0]) in ids
    pictures = [svg for svg in page.all("svg") if svg.get("aria-hidden") != "true"]
    assert [svg["role"] for svg in pictures] == ["img", "img"]
    assert all("scope" in header for header in page.all("th"))
    assert all(div["tabindex"] == "0" for div in page.all("div") if div.get("class") == "scroll")


def test_a_thousand_questions_fit():
    html = render(comparison(1000, text="It sank in 1628, near the island. " * 30))
    assert len(html.encode()) <= LARGEST
    page = Page(html)
    assert len(page.all("details")) == 1000
    texts = [attributes for attributes in page.all("div") if attributes.get("class") == "beside"]
    assert len(texts) >= 300


def test_values_of_the_figures():
    html = render(comparison(9))
    # 2 of 9 are not answered within 100 words by facts, at the ranks of the other setting all are
    assert "facts: 66.7 % within 100 words" in html
    assert "passages: Success@5 " in html
    assert "3.0 MB" in html


def test_one_setting_without_vectors():
    found = comparison(3)
    bare = tried("words only", "passage", 0)
    answers = {"words only": found.answers["passages"]}
    html = render(
        replace(found, tried=(replace(bare, vectors=0),), answers=answers, baseline="words only")
    )
    Page(html)
    assert "words only: Success@5 100.0 %, 0.0 MB" in html
    assert 'class="beside"' not in html


def test_by_other_measures():
    found = recommendations(comparison(60))
    assert list(found) == ["Success@5", "Success@1", "within 100 words"]
    assert found["Success@1"].setting == "facts"
    assert found["within 100 words"].setting == "passages"


def test_write(tmp_path):
    write(comparison(2), tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == render(comparison(2))


def luminance(color):
    color = color.lstrip("#")
    color = "".join(c * 2 for c in color) if len(color) == 3 else color
    parts = [int(color[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("mode", [0, 1])
def test_contrast(mode):
    """WCAG AA: 4.5 for text, 3 for lines."""
    blocks = re.findall(
        r":root \{(.*?)\}", (FOLDER / "style.css").read_text(encoding="utf-8"), re.DOTALL
    )
    colors = dict(re.findall(r"--(\w+): (#\w+)", blocks[mode]))
    for text in ("front", "soft", "accent", "bad", "good"):
        for back in ("back", "panel"):
            assert contrast(colors[text], colors[back]) >= 4.5, (text, back)
    assert contrast(colors["front"], colors["mark"]) >= 4.5
    for number in range(8):
        assert contrast(colors[f"c{number}"], colors["back"]) >= 3, number


def test_popularity_the_paper_and_a_reader():
    found = of_granularities(90)
    html = render(found)
    page = Page(html)
    assert {"popularity", "claims"} <= {attributes.get("id") for attributes in page.all("h2")}
    assert "0 to 29 (30 questions)" in html
    assert "so it is here" in html  # propositions answer three of four, passages every second one
    assert (
        html.count("sentences over passages") == 6
    )  # Success@5 and @20, EM@100, within three numbers of words
    assert "from 100 words “1628” (F1 100)" in html
    pictures = [svg for svg in page.all("svg") if svg.get("aria-hidden") != "true"]
    assert len(pictures) == 3


def test_what_a_reader_wrote_is_text():
    found = of_granularities(60)
    reading = (Reading(100, HOSTILE, 0.0, 0.0),)
    answers = {
        name: tuple(replace(answer, readings=reading) for answer in of)
        for name, of in found.answers.items()
    }
    assert len(Page(render(replace(found, answers=answers))).all("script")) == 1
