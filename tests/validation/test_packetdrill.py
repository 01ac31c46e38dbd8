"""Packetdrill scripts against a simulated host."""

from pathlib import Path

import pytest

from ecnlab.errors import UsageError
from ecnlab.validation import packetdrill

SCRIPT = """
`sysctl -q net.ipv4.tcp_ecn=3`
+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4
+0 connect(4, ..., ...) = 0
+0 > [noecn] SEWA 0:0(0) <...>
+.05 < [ect0] SW. 0:0(0) ack 1 win 65535 <mss 1460,ECN e0b 1 ceb 0 e1b 1,nop,nop,nop,sackOK,nop,wscale 7>
+0 > [ect0] A. 1:1(0) ack 1 <ECN e1b 1 ceb 0 e0b 1,nop>
"""


def write_script(folder: Path, name: str, text: str) -> None:
    (folder / f"tcp_accecn_{name}.pkt").write_text(text, encoding="utf-8")


def test_each_script_of_a_folder_is_run_and_judged(tmp_path: Path) -> None:
    write_script(tmp_path, "a_passes", SCRIPT)
    write_script(tmp_path, "b_fails", SCRIPT.replace("A. 1:1", "W. 1:1"))
    write_script(tmp_path, "c_unknown", SCRIPT + "+0 sendfile(4, 5) = 1\n")
    (tmp_path / "other.pkt").write_text("", encoding="utf-8")
    outcomes = packetdrill.run_scripts_of_folder(tmp_path)
    assert [(outcome.verdict, outcome.line) for outcome in outcomes] == [("passed", None), ("failed", 7), ("unsupported", 8)]
    assert "ACE field" in (outcomes[1].why or "")
    assert "sendfile" in (outcomes[2].why or "")
    assert packetdrill.script_verdict_counts(outcomes) == {"passed": 1, "failed": 1, "unsupported": 1}


def test_a_folder_without_scripts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="contains no tcp_accecn"):
        packetdrill.run_scripts_of_folder(tmp_path)
    with pytest.raises(UsageError, match="is not a folder"):
        packetdrill.run_scripts_of_folder(tmp_path / "absent")
