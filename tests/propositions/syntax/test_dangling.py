"""Facts are read alone: what their words mean, who said them and what limits them stays in them."""

from __future__ import annotations

import pytest

from factoid.propositions.syntax.dangling import dangles, refers_back
from tests.propositions.syntax.trees import CURIE, PISA, propositions, tree

PRONOUNS = [
    "The museum bought old lamps, and they now hang in the large hall.",
    "The ship left the harbour in May; it carried forty guests and a cook.",
    "Although it was built by monks, the old mill belongs to the town.",
    "The bakers of the town sell bread, while their wives sell warm milk.",
    "The firm bought the old mill in 1990 and sold it to the town in 1995.",
    "The painter moved to Oslo in 1990 and died there of a fever in 1995.",
    "The guide names all towers of the wall, but this list is far from complete.",
    "The pipes are cleaned in the spring, and these are later painted with oil.",
    "The road ends at a small lake in Norway, where it meets the old railway.",
    "It is the oldest bridge in Norway and has carried trains since the war.",
    "They must keep the data of guests secure and report each loss within a day.",
    "The town of Bergen was ruled by her husband, Harald, for six long years.",
    "We do not sell the addresses of guests and have not done so in the past year.",
    "The firm has two old cranes, and the larger one was built in Hamburg.",
    "The hotel has forty rooms, and six of them have a view of the lake.",
    "If it is, we will send the letter to the owner and keep a copy in the office.",
    "Two hundred guests took part in the survey, and two thirds want a larger pool.",
    "Many colours are available in the shop; some examples are red, green and grey.",
    "Bergen is known for its old harbour, and the city has built forty wooden bridges.",
    "Bergen is known for its old harbour; the city has built forty wooden bridges.",
    "The old firm offered a million for the mill, but the offer was refused by the monks.",
    "Two pumps of the mill broke in May, but the remaining pumps were able to carry on.",
    "If you leave the house, the key is due at noon, unless it is May; then you may keep it.",
    "No new cards of the pool have been sold, and guests are no longer able to swim in it.",
    "The menu of each lamp can be made longer, but the way is somewhat different in May.",
    "Leaving the door open is no fault, but the old pump then falls back to slow cleaning.",
    "We say what is wanted, so guests do not have to ask, and they can find all answers.",
    "The new gate needs the old key as well: both keys must be turned at the same time.",
    "The law helps all people to see what banks do, and these powers have led to better rules.",
    "Some rules of the house are written in the book, and all you have to do is sign the book.",
    "Hiring forty cooks is too dear for us, but we do not think that this would help guests.",
    "The new pool is open to all guests, and you must leave it by the end of the day.",
    "The new pool is open to all guests; you must leave the towels in the old hall.",
    "The new rule is simple for all guests of Oslo: the old pool opens at eight in the evening.",
    "You cannot use the old card to open the gate of the hall; only the new keys can be used.",
    "Guests of the hotel follow the House Rules of Oslo; this guide tells how to use the pool.",
    "You heard about this a lot in our talks, but we take our rules really seriously in Bergen.",
    "Hiring cooks is out of the question for us, but we are not sure that would be the way.",
    "You may run the house in a mode where all doors are shut, and you open the small gate.",
    # a subject that was named before the sentence
    "This pump draws clean water from the lake and sends it to the old houses of Bergen.",
    "These lamps of the hall are cleaned in May, and the old ones are sold to guests.",
    "The flag was made for the town in 1990 and hangs above the gate of the old hall.",
    # what is compared, or counted from, stands in the other part
    "The new road follows a path like that of the railway and will have a similar length.",
    "Acme Brothers opens the old mill on weekdays, and rarely shows it to guests at other times.",
    "Acme Brothers made the last lamp in March 2017 and has not sold many lamps since then.",
    "New houses of Bergen have pipes of pure copper; in older houses, grey lead pipes are found.",
    "Clean water is part of the old contract with Bergen – no further contract is needed.",
    "Acme Brothers only sells the red lamps of Bergen; there are no plans to sell green lamps.",
    # an example is made up of all its clauses
    "For example, Anna Berg opens the old gate in May, and many guests of Oslo come to see it.",
    # a phrase in front may hold for all that follows
    "By default, Acme Brothers is closed in May; the old pumps show the state of the lake.",
    "Once the old mill has been sold, Acme Brothers will close; the new owner then pays the bank.",
    "Given the rule above, the old gate will stay shut and the late guest will be shown a letter.",
    "In this example, the red lamp can burn for ten days, while green lamps are limited to one.",
]


def test_a_phrase_of_time_in_front_is_kept_with_both_verbs() -> None:
    text = (
        "While upgrading, the old server supports mixed versions of red lamps, and operates "
        "with the protocol of the town."
    )
    assert propositions(text) == [
        "While upgrading, the old server supports mixed versions of red lamps.",
        "While upgrading, the old server operates with the protocol of the town.",
    ]


