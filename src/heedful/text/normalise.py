"""What happens to a text before a tokeniser cuts it (Unicode form, lower case, white space), and what is no text.

Knows no symbols and no ids.
"""

import re
import unicodedata
from typing import NamedTuple

from heedful.text.config import SideConfig

BLANK_PIECE = "▁"  # sentencepiece's sign for a blank (U+2581)
COMPARED_FORM = "NFC"  # in which outputs and references are compared

# Characters that leave no mark: format characters, fillers, separators of lines and paragraphs, byte order marks.
# Joiners (U+200C, U+200D) and variation selectors are not among them: scripts and emoji are written with those.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0001]"
)
_NO_MARK = re.compile(f"(?:[\\s\\x00-\\x1f\\x7f-\\x9f\u200c\u200d\u180b-\u180d\ufe00-\ufe0f]|{INVISIBLE.pattern})*")
_SURROGATE = re.compile("[\ud800-\udfff]")


class TextNormaliser(NamedTuple):
    """A text as the tokeniser cuts it. Normalising twice changes nothing more."""

    form: str  # NFC, NFD, NFKC or none
    lowercase: bool
    single_blanks: bool  # no white space at the ends, one blank for each run of it

    @classmethod
    def of(cls, config: SideConfig) -> "TextNormaliser":
        """Make the normaliser that the settings name."""
        subwords = config.kind == "sentencepiece"
        return cls(config.unicode_form or ("NFKC" if subwords else "NFC"), config.lowercase, subwords)

    def __call__(self, text: str) -> str:
        text = self._in_form(text)
        if self.lowercase:  # lower-casing can leave the form: the capital I with dot becomes two code points
            text = self._in_form(text.lower())
        # sentencepiece marks blanks by a sign of its own, so that a text with that sign in it has blanks there
        return " ".join(text.replace(BLANK_PIECE, " ").split()) if self.single_blanks else text

    def _in_form(self, text: str) -> str:
        return text if self.form == "none" else unicodedata.normalize(self.form, text)  # pyright: ignore[reportArgumentType]

    def compose(self, text: str) -> str:
        """Compose decoded text: NFD is a form for the inside only, so letters and accents are joined again."""
        return unicodedata.normalize("NFC", text) if self.form == "NFD" else text


def in_compared_form(text: str) -> str:
    """Return the text as outputs and references are compared: two spellings of one text are equal in it."""
    return unicodedata.normalize(COMPARED_FORM, text)


def is_blank(text: str) -> bool:
    """Return whether a text shows nothing: white space, control characters and invisible ones only."""
    return _NO_MARK.fullmatch(text) is not None


def lone_surrogate(text: str) -> str | None:
    """Return the first half of a character that stands alone, as "U+D83D"; None where the text is whole.

    JSON can write one, and so can the bytes of an option that are no UTF-8. No file can hold it.
    """
    found = _SURROGATE.search(text)
    return None if found is None else f"U+{ord(found[0]):04X}"


def names_of(characters: str) -> str:
    """Return what characters are called, as "U+200B ZERO WIDTH SPACE, U+2026 … HORIZONTAL ELLIPSIS"."""
    return ", ".join(_name_of(character) for character in characters)


def _name_of(character: str) -> str:
    shown = f" {character}" if character.isprintable() and not character.isspace() and not is_blank(character) else ""
    return f"U+{ord(character):04X}{shown} {unicodedata.name(character, '')}".rstrip()
