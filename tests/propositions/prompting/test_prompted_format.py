"""Arguments that a server may refuse: JSON by a schema, and the temperature."""

from __future__ import annotations

import json
import logging

import pytest

from factoid.errors import InvalidInputError, PropositionizerError
from factoid.propositions.prompting.prompted import PromptPropositionizer
from tests.propositions.prompting.server import completion, refused, unit

openai = pytest.importorskip("openai")


async def test_a_schema_is_sent_and_its_object_read(ask, server):
    server.answers["A and B."] = 200, completion(json.dumps({"propositions": ["A.", "B."]}))
    assert await ask([unit("A and B.")]) == [["A.", "B."]]
    form = server.requests[0]["response_format"]
    assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
    assert form["json_schema"]["schema"]["required"] == ["propositions"]


@pytest.mark.parametrize(
    "answer",
    [
        refused(400, "This model does not support response format `json_schema`."),
        refused(400, "This response_format type is unavailable now"),
        refused(422, "Extra inputs are not permitted: body.response_format"),
        (422, {"detail": [{"loc": ["body", "response_format", "type"], "msg": "unexpected value"}]}),
    ],
)
async def test_the_words_of_other_servers(ask, server, answer):
    server.answers["A."] = [answer]
    assert await ask([unit("A.")]) == [["A."]]
    assert ["response_format" in request for request in server.requests] == [True, False]


async def test_what_the_server_refuses_is_left_out_for_good(ask, server, caplog):
    server.refuses = {
        "temperature": "Unsupported value: 'temperature' does not support 0 with this model.",
        "response_format": "Invalid parameter: 'response_format' of type 'json_schema' is not supported.",
    }
    texts = [f"{number}." for number in range(20)]
    with caplog.at_level(logging.WARNING, "factoid"):
        assert await ask([unit(text) for text in texts], max_concurrency=4) == [[text] for text in texts]
    for argument in server.refuses:
        assert len([record for record in caplog.records if f"no {argument}" in record.message]) == 1
        assert all(argument not in request for request in server.requests[-10:])
        assert sum(argument in request for request in server.requests) <= 8


@pytest.mark.parametrize(
    ("argument", "settings"),
    [("response_format", {"structured": True}), ("temperature", {"options": {"temperature": 0.7}})],
)
async def test_what_the_caller_insists_on_is_sent(ask, server, argument, settings):
    server.refuses[argument] = f"Unsupported parameter: '{argument}'."
    with pytest.raises(PropositionizerError, match=argument):
        await ask([unit("A.")], **settings)
    assert len(server.requests) == 1


async def test_the_format_in_options_is_left_alone(ask, server):
    options = {"response_format": {"type": "json_object"}}
    await ask([unit("A.")], options=options)
    assert server.requests[0]["response_format"] == {"type": "json_object"}
    with pytest.raises(InvalidInputError, match="response_format is given in options"):
        PromptPropositionizer(openai.OpenAI(api_key="k"), "m", structured=True, options=options)