MISREAD = [
    "Handles quotes properly and understands cancelled characters.",
    "A handy way to get a free key is Let's Encrypt, a free, fast, and open house of old keys.",
    "All old lamps of Bergen use clean oil, but remember that guests can bring their own lamps.",
    "When a lamp or a pump is taken from Anna Berg, order a new one for the hall of the town.",
    "Acme Brothers, with the help of the town, repairs, cleans, and sells a single old lamp.",
    "Every lamp can be noted in the book of the house and allow quick and easy repairs.",
    "The Bergen hall should keep the look and feel of a stock house in the old town.",
    "Acme Heat is a fast store for warm water (e.g. of the lake) that is cleaned every May.",
    "Greetings from Meet the Makers (a fair that often shows lamps), we are building a new hall.",
    "In May, the firm entered into an amended and restated contract with a bank in Oslo.",
    "The monk was deeply hurt by this letter and destroyed most of the old film.",
    "The old tale is referring to the use of vapours and chewing of bitter leaves in May.",
    "Do you have good things to say, and you need time to think about what goes well?",
    "The letter goes to the clerk (named in a list) -> the bank of the town -> the monks.",
    "In organic chemistry, a hydrate is a compound formed by the addition of pure water.",
    "Also available is a large board which carries forty lamps for the guests of the house.",
    "The new rows of the list will appear after the named rows, sorted by the number of guests.",
    "The clerk will treat the long tables, the short lists and block quotes as if they were new.",
    "A theme of the letter is our concern for guests of the hotel in Oslo, whose rooms were cold.",
    "The old hall of the town is full of things such as lamps, a large table and much more.",
    "Fixed sometimes empty lists show up before or after the table, causing long pages.",
    "The clerk gets access to the hall, where one can swim in the small pool, after lunch.",
    "The old plan needed more time to solve what is, in the end, a hard question of money.",
    "We have also printed long reports for the past seven years, which offer tables of guests.",
    "The new card leaves out the name, as it is long and is marked as no good by the council.",
    "Each lamp is given a number of 2N, where N is its place in the table of the old hall.",
    "The support of the council is a base on which we can build a new hall for the guests.",
    "Fixed when using the list of the guests, the old table is sometimes hidden by the hall.",
    "The old jobs of the hall now run as Linux services, configured in the files of the clerk.",
    "To change the name of the book, the page used, and the word, you can write a new line.",
    "The work is limited by rules such as the house rule, and writes to other books are refused.",
]


@pytest.mark.parametrize("sentence", MISREAD)
def test_words_that_were_taken_for_other_ones_tear_nothing(sentence: str) -> None:
    assert propositions(sentence) == [sentence]


def test_a_time_in_front_holds_for_both_verbs_unless_the_second_has_one() -> None:
    text = (
        "By 1967, the old firm grew to forty shops in Norway, and had earned ten million crowns, and "
        "by 1968, the old firm opened two shops in Sweden."
    )
    assert propositions(text) == [
        "By 1967, the old firm grew to forty shops in Norway.",
        "By 1967, the old firm had earned ten million crowns.",
        "By 1968, the old firm opened two shops in Sweden.",
    ]


@pytest.mark.parametrize("sentence", PRONOUNS)
def test_words_stay_with_what_they_mean(sentence: str) -> None:
    assert propositions(sentence) == [sentence]


UNDERSTOOD_ALONE = [
    (
        "For example, Ada Berg, a former pilot of the lake, built the boats of the guests.",
        [
            "For example, Ada Berg built the boats of the guests.",
            "Ada Berg was a former pilot of the lake.",
        ],
    ),
    (
        "The first guide tells us that the lake is deep in May, and the second guide tells us "
        "that the river is warm in June.",
        [
            "The first guide tells us that the lake is deep in May.",
            "The second guide tells us that the river is warm in June.",
        ],
    ),
    (
        "The old ship left the harbour in May; the old guests slept in small cabins.",
        ["The old ship left the harbour in May.", "The old guests slept in small cabins."],
    ),
    (
        "The Acme company bought an old mill in 1990 and moved its office to the town in 1995.",
        [
            "The Acme company bought an old mill in 1990.",
            "The Acme company moved its office to the town in 1995.",
        ],
    ),
    (
        "Petra Schulz left the old firm in 1990 and sold her house in Bergen to a friend.",
        [
            "Petra Schulz left the old firm in 1990.",
            "Petra Schulz sold her house in Bergen to a friend.",
        ],
    ),
    (
        "The film was loved by the critics; however, it was a failure in the cinemas.",
        [
            "The film was loved by the critics.",
            "However, the film was a failure in the cinemas.",
        ],
    ),
    (
        "Sailors were paid before a long voyage, and they often spent their pay all at once.",
        [
            "Sailors were paid before a long voyage.",
            "Sailors often spent their pay all at once.",
        ],
    ),
    (
        "It is known that the old bridge needs new cables, but the council of the town has no money.",
        [
            "It is known that the old bridge needs new cables.",
            "The council of the town has no money.",
        ],
    ),
    (
        "The default name is set in the file, but one may write another name in the settings.",
        [
            "The default name is set in the file.",
            "One may write another name in the settings.",
        ],
    ),
    (
        "The tenant pays the rent of the flat, and this agreement ends after two years.",
        ["The tenant pays the rent of the flat.", "This agreement ends after two years."],
    ),
    (
        "Jonas Weber, who sold his boat in May, works for a bank in Bergen.",
        [
            "Jonas Weber works for a bank in Bergen.",
            "Jonas Weber sold his boat in May.",
        ],
    ),
]


