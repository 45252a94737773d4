"""JSON by a schema, where the server takes one."""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace

import pytest

pytest.importorskip("openai")

from factoid.errors import InvalidInputError, PropositionizerError
from factoid.propositions.prompting.prompted import PromptPropositionizer
from tests.propositions.prompting.server import completion, refused, unit

CLIENT = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=lambda **_: None)))


async def test_a_schema_is_sent_and_its_object_read(ask, server):
    server.answers["A and B."] = 200, completion(json.dumps({"propositions": ["A.", "B."]}))
    assert await ask([unit("A and B.")]) == [["A.", "B."]]
    form = server.requests[0]["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["strict"] is True
    assert form["json_schema"]["schema"]["required"] == ["propositions"]


async def test_a_server_that_takes_none_is_asked_without_for_good(ask, server, caplog):
    server.takes_format = False
    texts = [f"{number}." for number in range(20)]
    with caplog.at_level(logging.WARNING, "factoid"):
        assert await ask([unit(text) for text in texts], max_concurrency=4) == [[text] for text in texts]
    assert len([record for record in caplog.records if "JSON schema" in record.message]) == 1
    assert sum("response_format" in request for request in server.requests) <= 4
    assert all("response_format" not in request for request in server.requests[-10:])


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


async def test_a_schema_that_is_asked_for_is_no_matter_of_trying(ask, server):
    server.takes_format = False
    with pytest.raises(PropositionizerError, match="response_format"):
        await ask([unit("A.")], structured=True)
    assert len(server.requests) == 1


async def test_another_refusal_is_that_of_the_request(ask, server):
    server.answers["A."] = refused(400, "Unsupported value: 'temperature'.")
    with pytest.raises(PropositionizerError, match="temperature"):
        await ask([unit("A.")])
    assert len(server.requests) == 1


async def test_without_a_schema(ask, server):
    assert await ask([unit("A.")], structured=False) == [["A."]]
    assert "response_format" not in server.requests[0]


async def test_the_callers_own_format_is_left_alone(ask, server):
    await ask([unit("A.")], options={"response_format": {"type": "json_object"}})
    assert server.requests[0]["response_format"] == {"type": "json_object"}
    with pytest.raises(InvalidInputError, match="response_format is given in options"):
        PromptPropositionizer(CLIENT, "m", structured=True, options={"response_format": {"type": "json_object"}})
