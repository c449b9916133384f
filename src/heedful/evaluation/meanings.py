"""What each metric says, spelt out, and in which unit its values are written."""

MEANINGS = {
    "bleu": "overlap of word n-grams with the references, from 0 to 100",
    "chrf": "overlap of character n-grams with the references, from 0 to 100",
    "ter": "translation edit rate: word edits and shifts, in per cent of the reference's words",
    "multi-bleu": "BLEU of tokenised text, as multi-bleu.perl counts it, from 0 to 100",
    "exact": "per cent of lines exactly right",
    "wer": "word error rate: per cent of lines not exactly right",
    "per": "phone error rate: edits in per cent of the reference's symbols",
    "cer": "character error rate: edits in per cent of the reference's characters",
    "accuracy": "per cent of labels that are right",
    "span-f1": "F1 of whole labelled spans, in per cent",
}
POINTS = ("bleu", "chrf", "multi-bleu")  # shares by nature, and by custom written without the sign


def unit_of(metric: str) -> str:
    """Return the unit that stands behind a value of this metric: a per cent sign for rates, else nothing."""
    return "%" if metric in MEANINGS and metric not in POINTS else ""


def valued(value: float, metric: str) -> str:
    """Return a value with its unit: "30.37 %" for an error rate."""
    unit = unit_of(metric)
    return f"{value:.2f}\u00a0{unit}" if unit else f"{value:.2f}"