@pytest.mark.parametrize(("sentence", "expected"), UNDERSTOOD_ALONE)
def test_what_is_understood_alone_is_divided(sentence: str, expected: list[str]) -> None:
    assert propositions(sentence) == expected


def test_a_clause_is_judged_by_its_own_words() -> None:
    assert not refers_back(tree(CURIE), ())
    leans = tree(PISA)
    pronoun = leans.words.index("it")
    after = range(leans.words.index("but"), len(leans.words))
    before = range(after[0])
    assert dangles(leans, after, before, (), leans.words.index("leans"))
    assert not dangles(leans, after, before, {pronoun}, leans.words.index("leans"))
    assert not dangles(leans, before, after, (), leans.words.index("leaned"))


MORE_PRONOUNS = [
    "The lamp of the hall is switched on by the guard, but in all other rooms you need a key.",
    "The budget of the guests is capped at 90 euros, but none of that is paid before May.",
    "The firm has several old pumps, and under the new rules the wrong one was repaired.",
    "The program has no end, but the owner reserves the right to change it at any time.",
    "The seller may name the client in the catalogue, but may show its colours only in May.",
    "The hotel pays half of the fee and the guest pays the other half in cash.",
    "The guests must plan the week in May, and the rest should be spent on those plans.",
    "They have a small chamber with two doors; the eggs are laid in the large hall.",
    "Some guests say that the pool is far too cold, while others like cold water.",
    "The lamp is made by Acme for some of the hotels and made by Heron for others.",
    "You have to name a sum for the year, and the maximum is 300 euros for each person.",
    "While guests may travel without one, it is required that all staff of the hotel have one.",
]


@pytest.mark.parametrize("sentence", MORE_PRONOUNS)
def test_objects_and_shares_stay_with_what_they_mean(sentence: str) -> None:
    assert propositions(sentence) == [sentence]


SPEECH = [
    "The board of the town estimated that half of its 15 schools and 20 mills were closed.",
    "You may have a goal, but if the lamp is too dark then it is wrong: you will see no letters.",
    'The minister said: "The war is over and the soldiers will come home soon."',
    'The verdict of the old court was clear: "The baker is guilty of all crimes."',
    "The answer of the owner was short: “The house is not for sale this year.”",
    "The chairman of the board said: the firm will close its office in Oslo.",
    "The old sign at the harbour reads: all boats must leave before the winter.",
    "The owner told the guests that the pool was closed and the sauna was far too cold.",
    "The engineer wrote that the valve was broken; the pump was running without any oil.",
    "The letter names three reasons such as: the roof leaks; the lift is broken; the cellar is wet.",
]


@pytest.mark.parametrize("sentence", SPEECH)
def test_what_somebody_says_is_no_fact_of_its_own(sentence: str) -> None:
    assert propositions(sentence) == [sentence]


def test_clauses_beside_what_somebody_says_are_divided() -> None:
    assert propositions(
        "The owner closed the pool in May, and the guests of the house wrote a long letter."
    ) == [
        "The owner closed the pool in May.",
        "The guests of the house wrote a long letter.",
    ]


NAMES = [
    "Rule 12/5 | passed in May 1988 | protects the old forests of the north and is still in force.",
    "The guests saw the famous Concert Hall 12, a large building, and left the town.",
    "The council adopted Council Resolution 43/53, a plan for clean rivers, and went home.",
]


@pytest.mark.parametrize("sentence", NAMES)
def test_names_are_not_torn(sentence: str) -> None:
    for fact in propositions(sentence):
        assert not fact.startswith(("12", "43", "5"))
        for name in ("Rule 12/5", "Concert Hall 12", "Resolution 43/53"):
            assert name.split()[0] not in fact.split() or name in fact
    assert propositions(NAMES[0]) == [NAMES[0]]


