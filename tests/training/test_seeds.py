"""Seeds: equal parts give equal seeds, and all others different ones."""

import subprocess
import sys

from heedful.seeds import seed_of


def test_equal_parts_in_another_process() -> None:
    """Python's own `hash` of a string changes from process to process."""
    command = "from heedful.seeds import seed_of; print(seed_of(7, 'initial weights', 3))"
    printed = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout
    assert int(printed) == seed_of(7, "initial weights", 3)


def test_neighbours_have_nothing_in_common() -> None:
    seeds = [seed_of(seed, update, part) for seed in range(10) for update in range(100) for part in range(3)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)
    ones = sum(seed.bit_count() for seed in seeds) / (63 * len(seeds))
    assert 0.48 < ones < 0.52


def test_parts_do_not_run_together() -> None:
    parts = [(1, 23), (12, 3), (123,), ("1", 23), ("1, 23",), (1, 2, 3)]
    assert len({seed_of(*some) for some in parts}) == len(parts)
