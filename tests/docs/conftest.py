"""The programs of docs/attention/ import each other by their plain names."""

import sys

from tests.house.source import ROOT

sys.path.insert(0, str(ROOT / "docs" / "attention"))
