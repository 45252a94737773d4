from __future__ import annotations

import pytest

from factoid.errors import InvalidInputError

torch = pytest.importorskip("torch")

from factoid.propositions.engines import usable_device  # noqa: E402


def test_the_cpu_is_there_and_none_is_the_best_there_is(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    for device in ("cpu", torch.device("cpu"), None):
        assert usable_device(device) == torch.device("cpu")


@pytest.mark.parametrize(
    "given", ["cuda:99", "banana", "meta", "", 3.5, torch.device("cuda", 99), "xla"]
)
def test_others_are_refused(given):
    with pytest.raises(InvalidInputError, match="PyTorch cannot use the device"):
        usable_device(given)
