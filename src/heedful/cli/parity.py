"""How the command line prints what a comparison of engines came to."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heedful.export.parity import Parity


def facts_of(parity: "Parity") -> dict[str, object]:
    """Collect the facts for one JSON object."""
    first = parity.first_divergence
    return {
        "lines": parity.lines,
        "equal": parity.equal,
        "tokens": parity.tokens,
        "largest_log_p_difference": parity.largest_log_p_difference,
        "first_divergence": None if first is None else first._asdict(),
    }


def sentence_of(parity: "Parity") -> str:
    """Describe the comparison for a reader."""
    texts = f"{parity.equal:,} of {parity.lines:,} texts equal ({parity.equal_share:.1%})"
    difference = f"log-probabilities of {parity.tokens:,} tokens within {parity.largest_log_p_difference:.1e}"
    return f"{texts}, {difference}"
