"""The page as a file: its data come back exactly, it asks for nothing, and nothing in a token can break out of it."""

import json
import re
from base64 import b64decode
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.inspection.made_up import CJK, RTL, WORD, made_up

from heedful.inspection.page import page
from heedful.trace import Trace


def embedded(html: str) -> dict:
    """The data that the page holds."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def unpack(packed: dict) -> tuple[np.ndarray, np.ndarray]:
    """(weights [H T S], mask [1|H T S]) of one embedded map, by its own description."""
    shape = (packed["heads"], packed["rows"], packed["columns"])
    raw = b64decode(packed["weights"])
    if packed["encoding"] == "float32":
        weights = np.frombuffer(raw, "<f4").reshape(shape)
    else:
        weights = np.frombuffer(raw, np.uint8).reshape(shape) / 255
    mask_shape = (packed["mask_heads"], *shape[1:])
    if packed["mask"] is None:
        return weights, np.ones(mask_shape, dtype=bool)
    bits = np.unpackbits(np.frombuffer(b64decode(packed["mask"]), np.uint8), count=int(np.prod(mask_shape)))
    return weights, bits.reshape(mask_shape).astype(bool)


def test_weights_and_masks_come_back_to_the_bit() -> None:
    data = embedded(page([WORD, CJK, RTL], "three"))
    for trace, packed in zip([WORD, CJK, RTL], data["traces"], strict=True):
        assert packed["log_p"] == trace.log_p
        for shown, found in zip(trace.maps, packed["maps"], strict=True):
            weights, mask = unpack(found)
            assert found["name"] == shown.name
            assert np.array_equal(weights, shown.weights.numpy())
            assert np.array_equal(mask, shown.mask.numpy())


def test_beyond_the_limit_weights_are_rounded_and_four_times_smaller() -> None:
    exact, rounded = (embedded(page([WORD], "", exact_bytes=limit))["traces"][0]["maps"] for limit in (10**9, 0))
    for shown, a, b in zip(WORD.maps, exact, rounded, strict=True):
        assert (a["encoding"], b["encoding"]) == ("float32", "uint8")
        assert len(b64decode(a["weights"])) == 4 * len(b64decode(b["weights"]))
        assert np.abs(unpack(b)[0] - shown.weights.numpy()).max() <= 0.5 / 255 + 1e-7
        assert np.array_equal(unpack(b)[1], shown.mask.numpy())


def test_a_weight_takes_less_than_six_characters() -> None:
    """Four bytes in base64 are 5.33 characters; as JSON numbers they would be about twenty."""
    long = made_up([f"w{i}" for i in range(60)], [f"v{i}" for i in range(60)], n_heads=8)
    cells = sum(shown.weights.numel() for shown in long.maps)
    assert len(page([long], "")) < 6 * cells + 60_000


class Resources(HTMLParser):
    """Everything in a page that a browser might fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [(name, value) for name, value in attrs if name in {"src", "href", "srcset", "action", "data"}]


def test_nothing_is_fetched_from_anywhere() -> None:
    html = page([WORD], "offline")
    parser = Resources()
    parser.feed(html)
    assert parser.found == []
    assert set(re.findall(r"https?://[\w./]+", html)) == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert "@import" not in html
    assert "url(" not in html
    assert "default-src 'none'" in html


@pytest.mark.parametrize("evil", ["</script><b>", "<!--", "/*script*/", "<!--title-->", '"&quot;', "\u2028"])
def test_tokens_and_titles_stay_text(evil: str) -> None:
    html = page([made_up([evil], [evil])], evil)
    told = made_up([evil], [evil])._replace(source_text=evil, output_text=evil)
    assert page([told], evil).count("</script>") == 2
    assert embedded(page([told], evil))["traces"][0]["source_text"] == evil
    assert embedded(html)["title"] == evil
    assert html.count("</script>") == 2
    assert html.count("<b>") == page([WORD], "").count("<b>")


def test_no_placeholder_is_left() -> None:
    html = page([WORD], "a title")
    for mark in ("/*style*/", "/*data*/", "/*script*/", "<!--title-->"):
        assert mark not in html
    assert "<title>a title · attention</title>" in html
    told = WORD._replace(source_text="heedful <one>")
    assert "<title>heedful &lt;one&gt; · attention</title>" in page([told], "a title")


@pytest.mark.parametrize(
    ("traces", "message"),
    [
        ([], "`traces` must hold at least one trace, but is empty."),
        ([WORD, WORD._replace(maps=[])], "`traces` must have attention maps, but trace 1 has none."),
    ],
)
def test_a_page_of_nothing_is_refused(traces: list[Trace], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        page(traces, "")