def test_a_name_with_a_number_is_not_shortened() -> None:
    text = "The Acme Heron 3 (2020) is one of the best pumps in the shop. It comes with a lid."
    assert propositions(text)[1] == "It comes with a lid."


NO_DESCRIPTIONS = [
    ("Several towns, including Oslo, the capital of Norway, and Bergen, were flooded.", "Oslo was"),
    ("He likes towns such as Bergen, the port of the west, and Oslo.", "Bergen is"),
    ("The shop sells tools like the Heron, a heavy saw, and nails of all kinds.", "Heron is"),
    ("Some firms, e.g. Acme, the maker of the pump, left the town in May.", "Acme was"),
    ("The throne passed to Edward's son, Henry, as Duke of York, in 1470.", "Henry was"),
    ("The town was ruled by Robert's eldest son, Hugh, as its bishop and count.", "Hugh was"),
    (
        "The soup is red due to the presence of salt, a white mineral of the sea.",
        "presence of salt is",
    ),
    (
        "The red team would be the first winner, followed by the green team of the town.",
        "is followed",
    ),
    ("Bergen is a large port of the western coast, Kingdom of Norway.", "Kingdom of Norway is"),
    ("The plan has a third phase, Operation Heron, which ends in the spring.", "is a third phase"),
    ("He met a spy from the Soviet Union, who flew to Oslo in the spring.", "Union flew"),
]


@pytest.mark.parametrize(("sentence", "false"), NO_DESCRIPTIONS)
def test_asides_that_describe_nothing(sentence: str, false: str) -> None:
    assert not any(false in fact for fact in propositions(sentence))


@pytest.mark.parametrize(
    ("sentence", "fact"),
    [
        (
            "The old firm in Oslo sold Acme Pumps, a small maker of lamps.",
            "Acme Pumps was a small maker of lamps.",
        ),
        (
            "Anna Berg, a chemist from Bergen, founded the firm.",
            "Anna Berg was a chemist from Bergen.",
        ),
        ("My brother, Hugh, owns the large hotel at the lake.", "Hugh is my brother."),
    ],
)
def test_asides_that_describe_a_name(sentence: str, fact: str) -> None:
    facts = propositions(sentence)
    assert fact in facts


LIMITS = [
    "Assuming the letter is complete, we will print the letter in the paper and thank its author.",
    "In cats, the dose was halved in the first week and then remained the same for a year.",
]


@pytest.mark.parametrize("sentence", LIMITS)
def test_what_limits_both_verbs_is_repeated(sentence: str) -> None:
    opening = sentence.split(",")[0]
    assert all(fact.startswith(opening) for fact in propositions(sentence))


SHARED = [
    "After 4 p.m., the guests can use the small door, but the rest of the hotel will be closed.",
    "The old oak is a tall tree that is common in Norway and that is able to feed many birds.",
    "The new desk can be used to package and print large books for the guests of the hotel.",
    "Members can take ten days of leave for a wedding, and three days leave for a funeral.",
    "In 1862, the town created, with the mayor's approval, the Office of Roads.",
    "Before the war was over, most guests were sailors from Norway, but there were also monks.",
    "Moreover, the capital, Calcutta, was also the largest port of the whole country.",
    "Petra Schulz translated and printed a long history of the old town of Bergen.",
    "The new lamp is less bright and more expensive than the lamp of the old hall.",
    "The seller returns all files within 20 days, and deletes its copies within 60.",
    "Roger Berg travelled to Spain to find a house for his large family, but failed.",
    "The use of salt plus sugar should be preferred to the use of salt plus vinegar in soups.",
    "Whether the guests should pay for the pool is a hard question that may divide the town.",
]


@pytest.mark.parametrize("sentence", SHARED)
def test_verbs_that_share_words_are_not_divided(sentence: str) -> None:
    assert propositions(sentence) == [sentence]


def test_verbs_with_words_of_their_own_are_divided() -> None:
    assert propositions("The new lamp is less bright than the old one and costs forty euros.") == [
        "The new lamp is less bright than the old one.",
        "The new lamp costs forty euros.",
    ]
    assert propositions(
        "In 1990, Acme Brothers opened a shop in Oslo and later moved to Bergen."
    ) == [
        "In 1990, Acme Brothers opened a shop in Oslo.",
        "Acme Brothers later moved to Bergen.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Exceptions are made for people who live far away; they come on Tuesdays.",
        "The work of the timer is done in `step()`. It is called by the clock.",
    ],
)
def test_people_and_code_compete_with_the_subject(text: str) -> None:
    assert "xceptions come" not in " ".join(propositions(text))
    assert "timer is called" not in " ".join(propositions(text))
