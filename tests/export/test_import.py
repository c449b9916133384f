"""`heedful import`: checkpoints that transformers itself has written become bundles that say the same."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import sentencepiece
import torch
import yaml
from tests.export.made_up import LINES, made_up_lines
from transformers import AutoModelForSeq2SeqLM, MarianConfig, MarianMTModel, MarianTokenizer

from heedful import __version__ as version
from heedful.errors import CheckFailed, ConfigError, HeedfulError
from heedful.export.marian_import import import_checkpoint, import_marian, random_sentences
from heedful.export.targets import export_bundle
from heedful.models.bundle import load_bundle
from heedful.pipeline.load import load
from heedful.text.vocabulary import BOS, EOS, PAD, UNK

CODE = ">>fra<<"
MODEL = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "activation_function": "swish",
    "scale_embedding": True,
    "max_position_embeddings": 128,
}


def sentencepiece_model(lines: list[str]) -> bytes:
    """As Marian's users train one: other special ids than ours, and rules of its own."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=90, unk_id=0, bos_id=1, eos_id=2, minloglevel=2
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(index) for index in range(3, processor.get_piece_size())]


def numbered(pieces: list[str]) -> dict[str, int]:
    """In Marian's order: </s>, <unk>, the pieces, <pad>; two pieces are left out."""
    names = ["</s>", "<unk>", *dict.fromkeys(pieces[2:]), CODE, "<pad>"]
    return {name: index for index, name in enumerate(names)}


def write_checkpoint(folder: Path, *, shared: bool = True, **changes: object) -> Path:
    """A random model with its tokeniser, written by transformers; one vocabulary for both sides if `shared`."""
    made = folder.with_name("parts")
    made.mkdir()
    models = {"source": sentencepiece_model(LINES), "target": sentencepiece_model(made_up_lines(200, seed=9))}
    for side, model in models.items():
        (made / f"{side}.spm").write_bytes(model)
    source, target = (pieces_of(model) for model in models.values())
    vocabularies = [numbered(source + target)] if shared else [numbered(source), numbered(target)]
    files = [made / name for name in ("vocab.json", "target_vocab.json")]
    for path, vocabulary in zip(files, vocabularies, strict=False):
        path.write_text(json.dumps(vocabulary))
    spm = [str(made / "source.spm"), str(made / "target.spm")]
    other = {} if shared else {"target_vocab_file": str(files[1]), "separate_vocabs": True}
    MarianTokenizer(*spm, str(files[0]), **other).save_pretrained(folder)
    random_model(vocabularies, shared, changes).save_pretrained(folder)
    return folder


def random_model(vocabularies: list[dict[str, int]], shared: bool, changes: dict[str, object]) -> MarianMTModel:
    sizes = [len(vocabulary) for vocabulary in vocabularies]
    pad = vocabularies[0]["<pad>"]
    given = {"vocab_size": sizes[0], "decoder_vocab_size": sizes[-1], "share_encoder_decoder_embeddings": shared}
    special = {"pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0, "forced_eos_token_id": 0}
    config = MarianConfig(**{**MODEL, **given, **special, **changes})
    torch.manual_seed(1)
    model = MarianMTModel(config).eval()
    model.generation_config.num_beams = 4
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.add_(0.3 * torch.randn_like(parameter))
        model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias))
        model.final_logits_bias[0, [1, pad]] = -30.0  # transformers leaves UNK out of the text, and could emit the pad
    return model


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("marian") / "checkpoint")


