"""Checksums: whether files are still as they were written.

`SHA256SUMS` in a folder has a line for each file, as the program sha256sum writes it and checks it (`sha256sum -c
SHA256SUMS`). A file without a line is not checked, so whoever edits one on purpose takes its line out.

Cost: 1,800 MB a second and core where the processor has instructions for SHA-256 (x86 since 2017 to 2019, ARMv8), 500
where it has none. BLAKE2b takes 950 on both, CRC-32 4,200 but tells damage only from chance, not from changes.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from heedful.errors import NO_PERMISSION, HeedfulError
from heedful.text.atomic_files import write_text

SUMS = "SHA256SUMS"
CARD = "README.md"
COPY_AGAIN = f"Copy it again. If you edited it yourself, take its line out of {SUMS} beside it."

_LINE = re.compile(r"([0-9a-f]{64})  ([^\n]+)")


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_checksums(folder: Path, names: Iterable[str] | None = None) -> None:
    """Write the checksums of files in a folder, of all at any depth if no names are given but what is for people to
    read, and to add to.
    """
    if names is None:
        files = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        names = (name for name in files if name not in (SUMS, CARD))
    write_text(folder / SUMS, checksum_lines({name: checksum(folder / name) for name in names}))


def checksum_lines(sums: Mapping[str, str]) -> str:
    """Return the text of a file of checksums."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))


def forget_checksum(folder: Path, name: str) -> None:
    """Take the line of a file that is about to be removed out of the checksums of its folder."""
    sums = read_checksums(folder)
    if sums is not None and sums.pop(name, None) is not None:
        write_text(folder / SUMS, checksum_lines(sums))


def read_checksums(folder: Path) -> dict[str, str] | None:
    """Read the checksums of a folder by file name; None where none were written, as by earlier versions.

    Raises HeedfulError with the line where one is no checksum of a file in this folder.
    """
    path = folder / SUMS
    try:
        lines = path.read_bytes().decode("utf-8", errors="replace").split("\n") if path.is_file() else None
    except OSError as error:
        raise HeedfulError(f"{path} cannot be read: {error.strerror}.", hint=NO_PERMISSION) from None
    if lines is None:
        return None
    sums: dict[str, str] = {}
    for number, line in enumerate(lines[:-1] if not lines[-1] else lines, start=1):
        found = _LINE.fullmatch(line)
        if found is None or found[2].startswith("/") or ".." in found[2].split("/") or found[2] in sums:
            hint = "It was changed, or is cut off: copy the whole folder again."
            raise HeedfulError(f"{path}:{number} is no checksum of a file in this folder.", hint=hint)
        sums[found[2]] = found[1]
    return sums


def check_files(folder: Path, names: Collection[str] | None = None, hint: str = COPY_AGAIN) -> None:
    """Check files of a folder, all that have a checksum if no names are given; without checksums nothing is checked.

    Raises HeedfulError that names the first file which is missing or is not as it was written.
    """
    sums = read_checksums(folder)
    for name, digest in (sums or {}).items():
        if names is None or name in names:
            check_file(folder / name, digest, hint)


def check_file(path: Path, digest: str, hint: str = COPY_AGAIN) -> None:
    """Raise HeedfulError unless there is a regular file with this checksum."""
    if not path.is_file():
        what = "is no regular file" if path.exists() else "is missing"
        raise HeedfulError(f"{path} {what}.", hint=hint)
    try:
        found = checksum(path)
    except OSError as error:
        raise HeedfulError(f"{path} cannot be read: {error.strerror}.", hint=NO_PERMISSION) from None
    if found != digest:
        raise HeedfulError(f"{path} is damaged: it is not as it was written.", hint=hint)


def refuse_special_files(folder: Path) -> None:
    """Raise HeedfulError where something in a folder is neither a file nor a folder: reading it might never end."""
    for path in sorted(folder.iterdir()):
        if path.exists() and not path.is_file() and not path.is_dir():
            hint = "Copy the folder from where it comes from again, or take this out of it."
            raise HeedfulError(f"{path} is no regular file, but a pipe, a socket or a device.", hint=hint)
