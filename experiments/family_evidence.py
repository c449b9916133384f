"""What a run shows beside its score: where the attention went, where the truth is known, and accuracy by length."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from heedful.data.config import DataConfig
from heedful.datasets.babi import Babi
from heedful.datasets.catalogue import TASK_SEED
from heedful.datasets.synthetic import task_indices, task_pairs
from heedful.decoding.translator import Translator
from heedful.evaluation.ctc_spikes import blank_spikes
from heedful.evaluation.exposure import measure_exposure
from heedful.evaluation.metrics import is_right, metrics_for
from heedful.evaluation.score import measure
from heedful.gallery.esim.task import Inference
from heedful.gallery.hierarchical.evidence import aligned_words, decisive_sentence_hits, overlap_of_heads
from heedful.gallery.hierarchical.task import Documents
from heedful.gallery.pooling.evidence import glimpses, overlap_of_rows, planted_words
from heedful.gallery.pooling.task import Cued, KeywordTask
from heedful.gallery.reading.evidence import keys_read, supporting_fact_hits
from heedful.pipeline.load import load
from heedful.recipe.recipe import stored_recipe
from heedful.recipe.splits import load_split, named
from heedful.recipe.tables import TASKS
from heedful.records.outputs import Output
from heedful.records.run import Run

ITEMS = 200  # test items whose attention is looked at
BUCKETS = 3  # of source lengths, with equally many items


def evidence_of(names: Sequence[str], folder: Path) -> dict[str, float]:
    """All that is asked for, of the finished run in `folder`."""
    found: dict[str, float] = {}
    for name in names:
        found |= {what: round(value, 4) for what, value in EVIDENCE[name](folder).items()}
    return found


def exact_by_length(folder: Path) -> dict[str, float]:
    """Per cent of outputs exactly right in each third of source lengths."""
    return _by_length(folder, lambda items: 100 * sum(is_right(i.output, i.references) for i in items) / len(items))


def bleu_by_length(folder: Path) -> dict[str, float]:
    """BLEU in each third of source lengths."""
    (bleu,) = metrics_for(["bleu"])

    def value(items: list[Output]) -> float:
        sums = measure(bleu, [item.output for item in items], [item.references for item in items]).sum(axis=0)
        return bleu.value(sums.tolist())

    return _by_length(folder, value)


def _by_length(folder: Path, value: Callable[[list[Output]], float]) -> dict[str, float]:
    items = sorted(Run.open(folder).read_outputs(_split(folder)), key=lambda item: len(item.source.split()))
    found = {}
    for number in range(BUCKETS):
        part = items[number * len(items) // BUCKETS : (number + 1) * len(items) // BUCKETS]
        lengths = [len(item.source.split()) for item in part]
        found[f"{lengths[0]} to {lengths[-1]} words"] = value(part)
    return found


def reversal_alignment(folder: Path) -> dict[str, float]:
    """The share of letters of reversed strings at which the most attended place is the letter's own."""
    translator: Translator = load(folder)
    right = total = 0
    for pair in task_pairs(TASKS["reverse"], 1, "test", ITEMS):
        trace = translator.trace(pair.source, pair.target)
        read = [shown for shown in trace.maps if shown.kind == "decoder.cross"][-1].weights.mean(dim=0)
        n = len(pair.source.split())
        right += sum(int(read[t].argmax()) == n - 1 - t for t in range(n))
        total += n
    return {"alignment accuracy": right / total}


def decisive_sentences(folder: Path) -> dict[str, float]:
    """How often the most read sentence is the one that decides."""
    task = TASKS["documents"]
    assert isinstance(task, Documents)
    truth = [(task.pair(i, TASK_SEED).source, task.decisive(i, TASK_SEED)) for i in _test_indices("documents")]
    return decisive_sentence_hits(load(folder), truth)


def alignment_of_words(folder: Path) -> dict[str, float]:
    """How often a word reads that word most which it is linked to."""
    task = TASKS["inference"]
    assert isinstance(task, Inference)
    truth = [(task.pair(i, TASK_SEED).source, task.alignment(i, TASK_SEED)) for i in _test_indices("inference")]
    return {f"alignment {name}": value for name, value in aligned_words(load(folder), truth).items()}


