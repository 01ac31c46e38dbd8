"""Congestion controls of the user: reading their files, and kernels with them. Runs need a built kernel and a compiler."""

import json
import re
import shutil
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import ecnlab as lab
from ecnlab import _core
from ecnlab.backends.simulator import SIMULATOR
from ecnlab.backends.uml import backend, build, controls, kernels, process, recipe, source
from ecnlab.backends.uml.backend import Uml
from ecnlab.cli.root import root
from ecnlab.errors import BackendError, EngineFault, RunsFailed, ScenarioError, UnknownName

ROOT = Path(__file__).parents[3]
HOOKS = Path(__file__).with_name("tcp_hooks.c")
# Other tests run these.
SIMULATED_CONTROLS = ("reno", "cubic", "vegas")
CONTROL_OF_PAGE = re.compile(r"```c\n(// SPDX.*?)```", re.DOTALL)

VALID = """
#include <net/tcp.h>
static struct tcp_congestion_ops mine __read_mostly = {
    .ssthresh = tcp_reno_ssthresh, .cong_avoid = tcp_reno_cong_avoid, .undo_cwnd = tcp_reno_undo_cwnd,
    .flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
    .name = "mine",
};
static int __init mine_register(void) { return tcp_register_congestion_control(&mine); }
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ECNLAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "uml"


def control_file(folder: Path, text: str = VALID, name: str = "tcp_mine.c") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_a_file_says_its_name_and_what_it_needs(tmp_path: Path) -> None:
    file = control_file(tmp_path)
    (control,) = controls.read_congestion_control_files([file])
    assert (control.name, control.path, control.needs_accurate_ecn) == ("mine", file, False)
    assert control.to_dict() == {"name": "mine", "file": "tcp_mine.c", "sha256": sha256(file.read_bytes()).hexdigest()}
    needs = control_file(tmp_path, VALID.replace("TCP_CONG_NEEDS_ECN", "TCP_CONG_NEEDS_ACCECN"), "needs.c")
    assert controls.read_congestion_control_files([needs])[0].needs_accurate_ecn
    # Prague has operations for its fall-back too, which it does not register.
    fall_back = VALID.replace("static int", 'static struct tcp_congestion_ops other = { .name = "other" };\nstatic int')
    assert controls.read_congestion_control_files([control_file(tmp_path, fall_back)])[0].name == "mine"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (VALID.replace("tcp_register_congestion_control(&mine)", "0"), r"registers no control; fix: .*tcp_register_congestion_control"),
        (VALID.replace("return tcp_register", "// return tcp_register"), "registers no control"),
        ('#include "/tmp/own.h"\n' + VALID, r"includes /tmp/own\.h, which no digest .*; fix: move its content"),
        ('#include "../../own.h"\n' + VALID, r"includes \.\./\.\./own\.h"),
        (VALID + "\ntcp_register_congestion_control(&other)", "registers 2 controls"),
        (VALID.replace(".undo_cwnd", ".undo"), r"mine has no \.undo_cwnd, which every kernel requires; fix: add"),
        (VALID.replace("mine __read_mostly = {", "mine; static struct other = {"), "tcp_congestion_ops mine has no initial value"),
        (VALID.replace(".cong_avoid", ".avoid"), r"mine has no \.cong_avoid or \.cong_control"),
        (VALID.replace('"mine"', '"more than 15 bytes"'), "fix: give a string of 1 to 15 letters"),
        (
            VALID.replace('"mine"', "NAME"),
            r"\.name of mine is the macro NAME, and macros are not expanded here; fix: write the name itself in quotes",
        ),
        (VALID.replace('"mine"', "STR(mine)"), r"is the macro STR\(mine\), .*; fix: write the name itself in quotes"),
        (VALID.replace('"mine"', '"cubic"'), r"every UML kernel has a control cubic already; fix: give another \.name"),
        ("x" * ((1 << 20) + 1), "has more than 1048576 bytes"),
        ("", "registers no control"),
    ],
)
def test_a_file_that_no_kernel_would_take_is_refused_with_its_fault(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str, says: str
) -> None:
    monkeypatch.setattr(source, "fetch_source", lambda *_: pytest.fail("the file was accepted"))
    file = control_file(tmp_path, wrong)
    with pytest.raises(BackendError, match=rf"^--control: {re.escape(str(file))}: .*{says}"):
        build.build_kernel(kernels.find_buildable_kernel("6.1"), control_files=[file])
    assert not home.exists()


def test_a_missing_file_and_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"absent\.c: No such file or directory; fix: give the path of a C file"):
        controls.read_congestion_control_files([tmp_path / "absent.c"])
    one = control_file(tmp_path, name="one.c")
    with pytest.raises(BackendError, match=r"one\.c: the same control is given twice; fix: give it once"):
        controls.read_congestion_control_files([one, one])
    two = control_file(tmp_path, VALID + "/* another */\n", "two.c")
    with pytest.raises(BackendError, match=r"two\.c: .*one\.c has the \.name mine too"):
        controls.read_congestion_control_files([one, two])


def test_a_control_for_accurate_ecn_is_refused_by_kernels_without_it(home: Path, tmp_path: Path) -> None:
    file = control_file(tmp_path, VALID.replace("TCP_CONG_NEEDS_ECN", "TCP_CONG_NEEDS_ACCECN"))
    with pytest.raises(BackendError, match=r"mine needs Accurate ECN, which kernel 6\.1 does not have; fix: give --kernel 7\.2"):
        build.build_kernel(kernels.find_buildable_kernel("6.1"), control_files=[file])
    assert not home.exists()


# A makefile that behaves as the kernel's: it compiles a control, and links it.
MAKEFILE = """VERSION = 6
PATCHLEVEL = 1
SUBLEVEL = 7
tinyconfig:
\ttrue > .config
olddefconfig:
\ttrue
net/ipv4/%.o: net/ipv4/%.c
\t@if grep -q WRONG $<; then echo "$<:2:1: error: unknown type name WRONG"; echo "cc1: some more"; exit 1; fi
\tcp $< $@
linux: FORCE
\t@if grep -q absent net/ipv4/*.c; then echo "ld: net/ipv4/control_mine.o: undefined reference to absent"; exit 1; fi
\tcp /bin/true linux
FORCE:
"""


@pytest.fixture
def plain(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> kernels.BuiltKernel:
    """A kernel whose make is the one above."""
    tree = tmp_path / "linux-6.1.7"
    for edit in recipe.source_edits("6.1"):
        file = tree / edit["file"]
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as text:
            text.write(edit["find"] + "\n")
    for name, content in {"Makefile": MAKEFILE, "Kconfig": "", "COPYING": ""}.items():
        (tree / name).write_text(content)
    for unused in ("drivers/gpu/unused.c", "drivers/gpu/Kconfig", "drivers/net/used.o", "drivers/net/used.h"):
        (tree / unused).parent.mkdir(parents=True, exist_ok=True)
        (tree / unused).write_text("")
    monkeypatch.setattr(build, "package_by_missing_requirement", dict)
    return build.build_kernel(kernels.find_buildable_kernel("6.1"), tree)


def test_a_kernel_with_controls_is_made_from_the_plain_one_and_is_chosen_by_their_names(
    plain: kernels.BuiltKernel, home: Path, tmp_path: Path
) -> None:
    files = [control_file(tmp_path), control_file(tmp_path, VALID.replace('"mine"', '"other"'), "tcp_other.c")]
    made = build.build_kernel(kernels.find_buildable_kernel("6.1"), control_files=files)
    assert made.name.startswith("6.1.7-mine+other-")
    assert made.about["plain_kernel"] == plain.name
    assert [control["name"] for control in made.user_congestion_controls] == ["mine", "other"]
    assert made.user_congestion_controls[0]["sha256"] == sha256(files[0].read_bytes()).hexdigest()
    assert sorted(file.name for file in made.folder.iterdir()) == ["COPYING", "about.json", "config", "linux"]
    assert (kernels.find_built_kernel(), kernels.find_built_kernel("6.1")) == (plain, plain)
    assert [kernels.find_built_kernel(name) for name in (made.name, "mine", "other")] == [made] * 3
    with pytest.raises(UnknownName, match="unknown UML kernel ''; fix: use one of"):
        kernels.find_built_kernel("")
    assert kernels.newest_plain_kernel("6.1")
    assert build.build_kernel(kernels.find_buildable_kernel("6.1"), control_files=files) == made
    changed = control_file(tmp_path, VALID + "/* */", "tcp_mine.c")
    assert build.build_kernel(kernels.find_buildable_kernel("6.1"), control_files=[changed]).name not in (plain.name, made.name)
    listed = json.loads(CliRunner().invoke(root, ["uml", "list", "--json"]).output)
    assert [[control["name"] for control in image.get("controls", [])] for image in listed] == [[], ["mine", "other"], ["mine"]]
    assert len([folder for folder in home.iterdir() if not folder.name.startswith(".")]) == 3


