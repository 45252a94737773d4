"""Sentences that were once divided or completed wrongly: nothing that they do not say becomes a fact."""

from __future__ import annotations

import pytest

from factoid import Document, SyntaxPropositionizer, split_passages
from factoid.propositions.syntax.reference import is_noun_phrase


def facts(text: str, title: str = "", section: str = "") -> list[str]:
    body = f"## {section}\n\n{text}" if section else text
    passages = split_passages(Document(body, title=title))
    return [fact for made in SyntaxPropositionizer().propositionize(passages) for fact in made]


WHOLE = [
    # the subject of another clause, behind a bracket or a nearer verb
    "The lamps we rent are bright; older models (red, green) do not have a switch and are sold cheaply.",
    "The records are kept in a room that is closed to visitors but is cleaned every week.",
    "The tool needs to know which files the server holds and deletes without warning.",
    "You can ask the clerk to open the safe, count the money and close it again.",
    "There were early signs of trouble in the town, but don't hesitate to visit us in the summer.",
    # both verbs share what follows
    "This contract is governed by and construed in accordance with the laws of Norway.",
    "The remaining amount of the deposit will be owed to and kept by the new owner.",
    "The two engineers of the firm tracked down and fixed a couple of issues with the old pump.",
    "You can use the wiki for almost anything, but consider the needs of the other teams before you decide.",
    "Teams make small changes all the time, but a larger change of the plan is needed when:",
    "The keys set the colour of the lamp when the door is open, the door is shut, and the house is empty, respectively.",
    "The needs of the users are the driver of all decisions — not stakeholder or government needs.",
    "Combined with the rules of the last chapter, your code will be tidy and easy to read.",
    "Inspired by the tools of a large firm, you can watch the servers of the house at night.",
    "The committee reserves the right to, and may be asked to, close the building at any time.",
    # "between … and", "either … or", "here and there", lists
    "The guests noticed the difference between the old menu and the larger new menu on the wall.",
    "Using the ports 80, 81, 82, and 443 is discouraged for public servers in this network.",
    "Members may leave the club within a month without giving a reason as long as the key was returned, and (i) the fee has not been paid in full.",
    # a noun that was read as a verb, and what a colon leads to
    "In the first window you can set a colour for a user and folder in the second tab of the settings.",
    "By default, the lamp has 4 colours, but you can choose a different number with the option: `` COLOURS=<value> ``",
    "Storage devices such as floppy disks, CDROM drives, and USB Thumb drives can be sold by other shops in the town.",
    # "X is a … that …": the subject is not what it says
    "All we really want is a garden shed that contains a lawn mower and a rake.",
    "The first thing you need is a small box that holds the keys of the house.",
    # what is meant, and how long it holds
    "There are several ways to solve this problem, described in the next chapter of the manual.",
    "The most common case is a lamp that contains one or more broken wires.",
    "The counter shows the number of guests while the doors of the hall are opening in the morning.",
    "We want every guest in the house to be able to report a problem and have it solved quickly by the staff.",
    "Our rules rest on the reports that we get from the guests: what we see and hear the guests of the house do.",
    "The desk uses some of the older lists to check that -- as long as the number of rooms does not change -- all guests will keep their old rooms.",
    # a subject that says nothing of what it is one
    "Some pumps include this filter in the standard package by default, while others may require additional parts.",
    "For some guests the old hotel was a second home; others complained that it was cold and far too loud.",
    # comparisons and conditions
    "Whenever possible, new text should replace rather than add to the old text of the page.",
    "The sooner the parts arrive, the more time the team has to test the whole machine.",
    # appositions that are lists
    "Many things change the taste of coffee, including the age of the beans, the heat of the water, the grind, and so on.",
    "It was in May, 1921, and the guest was the famous Clara Nyberg, cousin and heir of the late Count Alexander Moltke.",
]


@pytest.mark.parametrize("sentence", WHOLE)
def test_sentences_that_stay_whole(sentence: str) -> None:
    made = " ".join(facts(sentence)).split()
    assert made == sentence.split() or made == sentence.replace("; ", ". ").split()


