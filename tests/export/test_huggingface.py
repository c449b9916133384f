"""The Hugging Face export: plain transformers reads it, and says the same as the model, whatever the architecture."""

import json
import sys
import unicodedata
from pathlib import Path

import pytest
import torch
import yaml
from tests.export.made_up import BASE, LINES, made_up_lines, made_up_tokenizers, random_bundle, side
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from heedful.data.batch import collate
from heedful.decoding.config import BeamSearch
from heedful.errors import ConfigError, HeedfulError
from heedful.export.huggingface import open_export, refusals
from heedful.export.targets import export_bundle, write_export
from heedful.models.bundle import Bundle
from heedful.models.transformer_config import TransformerConfig
from heedful.tasks.table import translator_of
from heedful.text.tokenizer import Tokenizers, WordTokenizer
from heedful.text.vocabulary import Vocabulary

NASTY = [
    "  ka  to\tmi ",
    "<s> x </s>",
    "</s>ka <pad>to <unk>",
    "☃☃ ka☃",
    "ka▁to",
    "\u3000ka \xa0to\x85mi",
    "ΟΔΟΣ ΣΑΣ ΣΣ ΑΣ'Σ ΑΣ. Σ",
    "⁇ ka",
    "A\u0301 A\u030a e\u0301\u0323",
]
KINDS = {
    "bpe": side("sentencepiece", algorithm="bpe"),
    "unigram": side("sentencepiece"),
    "characters": side("characters"),
    "words": side("words"),
}
MODELS: dict[str, tuple[str, dict[str, object]]] = {
    "post": ("MarianMTModel", {"norm": "post"}),
    "post, biases": ("MarianMTModel", {"norm": "post", "attention_bias": True, "activation": "gelu"}),
    "pre": ("PegasusForConditionalGeneration", {}),
    "pre, unscaled": ("PegasusForConditionalGeneration", {"scale_embedding": False, "activation": "swish"}),
    "t2t, epsilon": ("PegasusForConditionalGeneration", {"positions": "t2t", "norm_epsilon": 0.01}),
    "narrow heads": ("PegasusForConditionalGeneration", {"d_k": 3, "d_v": 2, "attention_bias": True}),
    "learned": ("BlenderbotForConditionalGeneration", {"positions": "learned", "max_positions": 60}),
    "untied": ("PegasusForConditionalGeneration", {"tie": "none", "norm_epsilon": 0.01}),
    "untied post": ("MarianMTModel", {"tie": "none", "norm": "post", "output_bias": True}),
    "odd": ("PegasusForConditionalGeneration", {"d_model": 15, "n_heads": 3}),
}
APART = pytest.mark.parametrize("joint", [True, False], ids=["joint", "apart"])


@pytest.fixture(scope="module")
def characters() -> dict[bool, Tokenizers]:
    """Joint ones (True) and separate ones."""
    settings = side("characters")
    return {True: made_up_tokenizers(settings, None), False: made_up_tokenizers(settings, settings)}


def written(bundle: Bundle, folder: Path) -> Path:
    folder.mkdir()
    write_export(bundle, folder, "huggingface", "float32")
    return folder


