"""Published files: where each is on the network, and how to have it here and know that it is the right one.

Knows no data set.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, final

from heedful.data.lines import read_lines
from heedful.datasets.download import DownloadProgress, download
from heedful.errors import ConfigError, HeedfulError


class PublishedFile(NamedTuple):
    """A file of a data set as it is published."""

    name: str  # its path below the base address, and in a local copy (there perhaps with .gz behind)
    lines: int
    sha256: str | None  # None: that of the published bytes is not known to us, so the lines are counted
    encoding: str = "utf-8"


@final
class FileLocation:
    """Location of a data set's files: a local copy, or the cache, into which they are downloaded at need."""

    def __init__(self, base_url: str, folder: Path | None, cache: Path) -> None:
        """Set the location; with a local copy, `folder`, nothing is downloaded."""
        self._base_url, self._folder, self._cache = base_url.rstrip("/"), folder, cache

    def path(self, file: PublishedFile, progress: Callable[[DownloadProgress], None] | None = None) -> Path:
        """Return the path of a checked file. Raises HeedfulError where it cannot be had, or is not
        the published one.
        """
        if self._folder is not None:
            found = [path for name in (file.name, f"{file.name}.gz") if (path := self._folder / name).is_file()]
            if not found:
                hint = f"Leave the folder out to download it, or put it there from {self._base_url}/{file.name}"
                raise ConfigError(f"The local copy has no {self._folder / file.name}.", hint=hint)
            return _counted(found[0], file)
        path = self._cache / file.name
        new = not path.exists()
        download(f"{self._base_url}/{file.name}", path, file.sha256, progress)
        if new:
            try:
                _counted(path, file)
            except HeedfulError:
                path.unlink()
                raise
        return path


def _counted(path: Path, file: PublishedFile) -> Path:
    found = sum(1 for _ in read_lines(path, file.encoding))
    if found != file.lines:
        hint = "Remove it and take it from where it is published."
        raise HeedfulError(
            f"{path} is not the published file: it has {found:,} lines instead of {file.lines:,}.", hint=hint
        )
    return path


def default_cache() -> Path:
    """Return the folder of downloads: heedful/data in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "heedful" / "data"
