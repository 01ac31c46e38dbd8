import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import ecnlab
from ecnlab.validation import case_files, kernel


def case(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(gzip.decompress((kernel.CASES_FOLDER / f"{name}.json.gz").read_bytes()))
    return loaded


def test_a_case_of_the_real_kernel_is_met_to_the_packet() -> None:
    """All of them are compared in crates/validation/tests/kernel.rs."""
    outcome = kernel.replay_kernel_case(kernel.CASES_FOLDER / "reno-lastack-lost.json.gz", known=kernel.read_explanations_of_kernel_cases())
    assert [judgement.way for judgement in outcome.judgements] == ["receiver", "sender", "closed"]
    assert [judgement.verdict for judgement in outcome.judgements] == ["exact"] * 3
    assert all(judgement.packets > 0 for judgement in outcome.judgements)


def test_cases_are_read_as_they_are_and_compressed(tmp_path: Path) -> None:
    (tmp_path / "plain.json").write_text(json.dumps(case("reno-lastack-lost")))
    (tmp_path / "small.json.gz").write_bytes(gzip.compress(json.dumps(case("reno-first-lost")).encode()))
    outcomes = kernel.replay_kernel_cases_of_folder(tmp_path, ["sender"])
    assert [(outcome.name, outcome.judgements[0].verdict) for outcome in outcomes] == [
        ("reno-lastack-lost", "exact"),
        ("reno-first-lost", "exact"),
    ]
    assert kernel.verdict_counts_by_mode(outcomes)["sender"]["exact"] == 2
    assert [outcome.name for outcome in kernel.replay_kernel_cases_of_folder(tmp_path, ["sender"], "sm*")] == ["reno-first-lost"]


def test_a_difference_is_reported_with_the_agreement_before_it_and_both_runs_around_it(tmp_path: Path) -> None:
    changed = case("reno-lastack-lost")
    row = next(row for row in changed["packets"] if row[1] == 0 and row[5] == 14481)
    row[8] = "FA"
    (tmp_path / "changed.json").write_text(json.dumps(changed))
    (judgement,) = kernel.replay_kernel_case(tmp_path / "changed.json", ["sender"]).judgements
    assert judgement.has_failed
    assert judgement.why is not None
    assert f"packet {row[0]}: flags: expected" in judgement.why
    assert 0 < judgement.agreed < judgement.packets
    assert any("|" in line for line in judgement.excerpt)


def test_a_declared_reason_explains_a_difference_of_its_case_and_way_only(tmp_path: Path) -> None:
    changed = case("reno-lastack-lost")
    changed["packets"][5][8] = "PA"
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(changed))
    told = {}
    for way in ("sender", "closed"):
        known = [kernel.ExplainedKernelDifference(case="reno-last*", way=way, reason="changed on purpose")]
        told[way] = [judgement.verdict for judgement in kernel.replay_kernel_case(path, ["sender", "closed"], known).judgements]
    assert told == {"sender": ["explained", "differs"], "closed": ["differs", "explained"]}


def test_an_incomplete_reason_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "explained.toml"
    path.write_text('[[explained]]\ncase = "x"\n')
    with pytest.raises(ecnlab.UsageError, match="reason"):
        kernel.read_explanations_of_kernel_cases(path)


def test_all_files_that_are_no_case_are_named_with_the_field(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    wrong = case("reno-lastack-lost")
    wrong["packets"][2][6] = -1
    (tmp_path / "y.json").write_text(json.dumps(wrong))
    (tmp_path / "z.json.gz").write_bytes(b"no gzip")
    told = r"(?s)x\.json is not a case of a real kernel: name is missing.*y\.json .*packets\[2\]\.len must be a number.*z\.json"
    with pytest.raises(ecnlab.UsageError, match=told):
        kernel.replay_kernel_cases_of_folder(tmp_path)


def test_a_file_that_unpacks_to_more_than_any_case_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_files, "MAX_CASE_BYTES", 1 << 20)
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b" " * (1 << 21)))
    (tmp_path / "plain.json").write_bytes(b" " * (1 << 21))
    with pytest.raises(ecnlab.UsageError, match=r"(?s)bomb\.json\.gz .*larger than 1 MiB.*plain\.json .*larger than 1 MiB"):
        kernel.replay_kernel_cases_of_folder(tmp_path)


def test_what_would_be_a_fault_of_the_engine_is_a_refusal_with_the_field(tmp_path: Path) -> None:
    wrong = case("reno-lastack-lost")
    wrong["script"] = [{"direction": "data", "packets_of_direction": [0, 2**64 - 1], "do": "drop"}]
    (tmp_path / "x.json").write_text(json.dumps(wrong))
    with pytest.raises(ecnlab.UsageError, match=r"x\.json .*: script\[0\]\.packets_of_direction\[1\] must be from 0 to"):
        kernel.replay_kernel_cases_of_folder(tmp_path)