class TestSame:
    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"activation_function": "gelu", "scale_embedding": False},
            {"activation_function": "relu", "tie_word_embeddings": False},
            {"shared": False},
            {"shared": False, "tie_word_embeddings": False, "d_model": 18, "encoder_layers": 1},
        ],
    )
    def test_texts_and_log_probabilities(self, changes: dict, tmp_path: Path) -> None:
        size = {"decoder_vocab_size": None} if changes.get("shared", True) else {}
        folder = write_checkpoint(tmp_path / "checkpoint", **{**size, **changes})
        parity = import_checkpoint(folder, tmp_path / "bundle", [*LINES[:40], "", "☃ ka", f"{CODE} {LINES[0]}"])
        assert parity.equal == parity.lines == 43
        assert parity.tokens > 200
        assert parity.largest_log_p_difference < 1e-4
        assert json.loads((tmp_path / "bundle" / "parity.json").read_text())["equal"] == 43
        assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "checkpoint", "parts"]
        card = (tmp_path / "bundle" / "README.md").read_text("utf-8")
        assert yaml.safe_load(card.split("---\n")[1])["license"] == "unknown"
        assert f"From the Marian checkpoint checkpoint, by heedful {version}." in card

    def test_logits(self, checkpoint: Path) -> None:
        """Of every symbol, by our ids and theirs; the pad symbol that begins outputs is counted once."""
        bundle, model = import_marian(checkpoint), AutoModelForSeq2SeqLM.from_pretrained(checkpoint).eval()
        theirs = json.loads((checkpoint / "vocab.json").read_text())
        source, target = bundle.tokenizers
        special = {PAD: "<pad>", UNK: "<unk>", BOS: "<pad>", EOS: "</s>"}
        order = torch.tensor([theirs[special.get(i) or target.symbol(i)] for i in range(len(target))])
        src = torch.tensor([[*source.encode(LINES[0]), EOS]])
        tgt = torch.tensor([[BOS, *target.encode(LINES[1])]])
        with torch.inference_mode():
            native = bundle.model.logits(bundle.model(src, src != PAD, tgt))
            made = model(input_ids=order[src], decoder_input_ids=order[tgt]).logits
        once = [index for index in range(len(target)) if index != BOS]
        torch.testing.assert_close(native[..., once], made[..., order[once]], atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(native.softmax(-1)[..., once], made.softmax(-1)[..., order[once]])
        assert native.softmax(-1)[..., BOS].max() == 0

    def test_pickled_weights(self, checkpoint: Path, tmp_path: Path) -> None:
        folder = copied(checkpoint, tmp_path)
        model = AutoModelForSeq2SeqLM.from_pretrained(folder)
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
        one, other = import_marian(checkpoint), import_marian(folder)
        for ours, theirs in zip(one.model.parameters(), other.model.parameters(), strict=True):
            assert torch.equal(ours, theirs)

    def test_random_sentences(self, checkpoint: Path) -> None:
        tokenizer = import_marian(checkpoint).tokenizers.source
        lines = random_sentences(tokenizer, 50)
        assert len(set(lines)) > 45
        assert lines == random_sentences(tokenizer, 50)
        used = {index for line in lines for index in tokenizer.encode(line)}
        assert len(used) > len(tokenizer) / 3
        assert not any(CODE in line for line in lines)


def copied(checkpoint: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    for path in checkpoint.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


class TestVerbs:
    def test_the_bundle_is_used_like_any(self, checkpoint: Path, tmp_path: Path, heedful: Callable) -> None:
        bundle = tmp_path / "bundle"
        outcome = heedful("import", str(checkpoint), str(bundle), "--sentences", "20")
        assert outcome.code == 0, outcome.err
        assert "texts equal" in outcome.out
        (tmp_path / "in.txt").write_text("\n".join(LINES[:3]) + "\n")
        outcome = heedful("translate", str(bundle), str(tmp_path / "in.txt"))
        assert outcome.code == 0, outcome.err
        (tmp_path / "out.txt").write_text(outcome.out)
        assert len(outcome.out.splitlines()) == 3
        for verb in (
            ("score", str(bundle), str(tmp_path / "in.txt"), str(tmp_path / "out.txt")),
            ("inspect", str(bundle), LINES[0]),
            ("align", str(bundle), str(tmp_path / "in.txt"), str(tmp_path / "out.txt")),
            ("evaluate", str(bundle), "--source", str(tmp_path / "in.txt"), "--reference", str(tmp_path / "out.txt")),
        ):
            outcome = heedful(*verb)
            assert outcome.code == 0, outcome.err
        outcome = heedful("evaluate", str(bundle))
        assert outcome.code == 2
        assert "This model was imported, and has no data of its own." in outcome.err
        assert "hint: Name your own files: --source FILE --reference FILE." in outcome.err

    def test_search_settings(self, checkpoint: Path, tmp_path: Path) -> None:
        import_checkpoint(checkpoint, tmp_path / "bundle", LINES[:5])
        search = load(tmp_path / "bundle").search
        assert (search.beam, search.length_penalty, search.max_source) == (4, 1.0, 127)
        assert load_bundle(tmp_path / "bundle").recipe["tokenizer"]["joint"]

    def test_json(self, checkpoint: Path, tmp_path: Path, heedful: Callable) -> None:
        (tmp_path / "dev.txt").write_text("\n".join(LINES[:9]) + "\n")
        arguments = ("import", str(checkpoint), str(tmp_path / "bundle"), "--dev", str(tmp_path / "dev.txt"))
        facts = json.loads(heedful(*arguments, "--sentences", "7", "--json").out)
        assert (facts["folder"], facts["lines"], facts["equal"]) == (str(tmp_path / "bundle"), 7, 7)


class TestRefused:
    """Each with its reason, and nothing is left behind."""

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"model_type": "bart"}, "model_type is 'bart', not \"marian\""),
            ({"activation_function": "tanh"}, 'no Heedful model is like this: activation_function is "tanh"'),
            ({"decoder_ffn_dim": 7}, r"encoder_ffn_dim and decoder_ffn_dim differ \(24 and 7\)"),
            ({"decoder_attention_heads": 4}, r"encoder_attention_heads and decoder_attention_heads differ \(2 and 4\)"),
        ],
    )
    def test_other_models(self, changes: dict, message: str, checkpoint: Path, tmp_path: Path) -> None:
        folder = copied(checkpoint, tmp_path)
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        with pytest.raises(ConfigError, match=message):
            import_checkpoint(folder, tmp_path / "bundle", LINES[:5])
        assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("config.json", None, r"has no config\.json"),
            ("config.json", b"{", r"config\.json is no JSON"),
            ("config.json", b"[]", r"config\.json is no JSON object"),
            ("vocab.json", b'{"</s>": 0, "<unk>": 5}', r"vocab\.json: the ids are not 0 to 1"),
            ("vocab.json", b'{"</s>": 0, "a": 1}', r"vocab\.json has no symbol for <pad> \(id \d+\)"),
            ("source.spm", None, r"There is no .*source\.spm"),
            ("target.spm", b"no", r"target\.spm is no sentencepiece model"),
            ("model.safetensors", None, r"has neither model\.safetensors nor pytorch_model\.bin"),
            ("model.safetensors", b"PK", "is damaged"),
        ],
    )
    def test_files(self, name: str, content: bytes | None, message: str, checkpoint: Path, tmp_path: Path) -> None:
        folder = copied(checkpoint, tmp_path)
        (folder / name).unlink()
        if content is not None:
            (folder / name).write_bytes(content)
        with pytest.raises(HeedfulError, match=message) as caught:
            import_checkpoint(folder, tmp_path / "bundle", LINES[:5])
        assert caught.value.hint
        assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]

    @pytest.mark.parametrize(
        "changes",
        [{"d_model": "wide"}, {"encoder_attention_heads": 5, "decoder_attention_heads": 5}, {"encoder_layers": 0}],
    )
    def test_sizes_that_cannot_be(self, changes: dict[str, object], checkpoint: Path, tmp_path: Path) -> None:
        folder = copied(checkpoint, tmp_path)
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        with pytest.raises(ConfigError, match=r"config\.json"):
            import_checkpoint(folder, tmp_path / "bundle", LINES[:5])
        assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]

    def test_a_folder_where_a_file_should_be(self, checkpoint: Path, tmp_path: Path) -> None:
        folder = copied(checkpoint, tmp_path)
        (folder / "config.json").unlink()
        (folder / "config.json").mkdir()
        with pytest.raises(HeedfulError, match=r"config\.json could not be read: Is a directory"):
            import_checkpoint(folder, tmp_path / "bundle", LINES[:5])

    def test_a_pickle_that_runs_code(self, checkpoint: Path, tmp_path: Path) -> None:
        folder = copied(checkpoint, tmp_path)
        (folder / "model.safetensors").unlink()
        (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
        with pytest.raises(HeedfulError, match="is damaged, or more than weights"):
            import_marian(folder)

    def test_weights_of_another_model(self, checkpoint: Path, tmp_path: Path) -> None:
        folder = copied(checkpoint, tmp_path)
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "encoder_layers": 3}))
        with pytest.raises(HeedfulError, match=r"the weights lack 'model\.encoder\.layers\.2"):
            import_marian(folder)

    def test_a_place_that_is_taken(self, checkpoint: Path, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="exists already"):
            import_checkpoint(checkpoint, tmp_path, LINES[:5])

    def test_a_bundle_that_says_something_else_is_kept_aside(
        self, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Positions that are not the ones that MarianMTModel has."""
        monkeypatch.setattr("heedful.export.huggingface_weights.sinusoid_axis", lambda d, interleaved: torch.arange(d))
        with pytest.raises(CheckFailed, match=r"The bundle differs from the model: .* kept as .*bundle\.failed"):
            import_checkpoint(checkpoint, tmp_path / "bundle", LINES[:20])
        assert [path.name for path in tmp_path.iterdir()] == ["bundle.failed"]
        assert json.loads((tmp_path / "bundle.failed" / "parity.json").read_text())["failures"]

    def test_it_does_not_go_back(self, checkpoint: Path, tmp_path: Path) -> None:
        bundle = import_marian(checkpoint)
        with pytest.raises(ConfigError, match=r"a source tokenizer that was imported with its model .*; a target"):
            export_bundle(bundle, tmp_path / "out", "huggingface", "float32", LINES[:3])