def test_the_compiled_tree_lacks_what_make_does_not_read(plain: kernels.BuiltKernel) -> None:
    import tarfile

    with tarfile.open(kernels.compiled_tree(plain)) as archive:
        names = set(archive.getnames())
    assert {"./drivers/gpu/Kconfig", "./drivers/net/used.o", "./drivers/net/used.h", "./include/net/tcp.h"} <= names
    assert "./drivers/gpu/unused.c" not in names


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("WRONG", "the compiler refuses it; fix: correct these errors:\n{file}:2:1: error: unknown type name WRONG"),
        ("absent();", "the linker refuses it; fix: correct these errors:\nld: net/ipv4/control_mine.o: undefined reference to absent"),
    ],
)
def test_a_control_that_does_not_compile_leaves_nothing(
    plain: kernels.BuiltKernel, home: Path, tmp_path: Path, more: str, says: str
) -> None:
    before = sorted(home.iterdir())
    file = control_file(tmp_path, VALID + more)
    with pytest.raises(BackendError) as refused:
        build.build_kernel(kernels.find_buildable_kernel("6.1"), control_files=[file])
    assert str(refused.value) == f"--control: {file}: {says.format(file=file)}"
    assert sorted(home.iterdir()) == before


@pytest.mark.parametrize("damage", [lambda file: file.write_bytes(b"half"), lambda file: file.unlink()])
def test_a_changed_tree_is_not_used(plain: kernels.BuiltKernel, tmp_path: Path, damage: Any) -> None:
    damage(plain.folder / kernels.TREE_FILE)
    with pytest.raises(
        BackendError, match=rf"tree\.tar\.gz: is missing or differs .*; fix: run `ecnlab uml remove {re.escape(plain.name)}`"
    ):
        build.build_kernel(kernels.find_buildable_kernel("6.1"), control_files=[control_file(tmp_path)])


