"""`pip install linkmatrix`: a wheel in a bare environment, away from the clone, brings all that a site needs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]

REPOSITORY = Path(__file__).resolve().parents[2]
#: what a wheel is made of
SOURCES = (
    *("reports", "checks", "config", "src", "spack-env"),
    "scripts",
    *("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"),
)
#: a system of the machine where the wheel is built, which fits every host
SYSTEM = """system = {
    "name": "builder", "hostnames": [".*"],
    "partitions": [{"name": "gpu", "scheduler": "local", "launcher": "local", "environs": ["builtin"]}],
}
"""
#: tools of a build
TOOLS = re.compile(r"(.*-)?(cmake|c\+\+|g\+\+|gcc|cc|clang(\+\+)?|nvcc|mpi\w+|ld|ninja|make|ccache)(-[\d.]+)?")
#: variables by which this shell knows the clone and its environment
OF_THE_CLONE = ("LINKMATRIX_", "RFM_", "PYTHON", "VIRTUAL_ENV")


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A function that runs a command where nothing but the wheel is installed: (exit code, what it printed)."""
    place = tmp_path_factory.mktemp("bare")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OF_THE_CLONE)}
    path = [folder for folder in environment["PATH"].split(os.pathsep) if Path(folder) != Path(sys.executable).parent]
    environment["PATH"] = os.pathsep.join([str(place / "venv" / "bin"), *path])

    def run(*command, folder=place, timeout=600, **variables):
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment | variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
        )
        return done.returncode, done.stdout

    run.place = place
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-build-isolation"]
    sources = place / "sources"  # pip leaves its build beside them
    sources.mkdir()
    for name in SOURCES:
        path = REPOSITORY / name
        if path.is_dir():
            shutil.copytree(path, sources / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(path, sources)
    (sources / "config" / "systems" / "builder.py").write_text(SYSTEM)
    code, out = run(*pip, "--no-deps", "--wheel-dir", place / "wheels", sources)
    assert code == 0, out
    code, out = run(sys.executable, "-m", "venv", place / "venv")
    assert code == 0, out
    (wheel,) = (place / "wheels").glob("linkmatrix-*.whl")
    installed, out = run(place / "venv" / "bin" / "python", REPOSITORY / "scripts" / "pip_install", wheel)
    run.installed, run.said = installed == 0, out
    return run


@pytest.fixture
def site(bare, unavailable):
    """The folder that the installed `linkmatrix init` makes."""
    if not bare.installed:
        (unavailable if "cannot be reached" in bare.said else pytest.fail)(bare.said)
    folder = bare.place / "site"
    code, out = bare("linkmatrix", "init", folder)
    assert code == 0, out
    return folder


def test_the_checks_of_a_wheel_are_listed_in_a_folder_of_its_own(bare, site):
    code, out = bare("reframe", "--nocolor", "-C", "config/settings.py", "-c", "checks", "-R", "-l", folder=site)
    assert code == 0 and "- intranode_p2p " in out and "skipping test file" not in out, out
    package = (site / "checks").resolve().parent
    assert package.name == "_suite" and (package / "src" / "CMakeLists.txt").exists()
    assert os.access(package / "src" / "peers" / "peer.sh", os.X_OK)
    assert (site / ".linkmatrix" / "reframe.log").exists() and not (package / ".linkmatrix").exists()


def test_a_system_of_the_machine_that_built_the_wheel_is_not_selected(bare, site):
    code, out = bare("reframe", "-C", "config/settings.py", "--show-config=systems/0/name", folder=site)
    assert code == 0 and '"this-machine"' in out and "builder" not in out, out


def test_what_needs_no_run_works_from_a_wheel(bare, site):
    assert bare("linkmatrix", "--version")[0] == 0
    code, out = bare("linkmatrix", "show", folder=site)
    assert code == 2 and f"no run-report-*.json in {site}/.linkmatrix/reports" in out


@pytest.fixture(scope="module")
def tools_hidden(tmp_path_factory):
    """A folder with the programs of /usr/bin, but no compiler, no CMake and no MPI."""
    folder = tmp_path_factory.mktemp("programs")
    for path in Path("/usr/bin").iterdir():
        if not TOOLS.fullmatch(path.name):
            (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture
def platform_wheel(bare, site, tools_hidden):
    """The path of a platform wheel without CUDA, built where no nvcc is, and installed in the place of the other."""
    sources = bare.place / "sources"
    without_nvcc = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), *os.environ["PATH"].split(os.pathsep)]),
        "CCACHE_BASEDIR": str(sources),
    }
    code, out = bare(sys.executable, "scripts/wheel", "-DLINKMATRIX_CUDA=OFF", folder=sources, **without_nvcc)
    assert code == 0, out
    (wheel,) = (sources / "dist").glob("*.whl")
    python = bare.place / "venv" / "bin" / "python"
    code, out = bare(python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--force-reinstall", wheel)
    assert code == 0, out
    return wheel


def test_a_platform_wheel_measures_without_a_compiler(bare, site, platform_wheel, tools_hidden):
    """Other processes are ignored: this test is about what runs, and exit code 3 would be about who else ran."""
    assert re.fullmatch(r"linkmatrix-.*-py3-none-manylinux_2_\d+_\w+\.whl", platform_wheel.name)
    generic = site / "config" / "systems" / "generic.py"
    text = (REPOSITORY / "config" / "systems" / "generic.py").read_text()
    generic.write_text(text.replace('"extras": {', '"extras": {"ignored_processes": ["*:*"], '))
    path = os.pathsep.join([str(bare.place / "venv" / "bin"), str(tools_hidden)])
    code, out = bare("linkmatrix", "measure", folder=site, PATH=path, CUDA_VISIBLE_DEVICES="")
    assert code == 0 and "NOT JUDGED" in out, out
    assert "not measured: ranks of MPI" in out and "cmake" in out, out
    assert not list((site / ".build").glob("*/CMakeCache.txt"))
    program = re.search(r"(\S+/p2p_matrix) --help", out)[1]
    assert bare(program, "--help", folder=site, PATH=path)[0] == 0
    # a partition that has MPI, on a machine that cannot build with MPI
    generic.write_text(generic.read_text().replace("mpi = bool(", "mpi = True or bool("))
    ranks = ("linkmatrix", "measure", "--", "-n", "rank_to_rank_latency_mpi$")
    code, out = bare(*ranks, folder=site, PATH=path, CUDA_VISIBLE_DEVICES="")
    assert code == 4 and "1 INCOMPLETE" in out and "skipped" in out and "mpicxx" in out, out
