from __future__ import annotations

import pytest

from factoid.devices import usable_device
from factoid.errors import InvalidInputError

torch = pytest.importorskip("torch")


def test_the_cpu_is_there_and_none_is_the_best_there_is(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for device in ("cpu", torch.device("cpu"), None):
        assert usable_device(device, extra="models") == torch.device("cpu")


@pytest.mark.parametrize("given", ["cuda:99", "banana", "meta", "", 3.5, torch.device("cuda", 99), "xla"])
def test_others_are_refused_with_those_there_are(given):
    with pytest.raises(InvalidInputError, match=r"PyTorch can use here \(cpu.*\), got") as caught:
        usable_device(given, extra="models")
    assert str(given) in str(caught.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("given", ["cuda", "cuda:3", 3])
def test_a_gpu_where_there_is_none(given):
    with pytest.raises(InvalidInputError, match=r"here \(cpu(, mps)?\), got '?(cuda|cuda:3|3)'?$"):
        usable_device(given, extra="models")