def test_a_tree_that_others_may_change_is_not_used(plain: kernels.BuiltKernel, tmp_path: Path) -> None:
    (plain.folder / kernels.TREE_FILE).chmod(0o666)
    with pytest.raises(BackendError, match="others may write to it"):
        build.build_kernel(kernels.find_buildable_kernel("6.1"), control_files=[control_file(tmp_path)])


@pytest.mark.parametrize(
    ("control", "own"), [("mine", True), ("reno", False)], ids=["a control of the user", "a control of the kernel beside it"]
)
def test_a_crash_with_a_control_of_the_user_names_its_file_and_ends_no_other_seed(
    plain: kernels.BuiltKernel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, control: str, own: bool
) -> None:
    simulated = replace(SIMULATOR.run(scenario("reno", duration_s=1), 1, None, None), about={})
    about = {**plain.about, "kernel": "6.1", "controls": [{"name": "mine", "file": "tcp_mine.c", "sha256": "0"}]}
    monkeypatch.setattr(kernels, "find_built_kernel", lambda _: kernels.BuiltKernel(plain.folder, about))

    @contextmanager
    def crash_under_even_seeds(_: process.UmlJobRunner, job: object, seed: int, watch: object) -> Iterator[process.UmlJobResult]:
        if seed % 2 == 0:
            raise process.UmlCrashed("the UML kernel ended by SIGSEGV; its last output:\nmine_ssthresh+0x10")
        yield process.UmlJobResult(None, 0.0, tmp_path)

    monkeypatch.setattr(process.UmlJobRunner, "run", crash_under_even_seeds)
    monkeypatch.setattr(backend, "_parse_uml_result", lambda _: ((), simulated))
    monkeypatch.setattr(backend, "_guest_program_digest", lambda: "0")
    with pytest.raises(RunsFailed if own else EngineFault) as failed:
        lab.run(scenario(control).on_backend(Uml(kernel="mine")), seeds=5, threads=1)
    if isinstance(failed.value, RunsFailed):
        assert [(failure.seed, failure.kind) for failure in failed.value.failures] == [(2, "control"), (4, "control")]
        assert [result.seeds for result in failed.value.results] == [[1, 3, 5]]
    else:
        assert isinstance(failed.value, EngineFault)
        assert [seed for _, seed in failed.value.runs] == [2, 4]
        assert failed.value.result.seeds == [1, 3, 5]
    text = str(failed.value)
    assert ("your congestion control mine of tcp_mine.c" in text) == own
    assert ("fix: correct the file and build the kernel again" in text) == own
    assert "mine_ssthresh+0x10" in text


# The rest runs real kernels.


def _plain_kernel() -> kernels.BuiltKernel | None:
    return kernels.newest_plain_kernel(kernels.DEFAULT_KERNEL)


