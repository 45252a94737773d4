from __future__ import annotations

import hashlib

from factoid.propositions.prompting.prompt import PROMPT, PROMPT_VERSION, passage_input, prompt_for
from tests.propositions.passages import unit as passage


def test_the_prompt_of_this_version_is_unchanged():
    digest = hashlib.sha256(PROMPT.encode()).hexdigest()
    assert (PROMPT_VERSION, digest) == (
        "dense-x-figure-8/1",
        "d4b8b9ced8ed47fb38be7f173e12327de5b9603d9151de716e0c75e85b27997d",
    ), "the prompt changed: give it a new PROMPT_VERSION"


def test_the_example_input_has_the_form_of_every_input():
    example = PROMPT.partition("Input: ")[2].partition("\nOutput:")[0]
    unit = passage(
        example.partition("Content: ")[2], "Eostre", "Theories and interpretations, Connection to Easter Hares"
    )
    assert passage_input(unit) == example


def test_prompt_for_ends_where_the_model_goes_on():
    unit = passage(" two\r\n\tlines \n", " T\n")
    assert prompt_for(unit) == f"{PROMPT}\nInput: Title: T. Section: . Content: two lines\nOutput:"
    assert prompt_for(unit, "Do it.\n") == "Do it.\n\nInput: Title: T. Section: . Content: two lines\nOutput:"
