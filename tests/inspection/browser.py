"""A page in a real browser: load it at a width and in a colour scheme, run a script in it, get back what it found.

The browser is Debian's chromium (or another build of it) without a window, driven by its own protocol over two pipes;
where there is none, the test is skipped.
"""

import base64
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


class Tab:
    """One open page: what it asks for, what its scripts throw, and what a script of ours finds in it."""

    def __init__(self, process: "subprocess.Popen[bytes]", commands: int, answers: int) -> None:
        self.requests: list[str] = []
        self.faults: list[str] = []
        self._process, self._commands, self._answers = process, commands, answers
        self._pending = b""
        self._count = 0
        self._session: str | None = None
        self._loaded = False

    def open(self, url: str, width: int, height: int, scheme: str) -> Self:
        """Show a page at this size, in a "light" or "dark" colour scheme, and wait until it has drawn."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.requests.clear()
        self._loaded = False
        self.call("Page.navigate", url=url)
        while not self._loaded:
            self._receive()
        self.find(
            "return await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
        )
        return self

    def find(self, script: str) -> Any:
        """What `script`, the body of an async function, returns; an error in it, or in the page, fails the test."""
        expression = f"(async () => {{{script}}})()"
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        faults = [*self.faults, *([_said(found["exceptionDetails"])] if "exceptionDetails" in found else [])]
        assert not faults, f"the page failed: {faults[0]}"
        return found["result"].get("value")

    def picture(self) -> bytes:
        """The whole page as PNG, as far as it scrolls down."""
        size = self.find("return [innerWidth, Math.min(12000, document.documentElement.scrollHeight)]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def call(self, method: str, **parameters: Any) -> Any:
        """The answer to one command of the protocol."""
        self._count += 1
        number = self._count
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None and not method.startswith("Target."):
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            part = os.read(self._answers, 1 << 16)
            assert part, "the browser has gone"
            self._pending += part
        whole, _, self._pending = self._pending.partition(b"\0")
        message = json.loads(whole)
        told = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])
            case "Runtime.exceptionThrown":
                self.faults.append(_said(told["exceptionDetails"]))
        return message


def _said(details: dict[str, Any]) -> str:
    error = details.get("exception", {}).get("description", details["text"])
    return f"line {details['lineNumber'] + 1}: {error}"


@contextmanager
def opened(
    page: str, folder: Path, *, address: str = "", width: int = 1400, height: int = 1000, scheme: str = "light"
) -> Iterator[Tab]:
    """A tab that shows this HTML."""
    browser = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"no browser here: none of {', '.join(_NAMES)} is installed")
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    theirs, commands = os.pipe()
    answers, ours = os.pipe()
    # The browser reads from its third descriptor and writes to its fourth; high numbers cannot be in the way of these.
    lent = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (theirs, ours)]
    shell = f'exec "$@" 3<&{lent[0]} 4>&{lent[1]}'
    command = ["bash", "-c", shell, "bash", browser, *_FLAGS, f"--user-data-dir={folder / 'profile'}"]
    process = subprocess.Popen(command, pass_fds=lent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for end in (theirs, ours, *lent):
        os.close(end)
    try:
        yield Tab(process, commands, answers).open(file.absolute().as_uri() + address, width, height, scheme)
    finally:
        os.close(commands)
        process.terminate()
        process.wait(30)
        os.close(answers)


def run_in_page(page: str, folder: Path, script: str, address: str = "", width: int = 1400) -> Any:
    """What `script` (the body of a function, run after the page has drawn) returns, through JSON.

    An error in the page's own scripts or in this one fails the test with its message.
    """
    with opened(page, folder, address=address, width=width) as tab:
        return tab.find(script)