needs_uml_kernel = pytest.mark.skipif(
    _plain_kernel() is None or not process.GUEST_PROGRAM.is_file() or bool(build.package_by_missing_requirement()),
    reason="no UML kernel of this recipe (`ecnlab uml build-kernel` builds it), or no compiler",
)


def control_of_page(folder: Path) -> Path:
    found = CONTROL_OF_PAGE.search((ROOT / "docs" / "how-to" / "uml.md").read_text())
    assert found is not None
    return control_file(folder, found[1], "tcp_gentle.c")


@pytest.fixture(scope="module")
def with_controls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kernels.BuiltKernel]:
    """A kernel with the control of the page and with that of the hooks, in a cache folder of its own."""
    plain = _plain_kernel()
    assert plain is not None
    folder = tmp_path_factory.mktemp("controls")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ECNLAB_CACHE", str(folder / "cache"))
        shutil.copytree(plain.folder, folder / "cache" / "uml" / plain.name)
        files = [control_of_page(folder), HOOKS]
        yield build.build_kernel(kernels.find_buildable_kernel(str(plain.about["kernel"])), control_files=files)


def scenario(tcp: str, impair: list[dict[str, Any]] | None = None, duration_s: int = 5) -> lab.Scenario:
    link = {"name": "l", "from": "a", "to": "b", "rate": "10 Mbps", "delay": "20 ms"}
    link |= {"queue": {"aqm": "droptail", "limit": 100}} | ({"impair": impair} if impair else {})
    flow = {"name": "one", "from": "a", "to": "b", "tcp": {"profile": "linux", "congestion_control": tcp, "ecn": True}}
    return lab.scenario({"name": "controls", "duration": f"{duration_s} s", "link": [link], "flows": [flow], "record": {"window": "1 ms"}})


@needs_uml_kernel
@pytest.mark.real_time
def test_a_control_of_the_user_runs_under_its_name_and_the_record_names_it(with_controls: kernels.BuiltKernel) -> None:
    chosen = scenario("gentle").on_backend(Uml(kernel="gentle"))
    about = lab.run(chosen, seed=1).host_record_by_seed[1]
    assert about["groups"][0]["congestion_control"] == "gentle"
    assert about["groups"][0]["rewritten_to_ect1"] is None
    assert about["kernel_image"] == with_controls.name
    assert [control["name"] for control in about["kernel_controls"]] == ["gentle", "hooks"]
    assert about["kernel_controls"][1]["sha256"] == sha256(HOOKS.read_bytes()).hexdigest()


@needs_uml_kernel
@pytest.mark.real_time
def test_the_control_of_the_page_keeps_seven_eighths_of_its_window(with_controls: kernels.BuiltKernel) -> None:
    one_loss = [{"kind": "script", "action": "drop", "packets": [200]}]
    kept = {}
    for name in ("gentle", "reno"):
        window = lab.run(scenario(name, one_loss).on_backend(Uml(kernel="gentle")), seed=1).series.window
        before = window.filter(window["ssthresh_packets"].is_infinite())["cwnd_packets"][-1]
        kept[name] = window.filter(window["ssthresh_packets"].is_finite())["ssthresh_packets"][0] / before
    assert kept == {"gentle": pytest.approx(7 / 8, abs=0.03), "reno": pytest.approx(1 / 2, abs=0.03)}


@dataclass(frozen=True)
class Captured:
    """An IPv4 packet of a capture: interface, bytes on the wire, ECN codepoint, and whether its header's checksum is right."""

    interface: int
    size: int
    payload: int
    ecn: int
    is_checksum_right: bool


def captured(file: Path) -> list[Captured]:
    """The packets of a pcapng file, in its order."""
    data, at, found = file.read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:  # an enhanced packet block
            interface, _, _, kept, size = struct.unpack_from("<IIIII", data, at + 8)
            packet = data[at + 28 : at + 28 + kept]
            header = (packet[0] & 15) * 4
            words = sum(struct.unpack(f">{header // 2}H", packet[:header]))
            tcp_header = (packet[header + 12] >> 4) * 4
            total = (words & 0xFFFF) + (words >> 16)
            found.append(Captured(interface, size, size - header - tcp_header, packet[1] & 3, (total & 0xFFFF) + (total >> 16) == 0xFFFF))
        at += length
    return found