RESTING_ON_CLAUSE_BEFORE = [
    "Employees must report the leave a week ahead; otherwise the days are not paid.",
    "The office is closed on Monday; otherwise, it opens at eight.",
    "The chain needs oil every week; it rusts quickly in wet weather otherwise.",
    "Passwords expire after ninety days; if not, the account is locked.",
    "The guest pays the fee in cash at the desk; else the hotel keeps the luggage in the cellar.",
    "The seal is checked, the pump is filled, and the lid is closed; otherwise the motor overheats.",
    "The fund pays half of the fee; failing that, the company pays the rest.",
    "The shop is open every day until eight; unless it snows in the town.",
    "The staff may use the garage at the weekend; but only if the manager agrees to it.",
    "The rule applies to new members only; the same goes for their guests.",
]


@pytest.mark.parametrize("sentence", RESTING_ON_CLAUSE_BEFORE)
def test_a_clause_stays_with_the_one_that_it_rests_on(sentence: str) -> None:
    assert facts(sentence, "Rules") == [sentence]


def test_clauses_that_rest_on_nothing_are_divided() -> None:
    text = "The hall is open to all guests; if it rains, the small pool is closed in the morning."
    assert facts(text) == [
        "The hall is open to all guests.",
        "If it rains, the small pool is closed in the morning.",
    ]


NO_REFERENTS = [
    *(
        "Coffee break",
        "The next morning",
        "Day one",
        "A long winter",
        "Monday morning",
        "Small print",
        "Short answer",
    ),
    *(
        "Problem",
        "Status",
        "Long story short",
        "New address",
        "Yes",
        "Table of contents",
        "Bad weather",
        "Early bird",
    ),
]


@pytest.mark.parametrize("line", NO_REFERENTS)
@pytest.mark.parametrize("marks", ["", "## "])
def test_a_short_line_that_names_no_thing_is_no_referent(line: str, marks: str) -> None:
    text = (
        "The firm has two houses in the old part of the town.\n\n"
        f"{marks}{line}\n\nIt was delivered on Tuesday and installed by two workers of the firm.\n"
    )
    made = SyntaxPropositionizer().propositionize(split_passages(Document(text)))
    facts_made = [fact for facts_of_passage in made for fact in facts_of_passage]
    assert any(fact.startswith("It was delivered on Tuesday") for fact in facts_made), facts_made


FALSE = [
    (
        "As a rule, any leak is reported and the pump stops (formerly, leaks were ignored).",
        "stops is",
    ),
    (
        "As a rule, any leak is reported and the pump stops (formerly, leaks were ignored).",
        "stops are",
    ),
    (
        "A code of honour is not a law that is enforced by the police of the country.",
        "honour is enforced",
    ),
    (
        "The last step is to a senior engineer who can decide how serious the problem is.",
        "step can decide",
    ),
    (
        "Authors often share their work with the public, which is done by sending a link to the file.",
        "public is",
    ),
    (
        "The method returns a Boolean, which means that it can be used in a test of the library.",
        "Boolean means",
    ),
    (
        "Bolt is a free firmware for the Acme family of fast printers — popularly known as “tanks.”",
        "Bolt is popularly",
    ),
    (
        "Repositories can be moved to the agency, copied back to the main account, and then closed.",
        "Repositories copied",
    ),
    (
        "Legal notice must be given in writing to the agent and served on the owner of the house.",
        "notice served",
    ),
    (
        "Most of the new apps should be on the small plan and share hours with other apps.",
        "be share",
    ),
    (
        "You may have to wait for your badge at home for two weeks, but please come to the office.",
        "You may please",
    ),
    (
        "The code runs on the main computer of the printer even though the data is kept separate.",
        "Even the data",
    ),
]


@pytest.mark.parametrize(("sentence", "false"), FALSE)
def test_facts_that_are_not_made(sentence: str, false: str) -> None:
    assert not any(false in fact for fact in facts(sentence))


EXPLETIVES = [
    "It holds that both terms vanish.",
    "It follows that nobody was at home.",
    "It takes two hours to dry.",
    "It helps to wait a day.",
    "It is hard to open the lid.",
    "It’s straightforward to close the lid.",
    "It's up to you.",
    "It's how the team keeps in touch.",
    "It is a crime to lie under oath.",
    "It makes reading so much easier.",
    "It has been three months since we moved.",
    "It is not until Monday that the shop opens.",
]


