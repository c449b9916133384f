"""Outputs beside their references in a report: what is marked, and what stays readable."""

import re

import pytest
from tests.evaluation.outline import Outline

from heedful.evaluation.report_diff import comparison, confusions


def pairs(html: str) -> list[str]:
    """The columns of a comparison as "reference/output", with ! for those that are marked."""
    found = re.findall(r'<span class="pair( wrong)?"><(?:span)[^>]*>(.*?)</span><(?:span|mark)[^>]*>(.*?)</', html)
    return [f"{'!' if wrong else ''}{wanted}/{written}" for wrong, wanted, written in found]


@pytest.mark.parametrize(
    ("output", "references", "columns"),
    [
        ("K AH T", ["K AE T"], ["K/K", "!AE/AH", "T/T"]),
        ("K AE T S", ["K AE T"], ["K/K", "AE/AE", "T/T", "!·/S"]),
        ("K T", ["K AE T"], ["K/K", "!AE/·", "T/T"]),
        ("gesehn", ["gesehen"], ["g/g", "e/e", "s/s", "e/e", "h/h", "!e/·", "n/n"]),
        ("A B", ["X Y", "A B"], ["A/A", "B/B"]),
        ("", ["ab"], ["!a/·", "!b/·"]),
        ("שלם", ["שלום"], ["ש/ש", "ל/ל", "!ו/·", "ם/ם"]),
    ],
)
def test_every_column_that_differs_is_marked_on_both_sides(
    output: str, references: list[str], columns: list[str]
) -> None:
    html = comparison(output, references)
    Outline(html)
    assert pairs(html) == columns


def test_letters_that_join_stay_joined() -> None:
    html = comparison("عبدارحمن", ["عبدالرحمن"])
    Outline(html)
    assert pairs(html) == []
    assert '<bdi>عبدا<span class="wanted">ل</span>رحمن</bdi>' in html
    assert "<bdi>عبدا<mark>·</mark>رحمن</bdi>" in html
    assert 'dir="rtl"' in html


def test_letters_with_marks_are_not_parted_from_them() -> None:
    assert pairs(comparison("कि", ["कु"])) == []
    assert 'dir="ltr"' in comparison("कि", ["कु"])


def test_words_of_any_script_stand_in_columns() -> None:
    assert pairs(comparison("الكتاب على", ["الكتاب فوق"])) == ["الكتاب/الكتاب", "!فوق/على"]


def test_it_is_told_to_those_who_do_not_see_it() -> None:
    assert 'aria-label="reference K AE T; output K AH T"' in comparison("K AH T", ["K AE T"])
    assert 'aria-label="reference a; output nothing"' in comparison("", ["a"])


def test_signs_of_markup_stay_text() -> None:
    html = comparison('<b> "x"', ["<i> & 'y'"])
    assert "<b>" not in html
    assert Outline(html).texts.count("<b>") == 1


def test_the_most_frequent_edits() -> None:
    html = confusions([("K AH T", ["K AE T"]), ("R AH T", ["R AE T"]), ("K T", ["K AE T"]), ("AE T", ["AE"])])
    texts = [text for text in Outline(html).texts if text.strip()]
    assert texts[-4:] == ["AE", " → ", "AH", "2"]
    assert html.count("<li") == 1  # the others are there once


def test_no_edit_that_is_there_twice() -> None:
    assert confusions([("a", ["b"])]) == ""
