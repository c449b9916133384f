"""Where a model computes."""

import pytest
import torch
from torch import nn

from heedful.errors import ConfigError
from heedful.models.device import choose_device, device_of


@pytest.mark.parametrize(
    ("name", "there", "kind"), [("cpu", True, "cpu"), ("auto", True, "cuda"), ("auto", False, "cpu")]
)
def test_choice(name, there: bool, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    assert choose_device(name).type == kind


def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match='device = "cuda", but torch sees no GPU'):
        choose_device("cuda")


def test_of_a_model() -> None:
    assert device_of(nn.Linear(2, 2, device="meta")).type == "meta"
    assert device_of(nn.ReLU()).type == "cpu"  # no parameters
