"""Lines of JSON that come from somebody else: what is no JSON, or no text, is an error with its place.

Knows no keys.
"""

import json
from typing import Any

from heedful.errors import HeedfulError
from heedful.text.normalise import lone_surrogate

DEEPEST = 100  # levels of lists and objects


def parse_json(text: str, place: str, hint: str) -> Any:
    """Return what a line of JSON holds. Raises HeedfulError with the place for what is no JSON, or cannot be held."""
    try:
        found = json.loads(text)
        deep = _is_deep(found)
    except json.JSONDecodeError as error:
        raise HeedfulError(f"{place}: not valid JSON: {error}.", hint=hint) from None
    except ValueError:  # all that is valid JSON and no value of Python's
        raise HeedfulError(f"{place}: it holds a number of thousands of digits.", hint=hint) from None
    except RecursionError:
        deep, found = True, None
    if deep:
        raise HeedfulError(f"{place}: its lists and objects nest more than {DEEPEST} deep.", hint=hint)
    return found


def _is_deep(value: Any) -> bool:
    level: list[Any] = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def require_whole(text: str, what: str) -> str:
    """Return a text as it is; HeedfulError, which begins with `what` it is, where it holds half a character."""
    if (found := lone_surrogate(text)) is not None:
        hint = "Its other half is missing: write the whole character, as UTF-8."
        raise HeedfulError(f"{what} holds half a character (the lone surrogate {found}).", hint=hint)
    return text
