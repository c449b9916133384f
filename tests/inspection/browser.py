"""A page in a real browser: load it with an address and a script after its own, get back what the script found.

The browser is Debian's chromium (or another build of it) without a window; where there is none, the test is skipped.
"""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-sync",
    "--no-first-run",
    "--virtual-time-budget=3000",
)


def run_in_page(page: str, folder: Path, script: str, address: str = "", width: int = 1400) -> Any:
    """What `script` (the body of a function, run after the page has drawn) returns, through JSON.

    An error in the page's own scripts or in this one fails the test with its message.
    """
    browser = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"no browser here: none of {', '.join(_NAMES)} is installed")
    guard = "<script>window.onerror = (message, _, line) => { document.title = `ERROR ${line}: ${message}`; };</script>"
    probe = (
        "<script>{ const found = (() => {" + script + "})();"
        'const out = document.createElement("pre"); out.id = "found"; out.textContent = JSON.stringify(found);'
        "document.body.append(out); }</script>"
    )
    file = folder / "page.html"
    file.write_text(page.replace("<head>", f"<head>{guard}").replace("</body>", f"{probe}</body>"), encoding="utf-8")
    profile = folder / "profile"
    command = [browser, *_FLAGS, f"--user-data-dir={profile}", f"--window-size={width},1000", "--dump-dom"]
    done = subprocess.run([*command, file.as_uri() + address], capture_output=True, timeout=120, check=True)
    document = done.stdout.decode("utf-8")
    found = re.search(r'<pre id="found">(.*?)</pre>', document, re.DOTALL)
    title = re.search(r"<title>(.*?)</title>", document)
    assert found is not None, f"the page failed: {html.unescape(title[1]) if title else document[:500]}"
    return json.loads(html.unescape(found[1]))
