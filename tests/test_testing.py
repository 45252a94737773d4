"""The public fakes keep their promises."""

from __future__ import annotations

import numpy as np
import pytest

from factoid import Document, split_passages
from factoid.encode import Encoder
from factoid.propositions import NoPropositions, Propositionizer
from factoid.testing import HashEncoder, ScriptedPropositionizer


def test_hash_vectors_are_the_same_everywhere():
    encoder = HashEncoder(8)
    vectors = encoder.encode_units(["The tower leans", "leaning towers", "1990", "", "of the"])
    assert (vectors.dtype, vectors.shape) == (np.float32, (5, 8))
    assert vectors[0].tolist() == vectors[1].tolist()
    assert np.count_nonzero(vectors, axis=1).tolist() == [2, 2, 1, 0, 0]
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 1, 1, 0, 0], atol=1e-6)
    assert encoder.encode_queries(["1990"]).tolist() == [
        [0, 0, 0, 0, 0, 0, 0, -1]
    ]  # by SHA-256, not by Python's hash
    assert isinstance(encoder, Encoder)


@pytest.mark.parametrize(
    "script", [{"One.": ["a", "b"], "Two.": []}, lambda passage: {"One.": ("a", "b")}[passage.text]]
)
def test_a_script_is_followed_and_calls_are_remembered(script):
    (passage,) = split_passages(Document("One."))
    propositionizer = ScriptedPropositionizer(script)
    assert isinstance(propositionizer, Propositionizer)
    assert propositionizer.propositionize([passage]) == [["a", "b"]]
    assert propositionizer.propositionize([]) == []
    assert propositionizer.calls == [[passage], []]


def test_a_script_may_fail_with_a_reason():
    passages = split_passages(Document("Two.\n\nThree."), min_words=0)
    empty, missing = ScriptedPropositionizer({"Two.": []}).propositionize(passages)
    assert (empty, missing, missing.reason) == ([], [], "not in the script")
    (refused, _) = ScriptedPropositionizer(lambda _: NoPropositions("refused")).propositionize(
        passages
    )
    assert refused.reason == "refused"
