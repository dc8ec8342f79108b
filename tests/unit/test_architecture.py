"""The rule of the house (design, section 1): imports point down, and only the edge knows time and environment."""

import ast
import sys
from importlib import util
from pathlib import Path

import pytest

import loreline

ROOT = Path(loreline.__file__).parent
ADAPTERS = frozenset({"gitlab", "git", "workspace", "store", "index", "embedding", "llm"})
BESIDES = {"index": frozenset({"store"})}
"""The one exception: a filtered search must join, so the index shares the store's connection."""
EDGE = frozenset({"faces", "simulator", "app", "__main__"})
"""Who may know them: the ways in, the composition root that hands them on, and the other side's stand-in."""


def modules():
    return sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


def layer(path):
    return path.parts[0].removesuffix(".py")


def imported(path):
    """The absolute names a module imports, wherever in it they stand."""
    package = ".".join(("loreline", *path.parent.parts))
    for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = util.resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module
            yield from (f"{base}.{alias.name}" for alias in node.names)


def own(names):
    """The layers of ours among imported names."""
    return {name.split(".")[1] for name in names if name.startswith("loreline.") and name.count(".") >= 1}


def of(*layers):
    return [pytest.param(path, id=path.as_posix()) for path in modules() if layer(path) in layers]


def test_the_walk_sees_the_house():
    found = {layer(path) for path in modules()}
    assert {"core", "gitlab", "store", "services", "simulator", "errors", "settings"} <= found
    assert "core" in own(imported(Path("store/entities.py")))


@pytest.mark.parametrize("path", of("core"))
def test_core_needs_nothing_but_the_standard_library_and_msgspec(path):
    for name in imported(path):
        top = name.split(".")[0]
        assert top in sys.stdlib_module_names or top == "msgspec" or name.startswith("loreline.core."), name


@pytest.mark.parametrize("path", of(*ADAPTERS))
def test_an_adapter_knows_no_other_adapter_and_nothing_above(path):
    me = layer(path)
    allowed = {"core", "errors", "settings", "__version__", me, *BESIDES.get(me, ())}
    assert own(imported(path)) <= allowed


@pytest.mark.parametrize("path", of("services"))
def test_services_know_no_face_and_no_simulator(path):
    assert not own(imported(path)) & {"faces", "simulator", "app", "__main__"}


@pytest.mark.parametrize("path", of("errors", "settings", "credentials"))
def test_what_everybody_uses_uses_nobody(path):
    assert own(imported(path)) <= {"errors", "settings", "core"}


@pytest.mark.parametrize("path", of("simulator"))
def test_the_simulator_shares_no_code_with_what_it_tests(path):
    assert own(imported(path)) <= {"simulator", "errors", "__version__"}


def clock_and_environment(tree):
    """Uses of the process's clock of the day or its environment."""
    forbidden = {
        ("os", "environ"),
        ("os", "environb"),
        ("os", "getenv"),
        ("time", "time"),
        ("time", "time_ns"),
        ("time", "localtime"),
        ("datetime", "now"),
        ("datetime", "utcnow"),
        ("datetime", "today"),
        ("date", "today"),
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            holder = node.value
            name = holder.id if isinstance(holder, ast.Name) else getattr(holder, "attr", "")
            if (name, node.attr) in forbidden:
                yield f"{name}.{node.attr} in line {node.lineno}"
        elif isinstance(node, ast.ImportFrom):
            yield from (
                f"{node.module}.{alias.name} in line {node.lineno}"
                for alias in node.names
                if (node.module, alias.name) in forbidden
            )


def test_the_check_would_see_a_clock():
    source = "import os, time, datetime\nos.environ['A']\ntime.time()\ndatetime.datetime.now()\nfrom os import getenv\n"
    assert len(list(clock_and_environment(ast.parse(source)))) == 4


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.as_posix()) for path in modules() if layer(path) not in EDGE]
)
def test_below_the_faces_nobody_reads_the_clock_or_the_environment(path):
    assert list(clock_and_environment(ast.parse((ROOT / path).read_text("utf-8")))) == []
