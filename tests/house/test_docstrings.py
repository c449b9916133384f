"""How docstrings begin: a function's with a verb, a class's or a property's with a noun, and none with a question."""

import ast

import pytest
from tests.house.source import EVERY_MODULE, FunctionNode, Module

QUESTION = {"What", "Whatever", "Whether", "Where", "How", "Which", "Who", "Whose", "When", "Why"}
VERBS = """
Add Align Allocate Append Apply Ask Assign Attend Average Bound Build Bundle Carry Check Choose Collapse Collect
Combine Compare Compose Compute Concatenate Consume Convert Convolve Copy Count Cut Declare Decode Derive Describe Do
Download Draw Embed Encode Estimate Explain Extend Fetch Fill Find Flatten Format Gather Generate Give Hash Have Hide
Hold Ignore Import Join Keep Lay Learn Let Link List Load Locate Look Make Map Mark Mask Measure Merge Move Name Nest
Normalise Note Number Open Order Pack Pad Pair Parse Pass Plan Pool Predict Prepare Print Process Project Put Quantise
Raise Rank Read Reconstruct Record Refuse Remove Render Renumber Repeat Replace Report Request Resolve Restrict Return
Rise Round Run Say Scale Score Search Select Set Shift Show Split Stage Start Store Strip Suggest Summarise Tag Take
Tell Time Title Trace Train Translate Transpose Truncate Turn Wrap Write Yield
"""  # add a verb that you need; one of these is mostly right


@pytest.mark.parametrize("module", **EVERY_MODULE)
def test_first_words(module: Module) -> None:
    """A function does one of `VERBS`; a class is no question and no pronoun."""
    assert [f"{name}: {text}" for name, text, right in first_lines(module.tree) if not right] == []


def first_lines(tree: ast.Module) -> list[tuple[str, str, bool]]:
    """List name, first line and whether it begins as it should, for each function and class with a docstring."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode | ast.ClassDef) and (text := ast.get_docstring(node)):
            line = text.splitlines()[0]
            noun = isinstance(node, ast.ClassDef) or is_property(node)
            found.append((node.name, line, begins_with_noun(line) if noun else begins_with_verb(line)))
    return found


def is_property(function: FunctionNode) -> bool:
    """Tell a property, which is read like a field, from a function."""
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def begins_with_verb(line: str) -> bool:
    """Look at the first word: one of the verbs, in the imperative."""
    return line.split()[0].rstrip(",:;.") in VERBS.split()


def begins_with_noun(line: str) -> bool:
    """Look at the first word: no question and no pronoun that leaves open what is meant."""
    return line.split()[0].rstrip(",:;.") not in QUESTION | {"Something", "Everything", "It", "This", "These", "Those"}


@pytest.mark.parametrize(
    "line", ["Return the rows.", "Process a line.", "Pass: nothing is done.", "Draw one, then stop."]
)
def test_verbs(line: str) -> None:
    assert begins_with_verb(line)


@pytest.mark.parametrize(
    "line", ["The rows.", "Rows of it.", "Raises an error.", "softmax(QK)", "`x` of it", "Linear to 0.", "Mean of all."]
)
def test_others(line: str) -> None:
    assert not begins_with_verb(line)
