"""The fused top-k against a softmax, also of batches, and windows against the described procedure."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.entities.spel import tiny_spel

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from factoid.entities.spel.predict import Prediction, Predictor, merge_windows, top_entities, windows  # noqa: E402


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


class Largest(TorchDispatchMode):
    """Remembers the size of the largest tensor that is made."""

    cells = 0

    def __torch_dispatch__(self, function, _types, arguments=(), options=None):
        made = function(*arguments, **(options or {}))
        for tensor in made if isinstance(made, (tuple, list)) else [made]:
            self.cells = max(self.cells, tensor.numel() if isinstance(tensor, torch.Tensor) else 0)
        return made


@pytest.mark.parametrize(("tokens", "entities", "rows"), [(60, 4000, 10), (300, 80_000, None)])
def test_the_full_softmax_is_never_made(tokens, entities, rows):
    with Largest() as largest:
        top_entities(torch.randn((tokens, 2)), torch.randn((entities, 2)), 10, rows=rows)
    assert 0 < largest.cells < tokens * entities / 4


def test_the_answers_are_a_softmax_over_the_last_layer_in_batches_too():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        config = tiny_spel.config(tiny_spel.make_tokenizer(), initializer_range=0.3)
        model, out = transformers.RobertaModel(config, add_pooling_layer=False).eval(), torch.randn((40, 64))
    sequences = [[0, 270, 2], [0, *range(262, 300), 2], [0, 1, 263, 2], [0, *range(300, 310), 2], [0, 2]]
    for batch_size in (1, 4):
        predicted = Predictor(model, out, k=3, batch_size=batch_size).predict(sequences)
        for sequence, predictions in zip(sequences, predicted, strict=True):
            with torch.no_grad():
                last = model(torch.tensor([sequence]), output_hidden_states=True).hidden_states[-1][0]
            ids, values = softmax(last, out, 3)
            assert [list(prediction.ids) for prediction in predictions] == ids.tolist()
            for prediction, expected in zip(predictions, values.tolist(), strict=True):
                assert prediction.probabilities == pytest.approx(expected, abs=1e-5)


def described(parts):
    """Merge windows as the description goes: a list that grows, and an overlap that is pending until the next window."""
    emitted, pending = [], []
    for number, window in enumerate(parts):
        window = list(window)
        if number == 0:
            emitted += [(token,) for token in window[:20]]
            rest = window[20:]
        else:
            first, rest = window[:20], window[20:]
            first_shared = len(pending) - len(first)  # a shorter one is aligned to the overlap's end
            emitted += [(token,) for token in pending[:first_shared]]
            for previous, new in zip(pending[first_shared:], first, strict=True):
                if previous.ids[0] == 0:
                    emitted.append((new,))
                elif new.ids[0] in (0, previous.ids[0]):
                    emitted.append((previous,))
                else:
                    emitted.append((new, previous))
        pending = []
        if len(window) > 40:
            pending = rest[-20:]
            rest = rest[:-20]
        emitted += [(token,) for token in rest]
    emitted += [(token,) for token in pending]
    resolved = []
    for at, options in enumerate(emitted):
        right = [option.ids[0] for option in emitted[at + 1]] if at + 1 < len(emitted) else []
        choice = None
        for option in options:
            if (resolved and option.ids[0] == resolved[-1].ids[0]) or option.ids[0] in right:
                choice = option
                break
        if choice is None:
            choice = options[0]
            if len(options) == 2 and options[1].probabilities[0] > options[0].probabilities[0]:
                choice = options[1]
        resolved.append(choice)
    return resolved


@pytest.mark.parametrize("count", [2, 41, 233, 234, 235, 254, 255, 274, 275, 468, 469, 488, 489, 1000])
def test_against_the_procedure_of_the_description(count):
    chance = Random(count)
    for _ in range(20):
        parts = [
            [Prediction((chance.choice([0, 0, 1, 2, 3]),), (chance.random(),)) for _ in part] for part in windows(count)
        ]
        assert merge_windows(parts) == described(parts)
