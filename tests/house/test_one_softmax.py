"""Scores are made in one file, normalised in one, and handed to the fused kernel in one."""

import ast

import pytest
from tests.house.source import EVERY_MODULE, Module

OVER_SCORES = {"attention/normalise.py"}
OVER_THE_VOCABULARY = ("decoding/", "export/", "training/objective.py", "training/label_losses.py", "training/ctc.py")
SCORES = {"attention/scores.py"}
FUSED = {"attention/core.py"}
TORCHS_OWN = {"MultiheadAttention", "Transformer", "TransformerEncoderLayer", "TransformerDecoderLayer"}


def called(module: Module, *names: str) -> list[int]:
    """The lines that call an attribute of such a name, as in `x.softmax(...)` or `nn.functional.softmax(...)`."""
    calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in names]


@pytest.mark.parametrize("module", **EVERY_MODULE)
class TestOnePlace:
    def test_softmax(self, module: Module) -> None:
        """Over scores in one file; over the vocabulary where tokens are chosen or predicted."""
        if module.name not in OVER_SCORES and not module.name.startswith(OVER_THE_VOCABULARY):
            assert called(module, "softmax", "log_softmax", "logsumexp", "softmin") == []

    def test_score_products(self, module: Module) -> None:
        """A product with transposed keys is a score (within attention, layers and models)."""
        if module.name.startswith(("attention/", "layers/", "models/")) and module.name not in SCORES:
            products = [
                node.lineno
                for node in ast.walk(module.tree)
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) and _is_transposed(node.right)
            ]
            assert products == []
            assert called(module, "baddbmm", "bmm", "einsum", "softmax_backward_data") == []

    def test_fused_kernel(self, module: Module) -> None:
        if module.name not in FUSED:
            assert called(module, "scaled_dot_product_attention") == []

    def test_torchs_own_layers_are_only_oracles_of_tests(self, module: Module) -> None:
        used = [node.attr for node in ast.walk(module.tree) if isinstance(node, ast.Attribute)]
        assert not TORCHS_OWN & {name for name in used if f"nn.{name}" in module.text}


def test_the_places_are_the_real_ones() -> None:
    """Each allowed place does what it is allowed to do, so that the lists above cannot outlive the code."""
    by_name = {module.name: module for module in EVERY_MODULE["argvalues"]}
    for name in OVER_SCORES:
        assert called(by_name[name], "softmax")
    for name in FUSED:
        assert called(by_name[name], "scaled_dot_product_attention")
    for name in SCORES:
        assert ".mT" in by_name[name].text


def _is_transposed(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in {"mT", "T"}
