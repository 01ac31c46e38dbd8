import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ecnlab


def _public_names(source: Path) -> set[str]:
    """The names that the package imports for type checkers."""
    block = next(node for node in ast.parse(source.read_text()).body if isinstance(node, ast.If))
    return {alias.name for node in block.body if isinstance(node, ast.ImportFrom) and node.module != "typing" for alias in node.names}


def test_the_public_surface_is_what_all_says() -> None:
    assert len(set(ecnlab.__all__)) == len(ecnlab.__all__)
    assert _public_names(Path(ecnlab.__file__)) == set(ecnlab.__all__)


@pytest.mark.parametrize("name", ecnlab.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(ecnlab, name).__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulate'"):
        _ = ecnlab.simulate


def test_the_help_text_needs_none_of_the_heavy_libraries() -> None:
    code = "import sys, ecnlab.cli; print(sorted({'polars', 'scipy', 'matplotlib', 'jinja2', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert ecnlab.__version__ == version("ecnlab")


def test_dir_shows_the_public_names_and_nothing_else() -> None:
    assert dir(ecnlab) == sorted([*ecnlab.__all__, "__version__"])


def test_dir_shows_no_submodule_that_has_been_imported() -> None:
    code = "import ecnlab, ecnlab.storage.results; print('storage' in dir(ecnlab), 'storage' in vars(ecnlab))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_no_submodule_has_the_name_of_a_public_function() -> None:
    """The import of a submodule of this name would replace the function."""
    submodules = {path.stem for path in Path(ecnlab.__file__).parent.iterdir()}
    assert submodules & set(ecnlab.__all__) == set()