def test_a_record_of_one_side_is_not_comparable_and_fails_nothing(tmp_path: Path) -> None:
    one_side = case("reno-lastack-lost")
    one_side["packets"] = [row for row in one_side["packets"] if row[1] == 0]
    (tmp_path / "x.json").write_text(json.dumps(one_side))
    (outcome,) = kernel.replay_kernel_cases_of_folder(tmp_path)
    assert {judgement.verdict for judgement in outcome.judgements} == {"not comparable"}
    assert {judgement.why for judgement in outcome.judgements} == {"not comparable: the record has no packet of side b but resets"}


def test_rows_that_do_not_fit_their_columns_are_refused(tmp_path: Path) -> None:
    longer, shorter = case("reno-lastack-lost"), case("reno-lastack-lost")
    longer["states"][3].append(0)
    shorter["packets"][2].pop()
    for name, wrong in (("longer", longer), ("shorter", shorter)):
        (tmp_path / f"{name}.json").write_text(json.dumps(wrong))
    told = r"(?s)longer\.json .*states\[3\] has 23 values for 22 columns.*shorter\.json .*packets\[2\] has 16 values for 17 columns"
    with pytest.raises(ecnlab.UsageError, match=told):
        kernel.replay_kernel_cases_of_folder(tmp_path)


def test_a_state_of_the_package_has_dctcp_s_alpha_and_the_timeout_of_acknowledgements_in_its_last_columns() -> None:
    for path in sorted(kernel.CASES_FOLDER.glob("*.json.gz")):
        found = json.loads(gzip.decompress(path.read_bytes()))
        if found["kind"] == "recorded":  # in the UML kernel, whose recorder has other columns
            continue
        assert found["state_columns"][-2:] == ["dctcp_alpha_1024", "ato_us"]
        alphas = {state[-2] for state in found["states"]}
        assert all(0 <= alpha <= 1024 for alpha in alphas) if found["tcp"]["congestion"] == "dctcp" else alphas == {-1}


def test_a_connection_that_never_opened_is_judged_by_its_handshake(tmp_path: Path) -> None:
    never = case("reno-lastack-lost")
    (offer, answer), sent_ms = (next(row for row in never["packets"] if row[1] == side) for side in (0, 1)), (0, 1003, 3019)
    never["packets"] = []
    for nth, ms in enumerate(sent_ms):
        at = (offer[2], 1_003_000.512, 3_019_000.512)[nth]
        arrives = at + offer[3] - offer[2]
        never["packets"] += [
            [2 * nth, 0, at, arrives, "", *offer[5:12], ms, *offer[13:15], nth, 0],
            [2 * nth + 1, 1, arrives, None, "drop", *answer[5:12], *answer[12:15], nth, 0],
        ]
    never |= {"states": [], "path": None, "end_us": 3_100_000}
    (tmp_path / "never.json").write_text(json.dumps(never))
    (tmp_path / "other.json").write_text(json.dumps(case("reno-first-lost")))
    outcomes = kernel.replay_kernel_cases_of_folder(tmp_path, ["sender"])
    assert [(outcome.name, outcome.judgements[0].verdict) for outcome in outcomes] == [
        ("reno-lastack-lost", "exact"),
        ("reno-first-lost", "exact"),
    ]
    assert outcomes[0].judgements[0].packets == len(sent_ms)


def test_a_case_is_chosen_by_its_name_where_its_file_has_another(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(case("reno-lastack-lost")))
    (tmp_path / "y.json").write_text(json.dumps(case("reno-first-lost")))
    assert [outcome.name for outcome in kernel.replay_kernel_cases_of_folder(tmp_path, ["sender"], "*-first-*")] == ["reno-first-lost"]
    assert [outcome.name for outcome in kernel.replay_kernel_cases_of_folder(tmp_path, ["sender"], "x")] == ["reno-lastack-lost"]


def test_a_folder_without_cases_and_a_name_that_none_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ecnlab.UsageError, match="contains no"):
        kernel.replay_kernel_cases_of_folder(tmp_path)
    with pytest.raises(ecnlab.UsageError, match="is not a folder"):
        kernel.replay_kernel_cases_of_folder(tmp_path / "none")
    with pytest.raises(ecnlab.UsageError, match=r"case 'vegas-1': not in .*; fix: use one of cubic-1drop"):
        kernel.replay_kernel_cases_of_folder(only="vegas-1")


def test_without_a_path_both_ends_are_judged_and_the_closed_loop_is_not(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(case("reno-nosack-2drops") | {"path": None}))
    judgements = kernel.replay_kernel_case(tmp_path / "x.json").judgements
    assert [judgement.verdict for judgement in judgements] == ["exact", "exact", "not comparable"]