@pytest.mark.parametrize("sentence", EXPLETIVES)
def test_expletives_stand_for_nothing(sentence: str) -> None:
    assert facts(f"The valve is small. {sentence}")[-1] == sentence
    assert facts(sentence, title="Drain valve") == [sentence]


HEADINGS = [
    "Short",
    "Fast",
    "Robust",
    "Cleans itself",
    "Works offline",
    "Yank the gem",
    "Release a new version",
]
HEADINGS += [
    "With a timer",
    "Accessibility benefits everyone",
    "Running code on exit",
    "[extruder]",
    "Getting started",
]


@pytest.mark.parametrize("heading", HEADINGS)
def test_headings_that_name_nothing(heading: str) -> None:
    sentence = "It has sensible values for most of the settings."
    assert facts(sentence, title="Bolt", section=heading) == [sentence]
    assert not is_noun_phrase(heading)


@pytest.mark.parametrize(
    "heading", ["Water filter", "Drain pump", "Filter", "Surtsey", "Sick leave", "Steam wand"]
)
def test_headings_that_name_a_thing(heading: str) -> None:
    assert is_noun_phrase(heading)


@pytest.mark.parametrize(
    ("sentence", "fact"),
    [
        ("It's made of steel.", "The valve is made of steel."),
        ("It’s got a small lid of steel.", "The valve has got a small lid of steel."),
        ("It'll open on Monday.", "The valve will open on Monday."),
        ("Its lid is made of steel.", "The valve's lid is made of steel."),
    ],
)
def test_contractions_are_no_possessives(sentence: str, fact: str) -> None:
    assert facts(f"The valve is small. {sentence}") == ["The valve is small.", fact]


@pytest.mark.parametrize(
    "text",
    [
        "The server is ready. When we run this program, it prints a line.",
        "Figure 4 shows an ideal curve. It jumps from low to high.",
        "Any open finding will be fixed at once. They will also review the plan.",
        "Your ideas may differ from the plan. They may offer feedback or decide to wait.",
        "The request is sent to the host. Which values are read? They depend on the host.",
    ],
)
def test_pronouns_that_may_mean_something_else(text: str) -> None:
    last = text.rpartition(". ")[2].rpartition("? ")[2]
    assert facts(text)[-1] == last


def test_a_bracket_within_a_name_is_not_its_end() -> None:
    text = "The Office of Roads (OOR) Handbook sets the rules for the work on the roads. It names the people for each task."
    assert "The Office of Roads names" not in " ".join(facts(text))


def test_what_a_clause_tells_more_of_competes_with_its_subject() -> None:
    text = "Harbour Master was inspired by kbtool.com, which was a tool for keyboards. It is very old and no longer sold."
    assert "Harbour Master is very old" not in " ".join(facts(text, "Harbour Master"))


MEANT_BY_NOTHING = [
    "Guests can pay the deposit, and clients can leave the house early. They help clients plan the week.",
    "There are two advantages of the short lease:\n\n* Old keys are valid for a shorter time.\n* They limit the damage of a theft.",
    "Cookers and stoves are sold in the shop.\n\n* Old stoves are cheap.\n* They need coal every day.",
    "The key of the safe is in the drawer. Its lid is heavy.",
    "The board of the hotel is green. For some reason it is required to paint the wall first.",
    "Bulbs, kettles, irons, cookers are all easy to clean. They use a lot of power.",
]


@pytest.mark.parametrize("text", MEANT_BY_NOTHING)
def test_pronouns_after_lists_lists_of_names_and_other_clauses(text: str) -> None:
    last = text.rpartition("* ")[2].rpartition(". ")[2]
    assert facts(text)[-1] == last


def test_one_person_may_be_they() -> None:
    text = "The owner has met a new tenant. The rooms of the house have changed, and they are later promoted."
    assert "rooms of the house are later" not in " ".join(facts(text))


def test_other_nouns_of_a_sentence_compete_with_its_subject() -> None:
    text = "The term 'lamp' is used because a lamp can be sold in several ways; it can be round, flat, or tall."
    assert facts(text) == [text]


