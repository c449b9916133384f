"""What happens to a text before a tokeniser cuts it: Unicode form, lower case, white space.

Knows no symbols and no ids.
"""

import unicodedata
from typing import NamedTuple

from heedful.text.config import SideConfig

BLANK_PIECE = "▁"  # sentencepiece's sign for a blank (U+2581)


class Normaliser(NamedTuple):
    """A text as the tokeniser cuts it. Normalising twice changes nothing more."""

    form: str  # NFC, NFD, NFKC or none
    lowercase: bool
    single_blanks: bool  # no white space at the ends, one blank for each run of it

    @classmethod
    def of(cls, config: SideConfig) -> "Normaliser":
        """The one that the settings ask for."""
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
        """Decoded text as it goes out: NFD is a form for the inside only, so letters and accents are joined again."""
        return unicodedata.normalize("NFC", text) if self.form == "NFD" else text
