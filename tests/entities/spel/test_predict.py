"""The fused top-k against a softmax over everything, and batches against one sequence at a time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.entities.spel import tiny_spel

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from factoid.entities.spel.predict import Predictor, top_entities  # noqa: E402


def softmax(hidden, weight, k):
    probabilities = (hidden.double() @ weight.double().T).softmax(-1)
    values, ids = probabilities.topk(k)
    return ids, values


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**20),
    tokens=st.integers(1, 7),
    entities=st.integers(1, 90),
    k=st.integers(1, 12),
    rows=st.integers(1, 100) | st.none(),
    spread=st.sampled_from([0.1, 1.0, 30.0]),
)
def test_it_is_the_top_of_a_softmax_over_everything(seed, tokens, entities, k, rows, spread):
    random = torch.Generator().manual_seed(seed)
    hidden = torch.randn((tokens, 8), generator=random) * spread
    weight = torch.randn((entities, 8), generator=random)
    ids, probabilities = top_entities(hidden, weight, k, rows=rows)
    expected_ids, expected = softmax(hidden, weight, min(k, entities))
    assert ids.shape == probabilities.shape == (tokens, min(k, entities))
    torch.testing.assert_close(probabilities.double(), expected, rtol=1e-3, atol=1e-7)
    distinct = expected.diff(dim=1).abs().gt(1e-4 * expected[:, 1:]).all()  # else rounding may swap two
    if distinct:
        assert (ids[:, :-1] == expected_ids[:, :-1]).all()
    assert all(len(set(row)) == len(row) for row in ids.tolist())


def test_large_logits_do_not_overflow():
    hidden, weight = torch.full((1, 2), 200.0), torch.tensor([[200.0, 200.0], [-200.0, 0.0], [199.0, 200.0]])
    ids, probabilities = top_entities(hidden, weight, 2, rows=1)
    assert ids.tolist() == [[0, 2]]
    assert probabilities[0].tolist() == pytest.approx([1.0, 0.0])


def test_rising_and_falling_logits_are_found_in_every_block():
    weight = torch.linspace(-3, 3, 101).unsqueeze(1)
    for sign in (1.0, -1.0):
        ids, _ = top_entities(torch.full((1, 1), sign), weight, 5, rows=7)
        assert ids.tolist() == [[100, 99, 98, 97, 96] if sign > 0 else [0, 1, 2, 3, 4]]


class Largest(TorchDispatchMode):
    """Remembers the size of the largest tensor that is made."""

    def __init__(self):
        super().__init__()
        self.cells = 0

    def __torch_dispatch__(self, function, _types, given=(), options=None):
        made = function(*given, **(options or {}))
        for each in made if isinstance(made, (tuple, list)) else [made]:
            if isinstance(each, torch.Tensor):
                self.cells = max(self.cells, each.numel())
        return made


@pytest.mark.parametrize(("tokens", "entities", "rows"), [(60, 4000, 10), (300, 80_000, None)])
def test_the_full_softmax_is_never_made(tokens, entities, rows):
    hidden, weight = torch.randn((tokens, 2)), torch.randn((entities, 2))
    with Largest() as largest:
        top_entities(hidden, weight, 10, rows=rows)
    assert largest.cells < tokens * entities / 4
    with Largest() as largest:  # it would be noticed
        softmax(hidden, weight, 10)
    assert largest.cells == tokens * entities


@pytest.fixture(scope="module")
def encoder():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        config = tiny_spel.config(tiny_spel.make_tokenizer(), initializer_range=0.3)
        return transformers.RobertaModel(config, add_pooling_layer=False).eval(), torch.randn((40, 64))


def test_several_sequences_at_once_get_the_answers_of_each_alone(encoder):
    sequences = [[0, 270, 2], [], [0, *range(262, 300), 2], [0, 1, 263, 2], [0, *range(300, 310), 2], [0, 2]]
    together = Predictor(*encoder, k=3, batch_size=4).predict(sequences)
    alone = [Predictor(*encoder, k=3, batch_size=1).predict([sequence])[0] for sequence in sequences]
    assert [len(each) for each in together] == [len(sequence) for sequence in sequences]
    for ours, theirs in zip(together, alone, strict=True):
        assert [each.ids for each in ours] == [each.ids for each in theirs]
        for left, right in zip(ours, theirs, strict=True):
            assert left.probabilities == pytest.approx(right.probabilities, abs=1e-5)


def test_the_answers_are_a_softmax_over_the_last_layer(encoder):
    model, out = encoder
    sequence = [0, 280, 281, 1, 300, 2]
    with torch.no_grad():
        last = model(torch.tensor([sequence]), output_hidden_states=True).hidden_states[-1][0]
    ids, values = softmax(last, out, 4)
    found = Predictor(model, out, k=4, batch_size=8).predict([sequence])[0]
    assert [list(each.ids) for each in found] == ids.tolist()
    for each, expected in zip(found, values.tolist(), strict=True):
        assert each.probabilities == pytest.approx(expected, abs=1e-5)