def greedy(folder: Path, lines: list[str]) -> list[str]:
    """What a user of transformers writes."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder)
    batch = tokenizer(lines, padding=True, return_tensors="pt")
    ids = model.generate(**batch, num_beams=1, max_length=12)
    return tokenizer.batch_decode(ids, skip_special_tokens=True)


def cut(bundle: Bundle, lines: list[str], longest: int) -> list[str]:
    """The native greedy outputs, cut after so many tokens."""
    search = BeamSearch(beam=1, max_extra=30)
    found = translator_of(bundle.model, bundle.tokenizers, search).translate(lines)
    target = bundle.tokenizers.target
    ids = {target.piece(index): index for index in reversed(range(len(target)))}
    return [target.decode([ids[token.piece] for token in one.tokens[:-1][:longest]]) for one in found]


class TestModels:
    @APART
    @pytest.mark.parametrize("name", MODELS)
    def test_logits(self, name: str, joint: bool, characters: dict[bool, Tokenizers], tmp_path: Path) -> None:
        kind, changes = MODELS[name]
        bundle = random_bundle(characters[joint], changes)
        model = AutoModelForSeq2SeqLM.from_pretrained(written(bundle, tmp_path / "out")).eval()
        assert type(model).__name__ == kind
        source, target = bundle.tokenizers
        pairs = [(source.encode(line), target.encode(other)) for line, other in zip(LINES[:4], LINES[4:8], strict=True)]
        batch = collate(pairs, range(4))
        ids = batch.src if model.config.vocab_size == len(target) else batch.src + len(target)
        with torch.inference_mode():
            native = bundle.model.logits(bundle.model(batch.src, batch.src_mask, batch.tgt_in)).log_softmax(-1)
            made = model(input_ids=ids, attention_mask=batch.src_mask.long(), decoder_input_ids=batch.tgt_in).logits
        made = made.log_softmax(-1)[..., : len(target)]
        torch.testing.assert_close(made, native, atol=2e-5, rtol=1e-4)

    @APART
    @pytest.mark.parametrize("name", ["post", "t2t, epsilon", "learned"])
    def test_stays_the_same_when_transformers_writes_it(
        self, name: str, joint: bool, characters: dict[bool, Tokenizers], tmp_path: Path
    ) -> None:
        out = written(random_bundle(characters[joint], MODELS[name][1]), tmp_path / "out")
        for loaded in (AutoModelForSeq2SeqLM.from_pretrained(out), AutoTokenizer.from_pretrained(out)):
            loaded.save_pretrained(tmp_path / "again")
        assert greedy(tmp_path / "again", LINES[:10]) == greedy(out, LINES[:10])

    def test_heads_that_are_too_wide(self, characters: dict[bool, Tokenizers]) -> None:
        config = TransformerConfig.model_validate({**BASE, "d_k": 7, "d_v": 8})
        most = "(a head has at most d_model / n_heads = 6)"
        assert refusals(config, characters[True]) == [f"d_k = 7 {most}", f"d_v = 8 {most}"]


class TestTexts:
    @APART
    @pytest.mark.parametrize("kind", KINDS)
    def test_parity(self, kind: str, joint: bool, tmp_path: Path) -> None:
        bundle = random_bundle(made_up_tokenizers(KINDS[kind], None if joint else KINDS[kind]), {})
        parity = export_bundle(bundle, tmp_path / "out", "huggingface", "float32", [*LINES[:30], "", *NASTY])
        assert parity.equal == parity.lines == 31 + len(NASTY)
        assert parity.largest_log_p_difference < 1e-4
        assert parity.tokens > 100

    @APART
    def test_plain_transformers_says_the_same(self, joint: bool, tmp_path: Path) -> None:
        settings = side("sentencepiece", lowercase=True)
        bundle = random_bundle(made_up_tokenizers(settings, None if joint else settings), {"norm": "post"})
        out = written(bundle, tmp_path / "out")
        assert greedy(out, LINES[:40]) == cut(bundle, LINES[:40], 10)
        assert not list(out.rglob("*.py"))
        assert "auto_map" not in json.loads((out / "config.json").read_text())

    def test_the_card_is_true(
        self, characters: dict[bool, Tokenizers], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = written(random_bundle(characters[False], {}), tmp_path / "out")
        code = (out / "README.md").read_text("utf-8").split("```python\n")[1].split("```")[0]
        exec(code.replace("FOLDER", str(out)).replace("...", "kato"), {})
        assert capsys.readouterr().out.startswith("['")
        matter = yaml.safe_load((out / "README.md").read_text("utf-8").split("---\n")[1])
        family = json.loads((out / "config.json").read_text())["model_type"]
        assert matter == {"library_name": "transformers", "license": "unknown", "tags": ["heedful", family]}

    def test_never_pad_nor_begin(self, characters: dict[bool, Tokenizers], tmp_path: Path) -> None:
        """A bias makes both the most probable of all."""
        bundle = random_bundle(characters[True], {"output_bias": True})
        with torch.no_grad():
            assert bundle.model.output_bias is not None
            bundle.model.output_bias[[0, 2]] = 50.0
        parity = export_bundle(bundle, tmp_path / "out", "huggingface", "float32", LINES[:10])
        assert parity.equal == 10


class TestTokenizers:
    """Ids and texts are ours, for ordinary and for nasty text."""

    @pytest.mark.parametrize("lowercase", [False, True])
    @pytest.mark.parametrize("form", [None, "NFD", "none"])
    @pytest.mark.parametrize("kind", KINDS)
    def test_encode(self, kind: str, form: str | None, lowercase: bool, tmp_path: Path) -> None:
        source = KINDS[kind].model_copy(update={"unicode_form": form, "lowercase": lowercase})
        bundle = random_bundle(made_up_tokenizers(source, KINDS[kind]), {})
        read = AutoTokenizer.from_pretrained(written(bundle, tmp_path / "out"))
        encode, first = bundle.tokenizers.source.encode, len(bundle.tokenizers.target)
        for text in [*made_up_lines(100, seed=2), *NASTY]:
            assert read(text)["input_ids"] == [first + index for index in (*encode(text), 3)], text
        assert (read.pad_token_id, read.bos_token_id, read.eos_token_id) == (0, 2, 3)

    @APART
    @pytest.mark.parametrize("kind", KINDS)
    def test_decode(self, kind: str, joint: bool, tmp_path: Path) -> None:
        tokenizers = made_up_tokenizers(KINDS[kind], None if joint else KINDS[kind])
        read = AutoTokenizer.from_pretrained(written(random_bundle(tokenizers, {}), tmp_path / "out"))
        generator = torch.Generator().manual_seed(1)
        for _ in range(200):
            ids = torch.randint(1, len(tokenizers.target), (6,), generator=generator).tolist()
            wanted = tokenizers.target.decode(ids)
            assert read.decode([*ids, 3, 0], skip_special_tokens=True) == wanted

    @pytest.mark.parametrize("kind", KINDS)
    def test_targets_are_encoded_by_the_folder_target(self, kind: str, tmp_path: Path) -> None:
        tokenizers = made_up_tokenizers(KINDS[kind], KINDS[kind])
        read = AutoTokenizer.from_pretrained(written(random_bundle(tokenizers, {}), tmp_path / "out") / "target")
        for text in [*LINES[:40], *NASTY]:
            assert read(text)["input_ids"] == [*tokenizers.target.encode(text), 3]

    def test_a_symbol_that_looks_special(self, tmp_path: Path) -> None:
        """It is a symbol of its own, and so is the sign for unknown ones."""
        words = WordTokenizer(side("words"), Vocabulary(["a", "<s>", "⁇"]))
        read = AutoTokenizer.from_pretrained(written(random_bundle(Tokenizers(words, words), {}), tmp_path / "out"))
        assert read("a <s> ⁇ <pad> b")["input_ids"] == [4, 5, 6, 1, 1, 3]
        assert read.decode([4, 5, 6, 1, 3], skip_special_tokens=True) == "a <s> ⁇ ⁇"


class TestRefused:
    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"norm": "post", "positions": "t2t"}, 'positions = "t2t" with norm = "post"'),
            ({"norm": "post", "positions": "learned"}, 'positions = "learned" with norm = "post"'),
            ({"norm": "post", "norm_epsilon": 1e-6}, 'norm_epsilon = 1e-06 with norm = "post"'),
            ({"n_heads": 5, "d_k": 2, "d_v": 2}, "5 heads that do not divide d_model = 24"),
        ],
    )
    def test_models(
        self, changes: dict[str, object], said: str, characters: dict[bool, Tokenizers], tmp_path: Path
    ) -> None:
        bundle = random_bundle(characters[True], changes)
        with pytest.raises(ConfigError, match="huggingface cannot express this model") as caught:
            export_bundle(bundle, tmp_path / "out", "huggingface", "float32", LINES[:3])
        assert said in caught.value.message
        assert not list(tmp_path.iterdir())

    def test_composing_is_no_decoder(self, tmp_path: Path) -> None:
        settings = side("characters", unicode_form="NFD")
        with pytest.raises(ConfigError, match='a target tokenizer with `unicode_form` = "NFD"'):
            written(random_bundle(made_up_tokenizers(settings, None), {}), tmp_path / "out")
        assert unicodedata.normalize("NFC", "e\u0301") == "é"  # what decoding would have to do

    def test_without_transformers(
        self, characters: dict[bool, Tokenizers], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "transformers", None)
        with pytest.raises(HeedfulError, match="The package transformers is not installed") as caught:
            written(random_bundle(characters[True], {}), tmp_path / "out")
        assert caught.value.hint == "Install it: pip install 'heedful[huggingface]'."

    def test_one_output_only(self, characters: dict[bool, Tokenizers], tmp_path: Path) -> None:
        engine = open_export(written(random_bundle(characters[True], {}), tmp_path / "out"))
        with pytest.raises(ValueError, match=r"`n_best` must be 1, .* but is 2"):
            engine.translate(["ka"], n_best=2)
