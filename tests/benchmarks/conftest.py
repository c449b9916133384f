"""The programs of benchmarks/ import each other by their plain names."""

import sys

from tests.house.source import ROOT

sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "benchmarks" / "systems")]
