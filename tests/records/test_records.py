"""The record files row by row: manifest, results, outputs, signature, environment."""

import hashlib
import importlib.metadata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heedful.errors import HeedfulError
from heedful.records import environment
from heedful.records.manifest import ManifestRow, data_hash, manifest_rows, read_manifest_file, text_hash
from heedful.records.outputs import read_outputs_file
from heedful.records.results import Result, read_results_file
from heedful.records.signature import Signature, comparable, describe_settings, parse_signature

ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # other work may go on beside
TEXTS = st.lists(st.tuples(st.text(max_size=4), st.lists(st.text(max_size=4), max_size=3)), max_size=4)


class TestManifest:
    def test_hash_is_sha256(self) -> None:
        assert text_hash("größer") == hashlib.sha256("größer".encode()).hexdigest()[:16]

    def test_rows(self) -> None:
        rows = list(manifest_rows("dev", enumerate([("read", "R IY D"), ("read", "R EH D")])))
        assert [row.id for row in rows] == ["dev-0", "dev-1"]
        assert {row.split for row in rows} == {"dev"}
        assert rows[0].source_hash == rows[1].source_hash == text_hash("read")
        assert rows[0].target_hash != rows[1].target_hash
        assert rows[0].group == rows[1].group

    def test_group_rule(self) -> None:
        first, second = manifest_rows(
            "dev", enumerate([("read", "x"), ("reads", "y")]), group=lambda source: source[:4]
        )
        assert first.group == second.group

    def test_row_of_another_shape_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "data_manifest.csv"
        path.write_text(",".join(ManifestRow._fields) + "\na,b,c,d,e\na,b\n")
        with pytest.raises(HeedfulError, match=r"data_manifest.csv:3: not a row"):
            list(read_manifest_file(path))

    @ANY_SPEED
    @given(TEXTS, TEXTS)
    def test_data_hash_is_equal_only_for_equal_data(self, a: list, b: list) -> None:
        """In particular when the same characters are dealt out differently over items, sources and references."""
        hashes = [data_hash([source for source, _ in data], [targets for _, targets in data]) for data in (a, b)]
        assert (hashes[0] == hashes[1]) == (a == b)

    @pytest.mark.parametrize(
        ("a", "b"),
        [
            ([("ab", ["c"])], [("a", ["bc"])]),
            ([("a", ["b", "c"])], [("a", ["bc"])]),
            ([("a", ["b"]), ("c", ["d"])], [("a", ["b", "c", "d"])]),
            ([("a", []), ("b", [])], [("b", []), ("a", [])]),
        ],
    )
    def test_data_hash_sees_where_texts_end(self, a: list, b: list) -> None:
        hashes = {data_hash([source for source, _ in data], [targets for _, targets in data]) for data in (a, b)}
        assert len(hashes) == 2


class TestResults:
    def test_wrong_columns(self, tmp_path: Path) -> None:
        (tmp_path / "results.csv").write_text("run,seed\n")
        with pytest.raises(HeedfulError, match=r"results.csv:1 does not have the columns"):
            read_results_file(tmp_path / "results.csv")

    @pytest.mark.parametrize(
        "damage", ["a,one,test,wer,1,,,1,s,c,d,1,1,True", "a,1,test,wer,1,,,1,s,c,d,1,1,yes", "a,1"]
    )
    def test_damaged_row(self, tmp_path: Path, damage: str) -> None:
        (tmp_path / "results.csv").write_text(",".join(Result._fields) + f"\n{damage}\n")
        with pytest.raises(HeedfulError, match=r"results.csv:2: not a row of results"):
            read_results_file(tmp_path / "results.csv")


def test_damaged_outputs(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text('{"id": "test-0"}\n')
    with pytest.raises(HeedfulError, match=r"test.jsonl:1 is not a stored output"):
        read_outputs_file(tmp_path / "test.jsonl")


SIGNATURE = Signature("3f2a", "test", "beam=5,length_penalty=0.6", 1, "bleu", "nrefs:1|case:mixed|tok:13a")
WORDS = st.text(st.characters(blacklist_characters="|", blacklist_categories=("Cs",)), max_size=8)


class TestSignature:
    def test_text(self) -> None:
        expected = "data:3f2a|split:test|decode:beam=5,length_penalty=0.6|seed:1|metric:bleu|nrefs:1|case:mixed|tok:13a"
        assert str(SIGNATURE) == expected

    @ANY_SPEED
    @given(WORDS, WORDS, WORDS, st.integers(), WORDS, st.text(max_size=8))
    def test_reads_back(self, data: str, split: str, decode: str, seed: int, metric: str, counting: str) -> None:
        signature = Signature(data, split, decode, seed, metric, counting)
        assert parse_signature(str(signature)) == signature

    @pytest.mark.parametrize(
        "text",
        ["", "BLEU|nrefs:1", "split:a|data:b|decode:c|seed:1|metric:d|e", "data:a|split:b|decode:c|seed:x|metric:d|e"],
    )
    def test_what_is_none(self, text: str) -> None:
        with pytest.raises(ValueError, match="`text` must be a signature"):
            parse_signature(text)

    def test_bar_in_a_field(self) -> None:
        with pytest.raises(ValueError, match=r'`split` may not hold "\|" in a signature, but is \'a\|b\''):
            str(SIGNATURE._replace(split="a|b"))

    def test_search_and_seed_may_differ(self) -> None:
        assert comparable(SIGNATURE, SIGNATURE._replace(decode="beam=1", seed=2)) is None

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"data": "aaaa"}, "different data in the split test (hashes 3f2a and aaaa)"),
            ({"split": "dev"}, "different splits (test and dev)"),
            ({"metric": "chrf"}, "different metrics (bleu and chrf)"),
            ({"counting": "tok:none"}, "bleu counted differently (nrefs:1|case:mixed|tok:13a and tok:none)"),
        ],
    )
    def test_what_may_not(self, change: dict, reason: str) -> None:
        assert comparable(SIGNATURE, SIGNATURE._replace(**change)) == reason

    def test_settings_in_one_word(self) -> None:
        assert describe_settings({"length_penalty": 0.6, "beam": 5, "top_k": None}) == "beam=5,length_penalty=0.6"


class TestEnvironment:
    def test_facts(self) -> None:
        facts = environment.describe_environment()
        assert facts["packages"]["torch"] == importlib.metadata.version("torch")
        assert facts["cores"] >= 1
        assert facts["memory_gb"] > 0
        assert facts["python"].split()[1].count(".") == 2

    def test_names_no_folder(self) -> None:
        assert str(Path.cwd()) not in str(environment.describe_environment())

    def test_outside_a_repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert environment.git_state() is None

    def test_without_git(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "")
        assert environment.git_state() is None

    def test_commit_and_changes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "f").write_text("1")
        author = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        for command in (["init", "-q"], ["add", "f"], [*author, "commit", "-q", "-m", "m"]):
            assert environment._git(*command) is not None
        state = environment.git_state()
        assert state is not None
        assert len(state["commit"]) == 40
        assert not state["changed"]
        (tmp_path / "f").write_text("2")
        assert environment.git_state() == {"commit": state["commit"], "changed": True}
