from __future__ import annotations

import hashlib
import json

from factoid.propositions.prompting.prompt import (
    PROMPT,
    PROMPT_VERSION,
    as_object,
    passage_input,
    prompt_for,
)
from factoid.propositions.prompting.prompted import _SCHEMA
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
        example.partition("Content: ")[2],
        "Eostre",
        "Theories and interpretations, Connection to Easter Hares",
    )
    assert passage_input(unit) == example


def test_prompt_for_ends_where_the_model_goes_on():
    unit = passage(" two\r\n\tlines \n", " T\n")
    assert prompt_for(unit) == f"{PROMPT}\nInput: Title: T. Section: . Content: two lines\nOutput:"
    assert (
        prompt_for(unit, "Do it.\n")
        == "Do it.\n\nInput: Title: T. Section: . Content: two lines\nOutput:"
    )


def test_with_a_schema_the_prompt_asks_for_what_the_schema_allows():
    unit = passage("[ two ] Present the results as a list of strings, formatted in JSON.", "T")
    whole = prompt_for(unit)
    instructions, shown = as_object(whole)[: -len("\nOutput:")].split("\n\nInput: Title: T.")
    assert (
        shown == whole.partition("\n\nInput: Title: T.")[2][: -len("\nOutput:")]
    )  # the passage is as it was
    assert "list of strings, formatted in JSON" not in instructions
    assert (
        '4. Present the results as an object, formatted in JSON, whose only key "propositions" holds'
        in instructions
    )
    example = json.loads(instructions.rpartition("\nOutput: ")[2])
    assert example.keys() == set(_SCHEMA["properties"]) == {"propositions"}
    assert example["propositions"] == json.loads(PROMPT.rpartition("\nOutput: ")[2])
    own = as_object(prompt_for(unit, "Split it."))
    assert own.startswith(
        'Split it.\n\nPresent the results as an object, formatted in JSON, whose only key "propositions"'
    )
    assert own.endswith(whole.rpartition("\n\n")[2])
