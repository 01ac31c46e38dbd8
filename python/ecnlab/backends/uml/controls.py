"""Congestion controls of the user: C files in the style of the kernel's `net/ipv4/tcp_*.c`, which are compiled into a UML kernel.

The kernel's make compiles such a file under another name, so that it cannot replace a file of the kernel. Its operations are checked here,
because a kernel refuses incomplete ones only when it boots, and silently.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ecnlab.errors import BackendError

# Congestion controls compiled into every UML kernel.
BUILT_IN_CONTROLS = ("reno", "cubic", "dctcp", "abe", "bbr", "bic", "htcp", "vegas", "westwood")

CONTROLS_FOLDER = Path("net") / "ipv4"
_MAX_FILE_BYTES = 1 << 20
_MAX_ERROR_LINES = 8

# A kernel's name of a control has at most 15 characters; a scenario refers to it by this name.
_NAME = re.compile(r'"([A-Za-z][A-Za-z0-9_-]{0,14})"')
_MACRO = re.compile(r"[A-Za-z_]\w*(\(.*\))?", re.DOTALL)
_COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*")', re.DOTALL)
# Files outside of the kernel's source.
_FOREIGN_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]((?:/|[^>"\n]*\.\./)[^>"\n]*)[>"]', re.MULTILINE)
_REGISTRATION = re.compile(r"\btcp_register_congestion_control\s*\(\s*&\s*(\w+)\s*\)")
_OPERATIONS = r"\bstruct\s+tcp_congestion_ops\s+{variable}\b[^;={{]*=\s*(\{{.*?\n?\s*\}}\s*;)"
# Operations that a kernel requires (`tcp_validate_congestion_control`); of each group at least one.
_REQUIRED_OPERATIONS = (("ssthresh",), ("undo_cwnd",), ("cong_avoid", "cong_control"))
# Declarations of the kernel for Accurate ECN, which older kernels do not have.
_NEEDS_ACCURATE_ECN = re.compile(r"\b(TCP_CONG_NEEDS_ACCECN|TCP_CONG_NO_FALLBACK_RFC3168|tcp_ecn_mode_accecn|tcp_ecn_mode_any)\b")


@dataclass(frozen=True)
class UserCongestionControl:
    """A congestion control of the user.

    Attributes
    ----------
    name : str
        Its name in the kernel and in scenarios.
    path : Path
        The C file.
    source : bytes
        The content of the file, read once.
    needs_accurate_ecn : bool
        Whether it needs a kernel with Accurate ECN.
    """

    name: str
    path: Path
    source: bytes
    needs_accurate_ecn: bool

    @property
    def source_sha256(self) -> str:
        """The digest of the file."""
        return sha256(self.source).hexdigest()

    @property
    def object_file_stem(self) -> str:
        """The name of the file in the kernel's source, without its suffix."""
        return f"control_{self.name}"

    def to_dict(self) -> dict[str, str]:
        """Name, file and digest, for the description of a kernel."""
        return {"name": self.name, "file": self.path.name, "sha256": self.source_sha256}


def read_congestion_control_files(paths: Sequence[Path]) -> list[UserCongestionControl]:
    """Read and check the files of congestion controls. Raises BackendError that names a file and its fault."""
    found: dict[str, UserCongestionControl] = {}
    for path in paths:
        control = _read_congestion_control_file(path)
        if control.name in BUILT_IN_CONTROLS:
            raise _refused_file_error(path, f"every UML kernel has a control {control.name} already", "give another .name")
        if control.name in found and found[control.name].source == control.source:
            raise _refused_file_error(path, "the same control is given twice", "give it once")
        if control.name in found:
            raise _refused_file_error(
                path, f"{found[control.name].path} has the .name {control.name} too", "give one of them another .name"
            )
        found[control.name] = control
    return list(found.values())


def copy_congestion_controls_to_tree(tree: Path, controls: Sequence[UserCongestionControl]) -> None:
    """Add the files to a kernel's source, and their objects to what its make links."""
    folder = tree / CONTROLS_FOLDER
    for control in controls:
        (folder / f"{control.object_file_stem}.c").write_bytes(control.source)
    with (folder / "Makefile").open("a") as makefile:
        makefile.write("".join(f"obj-y += {control.object_file_stem}.o\n" for control in controls))


def make_error_naming_control(controls: Sequence[UserCongestionControl], error: BackendError) -> BackendError:
    """The error of a kernel's make as an error of a control, with the first errors of compiler or linker, if a control caused it."""
    lines = str(error).splitlines()
    for control in controls:
        inside = f"{CONTROLS_FOLDER / control.object_file_stem}."
        compiler = [line for line in lines if line.startswith(f"{inside}c:") and "error:" in line]
        linker = [line for line in lines if inside in line and ("undefined reference" in line or "multiple definition" in line)]
        wrong = compiler or linker
        if wrong:
            shown = [line.replace(f"{inside}c", str(control.path)) for line in wrong[:_MAX_ERROR_LINES]]
            says = "the compiler refuses it" if compiler else "the linker refuses it"
            return BackendError("\n".join([f"--control: {control.path}: {says}; fix: correct these errors:", *shown]))
    return error


def _read_congestion_control_file(path: Path) -> UserCongestionControl:
    try:
        with path.open("rb") as file:
            source = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BackendError(f"--control: {path}: {error.strerror}; fix: give the path of a C file") from None
    if len(source) > _MAX_FILE_BYTES:
        raise _refused_file_error(path, f"has more than {_MAX_FILE_BYTES} bytes", "give a C file like the kernel's net/ipv4/tcp_bic.c")
    text = _COMMENT_OR_STRING.sub(lambda match: match[1] or " ", source.decode(errors="replace"))  # without comments
    registered = list(dict.fromkeys(_REGISTRATION.findall(text)))
    if len(registered) != 1:
        says = "registers no control" if not registered else f"registers {len(registered)} controls"
        raise _refused_file_error(path, says, "give a file that calls tcp_register_congestion_control(&NAME) for one control")
    if foreign := _FOREIGN_INCLUDE.search(text):
        raise _refused_file_error(path, f"includes {foreign[1]}, which no digest of the kernel covers", "move its content into the C file")
    operations = re.search(_OPERATIONS.format(variable=registered[0]), text, re.DOTALL)
    if operations is None:
        raise _refused_file_error(
            path, f"struct tcp_congestion_ops {registered[0]} has no initial value", "define it as the kernel's own controls do"
        )
    members = dict(re.findall(r"\.(\w+)\s*=\s*([^,}]+?)\s*[,}]", operations[1], re.DOTALL))
    lacking = [" or ".join(f".{name}" for name in group) for group in _REQUIRED_OPERATIONS if not set(group) & set(members)]
    if lacking:
        raise _refused_file_error(path, f"{registered[0]} has no {', no '.join(lacking)}, which every kernel requires", "add them")
    name = _NAME.fullmatch(members.get("name", ""))
    if name is None and _MACRO.fullmatch(members.get("name", "")):
        wrong = f".name of {registered[0]} is the macro {members['name']}, and macros are not expanded here"
        raise _refused_file_error(path, wrong, "write the name itself in quotes")
    if name is None:
        wrong = f".name of {registered[0]} is {members.get('name', 'missing')}"
        raise _refused_file_error(path, wrong, "give a string of 1 to 15 letters, digits, underscores and hyphens")
    return UserCongestionControl(name[1], path, source, _NEEDS_ACCURATE_ECN.search(text) is not None)


def _refused_file_error(path: Path, wrong: str, fix: str) -> BackendError:
    return BackendError(f"--control: {path}: {wrong}; fix: {fix}")
