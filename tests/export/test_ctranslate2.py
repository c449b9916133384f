"""A bundle as a model of CTranslate2, and the engine on it: equal to the native one for every kind of model."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import ctranslate2
import pytest
import torch
from tests.export.little_models import LINES, learned_run, letters, native, random_bundle
from tests.models.tiny import VARIANTS

from heedful.attention import dot
from heedful.decoding.config import MBRSearch, SampleSearch
from heedful.decoding.rules import OutputRules
from heedful.decoding.shortlist import Shortlist, shortlist_of
from heedful.decoding.translator import Translator
from heedful.errors import ConfigError, HeedfulError
from heedful.export import ctranslate2 as target
from heedful.export.ctranslate2_backend import CTranslate2Backend
from heedful.export.parity import compare_engines
from heedful.export.targets import write_export
from heedful.models.bundle import Bundle, load_bundle
from heedful.models.transformer import Transformer
from heedful.models.weights import weights_of
from heedful.tasks.table import translator_of
from heedful.text.config import SideConfig
from heedful.text.tokenizer import train_tokenizer

WORDS = ("tokenizer.source.kind=words",)
SUBWORDS = ("tokenizer.source.kind=sentencepiece", "tokenizer.source.vocab_size=22")
TOKENIZERS: dict[str, tuple[str, ...]] = {
    "characters": (),
    "words": WORDS,
    "subwords": SUBWORDS,
    "separate": (
        SUBWORDS[0],
        "tokenizer.source.vocab_size=20",
        "tokenizer.joint=false",
        "tokenizer.target.kind=words",
        "model.tie=decoder",
    ),
}


def exported(bundle: Bundle, folder: Path, precision: str = "float32") -> Translator:
    folder.mkdir()
    write_export(bundle, folder, "ctranslate2", precision)
    return target.open_export(folder)


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return random_bundle()


@pytest.fixture(scope="module")
def engine(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return exported(bundle, tmp_path_factory.mktemp("exported") / "out")


def agrees(bundle: Bundle, engine: Translator) -> None:
    """Greedy outputs and scores of given outputs are the same."""
    parity = compare_engines(native(bundle, {"beam": 1}), engine.with_search({"beam": 1}), LINES)
    assert parity.equal == len(LINES), parity.first_divergence
    parity.check()
    targets = LINES[::-1]
    for ours, theirs in zip(native(bundle, {}).score(LINES, targets), engine.score(LINES, targets), strict=True):
        assert [token.piece for token in ours.tokens] == [token.piece for token in theirs.tokens]
        assert [t.log_p for t in ours.tokens] == pytest.approx([t.log_p for t in theirs.tokens], abs=1e-4)


EXPRESSIBLE = [name for name, model in VARIANTS.items() if model.get("positions", "sinusoidal") in target.POSITIONS]


class TestEveryModel:
    @pytest.mark.parametrize("name", EXPRESSIBLE)
    def test_variants(self, name: str, tmp_path: Path) -> None:
        bundle = random_bundle(model=VARIANTS[name])
        agrees(bundle, exported(bundle, tmp_path / "out"))

    @pytest.mark.parametrize(
        "model",
        [
            {"d_k": 9, "d_v": 4},
            {"d_k": 3, "d_v": 3},
            {"d_k": 3, "d_v": 7, "attention_bias": True},
            {"n_encoder_layers": 2, "n_decoder_layers": 1, "norm": "pre", "norm_epsilon": 0.1},
            {"scale_embedding": False, "tie": "none"},
            {"activation": "swish", "output_bias": True},
        ],
        ids=str,
    )
    def test_more_variants(self, model: dict[str, object], tmp_path: Path) -> None:
        """Heads of any widths, stacks of other heights, another epsilon, no scale, a bias on the logits."""
        bundle = random_bundle(model=model)
        agrees(bundle, exported(bundle, tmp_path / "out"))

    @pytest.mark.parametrize("changes", TOKENIZERS.values(), ids=TOKENIZERS.keys())
    def test_tokenizers(self, changes: tuple[str, ...], tmp_path: Path) -> None:
        bundle = random_bundle(*changes)
        agrees(bundle, exported(bundle, tmp_path / "out"))

    def test_a_token_is_its_string_and_no_two_are_the_same(self) -> None:
        """The text has symbols that look like special ones, and the visible sign for a blank beside the blank."""
        strings = target.token_strings(random_bundle(*WORDS).tokenizers.source)
        assert len(set(strings)) == len(strings)
        assert strings[:4] == ["<pad>", "<unk>", "<s>", "</s>"]
        assert any(string.startswith("</s>#") for string in strings)
        characters = target.token_strings(random_bundle().tokenizers.source)
        assert sorted(string for string in characters if string.startswith("▁"))[0] == "▁"
        assert len([string for string in characters if string.startswith("▁#")]) == 1

    def test_other_attention_is_refused_by_name(self, tmp_path: Path) -> None:
        bundle = random_bundle()
        assert isinstance(bundle.model, Transformer)
        next(iter(bundle.model.decoder)).cross_attention.score = dot
        with pytest.raises(ConfigError, match=r"the score or the normaliser of decoder\.0\.cross_attention"):
            exported(bundle, tmp_path / "out")


class TestLines:
    SEARCHES: Mapping[str, Mapping[str, object]] = {
        "greedy": {"beam": 1},
        "long lines in parts": {"beam": 1, "max_source": 5},
        "small batches": {"beam": 1, "max_tokens": 1},
        "short outputs": {"beam": 1, "max_extra": 1},
    }

    @pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())
    def test_as_the_native_engine(self, search: Mapping[str, object], bundle: Bundle, engine: Translator) -> None:
        """Blank lines, order, warnings, pieces and log-probabilities; outputs that reach their longest length, too."""
        ours = native(bundle, search).translate(LINES)
        theirs = engine.with_search(search).translate(LINES)
        assert [found.text for found in ours] == [found.text for found in theirs]
        assert [found.warnings for found in ours] == [found.warnings for found in theirs]
        for left, right in zip(ours, theirs, strict=True):
            assert [token.piece for token in left.tokens] == [token.piece for token in right.tokens]
            assert [token.log_p for token in left.tokens] == pytest.approx([t.log_p for t in right.tokens], abs=1e-4)
            assert left.score == pytest.approx(right.score, abs=1e-4)

    def test_a_line_does_not_depend_on_the_others(self, engine: Translator) -> None:
        together = engine.translate(LINES, n_best=3)
        for line, found in zip(LINES, together, strict=True):
            alone = engine.translate([line], n_best=3)[0]
            assert [one.text for one in found.n_best] == [one.text for one in alone.n_best]
            assert found.score == pytest.approx(alone.score, abs=1e-4)

    def test_candidates(self, bundle: Bundle, engine: Translator) -> None:
        """Different, best first, ranked by our length penalty, with the log-probabilities that scoring gives."""
        for line, found in zip(
            LINES, engine.with_search({"length_penalty": 1.5}).translate(LINES, n_best=3), strict=True
        ):
            assert found.n_best[0][:2] == (found.text, found.score)
            if not line.strip():
                assert [one.text for one in found.n_best] == [""]
                continue
            scores = [one.score for one in found.n_best]
            assert scores == sorted(scores, reverse=True)
            assert len({one.text for one in found.n_best}) == 3
            for one in found.n_best:
                assert one.score == pytest.approx(one.log_p / ((5 + len(one.tokens)) / 6) ** 1.5)
                assert one.log_p == pytest.approx(sum(token.log_p for token in one.tokens))
                if "⁇" not in one.text:
                    assert native(bundle, {}).score([line], [one.text])[0].log_p == pytest.approx(one.log_p, abs=1e-3)

    def test_more_candidates_than_beams(self, engine: Translator) -> None:
        with pytest.raises(ValueError, match=r"`n_best` must be at most `beam` \(4\), but is 5"):
            engine.translate(["a"], n_best=5)

    def test_without_tokens_the_texts_and_scores_are_the_same(self, engine: Translator) -> None:
        whole, quick = engine.translate(LINES, n_best=2), engine.without_tokens().translate(LINES, n_best=2)
        for left, right in zip(whole, quick, strict=True):
            assert [one.text for one in left.n_best] == [one.text for one in right.n_best]
            assert [one.score for one in left.n_best] == pytest.approx([one.score for one in right.n_best], abs=1e-4)
            assert [one.tokens for one in right.n_best] == [[]] * len(right.n_best)

    def test_prefixes(self, bundle: Bundle, engine: Translator) -> None:
        prefixes = ["d", "a", "", "ef", "b", "", "ff", "c", "ab", "▁"]
        ours = native(bundle, {"beam": 1}).translate(LINES, prefixes=prefixes)
        theirs = engine.with_search({"beam": 1}).translate(LINES, prefixes=prefixes)
        assert [found.text for found in ours] == [found.text for found in theirs]
        for left, right in zip(ours, theirs, strict=True):
            assert left.score == pytest.approx(right.score, abs=1e-4)
        for line, prefix, found in zip(LINES, prefixes, engine.translate(LINES, prefixes=prefixes), strict=True):
            assert not line.strip() or found.text.startswith(prefix)

    def test_what_is_asked_wrongly(self, engine: Translator) -> None:
        with pytest.raises(TypeError, match="`lines` must be a list of strings"):
            engine.translate("abc")
        with pytest.raises(ValueError, match=r"`prefixes` must have one entry a line \(1\), but has 2"):
            engine.translate(["a"], prefixes=["a", "b"])
        with pytest.raises(ValueError, match=r"`targets` must have one entry a source \(1\), but has 0"):
            engine.score(["a"], [])
        with pytest.raises(HeedfulError, match=r"Line 1: the prefix has 9 tokens, but an output at most 6\."):
            engine.translate(["a"], prefixes=["abcdefghi"])
        with pytest.raises(HeedfulError, match=r"Pair 1 has 1101 tokens, but this model reads 1030\."):
            engine.score(["a" * 1100], ["a"])
        with pytest.raises(ConfigError, match="can neither require nor forbid phrases"):
            engine.translate(["a", "b"], rules=[OutputRules(), OutputRules(forbid=["c"])])
        with pytest.raises(
            ConfigError, match=r"The engine ctranslate2 has no `no_repeat_ngram`.*\nhint: Use the native"
        ):
            engine.with_search({"no_repeat_ngram": 2})
        for changes in ({"temperature": 1.0}, {"samples": 4}, {"method": "sample", "top_k": 3}, {"method": "mbr"}):
            with pytest.raises(ConfigError, match=r"The engine ctranslate2 has no `search.method` = .*\nhint: Use the"):
                engine.with_search(changes)
        for key, value in {"top_k": 3, "top_p": 0.5, "epsilon": 0.1, "seed": 7, "utility": "bleu"}.items():
            with pytest.raises(ConfigError, match=rf"`search.{key}` is of `search.method` = .*but that is \"beam\""):
                engine.with_search({key: value})
        backend = engine.backend
        assert isinstance(backend, CTranslate2Backend)
        for search in (SampleSearch(), MBRSearch()):
            with pytest.raises(ConfigError, match=r"has no `search.method`"):
                CTranslate2Backend(backend.reader, search, backend.longest)
        assert engine.translate([]) == []
        assert engine.score([], []) == []


@pytest.fixture(scope="module")
def narrow(bundle: Bundle) -> Shortlist:
    source, target = (tokenizer.encode("bckj▁ ") for tokenizer in bundle.tokenizers)
    likely = torch.full((len(bundle.tokenizers.source), 2), -1)
    likely[source[0]] = torch.tensor([target[2], target[3]])
    likely[source[1], 0] = target[4]
    return shortlist_of(likely, [target[5]], len(bundle.tokenizers.target))


@pytest.fixture(scope="module")
def narrowed(bundle: Bundle, narrow: Shortlist, tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = tmp_path_factory.mktemp("narrow")
    write_export(bundle, folder, "ctranslate2", "float32", narrow)
    return target.open_export(folder)


class TestShortlist:
    """The second and third letter of the alphabet may become the first or the second capital, the others nothing."""

    LINES: Sequence[str] = ["b c", "c", "b b c c b", "b"]

    def test_outputs_keep_to_it(self, bundle: Bundle, narrow: Shortlist, narrowed: Translator) -> None:
        """Alone each line gives what the native engine gives with the same shortlist; without one there is more."""
        search = {"beam": 1, "shortlist": True}
        ours = translator_of(bundle.model, bundle.tokenizers, native(bundle, search).search, narrow)
        for line in self.LINES:
            [found] = narrowed.with_search(search).translate([line])
            assert found.text == ours.translate([line])[0].text
            assert set(found.text) <= set("kj▁ ⁇")
        free = narrowed.with_search({"beam": 1}).translate(self.LINES)
        assert [found.text for found in free] == [
            found.text for found in native(bundle, {"beam": 1}).translate(self.LINES)
        ]
        assert set("".join(found.text for found in free)) - set("kj▁ ⁇")

    def test_is_refused_where_there_is_none_or_with_a_prefix(
        self, bundle: Bundle, narrowed: Translator, tmp_path: Path
    ) -> None:
        with pytest.raises(HeedfulError, match=r"but this model has none.\nhint: .*heedful shortlist RUN"):
            exported(bundle, tmp_path / "out").with_search({"shortlist": True})
        with pytest.raises(ConfigError, match="takes no prefix together with a shortlist"):
            narrowed.with_search({"shortlist": True}).translate(["b", "c"], prefixes=["", "k"])


THREADS = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(2)
from heedful.export.targets import open_export
engine = open_export(Path(sys.argv[1]))
for lines in (["a b", "b a", "a"], ["a"], ["a b", "b a", "a"]):
    engine.with_search({"max_tokens": 4}).translate(lines)
    print(torch.get_num_threads(), engine.backend.reader.open(2).num_translators)
"""