@pytest.mark.parametrize(
    ("title", "section", "sentence"),
    [
        ("Navigation Property", "", "The property is named by its colour."),
        ("Clock Module", "", "The module is put to sleep at night."),
        ("Spanish Rice", "", "Rice will smell very fresh after ten minutes."),
        ("", "Failures per Account", "The account is locked for an hour."),
        ("", "Halting Execution", "It will raise an error after ten minutes."),
    ],
)
def test_titles_that_are_no_names(title: str, section: str, sentence: str) -> None:
    assert facts(sentence, title, section) == [sentence]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The file of the pump is owned by Acme Inc. and released under the old terms of the shop.",
            "The file of the pump is owned by Acme Inc.",
        ),
        (
            "The .NET Framework is the main tool of the firm. It is the base of the shop and of all other tools.",
            "The .NET Framework is the base of the shop and of all other tools.",
        ),
    ],
)
def test_points_of_names_and_of_abbreviations(text: str, expected: str) -> None:
    assert expected in facts(text)


def test_what_is_numbered_keeps_its_bracket() -> None:
    text = "a) If the house has a lamp, the guest must show the sign; however, the owner need not do so."
    assert facts(text)[0].startswith("a) If")


def test_code_keeps_its_characters() -> None:
    text = "You may use other signs in the path of the file, but they will need a mark: `/ ? # ! $ , ;` and `a(b`."
    assert "`/ ? # ! $ , ;`" in " ".join(facts(text))


def test_a_verb_that_was_read_as_a_noun_is_no_part_of_a_name() -> None:
    text = "The water_tank section describes a heated tank. It uses the same settings as the pump."
    assert facts(text)[1] == "It uses the same settings as the pump."
    assert facts("The oil section describes a heated tank. It has a lid.")[1] == "It has a lid."


def test_a_participle_that_was_read_as_a_verb_is_no_predicate() -> None:
    text = (
        "Like the style declaration objects returned by `.first()`, the list returned by `.last()` "
        "also includes the `.size()` method (see the `.first()` section). It has a second name."
    )
    assert facts(text)[1] == "It has a second name."


def test_a_heading_is_not_what_leads_to_a_picture() -> None:
    assert facts("It is shown in the list of all rooms:", "House rules") == [
        "It is shown in the list of all rooms:"
    ]
    assert facts("It is older than the house.", "House rule")[0].startswith("House rule is")


@pytest.mark.parametrize(
    "sentence",
    [
        "We recommend opening a separate page for each lamp and include all the notes in it.",
        "Having a value of any kind, including `None`, makes the switch optional (not required).",
        "If you have lamps that use the sunset times, you must set your latitude and longitude in order for these times to be right.",
        "We give priority to guests that follow our rules: Is the door shut?",
        "Using this switch, you're telling the printer to connect to the desk using paper for short letters, and using cloth for long letters.",
        'A paper form allows you to choose the colours for garden chairs (referred to here as "seats"), so that you do not have to ask the owner.',
        "The reason the lamp is no longer lit after the storm, and the reason we bought a candle for the hall, has to do with the old wires of the house.",
    ],
)
def test_orders_brackets_and_questions_that_are_no_facts(sentence: str) -> None:
    assert facts(sentence) == [sentence]


@pytest.mark.parametrize(
    "text",
    [
        "The typical method Tasmota uses to set its time is to ask a server. It has a second one.",
        "First, `Off` is sent to the lamp on the wall. It then turns red and waits for an hour.",
        "Formulas can use of the following signs. They are listed by their age.",
        "The usual rule applies for opening the lid of the box. It could be set by the owner.",
        "The `Lid`'s main responsibility is to close the box. It also provides a lock for the box.",
        "Norway has long winters in the north. It's good style to close the door of the hall.",
    ],
)
def test_subjects_that_a_pronoun_need_not_mean(text: str) -> None:
    assert facts(text)[1].startswith(("It", "They "))


def test_what_leads_to_a_list_keeps_its_colon() -> None:
    assert facts("Acme Ltd is in Oslo. It tells us:")[1] == "Acme Ltd tells us:"
    assert facts("The lamp is on the wall. It tells us:")[1] == "It tells us:"