@needs_uml_kernel
@pytest.mark.real_time
def test_each_hook_of_the_kernel_reaches_a_control_that_uses_it(with_controls: kernels.BuiltKernel, tmp_path: Path) -> None:
    three_marks = [{"kind": "script", "action": "mark", "packets": [200, 400, 600]}]
    chosen = scenario("hooks", three_marks).on_backend(Uml(kernel="hooks"))
    result = lab.run(chosen, seed=1, trace=tmp_path / "hooks.pcapng")
    host = result.host_record_by_seed[1]["groups"][0]["opening_host"]
    assert host["delivered_ce"] >= 3
    assert list(result.series.window["cwnd_packets"])[-1] == 10 + 5 + host["delivered_ce"]
    data = [packet for packet in captured(tmp_path / "hooks.pcapng") if packet.payload > 0 and packet.interface == 0]
    assert len(data) > 1000
    assert {packet.ecn for packet in data} == {1}
    assert max(packet.size for packet in data) == 600


@needs_uml_kernel
@pytest.mark.real_time
def test_ect0_of_dctcp_leaves_its_host_as_ect1_and_the_record_counts_it(tmp_path: Path) -> None:
    """The packets then use the L queue of a DualPI2, and those of CUBIC the C queue."""
    link = {"name": "l", "from": "a", "to": "b", "rate": "20 Mbps", "delay": "10 ms", "queue": {"discipline": "dualpi2", "limit": 200}}
    tcp = {"profile": "linux", "variant": "dctcp", "ect_codepoint": "ect1"}
    flows = [
        {"name": "l4s", "from": "a", "to": "b", "tcp": tcp},
        {"name": "classic", "from": "a", "to": "b", "tcp": {"profile": "linux", "ecn": True}},
    ]
    chosen = lab.scenario({"name": "l4s", "duration": "10 s", "link": [link], "flows": flows}).on_backend("uml")
    result = lab.run(chosen, seed=1, trace=tmp_path / "l4s.pcapng")
    l4s, classic = result.host_record_by_seed[1]["groups"]
    seen = [packet for packet in captured(tmp_path / "l4s.pcapng") if packet.payload > 0]
    assert all(packet.is_checksum_right for packet in seen)
    before = Counter(packet.ecn for packet in seen if packet.interface == 0)
    assert before[3] == 0
    assert before[1] > 1000
    assert before[2] > 1000
    # DCTCP sends its SYN and its last acknowledgement with ECT too.
    assert 0 <= l4s["rewritten_to_ect1"]["opening_host"] - before[1] <= 3
    assert classic["rewritten_to_ect1"] is None
    assert l4s["answering_host"]["in_ect0"] == 0
    assert l4s["answering_host"]["in_ect1"] + l4s["answering_host"]["in_ce"] > 1000
    assert l4s["answering_host"]["in_bad_checksums"] == classic["answering_host"]["in_bad_checksums"] == 0
    bands = result.bands
    assert bands.filter(bands["band"] == "L")["departures"][0] > 1000


def test_the_engine_knows_the_same_controls_of_uml_kernels() -> None:
    for name in controls.BUILT_IN_CONTROLS:
        asked = scenario(name)
        lacking = [one for one in _core.refusals(asked._core, "uml", ["absent"], 4, True) if one[0].endswith(".congestion_control")]
        assert ["build the kernel again with ecnlab uml build-kernel" in one[2] for one in lacking] == [True], name
        simulated = [one[2] for one in _core.refusals(asked._core, "sim")]
        assert [f"whose kernels have {name}," in message for message in simulated] == [True] * (name not in SIMULATED_CONTROLS)


@needs_uml_kernel
@pytest.mark.real_time
@pytest.mark.parametrize("name", [name for name in controls.BUILT_IN_CONTROLS if name not in SIMULATED_CONTROLS])
def test_every_uml_kernel_has_these_controls(name: str) -> None:
    result = lab.run(scenario(name, duration_s=1).on_backend("uml"), seed=1)
    assert result.host_record_by_seed[1]["groups"][0]["congestion_control"] == name
    assert result.groups["goodput_bps"][0] > 1e6


@needs_uml_kernel
@pytest.mark.real_time
def test_bbr_runs_on_the_kernel_and_is_refused_by_the_simulator() -> None:
    bbr = scenario("bbr")
    assert lab.run(bbr.on_backend("uml"), seed=1).host_record_by_seed[1]["groups"][0]["congestion_control"] == "bbr"
    with pytest.raises(
        ScenarioError, match="the simulator does not have this congestion control; fix: use --backend uml, whose kernels have bbr"
    ):
        lab.run(bbr, seed=1)
    with pytest.raises(
        ScenarioError, match=r"the kernel does not have the congestion control absent, .*ecnlab uml build-kernel --control FILE"
    ):
        lab.run(scenario("absent").on_backend("uml"), seed=1)