def test_the_library_leaves_the_threads_of_the_process_alone(bundle: Bundle, tmp_path: Path) -> None:
    """It runs batches side by side with one thread each, and sets that number for all: torch would stay with one, and
    every later call, which shares out the threads that torch has, would take one batch at a time.

    In a process of its own, as only the OpenMP that was loaded first, here torch's, is shared.
    """
    exported(bundle, tmp_path / "out")
    command = [sys.executable, "-c", THREADS, str(tmp_path / "out")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["2"] * 6


def test_white_space_is_shown_in_token_strings() -> None:
    """In the library's files blanks and tabs separate tokens."""
    tokenizer = train_tokenizer(SideConfig(kind="characters"), ["a\tb c\u3000"], seed=1)
    strings = target.token_strings(tokenizer)
    assert {"<U+0009>", "<U+3000>", "▁", "a"} < set(strings)
    assert not any(letter.isspace() for string in strings for letter in string)


def test_pad_and_bos_are_never_emitted(tmp_path: Path) -> None:
    """A model that likes both best gives what the native engine gives: the best of the others."""
    bundle = random_bundle("model.tie=none", "model.norm=pre")
    assert isinstance(bundle.model, Transformer)
    assert isinstance(bundle.model.decoder_norm, torch.nn.LayerNorm)
    with torch.no_grad():  # hidden vectors that point along a row of the output matrix
        for special in (0, 2):
            bundle.model.output.weight[special] = 0
            bundle.model.output.weight[special, 0] = 1
        bundle.model.decoder_norm.weight.mul_(0.5)
        bundle.model.decoder_norm.bias[0] = 30
    engine = exported(bundle, tmp_path / "out").with_search({"beam": 1})
    ours, theirs = native(bundle, {"beam": 1}).translate(LINES), engine.translate(LINES)
    assert min(token.log_p for found in ours for token in found.tokens) < -5
    assert [found.text for found in ours] == [found.text for found in theirs]
    assert [found.score for found in ours] == pytest.approx([found.score for found in theirs], abs=1e-3)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return learned_run(tmp_path_factory.mktemp("learned") / "letters")


EVERY_TYPE = pytest.mark.parametrize("precision", target.TOLERANCES)
SENTENCES = letters(200, seed=9)


class TestLearned:
    @pytest.mark.parametrize("beam", [1, 4])
    def test_parity(self, beam: int, learned: Path, tmp_path: Path) -> None:
        bundle = load_bundle(learned / "model")
        engine = exported(bundle, tmp_path / "out").with_search({"beam": beam})
        parity = compare_engines(native(bundle, {"beam": beam}), engine, SENTENCES)
        parity.check()
        assert parity.tokens > 500

    @EVERY_TYPE
    def test_export(self, precision: str, learned: Path, tmp_path: Path, heedful: Callable) -> None:
        """The folder is one of the library's own, and what it says there is the translation."""
        out = tmp_path / "out"
        outcome = heedful("export", str(learned), str(out), "--to", "ctranslate2", "--type", precision)
        assert outcome.code == 0, outcome.err
        report = json.loads((out / "parity.json").read_text())
        assert report["tolerance"]["equal_texts"] == target.TOLERANCES[precision].equal_texts
        assert report["lines"] == 40
        reader = ctranslate2.Translator(str(out))
        [found] = reader.translate_batch([SENTENCES[0].split()], beam_size=1)
        assert (
            " ".join(found.hypotheses[0])
            == target.open_export(out).with_search({"beam": 1}).translate(SENTENCES[:1])[0].text
        )

    @EVERY_TYPE
    def test_the_model_stays_as_it_was(self, precision: str, learned: Path, tmp_path: Path) -> None:
        bundle, untouched = load_bundle(learned / "model"), load_bundle(learned / "model")
        exported(bundle, tmp_path / "out", precision)
        for name, weight in weights_of(untouched.model).items():
            torch.testing.assert_close(weights_of(bundle.model)[name], weight, rtol=0, atol=0)

    def test_weights_are_as_small_as_their_type(self, learned: Path, tmp_path: Path) -> None:
        bundle = load_bundle(learned / "model")
        sizes = {}
        for precision in target.TOLERANCES:
            exported(bundle, tmp_path / precision, precision)
            sizes[precision] = (tmp_path / precision / "model.bin").stat().st_size
        assert max(sizes["int8"], sizes["bfloat16"]) < 0.9 * sizes["float32"]


class TestFailures:
    def test_spoilt_weights_fail_parity(self, learned: Path, tmp_path: Path, heedful: Callable, monkeypatch) -> None:
        def sharper(attention: torch.nn.Module, *_arguments: object) -> None:
            written(attention, *_arguments)
            attention.queries_scale = 2.0

        written = target._fill_attention
        monkeypatch.setattr(target, "_fill_attention", sharper)
        outcome = heedful("export", str(learned), str(tmp_path / "out"), "--to", "ctranslate2")
        assert outcome.code == 3
        assert "The export differs from the model" in outcome.err
        assert [path.name for path in tmp_path.iterdir()] == ["out.failed"]
        assert json.loads((tmp_path / "out.failed" / "parity.json").read_text())["failures"]

    def test_the_package_is_missing(self, learned: Path, tmp_path: Path, heedful: Callable, monkeypatch) -> None:
        monkeypatch.setitem(sys.modules, "ctranslate2", None)
        outcome = heedful("export", str(learned), str(tmp_path / "out"), "--to", "ctranslate2")
        assert outcome.code == 1
        assert (
            "error: The package ctranslate2 is not installed.\nhint: Install it: pip install 'heedful[fast]'."
            in outcome.err
        )
        assert list(tmp_path.iterdir()) == []

    def test_full_disk(self, learned: Path, tmp_path: Path, heedful: Callable, monkeypatch) -> None:
        def full(*_arguments: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("ctranslate2.specs.model_spec.ModelSpec._serialize", full)
        outcome = heedful("export", str(learned), str(tmp_path / "out"), "--to", "ctranslate2")
        assert outcome.code == 1
        assert "The disk is full" in outcome.err
        assert list(tmp_path.iterdir()) == []

    def test_damaged_folder(self, bundle: Bundle, tmp_path: Path) -> None:
        engine = exported(bundle, tmp_path / "out")
        model = tmp_path / "out" / "model.bin"
        model.write_bytes(model.read_bytes()[:100])
        with pytest.raises(HeedfulError, match=r"CTranslate2 cannot read .*out: .*\nhint: Export the model again"):
            engine.translate(["a"])
        (tmp_path / "out" / "shared_vocabulary.json").unlink()
        with pytest.raises(HeedfulError, match="has no source vocabulary"):
            target.open_export(tmp_path / "out")

    def test_damaged_weights(self, tmp_path: Path) -> None:
        bundle = random_bundle()
        with torch.no_grad():
            next(bundle.model.parameters()).fill_(float("nan"))
        engine = exported(bundle, tmp_path / "out")
        with pytest.raises(HeedfulError, match=r"no output for line 1.*\n.*NaN"):
            engine.translate(["abc"])
