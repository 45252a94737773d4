from __future__ import annotations

import unicodedata
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.entities.articles.names import name_key, squeezed_key, without_accents
from factoid.entities.linkers.titles import TitleLinker, singulars
from factoid.errors import InvalidInputError
from tests.entities.linkers.stores import links, make_store

TITLES = """Zynga|The Who|Who|It|Will (law)|Will Smith|Yahoo!|Who Framed Roger Rabbit|AC/DC|.NET|C++
C (programming language)|C Sharp|St. Louis|Seine-Saint-Denis|Denis|Terry Pratchett|Going Postal|Barack Obama|Steam engine
Long Way|On Broadway|Broadway|Ken Barlow|Coronation Street|The Lord of the Rings|1984|65daysofstatic|World Health Organization
United States|The Capital|Paris|What Is Love|東京|東京タワー|Beyoncé|"Heroes"|Was zählt|In Flames
Agents of S.H.I.E.L.D. (season 5)|List of rivers of Wales|Rivers|Was|القاهرة|ירושלים|กรุงเทพ|Why|Why?|Levi's|Levi
First aid|In Paris|A Long Way|In vitro|May|June|At Home
Time (magazine)|TIME|One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve|Ivan|Black Water|Café Müller|NASA""".replace(
    "\n", "|"
)
REDIRECTS = {
    "Obama": "Barack Obama",
    "WHO": "World Health Organization",
    "C#": "C Sharp",
    "US": "United States",
}
REDIRECTS |= {"in June": "June"}


pytestmark = pytest.mark.usefixtures("count_as_large")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    options = {"redirects": REDIRECTS, "anchors": [("at first sight", "June", 9)]}
    with make_store(tmp_path_factory.mktemp("s") / "titles", TITLES.split("|"), **options) as store:
        yield store


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Who founded Zynga?", {"Zynga": "Zynga"}),
        # question words
        ("Who is The Who's drummer?", {"The Who": "The Who"}),
        ("Who is the Who?", {"the Who": "The Who"}),
        ("Who is the author of It?", {"It": "It"}),
        ("Will Will Smith win?", {"Will Smith": "Will Smith"}),
        ("Will it rain?", {}),
        (
            "Who directed Who Framed Roger Rabbit?",
            {"Who Framed Roger Rabbit": "Who Framed Roger Rabbit"},
        ),
        ("Which language was Was zählt written in?", {"Was zählt": "Was zählt"}),
        (
            "Does the WHO act in the US?",
            {"WHO": "World Health Organization", "US": "United States"},
        ),
        # punctuation
        ("Who founded Yahoo!?", {"Yahoo!": "Yahoo!"}),
        ("Is AC/DC from Paris?", {"AC/DC": "AC/DC", "Paris": "Paris"}),
        ("Is .NET older than C++ or C#?", {".NET": ".NET", "C++": "C++", "C#": "C Sharp"}),
        ("Did John C. Smith build the Statue?", {}),
        ("Where is Seine-Saint-Denis?", {"Seine-Saint-Denis": "Seine-Saint-Denis"}),
        (
            "Is it Terry Pratchett's Going Postal?",
            {name: name for name in ("Terry Pratchett", "Going Postal")},
        ),
        ("What is Obama’s age?", {"Obama": "Barack Obama"}),
        ("Who makes Levi’s jeans?", {"Levi’s": "Levi's"}),
        ('Who sang "Heroes"?', {'"Heroes"': '"Heroes"'}),
        ("Wow!!! And who is it?", {}),
        (
            "Who is in Agents of S.H.I.E.L.D. (season 5)?",
            {name: name for name in TITLES.split("|") if "S.H" in name},
        ),
        ("Where\nis\tSt.\u00a0Louis?", {"St.\u00a0Louis": "St. Louis"}),
        ("Terry\n\nPratchett", {}),
        # capitals
        ("Who invented the steam engine?", {"steam engine": "Steam engine"}),
        ("It was a long way home for Ivan.", {"Ivan": "Ivan"}),  # not the song
        ("Did Ivan drink black water?", {"Ivan": "Ivan"}),
        ("who drinks black water", {"black water": "Black Water"}),
        ("Is In Flames on Broadway?", {"In Flames": "In Flames", "Broadway": "Broadway"}),
        (
            "Who made the list of rivers of Wales?",
            {"list of rivers of Wales": "List of rivers of Wales"},
        ),
        ("What is the capital of Paris?", {"Paris": "Paris"}),
        ("What does zynga do in Paris?", {"Paris": "Paris"}),
        ("What does zynga do?", {"zynga": "Zynga"}),
        ("Who owns TIME?", {"TIME": "TIME"}),
        ("Who owns Time?", {"Time": "Time (magazine)"}),
        ("does it have rivers", {"rivers": "Rivers"}),
        ("who wrote the lord of the rings", {"the lord of the rings": "The Lord of the Rings"}),
        ("WHO FOUNDED ZYNGA?", {"ZYNGA": "Zynga"}),
        # what begins with a function word
        ("Was it grown in vitro?", {"in vitro": "In vitro"}),
        ("Is it in Paris, Ivan?", {"Paris": "Paris", "Ivan": "Ivan"}),  # not the song
        ("it was a long way", {"a long way": "A Long Way"}),  # no capitals: they tell nothing
        ("It was a long way.", {"a long way": "A Long Way"}),  # nor does that of the first word
        ("Is May warmer than June?", {"May": "May", "June": "June"}),
        ("May Ivan come in June?", {"Ivan": "Ivan", "June": "June"}),
        ("Did Ivan see it at first sight?", {"Ivan": "Ivan"}),  # no title
        # numbers
        ("Who was in Paris in 1984?", {"Paris": "Paris"}),
        ("Where was 65daysofstatic founded?", {"65daysofstatic": "65daysofstatic"}),
        # scripts
        ("東京タワーはどこですか", {"東京タワー": "東京タワー"}),
        ("أين تقع القاهرة؟", {"القاهرة": "القاهرة"}),
        ("กรุงเทพอยู่ที่ไหน", {"กรุงเทพ": "กรุงเทพ"}),
        ("Where was Beyonce\u0301 born?", {"Beyonce\u0301": "Beyoncé"}),
        ("😀 Who runs 👍🏽 Zynga 😀?", {"Zynga": "Zynga"}),
        ("", {}),
        (" ?! ", {}),
    ],
)
def test_what_is_linked(store, text, expected):
    assert links(TitleLinker(store), text) == expected


