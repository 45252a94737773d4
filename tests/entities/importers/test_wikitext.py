from __future__ import annotations

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.entities.importers.mediawiki import is_disambiguation
from factoid.entities.importers.wikitext import links, plain_text, strip_tags
from factoid.words import cut_words

HIDDEN = {"file", "category", "datei", "kategorie"}


def text(wikitext: str, words: int | None = None) -> str:
    return plain_text(strip_tags(wikitext), HIDDEN, words=words)


def pairs(wikitext: str) -> list[tuple[str, str]]:
    return links(strip_tags(wikitext), HIDDEN)


@pytest.mark.parametrize(
    ("wikitext", "expected"),
    [
        ("'''Bold''', ''italic'' and '''''both'''''.", "Bold, italic and both."),
        # Links
        ("[[Kiln]]s and [[oven|hot ovens]].", "Kilns and hot ovens."),
        ("[[Mercury (planet)|]], [[|x]].", "Mercury (planet), x."),
        ("See [[:Kategorie:Ovens]] and [[#History|below]].", "See Kategorie:Ovens and below."),
        (
            "A[[Kategorie:Ovens]][[fr:Four]][[Datei:A.png|thumb|An [[oven]] and [http://x.org a link]]] b.",
            "A b.",
        ),
        ("[[wikt:kiln|kiln]] [[:fr:Four|four]] [[Kiln#Types]]", "kiln four Kiln"),
        ("[http://x.org the page], [http://x.org], http://x.org.", "the page."),
        # Notes, comments, other elements
        ('A<ref name="a/b">x [[y]] {{cite|}}</ref> b<ref name=c /> c<!-- {{ -->.', "A b c."),
        ("A<ref>never closed.", "Anever closed."),
        ("A <!-- never closed.", "A"),
        ("<nowiki>[[x]] ''y'' {{z}}</nowiki>", "[[x]] ''y'' {{z}}"),
        ("10<sup>3</sup> km<sup>2</sup>, 21<sup>st</sup>, H<sub>2</sub>O", "10³ km², 21st, H2O"),
        ("<div>One</div><div>two</div>", "One\n\ntwo"),
        ("a<br/>b <small>c</small> <span style='x'>d</span>", "a b c d"),
        ("<gallery>\nA.png|An oven\n</gallery>\nText.", "Text."),
        ("2 &lt; 3, 5&nbsp;km, &ndash;, AT&amp;T", "2 < 3, 5 km, –, AT&T"),
        ("__NOTOC__Text.", "Text."),
        (
            "where <math>E = m\n c^{2}</math>, <ce>Fe^3+</ce> and <math>1",
            "where E = m c^{2}, Fe^3+ and 1",
        ),
        # Tables and boxes
        ('{| class="a"\n! h\n|-\n| {{x|}} || b\n|}\nText.', "Text."),
        ("{{Infobox\n| a = {{b\n|}}\n| c = [[d]]\n}}\nText.", "Text."),
        ("{{Infobox\n| never = closed\n\nText.\n\n== Next ==\nMore.", "Text.\n\nNext\n\nMore."),
        ("An [[oven is never closed.\n\nMore.", "An oven is never closed.\n\nMore."),
        # Lines
        ("One\ntwo\n\nthree", "One two\n\nthree"),
        ("* one\n** two\n# three\n\n: in", "one\ntwo\nthree\nin"),
        ("Text.\n== A ''b'' ==\n=== C ===\nMore.\n== Empty ==\n", "Text.\n\nA b\n\nC\n\nMore."),
        (
            "Text.\n== See also ==\n* [[x]]\n=== Sub ===\ny\n== After ==\nMore.",
            "Text.\n\nAfter\n\nMore.",
        ),
        # What templates leave
        ("Kiln ({{IPAc-en|k}}; from {{x}}, ) is.", "Kiln (from) is."),
        ("Kiln ({{IPAc-en|k}} or {{x}}) is {{cn}}.", "Kiln is."),
        ("So it ... goes . . . on", "So it ... goes . . . on"),
        ("1990{{ndash}}1995{{snd}}a{{nbsp}}b 5{{frac|1|2}}", "1990–1995 – a b 5 1/2"),
    ],
)
def test_markup_becomes_prose(wikitext: str, expected: str) -> None:
    assert text(wikitext) == expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("convert|12|km", "12 km"),
        ("convert|5|-|10|km|mi|adj=on", "5–10 km"),
        ("cvt|6|ft|2|in", "6 ft 2 in"),
        ("convert|40|C|F", "40 °C"),
        ("lang|fr|''four''", "four"),
        ("lang-grc-gre|κάμινος", "κάμινος"),
        ("transl|ar|ALA|furn", "furn"),
        ("nowrap|a [[kiln|hot kiln]]", "a hot kiln"),
        ("as of|2010", "As of 2010"),
        ("as of|2015|6|30|lc=y", "as of 30 June 2015"),
        ("death date and age|df=yes|1955|4|18|1879|3|14", "18 April 1955"),
        ("frac|2", "1/2"),
        ("val|6.241|e=18|u=grams", "6.241×10¹⁸ grams"),
        ("nihongo|'''Aikido'''|合気道|Aikidō|lead=yes", "Aikido (合気道, Aikidō)"),
        ("chem|H|2|O", "H2O"),
        ("quote|text=Fire it.|sign=A potter", "Fire it."),
        ("ill|Kiln|de|Ofen", "Kiln"),
        ("USS|Hornet|CV-12|6", "USS Hornet"),
        ("frac|1|3|4", "1 3/4"),
        ("gbp|5 million", "£5 million"),
        ("NoWrap|x{{efn|note}}y", "xy"),
        ("nowrap|1={{lang|fr|{{small|four}}}}", "four"),
        ("Unknown thing|x", ""),
    ],
)
def test_templates_that_are_words(template: str, expected: str) -> None:
    assert text(f"It is {{{{{template}}}}} now.") == " ".join(f"It is {expected} now.".split())


