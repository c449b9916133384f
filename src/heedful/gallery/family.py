"""What there is to know of each member of the attention family, and the finding of one by its name.

Words only; the members are in `members`, the parts themselves where `symbols` says. Knows no numbers.
"""

import re
from difflib import get_close_matches
from typing import NamedTuple

from heedful.errors import ConfigError
from heedful.gallery.aliases import ALIASES
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


def usual_name(name: str) -> str:
    """Return the name of the member that this is another name of; any other name as it is, but for case and blanks."""
    plain = re.sub(r"[\s_]+", "-", name.strip().lower())
    known = {member.name for member in FAMILY}
    for one in (plain, plain.removesuffix("-attention")):
        if one in known:
            return one
        if one in ALIASES:
            return ALIASES[one].member
    return plain


def find_member(name: str) -> Member:
    """Find the member of this name, or of one of its other names; ConfigError that names the nearest."""
    names = [member.name for member in FAMILY]
    name = usual_name(name)
    if name not in names:
        near = get_close_matches(name, [*names, *ALIASES], n=3, cutoff=0.5)
        hint = f"Near to it: {', '.join(near)}." if near else "`heedful attention list` shows all."
        raise ConfigError(f"There is no attention called {name!r}.", hint=hint)
    return FAMILY[names.index(name)]