def test_single_words_without_capital(store):
    texts = [
        "where does zynga live",
        "Where does zynga live?",
        "Does zynga like Oslo?",
        "Is zynga of Paris?",
    ]
    for lower_case, expected in (
        (None, ["zynga", "zynga", "", "Paris"]),
        (True, ["zynga"] * 3 + ["zynga Paris"]),
    ):
        linker = TitleLinker(store, lower_case=lower_case)
        assert [" ".join(links(linker, text)) for text in texts] == expected


def test_long_names(store):
    text = "Is it One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve?"
    assert links(TitleLinker(store), text) == {text[6:-1]: text[6:-1]}


def test_scores(store):
    linker = TitleLinker(store)
    for question, score in (
        ("Who founded Zynga?", 1.0),
        ("Who likes PARIS?", 0.9),  # other capitals
        ("Who wrote 1984?", 0.5),  # for want of a better
        ("Who is Ivan Petrovsky?", 0.5),  # part of an unknown name
        ("Is the Denis-based one old?", 1.0),
    ):
        assert [mention.score for mention in linker.link(question)] == [pytest.approx(score)], (
            question
        )


PIECES = [*TITLES.split("|"), *REDIRECTS, *"who is the in of ' - . ? ! ( ) \n\n , s".split(" ")]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=12),
    st.sampled_from(["", " "]),
    st.sampled_from([str, str.lower, str.upper, lambda text: unicodedata.normalize("NFD", text)]),
    st.booleans(),
)
def test_any_text(store, pieces, between, change, lower_case):
    text = change(between.join(pieces))
    linker = TitleLinker(store, lower_case=lower_case)
    before = 0
    for mention in linker.link(text):
        assert before <= mention.start < mention.end <= len(text)
        before = mention.end
        assert 0 < mention.score <= 1
        assert mention.candidates[0].title == mention.title
        assert sum(candidate.score for candidate in mention.candidates) <= 1 + 1e-9
        form = text[mention.start : mention.end]
        assert form == form.strip()
        key = name_key(form)
        keys = [
            key,
            *singulars(key),
            squeezed_key(form, spaces=True) or "",
            without_accents(key) or "",
        ]
        assert mention.title in {
            name.title for names in store.names(keys).values() for name in names
        }


def test_a_question_is_one_statement(store, monkeypatch):
    query = Mock(wraps=store._file.query)
    monkeypatch.setattr(store._file, "query", query)
    TitleLinker(store).link("Did Ken Barlow see Terry Pratchett's Going Postal?")
    assert query.call_count == 1
    with pytest.raises(InvalidInputError, match="lone surrogate"):
        TitleLinker(store).link("a\ud800")
