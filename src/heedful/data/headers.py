"""First rows that look like names of columns and not like a pair.

Knows words that files are headed by, and no file.
"""

from collections.abc import Sequence

# ISO 639-1 codes of languages, names of languages, and what else the columns of published tables are called.
CODES = """
af am ar as az be bg bn br bs ca cs cy da de dz el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id ig is it
ja ka kk km kn ko ku ky li lt lv mg mk ml mn mr ms mt my nb ne nl nn no oc or pa pl ps pt ro ru rw se sh si sk sl sq sr
sv ta te tg th tk tr tt ug uk ur uz vi wa xh yi yo zh zu
"""
LANGUAGES = """
arabic basque bengali bulgarian catalan chinese croatian czech danish dutch english estonian finnish french galician
german greek hebrew hindi hungarian icelandic indonesian irish italian japanese korean latvian lithuanian norwegian
persian polish portuguese romanian russian serbian slovak slovenian slovene spanish swedish tamil thai turkish ukrainian
urdu vietnamese welsh deutsch englisch français anglais español inglés italiano svenska polski
"""
ROLES = """
source target src tgt trg input output inputs outputs text label labels sentence sentences word words translation
original reference question answer context intent tag tags phonemes phones pronunciation grapheme graphemes phoneme ipa
spelling id lang language src_text tgt_text source_text target_text sentence1 sentence2 premise hypothesis normalized
normalised transcription transcript
"""
NAMES = frozenset((CODES + LANGUAGES + ROLES).split())


def other_names(fields: Sequence[str]) -> bool:
    """Return whether each of these fields, of two or more different ones, is a usual name of a column."""
    plain = [field.strip().strip('"').lower() for field in fields]
    return len(plain) > 1 and len(set(plain)) == len(plain) and all(name in NAMES for name in plain)
