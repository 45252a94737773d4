"""The text of a chat completion: a string, or parts."""

from __future__ import annotations

from typing import Any

import pytest

from factoid.propositions.prompting.failures import NoCompletionError
from factoid.propositions.prompting.prompted import read_completion


def completion(content: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Ice floats.", "Ice floats."),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "Ice floats."}], "Ice floats."),
        (
            [{"type": "text", "text": "Ice "}, {"type": "output_text", "text": "floats."}],
            "Ice floats.",
        ),
        (["Ice ", "floats."], "Ice floats."),
        (
            [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Ice floats."}],
            "Ice floats.",
        ),
        (
            [{"type": "reasoning", "text": "Hm"}, {"type": "text", "text": "Ice floats."}],
            "Ice floats.",
        ),
    ],
)
def test_content(content: Any, text: str) -> None:
    assert read_completion(completion(content)).text == text


@pytest.mark.parametrize(
    "content", [5, {"text": "Ice floats."}, [5], [{"type": "text"}], [{"type": "text", "text": 5}]]
)
def test_no_content(content: Any) -> None:
    with pytest.raises(NoCompletionError):
        read_completion(completion(content))
