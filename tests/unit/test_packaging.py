"""The package as it is shipped: one top-level name, no bare imports, doors kept."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("traces", "namespaces", "envs", "agents")


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("wheel")
    # From a copy: building in place would leave build/ and an egg-info in the checkout.
    source = folder / "source"
    unwanted = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__", "tests")
    shutil.copytree(ROOT, source, symlinks=True, ignore=unwanted)
    # --no-isolation: setuptools comes with the test environment, so no download is needed here.
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source],
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_wheel_holds_netlab_alone(wheel_names: list[str]) -> None:
    top = {name.split("/")[0] for name in wheel_names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"netlab"}


def test_wheel_holds_each_room_and_its_data(wheel_names: list[str]) -> None:
    for room in (
        *ROOMS,
        "traces/model",
        "traces/packets",
        "traces/capture",
        "traces/importers",
        "probe",
        "wire",
        "control",
        "cli",
        "bench",
    ):
        assert f"netlab/{room}/__init__.py" in wheel_names
    assert "netlab/py.typed" in wheel_names
    assert any(name.startswith("netlab/traces/data/") for name in wheel_names)
    assert "netlab/namespaces/guest/data/time_travel.config" in wheel_names
    assert "netlab/training/recipes/cartpole-baseline.toml" in wheel_names
    shipped = [path.name for path in (ROOT / "agents" / "shipped").iterdir()]
    assert shipped
    assert {f"netlab/agents/shipped/{name}" for name in shipped} <= set(wheel_names)


@pytest.mark.parametrize("called", ["netlab", "clone"])
def test_an_editable_install_is_found_from_the_folder_above_the_clone(tmp_path: Path, called: str) -> None:
    """A folder called netlab is a namespace package to who stands above it; what is installed comes first."""
    clone = tmp_path / called
    unwanted = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__", "tests", "docs", "shipped")
    shutil.copytree(ROOT, clone, symlinks=True, ignore=unwanted)
    shutil.copy(ROOT / "README.md", clone)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps"]
    pip += ["--no-build-isolation", "--ignore-installed", "--prefix", str(tmp_path / "site"), "-e", str(clone)]
    subprocess.run(pip, check=True, capture_output=True)
    (packages,) = (tmp_path / "site").glob("**/site-packages")
    script = f"import site; site.addsitedir({str(packages)!r}); import netlab, netlab.envs; print(netlab.__file__)"
    for rooms in ("", "import envs"):
        # -S: of this interpreter's own packages none is in the way.
        words = [sys.executable, "-S", "-c", f"{script}\n{rooms}"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert Path(done.stdout.strip()).samefile(clone / "netlab" / "__init__.py"), done.stderr
        assert ("No module named 'envs'" in done.stderr) is bool(rooms), done.stderr


def test_help_loads_click_alone() -> None:
    script = "import sys, netlab.cli.main as m; m.main(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split("\n")[-2].split())
    heavy = {"numpy", "matplotlib", "scapy", "rich", "msgspec", "pyroute2", "gymnasium", "cryptography", "torch"}
    assert "click" in loaded
    assert not heavy & loaded


def test_one_door_to_each_library() -> None:
    doors: dict[str, set[str]] = {"pyroute2": set(), "scapy": set(), "matplotlib": set(), "torch": set()}
    doors |= {"minigrid": set(), "safetensors": set(), "tensorboard": set()}
    doors["difflib"] = set()  # what is near a mistyped word is asked of one module
    for path in [*ROOT.glob("netlab/**/*.py"), *(p for room in ROOMS for p in ROOT.glob(f"{room}/**/*.py"))]:
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if len(words) > 1 and words[0] in ("import", "from"):
                library = words[1].split(".")[0]
                if library in doors:
                    doors[library].add(path.resolve().relative_to(ROOT).as_posix())
    assert doors["pyroute2"] == {"namespaces/rtnetlink.py"}
    assert doors["scapy"] == {"traces/capture/packet_capture.py"}
    assert doors["difflib"] == {"netlab/did_you_mean.py"}
    assert doors["matplotlib"] == {"netlab/trace_figure.py", "netlab/tables/calf_figure.py"}
    assert doors["minigrid"] == {"envs/doorkey.py"}
    assert doors["safetensors"] == {"agents/tensor_file.py"}
    assert all(path.startswith("agents/") for path in doors["torch"])


# What each room may import beside the standard library and itself: the table of docs/architecture.md.
GROUND = {"netlab", "netlab.errors", "netlab.units", "netlab.messages", "netlab.stop_signals", "msgspec",
          "netlab.actuator_traits", "netlab.charge", "netlab.clock_name", "netlab.cpu_tokens",
          "netlab.did_you_mean", "netlab.install_hint", "netlab.whole_file", "netlab.whole_number",
          "netlab.working_folder"}  # fmt: skip
ALLOWED = {
    "netlab/wire": GROUND | {"netlab.wire", "numpy", "cryptography"},
    "netlab/control": GROUND | {"netlab.control", "numpy"},
    "netlab/probe": GROUND | {"netlab.probe", "netlab.wire", "netlab.traces", "numpy", "cryptography"},
    "traces": GROUND | {"netlab.traces", "numpy", "scapy"},
    "namespaces": GROUND | {"netlab.namespaces", "netlab.traces", "numpy", "pyroute2"},
    "envs": GROUND | {"netlab.envs", "netlab.wire", "netlab.control", "netlab.traces", "numpy", "gymnasium",
                      "minigrid"},
    "agents": GROUND | {"netlab.agents", "netlab.wire", "netlab.control", "numpy", "gymnasium", "torch",
                        "safetensors"},
}  # fmt: skip


def imported_names(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(str(node.module))
    return {".".join(name.split(".")[: 2 if name.startswith("netlab") else 1]) for name in names}


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_what_the_table_allows_and_nothing_else(room: str) -> None:
    paths = list((ROOT / room).rglob("*.py"))
    assert paths
    for path in paths:
        foreign = {name for name in imported_names(path) - ALLOWED[room] if name not in sys.stdlib_module_names}
        assert not foreign, f"{path.relative_to(ROOT)} imports {foreign}"


def test_the_contract_of_the_roof_names_all_of_it() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (roof,) = [one for one in contracts if one["name"] == "no room knows the roof"]
    below = {name.replace("/", ".") for name in ALLOWED} | GROUND
    rooms = {name if name.startswith("netlab.") else f"netlab.{name}" for name in below - {"netlab", "msgspec"}}
    assert set(roof["source_modules"]) == rooms
    inside = [
        path for path in (ROOT / "netlab").iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()
    ]
    there = {f"netlab.{path.stem}" for path in inside if not path.stem.startswith("__")} - rooms
    assert set(roof["forbidden_modules"]) == there, "name a new module in pyproject.toml, or make it ground"


@pytest.mark.parametrize("name", ["charge", "clock_name", "cpu_tokens"])
def test_what_a_policy_calls_needs_the_standard_library_alone(name: str) -> None:
    ours = {"netlab.clock_name", "netlab.cpu_tokens"}
    assert imported_names(ROOT / "netlab" / f"{name}.py") <= ours | set(sys.stdlib_module_names)


def test_control_knows_no_socket_no_clock_and_no_loop() -> None:
    for path in (ROOT / "netlab" / "control").rglob("*.py"):
        assert not imported_names(path) & {"socket", "time", "select", "asyncio", "threading", "selectors"}
