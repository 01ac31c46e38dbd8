"""The figures and the output on docs/explanation/packet.md are those of the runs that it describes."""

import re
from pathlib import Path

import pytest

import packet_figures

PAGE = packet_figures.FIGURES_FOLDER.parent / "explanation" / "packet.md"


def test_the_figures_are_what_the_tool_draws(tmp_path: Path) -> None:
    packet_figures.main(["--folder", str(tmp_path)])
    fresh = {name: (tmp_path / name).read_text(encoding="utf-8") for name in packet_figures.FIGURES}
    stored = {name: (packet_figures.FIGURES_FOLDER / name).read_text(encoding="utf-8") for name in packet_figures.FIGURES}
    assert fresh == stored, "run python tools/packet_figures.py"


def test_the_block_of_the_page_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = re.search(r"```python\n(.*?)```\n\n((?:    [^\n]*\n)+)", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    monkeypatch.chdir(tmp_path)
    exec(compile(shown[1], str(PAGE), "exec"), {})
    assert capsys.readouterr().out == re.sub(r"^    ", "", shown[2], flags=re.MULTILINE)


def test_the_page_has_the_times_of_the_packet() -> None:
    trip = packet_figures.journey()
    text = PAGE.read_text(encoding="utf-8")
    assert f"waits {1000 * (trip.transmitted - trip.at_router):.1f} ms" in text
    assert f"{1000 * (trip.ack_at_sender - trip.sent):.0f} ms after the packet was sent" in text
    assert f"from {trip.cwnd_before:.1f} to {trip.cwnd_after:.0f} packets" in text
