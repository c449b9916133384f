"""Sinusoids in both layouts by hand and by their laws, and learned positions with their end."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.layers.position import LearnedPositions, NoPositions, SinusoidalPositions, sinusoids


class TestPaperLayout:
    def test_position_zero(self) -> None:
        assert sinusoids(1, 6, "sinusoidal")[0].tolist() == [0, 1, 0, 1, 0, 1]

    @pytest.mark.parametrize(
        ("d_model", "position", "first"),
        [
            (4, 1, [0.841471, 0.540302, 0.010000, 0.999950]),
            (4, 2, [0.909297, -0.416147, 0.019999, 0.999800]),
            (512, 1, [0.841471, 0.540302, 0.821856, 0.569695]),
        ],
    )
    def test_by_hand(self, d_model: int, position: int, first: list[float]) -> None:
        assert sinusoids(3, d_model, "sinusoidal")[position, :4].tolist() == pytest.approx(first, abs=1e-6)

    @given(d_model=st.integers(1, 9), position=st.integers(0, 50), column=st.integers(0, 8))
    @settings(deadline=None)
    def test_the_equation(self, d_model: int, position: int, column: int) -> None:
        column %= d_model
        angle = position / 10000 ** (2 * (column // 2) / d_model)
        expected = math.sin(angle) if column % 2 == 0 else math.cos(angle)
        assert sinusoids(position + 1, d_model, "sinusoidal")[position, column].item() == pytest.approx(
            expected, abs=1e-6
        )

    @pytest.mark.parametrize(("pair", "wavelength"), [(0, 6.2832), (1, 8.3788), (15, 471.17), (31, 47117.24)])
    def test_wavelengths(self, pair: int, wavelength: float) -> None:
        """Later pairs turn slower, and the slowest does not reach 2 pi 10000."""
        table = sinusoids(2, 64, "sinusoidal").double()
        angle = math.atan2(table[1, 2 * pair], table[1, 2 * pair + 1])
        assert 2 * math.pi / angle == pytest.approx(wavelength, rel=1e-4)

    def test_a_step_is_a_rotation(self) -> None:
        table = sinusoids(20, 8, "sinusoidal").double()
        for pair in range(4):
            turn = 5 / 10000 ** (2 * pair / 8)
            rotation = torch.tensor(
                [[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]], dtype=torch.float64
            )
            columns = table[:, 2 * pair : 2 * pair + 2]
            torch.testing.assert_close(columns[5:], columns[:-5] @ rotation.T, atol=1e-5, rtol=0)

    @pytest.mark.parametrize(("distance", "product"), [(0, 32.0), (2, 28.303862)])
    def test_products_depend_on_the_distance_alone(self, distance: int, product: float) -> None:
        table = sinusoids(40, 64, "sinusoidal")
        products = (table[: 40 - distance] * table[distance:]).sum(-1)
        torch.testing.assert_close(products, torch.full_like(products, product), atol=1e-4, rtol=0)


class TestTensor2TensorLayout:
    def test_by_hand(self) -> None:
        assert sinusoids(2, 4, "t2t")[1].tolist() == pytest.approx([0.841471, 0.0001, 0.540302, 1.0], abs=1e-6)

    def test_odd_width_ends_with_a_zero(self) -> None:
        table = sinusoids(3, 5, "t2t")
        assert not table[:, 4].any()
        assert torch.equal(table[:, :4], sinusoids(3, 4, "t2t"))


@pytest.mark.parametrize("layout", ["sinusoidal", "t2t"])
class TestSinusoidalPositions:
    def test_an_offset_continues_the_whole(self, layout) -> None:
        positions = SinusoidalPositions(6, layout)
        assert torch.equal(positions(3, offset=4), positions(7)[4:])

    def test_beyond_what_is_ready(self, layout) -> None:
        positions = SinusoidalPositions(6, layout)
        ready = SinusoidalPositions.READY
        longer = positions(ready + 3)
        assert torch.equal(longer[:ready], positions(ready))
        assert torch.equal(positions(1, offset=ready + 2), longer[-1:])
        torch.testing.assert_close(longer, sinusoids(ready + 3, 6, layout))

    def test_has_nothing_to_learn_or_to_keep(self, layout) -> None:
        assert not list(SinusoidalPositions(6, layout).parameters())
        assert not SinusoidalPositions(6, layout).state_dict()


class TestLearnedPositions:
    def test_rows_by_offset(self) -> None:
        positions = LearnedPositions(4, 10)
        assert torch.equal(positions(3, offset=7), positions.weight[7:])

    @pytest.mark.parametrize(("length", "offset"), [(11, 0), (1, 10), (4, 7)])
    def test_end(self, length: int, offset: int) -> None:
        with pytest.raises(
            ValueError, match=r"11 tokens is longer than the 10 learned positions \(`model.max_positions`\)"
        ):
            LearnedPositions(4, 10)(length, offset)


class TestNoPositions:
    def test_are_zeros_of_any_length(self) -> None:
        positions = NoPositions(4).double()
        assert torch.equal(positions(3, offset=2000), torch.zeros(3, 4, dtype=torch.float64))
        assert not positions.state_dict()

    def test_have_no_end(self) -> None:
        assert NoPositions(4).longest is SinusoidalPositions(4, "t2t").longest is None
        assert LearnedPositions(4, 10).longest == 10
