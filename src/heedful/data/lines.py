"""Lines of text files, plain or gzip, checked to be UTF-8 unless another encoding is known.

Knows nothing of pairs. Only a newline ends a line, or carriage return and newline; U+2028 and the like are text.
"""

import difflib
import errno
import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from heedful.data.spool import STANDARD_INPUT, is_stream, open_again
from heedful.errors import NO_PERMISSION, ConfigError, HeedfulError

GZIP_MAGIC, UTF16_MARKS, UTF8_MARK = b"\x1f\x8b", (b"\xff\xfe", b"\xfe\xff"), b"\xef\xbb\xbf"


def read_lines(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    """Read the lines of a file without their ends, one at a time; a file whose name ends in .gz is unpacked on the way.

    "-" is standard input; it and pipes can be read again, for a copy is kept while the process lives. `encoding` is
    "utf-8", or a published file's own if every string of bytes is valid in it, as in "latin-1". A byte order mark at
    the start is left out. Raises ConfigError where it is not there, and HeedfulError with file and line
    where it is not text, not UTF-8 or damaged.
    """
    require_file(path)
    return _decoded(path, encoding)


def _decoded(path: Path, encoding: str) -> Iterator[str]:
    for number, raw in enumerate(_raw_lines(path), start=1):
        if number == 1:
            raw = raw.removeprefix(UTF8_MARK)
        if b"\0" in raw:
            raise _binary(path, number, raw)
        try:
            line = raw.decode(encoding)
        except UnicodeDecodeError as error:
            if raw.startswith((GZIP_MAGIC, *UTF16_MARKS)):
                raise _binary(path, number, raw) from None
            found = f"byte {error.start + 1} of the line is 0x{raw[error.start]:02X}"
            hint = "In Latin-1 or another encoding? Convert it: iconv -f LATIN1 -t UTF-8 FILE > NEW"
            raise HeedfulError(f"{path}:{number}: not UTF-8 ({found}).", hint=hint) from None
        yield line.removesuffix("\n").removesuffix("\r")


def _raw_lines(path: Path) -> Iterator[bytes]:
    """Read the lines as bytes, with their ends."""
    try:
        with open_again(path) as raw, gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw as file:
            yield from file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        hint = "Copy or download it again; if it is plain text, take .gz off its name."
        raise HeedfulError(f"{path} cannot be unpacked: {str(error).rstrip('.')}.", hint=hint) from None
    except OSError as error:
        hint = NO_PERMISSION if error.errno == errno.EACCES else None
        raise HeedfulError(f"Cannot read {path}: {error.strerror or error}.", hint=hint) from error


def _binary(path: Path, number: int, raw: bytes) -> HeedfulError:
    """Explain that a file is no UTF-8 text at all."""
    if raw.startswith(GZIP_MAGIC):
        hint = "It is compressed by gzip: give it a name that ends in .gz."
    elif raw.startswith(UTF16_MARKS):
        hint = "It is UTF-16 text. Convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW"
    else:
        hint = "Is it the right file? Text files hold no NUL bytes."
    return HeedfulError(f"{path}:{number}: this is a binary file, not UTF-8 text.", hint=hint)


def require_file(path: Path) -> None:
    """Raise ConfigError unless there is such a file, pipe or "-"; the hint names the nearest names in its folder."""
    if path.is_file() or is_stream(path):
        return
    if path.is_dir():
        raise ConfigError(f"{path} is a folder, not a file.", hint="Name a file in it.")
    folder = path.parent
    if not folder.is_dir():
        raise ConfigError(f"There is no file {path}: its folder is not there either.", hint=f"You are in {Path.cwd()}.")
    near = difflib.get_close_matches(path.name, [entry.name for entry in folder.iterdir()], n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(str(folder / name) for name in near)}?" if near else f"You are in {Path.cwd()}."
    raise ConfigError(f"There is no file {path}.", hint=hint)


def refuse_second_use(paths: Iterable[str | Path]) -> None:
    """Raise ConfigError where standard input is named more than once: two files cannot both come from it."""
    if sum(str(path) == STANDARD_INPUT for path in paths) > 1:
        raise ConfigError("Standard input can stand for one file only.", hint="Name files for the others.")
