"""What there is to know of each member of the attention family, and the finding of one by its name.

Words only; the members are in `members`, the parts themselves where `symbols` says. Knows no numbers.
"""

from difflib import get_close_matches
from typing import NamedTuple

from heedful.errors import ConfigError
from heedful.gallery.members import MEMBERS


class Member(NamedTuple):
    """One kind of attention, or what came before it. A slot that says "any" takes what the others take."""

    name: str
    page: str  # docs/attention/PAGE.md
    score: str
    mask: str
    normalise: str
    aggregate: str
    equation: str
    source: str
    symbols: tuple[str, ...]  # paths below `heedful`
    weak: str  # what it is not good for


FAMILY = tuple(Member(*facts) for facts in MEMBERS)


def find_member(name: str) -> Member:
    """The member of this name; ConfigError that names the nearest."""
    names = [member.name for member in FAMILY]
    if name not in names:
        near = get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f"Near to it: {', '.join(near)}." if near else "`heedful attention list` shows all."
        raise ConfigError(f"There is no attention called {name!r}.", hint=hint)
    return FAMILY[names.index(name)]
