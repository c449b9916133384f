"""Where a model computes."""

import pytest
import torch
from torch import nn

from heedful.errors import ConfigError
from heedful.models.device import choose_device, device_of
from heedful.recipe.recipe import load_recipe
from heedful.training.config import TrainingConfig


def gpus(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let torch see so many."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: number > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: number)


@pytest.mark.parametrize(
    ("name", "there", "kind"), [("cpu", True, "cpu"), ("auto", True, "cuda"), ("auto", False, "cpu")]
)
def test_choice(name, there: bool, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(monkeypatch, int(there))
    assert choose_device(name).type == kind


def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(monkeypatch, 0)
    for name in ("cuda", "gpu", "cuda:0"):
        with pytest.raises(ConfigError, match=r'device = "cuda.*", but torch sees no GPU'):
            choose_device(name)


def test_one_of_several_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(monkeypatch, 2)
    assert choose_device("cuda:1") == torch.device("cuda", 1)
    assert choose_device("GPU:1") == torch.device("cuda", 1)
    assert choose_device("gpu") == torch.device("cuda")
    with pytest.raises(ConfigError, match='device = "cuda:2", but torch sees only 2 GPUs') as caught:
        choose_device("cuda:2")
    assert '"cuda:0" to "cuda:1"' in str(caught.value.hint)


@pytest.mark.parametrize("name", ["tpu", "cuda1", "cuda:", "cuda:-1", "gpu0", "", "cuda:9999"])
def test_a_name_of_no_device(name: str) -> None:
    with pytest.raises(ValueError, match="a device is one of auto, cpu, cuda"):
        choose_device(name)


def test_in_a_recipe() -> None:
    assert TrainingConfig(device="gpu").device == "cuda"
    assert TrainingConfig(device="cuda:1").device == "cuda:1"
    with pytest.raises(ConfigError, match=r"command line: `training.device`: a device is one of .* but is 'tpu'"):
        load_recipe(None, ["preset=paper-base", "data.catalogue=copy", "training.device=tpu"])


def test_of_a_model() -> None:
    assert device_of(nn.Linear(2, 2, device="meta")).type == "meta"
    assert device_of(nn.ReLU()).type == "cpu"  # no parameters