def test_a_noun_behind_if_competes_with_the_subject_before() -> None:
    text = (
        "The value must be in the format specified in the rules. For example, if a house uses "
        "f-strings then it may prevent installation on floors < 3.6 in the town."
    )
    assert "then it may prevent" in facts(text)[1]


def test_a_title_that_tells_something_names_nobody() -> None:
    text = "As a painter and active guest, she has many friends in the old museums of the town."
    made = facts(text, title="Acme Hall welcomes Anna Berg as its new director")
    assert made == [text]


def test_a_first_name_alone_may_be_anybodys() -> None:
    text = "Robin followed a minute after to wave to the guests. He did look round and came back."
    assert "Robin did" not in " ".join(facts(text, title="A Summer in Oslo"))


def test_pronouns_of_a_story_stay() -> None:
    text = (
        'Anna Berg laid down the letter. "I see," said the clerk. Anna Berg took her hat. '
        "She closed the old door of the shop."
    )
    assert facts(text)[-1] == "She closed the old door of the shop."


def test_a_heading_in_capitals_is_no_name() -> None:
    text = "It was a lively scene of lamps and guests for the whole of the evening."
    assert facts(text, title="A Summer in Oslo", section="NEW IMPRESSIONS") == [text]
    assert "TLS" in facts("It protects the letters of all guests.", section="TLS")[0]


@pytest.mark.parametrize(
    "text",
    [
        "The recording rules may result in lists of values. They are kept in the old store.",
        "The mybinder SRE guide is a set of rules for lamps. It contains tips for large halls.",
        "The keeper's old lamp is made of steel. Its length is the number of feet to the wall.",
    ],
)
def test_a_pronoun_that_may_mean_another_noun_stays(text: str) -> None:
    assert facts(text)[-1] == text.split(". ")[1]


def test_a_title_about_something_is_not_what_it_is_about() -> None:
    text = "It is a fast and simple system of lamps for the old houses of the town."
    assert facts(text, title="Self-assessment for Acme") == [text]


@pytest.mark.parametrize(
    "text",
    [
        # the person in front of the 's, by the sex of the name or of the noun before it
        "Empress Elena's father Viktor ruled until 1840. She went into exile in Vienna.",
        "Paul Weber's widow Marta sold the old mill. He had built it in the autumn of 1902.",
        "The king's niece Karin opened the new bridge. He was in Paris at the time.",
        # both are women, or nobody knows
        "Ruth Lind's sister Karin teaches in Bergen. She pays for her flat in the town.",
        "Walter's cousin Robin runs the bakery. He bought it in the spring of 2003.",
        # what somebody is called before the name
        "The actress Unni Dahl played the queen. He wrote the part for her in 1961.",
        "The Danish chemist Clara Holm taught in Lund. He shared a room with her for years.",
        # somebody of the other sex was spoken of, and the name may be anybody's
        "Unni Dahl moved to Lund with her husband in 1990. He found work at the paper mill.",
        "Kyo Dahl is a poet from Lund. He reviewed her first book for the paper.",
    ],
)
def test_a_pronoun_that_may_mean_another_person_stays(text: str) -> None:
    assert facts(text)[-1] == text.split(". ")[1]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (
            "Paul Weber's sister Clara Weber is a judge. She works in the old court of Lund.",
            "Paul Weber's sister Clara Weber works in the old court of Lund.",
        ),
        (
            "Acme's founder Paul Weber left in 2012. He still owns a third of the shares.",
            "Acme's founder Paul Weber still owns a third of the shares.",
        ),
        (
            "Kyo Dahl is a poet from Lund. He met a nurse in Oslo and married her in 1990.",
            "Kyo Dahl met a nurse in Oslo and married her in 1990.",
        ),
    ],
)
def test_a_name_whose_sex_is_known_is_written_out(text: str, fact: str) -> None:
    assert fact in facts(text)