def keywords_found(folder: Path) -> dict[str, float]:
    """How well the words that are read are the keywords, in texts with three of them."""
    task = TASKS["keywords"]
    assert isinstance(task, KeywordTask)
    texts = [(task.pair(i, TASK_SEED).source, task.positions(i, TASK_SEED)) for i in _test_indices("keywords")]
    return planted_words(load(folder), [(source, places) for source, places in texts if len(places) == 3])


def right_glimpses(folder: Path) -> dict[str, float]:
    """How often the word that is read most is the one asked for."""
    task = TASKS["cued"]
    assert isinstance(task, Cued)
    truth = [(task.pair(i, TASK_SEED).source, task.position(i, TASK_SEED)) for i in _test_indices("cued")]
    return glimpses(load(folder), truth)


def facts_found(folder: Path) -> dict[str, float]:
    """How often a hop reads a sentence that supports the answer."""
    stories = named(stored_recipe(folder).data)
    assert isinstance(stories, Babi)
    pairs = [pair.source for pair in stories.read("test")][:ITEMS]
    return supporting_fact_hits(load(folder), list(zip(pairs, stories.supporting_facts("test"), strict=False)))


def rows_overlap(folder: Path) -> dict[str, float]:
    """How alike the rows of attention read."""
    return overlap_of_rows(load(folder), _sources(folder))


def heads_overlap(folder: Path) -> dict[str, float]:
    """How alike the two coupled heads read."""
    return overlap_of_heads(load(folder), _sources(folder))


def keys_of_heads(folder: Path) -> dict[str, float]:
    """How many keys each row of each head reads."""
    return {f"keys read, {name}": value for name, value in keys_read(load(folder), _sources(folder)[:20]).items()}


def spikes(folder: Path) -> dict[str, float]:
    """How often CTC says nothing, and how long it says a symbol."""
    return blank_spikes(load(folder), _sources(folder))


def exposure_of(folder: Path) -> dict[str, float]:
    """Per cent of tokens right behind gold ones, and of whole outputs: as these tokens promise, and written freely."""
    pairs = list(load_split(stored_recipe(folder).data, _split(folder)))
    found = measure_exposure(load(folder), [pair.source for pair in pairs], [pair.target for pair in pairs])
    return {
        "teacher-forced tokens": 100 * found.teacher_forced_tokens,
        "p^T": 100 * found.teacher_forced_outputs,
        "free-running outputs": 100 * found.free_running_outputs,
    }


def most_frequent_tag(folder: Path) -> dict[str, float]:
    """Per cent of tags right where each word gets its most frequent tag in train, and one that train lacks the tag
    that such words have most often in dev. Counted, not trained.
    """
    data = stored_recipe(folder).data
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for word, tag in _tagged(data, "train"):
        seen[word][tag] += 1
    unseen = Counter(tag for word, tag in _tagged(data, "dev") if word not in seen).most_common(1)[0][0]
    usual = {word: tags.most_common(1)[0][0] for word, tags in seen.items()}
    right = [usual.get(word, unseen) == tag for word, tag in _tagged(data, _split(folder))]
    return {"most frequent tag of each word": 100 * sum(right) / len(right)}


def _tagged(data: DataConfig, split: str) -> Iterator[tuple[str, str]]:
    for pair in load_split(data, split):
        yield from zip(pair.source.split(), pair.target.split(), strict=True)


def _split(folder: Path) -> str:
    """The split by which the run was judged: dev where there is no test set."""
    return next(row.split for row in Run.open(folder).read_results() if row.signature)


def _test_indices(task: str) -> list[int]:
    return list(task_indices(TASKS[task], TASK_SEED, "test", ITEMS))


def _sources(folder: Path) -> list[str]:
    return [pair.source for pair in load_split(stored_recipe(folder).data, _split(folder))][:ITEMS]


EVIDENCE: dict[str, Callable[[Path], dict[str, float]]] = {
    "exact by length": exact_by_length,
    "BLEU by length": bleu_by_length,
    "reversal alignment": reversal_alignment,
    "decisive sentence": decisive_sentences,
    "alignment of words": alignment_of_words,
    "planted words": keywords_found,
    "glimpses": right_glimpses,
    "exposure": exposure_of,
    "supporting facts": facts_found,
    "overlap of rows": rows_overlap,
    "overlap of heads": heads_overlap,
    "keys read": keys_of_heads,
    "spikes": spikes,
    "most frequent tag": most_frequent_tag,
}