@pytest.mark.parametrize(
    ("wikitext", "expected"),
    [
        ("[[four|Öfen]]ähnlich [[日本]]の", [("Öfenähnlich", "Four"), ("日本", "日本")]),
        ("[[Kiln#Types|types]] [[Kiln_oven#A]]", [("types", "Kiln"), ("Kiln oven", "Kiln oven")]),
        ("[[|x]] [[#Types]] [[]] [[ ]]", []),
        ("[[:Kiln]] [[/sub]]", [("Kiln", "Kiln"), ("/sub", "/sub")]),
        ("[[Kategorie:A]] [[category:A]] [[fr:Four]]", []),
        (
            "[[Datei:A.png|thumb|the [[kiln]] and [[oven|an oven]]]]",
            [("kiln", "Kiln"), ("an oven", "Oven")],
        ),
        (
            "{{Infobox|a=[[kiln]]}}<ref>[[Press]]</ref><!-- [[x]] --><nowiki>[[y]]</nowiki>",
            [("kiln", "Kiln")],
        ),
        (
            "[[Re:Zero]] [[2001: A Space Odyssey]]",
            [("Re:Zero",) * 2, ("2001: A Space Odyssey",) * 2],
        ),
        (
            "[[kiln|''the'' <b>big</b> {{nowrap|hot kiln}} &amp; co]]",
            [("the big hot kiln & co", "Kiln")],
        ),
        ("[[logogram|[L]ogographic]] [[AT&amp;T]]", [("[L]ogographic", "Logogram"), ("AT&T",) * 2]),
        ("[[broken|a [[kiln]]", [("kiln", "Kiln")]),
    ],
)
def test_links_are_pairs_of_text_and_title(wikitext: str, expected: list[tuple[str, str]]) -> None:
    assert pairs(wikitext) == expected


@pytest.mark.parametrize(
    ("title", "wikitext", "expected"),
    [
        ("Kiln (disambiguation)", "", True),
        ("Kiln", "{{Disambiguation|geo}}", True),
        ("Kiln", "{{Letter–number combination disambiguation}}{{letter disambiguation}}", True),
        ("Kiln", "{{Begriffsklärung}}", True),
        (
            "Kiln",
            "a {{disambiguation needed|date=x}} {{dablink|x}} {{about|x}} {{Distinguish|y}}",
            False,
        ),
        ("Disambiguation", "The word.", False),
    ],
)
def test_disambiguation_pages(title: str, wikitext: str, expected: bool) -> None:
    assert is_disambiguation(title, wikitext) is expected


def test_reading_stops_when_there_are_enough_words() -> None:
    page = "\n\n".join(
        f"{{{{box|{number}}}}}\nParagraph '''{number}''' has five words." for number in range(100)
    )
    whole = text(page)
    for words in (1, 5, 6, 50, 499, 500):
        some = text(page, words)
        assert whole.startswith(some)
        assert words <= len(some.split()) < words + 6
        assert cut_words(some, words).split() == cut_words(whole, words).split()
    assert text(page, 10_000) == whole


SAFE = st.text(string.ascii_letters + string.digits + " ,äé日", max_size=30)
PIECES = st.sampled_from(
    "{{|}}|[[|]]|{\\||}|'''|''|<ref>|</ref>|<ref/>|<!--|-->|<nowiki>|</nowiki>|<b>|==|\n|\n\n|*|:|#|[http://x |]|&nbsp;|{{{|"
    "}}}|<math>|</math>|(|)|__TOC__|[[Datei:a\\|b|{{lang\\|fr\\||{{convert\\|".replace(
        "\\|", "\0"
    ).split("|")
).map(lambda piece: piece.replace("\0", "|"))


@settings(deadline=None, max_examples=300)
@given(st.lists(st.one_of(PIECES, SAFE), max_size=25).map("".join))
def test_damaged_markup_is_survived(wikitext: str) -> None:
    shown = text(wikitext)
    if "<nowiki>" not in wikitext and "<math>" not in wikitext:  # which show what they hold
        assert not re.search("<ref|__TOC__", shown)
    assert shown == shown.strip()
    assert "\n\n\n" not in shown
    links(strip_tags(wikitext), HIDDEN)


@settings(deadline=None)
@given(st.lists(st.text(string.ascii_letters + "äé日 ", min_size=1).filter(str.strip), min_size=1))
def test_plain_paragraphs_stay_as_they_are(paragraphs: list[str]) -> None:
    assert text("\n\n".join(paragraphs)) == "\n\n".join(
        " ".join(paragraph.split()) for paragraph in paragraphs
    )