@pytest.mark.parametrize(
    ("title", "he", "she"),
    [
        ("Prof. Dr. Helga Brandt", False, True),
        ("Captain Ingrid Holm", False, True),
        ("General Clara Holm", False, True),
        ("Lord Mayor Clara Holm", False, True),
        ("Mrs. Paul Weber", False, True),
        ("Senator Paul Weber", True, False),
        ("Pope Paul", True, False),
        ("Dr. Kyo Dahl", True, True),
    ],
)
def test_a_first_name_behind_a_title_tells_the_sex(title: str, he: bool, she: bool) -> None:
    assert (facts("He grew up in the old town of Lund.", title)[0].startswith(title)) is he
    assert (facts("She grew up in the old town of Lund.", title)[0].startswith(title)) is she


OCCASIONS = [
    # the hour, the day, the season
    "It was nearly dawn when the last guests left the hall.",
    "It was a mild autumn in 1961, and few stayed at home.",
    "It was the second time in a year that the roof had leaked.",
    "It was one of the wettest summers of the century.",
    "It was supposed to be a quiet weekend in the country.",
    "It was 24 June 1961 and all the shops were shut.",
    "It was 1961, and nobody had a car.",
    "It was two weeks before the letter reached the owner.",
    # light and weather
    "It was foggy and cold in the streets of the town.",
    "It grew dark, and the lamps were lit.",
    "It started to snow in the early afternoon.",
    "It was late, and the guests were tired.",
    # what was told
    "It was a bitter defeat for the young director.",
    "It is bad news for all the owners of boats.",
    "It was a turning point in the life of the town.",
    "It proved a costly mistake for the council.",
    "It was the worst flood in living memory.",
    "It happened again in the summer of 1961.",
    # who or what did something
    "It was the owner who paid for the new roof.",
    "It was the storm that broke the mast of the ship.",
    "It took him three years to find a buyer.",
    "It was a matter of taste for most of the guests.",
]


@pytest.mark.parametrize("sentence", OCCASIONS)
def test_times_weather_and_events_are_not_the_subject_before(sentence: str) -> None:
    for text, title in ((f"The valve is small. {sentence}", ""), (sentence, "Lund")):
        assert any(fact.startswith("It ") for fact in facts(text, title))
        assert not any(fact.startswith(("The valve was", "Lund")) for fact in facts(text, title))


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("The film opened in June. It was a disaster.", "The film was a disaster."),
        ("The law was passed in 1961. It was a triumph for him.", "The law was a triumph for him."),
        ("The climate is mild. It was cold in 1961.", "The climate was cold in 1961."),
        ("The room is small. It is dark and cold in winter.", "The room is dark and cold"),
        ("The pump is small. It gets hot after an hour.", "The pump gets hot after an hour."),
        ("The school is small. It is ten minutes from the port.", "The school is ten minutes"),
        ("The port is old. It was one of the first ports with cranes.", "The port was one of"),
        ("The hall is old. It was the work of two masons.", "The hall was the work of two"),
        ("The miners left the pit. They were cold and hungry.", "The miners were cold and"),
        ("The town is old. It remained small until 1814.", "The town remained small until 1814."),
    ],
)
def test_what_is_said_of_things_is_written_out(text: str, fact: str) -> None:
    assert facts(text)[-1].startswith(fact)


@pytest.mark.parametrize(
    ("title", "name", "is_same"),
    [
        ("Paul Weber", "Paul Henry Weber", True),
        ("Clara Holm", "General Clara Holm", True),
        ("Clara Holm", "Clara", True),
        ("Paul Weber", "Paul Weber Sr.", False),
        ("Paul Weber Holm", "Paul Weber", False),
        ("Paul Weber", "Paul Henry Holm", False),
    ],
)
def test_a_longer_name_may_be_that_of_the_title(title: str, name: str, is_same: bool) -> None:
    pronoun = "She" if "Clara" in title else "He"
    made = facts(f"{name} was a judge from Lund. {pronoun} died in the old house in 1961.", title)
    written = title if is_same else pronoun
    assert made[-1] == f"{written} died in the old house in 1961."


def test_a_step_with_a_number_is_a_place_in_a_row() -> None:
    text = "The North League is small. It is at step 2 of the system of the country."
    assert facts(text, "North League")[-1].startswith("North League is at step 2")
