"""Downloading a file: resumed where it broke off, checked, and in its place only when it is whole.

Knows no data set.
"""

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from heedful.errors import CannotWrite, HeedfulError

TIMEOUT = 30.0  # seconds without a byte
BLOCK = 1 << 16
AGAIN = "Run the command again: it goes on where it stopped."


class DownloadProgress(NamedTuple):
    """Progress of a download, in bytes; `total` is None where the server does not say."""

    name: str
    done: int
    total: int | None


def download(
    url: str, target: Path, sha256: str | None, progress: Callable[[DownloadProgress], None] | None = None
) -> None:
    """Fetch `url` into `target`, unless it is there with this SHA-256 (or, without one, is there at all).

    What came before a break is kept beside the target in a file that ends in .part, and is not fetched again. Raises
    HeedfulError where the network, the server or the disk fails, or the content is not what the checksum says.
    """
    if target.exists() and (sha256 is None or file_sha256(target) == sha256):
        return
    part = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _fetch(url, part, progress)
        if sha256 is not None and (found := file_sha256(part)) != sha256:
            part.unlink()
            hint = "Try again. If it happens again, that file has changed, or something on the way changes it."
            raise HeedfulError(f"{url}: the checksum is wrong: SHA-256 {found} instead of {sha256}.", hint=hint)
        os.replace(part, target)
    except OSError as error:
        raise CannotWrite(target, error) from error


def file_sha256(path: Path) -> str:
    """Compute the SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(url: str, part: Path, progress: Callable[[DownloadProgress], None] | None) -> None:
    """Append what is missing to `part`."""
    have = part.stat().st_size if part.exists() else 0
    response = _open(url, have)
    if response is None:  # nothing lies behind the part, so it is not a part of this file
        have = 0
        response = _open(url, have)
    if response is None:
        raise HeedfulError(f"{url}: the server has no such range of bytes.", hint="Try again later.")
    with response:
        resumed = response.status == 206
        length = response.headers.get("Content-Length")
        done = have if resumed else 0
        total = done + int(length) if length else None
        with part.open("ab" if resumed else "wb") as file:
            while block := _read(response, url):
                file.write(block)
                done += len(block)
                if progress is not None:
                    progress(DownloadProgress(url.rsplit("/", 1)[-1], done, total))
    if total is not None and done < total:
        raise HeedfulError(f"{url}: the connection broke after {done:,} of {total:,} bytes.", hint=AGAIN)


def _open(url: str, start: int) -> http.client.HTTPResponse | None:
    """Request the bytes from `start` on, as far as the server can do that; return None where it has none there."""
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"} if start else {})
    try:
        return urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:
            return None
        raise HeedfulError(
            f"{url}: the server answered {error.code} {error.reason}.", hint="Try again later."
        ) from None
    except OSError as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        hint = "Is there a network? With a local copy, name its folder instead (`--from`, or data.folder)."
        raise HeedfulError(f"Cannot reach {url}: {reason}.", hint=hint) from None


def _read(response: http.client.HTTPResponse, url: str) -> bytes:
    try:
        return response.read(BLOCK)
    except (OSError, http.client.HTTPException) as error:
        raise HeedfulError(f"{url}: the connection broke: {error}.", hint=AGAIN) from None
