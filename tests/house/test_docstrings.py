"""How docstrings begin: a function's with a verb, a class's or a property's with a noun, and none with a question."""

import ast
import re

import pytest
from tests.house.source import EVERY_MODULE, FunctionNode, Module

QUESTION = {"What", "Whatever", "Whether", "Where", "How", "Which", "Who", "Whose", "When", "Why"}
OTHER_WORDS = """
A About All An And Another Any As At Before Behind Both By Different Each Either Embedded Endless Every Everything
Few For From Four Held-out If In It Its Like Many More Most Named Neither New Newest No None Nothing Of On One Only
Or Our Other Over Several Simple Some Something Such Than That The Their Them These They This Those Three To Two
Until Visible With Without
"""
NO_VERB = QUESTION | set(OTHER_WORDS.split())
NOUN = re.compile(r"\w+(tion|sion|ness|ity|ance|ence|ism)$|\w*[^s]s$")  # "Rows", "Raises", "Attention"


@pytest.mark.parametrize("module", **EVERY_MODULE)
def test_first_words(module: Module) -> None:
    """A verb is what is no article, pronoun, question word or formula, and has no ending of a noun."""
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
    """Look at the first word: capitalised, letters only, and no other kind of word."""
    word = line.split()[0].rstrip(",:;.")
    return bool(re.fullmatch(r"[A-Z][a-z]+(-[a-z]+)?", word)) and word not in NO_VERB and not NOUN.match(word)


def begins_with_noun(line: str) -> bool:
    """Look at the first word: no question and no pronoun that leaves open what is meant."""
    return line.split()[0].rstrip(",:;.") not in QUESTION | {"Something", "Everything", "It", "This", "These", "Those"}


@pytest.mark.parametrize(
    "line", ["Return the rows.", "Process a line.", "Pass on.", "Draw one, then stop.", "Re-read a file."]
)
def test_verbs(line: str) -> None:
    assert begins_with_verb(line)


@pytest.mark.parametrize(
    "line", ["The rows.", "Rows of it.", "Raises an error.", "softmax(QK)", "`x` of it", "Attention."]
)
def test_others(line: str) -> None:
    assert not begins_with_verb(line)
