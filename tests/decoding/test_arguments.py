"""Arguments of the Python interface that are of another kind than what is expected.

In a process of its own: the tests' own checks of types would speak first.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.pipeline.little import untrained_bundle

from heedful.errors import ConfigError
from heedful.pipeline.load import load

SETTING = """
import heedful, json, sys
translator = heedful.load(sys.argv[1])
said = {}
for line in json.loads(sys.argv[2]):
    try:
        eval(f"translator.{line}")
    except Exception as error:
        said[line] = f"{type(error).__name__}: {error}"
print(json.dumps(said))
"""
EXPECTED = {
    "trace(['abc'])": "TypeError: `source` must be one string, but is ['abc'].",
    "trace('abc', ['abc'])": "TypeError: `target` must be one string, but is ['abc'].",
    "trace(None)": "TypeError: `source` must be one string, but is None.",
    "score(['a'], 'b')": "TypeError: `targets` must be a list of strings, one a line, but is 'b'.",
    "translate('a')": "TypeError: `lines` must be a list of strings, one a line, but is 'a'.",
    "translate([None])": "TypeError: `lines` must be a list of strings, one a line, but is [None].",
    "translate(['a'], prefixes='b')": "TypeError: `prefixes` must be a list with one entry a line, but is 'b'.",
    "translate(['a'], n_best=0)": "ValueError: `n_best` must be at least 1, but is 0.",
}


def test_what_is_said(tmp_path: Path) -> None:
    bundle = untrained_bundle(tmp_path / "model", [("abc", "cba")])
    command = [sys.executable, "-c", SETTING, str(bundle), json.dumps(list(EXPECTED))]
    assert json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout) == EXPECTED


def test_an_export_is_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "export.toml").write_text('format = 1\ntarget = "onnx"\ntype = "float32"\n')
    with pytest.raises(ConfigError, match="is an export, for another program, and here a bundle is wanted") as caught:
        load(tmp_path)
    assert "name the bundle or the run that it was made from" in str(caught.value.hint)
