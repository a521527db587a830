"""What a build may be used for again."""

import importlib
import os
import subprocess
from types import SimpleNamespace

import pytest
import reframe.utility.sanity as sn
from fake_programs import fake_program
from reframe.core.exceptions import SanityError

module = importlib.import_module("linkmatrix_checks.build")
shared_build = importlib.import_module("linkmatrix_checks.shared_build")
cmake_builds = importlib.import_module("linkmatrix_checks.cmake_builds")
on_path, ConfiguredOnce = cmake_builds.on_path, cmake_builds.ConfiguredOnce

# stands for CMake: it notes what it is asked for, makes the cache, and fails where FAIL is set
CMAKE = (
    'echo "$1" >> "$LOG"',
    '[ "$1" = --build ] || { mkdir -p "$FOLDER/CMakeFiles/3.25.1" && touch "$FOLDER/CMakeCache.txt"; }',
    '[ -z "$FAIL" ]',
)


def tool(folder):
    return fake_program(folder / "mpicxx")


def test_a_build_is_of_the_mpi_that_path_gives_first(tmp_path, monkeypatch):
    one, other = tool(tmp_path / "one"), tool(tmp_path / "other")
    monkeypatch.setenv("PATH", f"{one.parent}:{other.parent}")
    first = on_path("mpicxx")
    assert [path for path, _ in first] == [str(one)]
    monkeypatch.setenv("PATH", f"{other.parent}:{one.parent}")
    assert on_path("mpicxx") != first


@pytest.fixture
def build(tmp_path, monkeypatch):
    """A function that builds with an option of CMake, and what CMake was asked for: "configure" and "build"."""
    folder, log = tmp_path / "my build", tmp_path / "log"
    tools = tmp_path / "bin"
    fake_program(tools / "cmake", *CMAKE)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("LOG", str(log))
    monkeypatch.setenv("FOLDER", str(folder))
    environ = SimpleNamespace(
        cc="gcc",
        cxx="g++",
        ftn="",
        nvcc="",
        cppflags=[],
        cflags=[],
        cxxflags=["-O2 -DX=\"'y'\""],
        fflags=[],
        ldflags=[],
    )

    def run(option="-DA=1", fail=""):
        system = ConfiguredOnce()
        system.configuredir, system.builddir, system.config_opts = "src", f"'{folder}'", [option]
        script = "\n".join(["trap 'exit 1' ERR", *system.emit_build_commands(environ)])
        log.write_text("")
        monkeypatch.setenv("FAIL", fail)
        code = subprocess.run(["bash", "-c", script], check=False).returncode
        asked = ["build" if line == "--build" else "configure" for line in log.read_text().splitlines()]
        return asked if code == 0 else [*asked, "failed"]

    run.folder = folder
    return run


def test_a_folder_is_configured_once_for_the_same_options(build):
    assert build() == ["configure", "build"]
    assert build() == ["build"]
    assert build("-DA=2") == ["configure", "build"]
    assert build("-DA=1") == ["configure", "build"]


def test_a_folder_whose_cache_is_gone_is_configured_again(build):
    build()
    (build.folder / "CMakeCache.txt").unlink()
    assert build() == ["configure", "build"]


def test_a_configuration_that_failed_counts_for_none(build):
    build()
    assert build("-DA=2", fail="yes") == ["configure", "failed"]
    assert build("-DA=1") == ["configure", "build"]


def test_what_a_configuration_that_failed_found_out_of_the_compilers_is_forgotten(build):
    build(fail="yes")
    assert not (build.folder / "CMakeCache.txt").exists() and not list((build.folder / "CMakeFiles").iterdir())


@pytest.fixture
def options(tmp_path):
    """A function that gives CMake's options for the features of a partition and of an environment, and its extras."""

    def of(partition, environment, **extras):
        made = module.build_linkmatrix
        run = SimpleNamespace(
            current_partition=SimpleNamespace(features=partition.split()),
            current_environ=SimpleNamespace(features=environment.split(), extras=extras),
            build_folder=lambda: tmp_path / "objects",
            build_in=lambda folder: None,
            preset_folder=lambda options: None,
            missing_tool=lambda: "",
            cmake_opts=[],
            programs=["p2p_matrix"],
        )
        run.features = made.features.__get__(run)
        run.architectures = made.architectures.__get__(run)
        made.with_cmake(run)
        return run.built.split()[1:]

    return of


@pytest.fixture
def lacks(tmp_path, monkeypatch):
    """A function that says what is missing where PATH has these programs, for a build with these changes."""

    def of(programs, modules=(), local_modules=(), commands=(), variables=(), build_locally=True):
        for name in programs:
            fake_program(tmp_path / name)
        monkeypatch.setenv("PATH", str(tmp_path))
        local = SimpleNamespace(modules=local_modules, env_vars={})
        run = SimpleNamespace(
            build_locally=build_locally,
            current_environ=SimpleNamespace(modules=modules, env_vars=dict.fromkeys(variables, "/opt"), cxx="g++"),
            current_partition=SimpleNamespace(local_env=local, prepare_cmds=commands),
        )
        return module.build_linkmatrix.missing_tool(run)

    return of


@pytest.mark.parametrize(
    ("programs", "said"), [((), "pip install cmake"), (("g++",), "pip install cmake"), (("cmake",), "apt install g++")]
)
def test_a_tool_that_path_lacks_is_named_with_its_remedy_before_anything_is_built(lacks, programs, said):
    assert said in lacks(programs)
    assert lacks(("cmake", "g++")) == ""


@pytest.mark.parametrize(
    "brings",
    [
        {"modules": ["cmake"]},
        {"local_modules": ["cmake"]},
        {"commands": ["module load cmake"]},
        {"variables": ["PATH"]},
        {"build_locally": False},
    ],
)
def test_a_tool_that_a_module_a_command_or_a_node_may_bring_is_not_asked_for(lacks, brings):
    assert lacks((), **brings) == ""


def test_what_partition_and_environment_have_in_common_is_built(options):
    assert options("gpu cuda mpi nccl", "cuda mpi") == [
        "-DLINKMATRIX_CUDA=ON",
        "-DLINKMATRIX_MPI=ON",
        "-DLINKMATRIX_NCCL=OFF",
    ]
    assert "-DLINKMATRIX_NCCL=ON" in options("gpu cuda nccl", "cuda nccl")
    assert "-DLINKMATRIX_NCCL=OFF" in options("mpi nccl", "mpi nccl")  # it needs the back end cuda


def test_nccl_is_looked_for_where_the_environment_says(options):
    assert options("gpu cuda nccl", "cuda nccl", nccl_root="/opt/nccl")[-1] == "-DNCCL_ROOT=/opt/nccl"
    for partition in ("gpu cuda", "nccl"):
        assert not any("NCCL_ROOT" in one for one in options(partition, "cuda nccl", nccl_root="/opt/nccl"))


@pytest.mark.parametrize(
    ("programs", "lacks"),
    [
        (("p2p_matrix", "collective_perf", "nbody_scaling"), "nbody_scaling"),
        (("p2p_matrix", "collective_perf"), "collective_perf"),
        (("p2p_matrix", "collective_perf"), "p2p_matrix"),
    ],
)
def test_a_build_without_one_of_its_programs_is_none(tmp_path, programs, lacks):
    folder = tmp_path / "prefix" / "bin"
    for name in programs:
        fake_program(folder / name)
    check = module.build_linkmatrix.check_programs
    run = SimpleNamespace(stagedir=str(tmp_path), programs=programs)
    assert sn.evaluate(check(run))
    (folder / lacks).unlink()
    with pytest.raises(SanityError, match=f"the build did not create {folder / lacks}"):
        sn.evaluate(check(run))


def test_systems_and_environments_that_compile_alike_share_a_folder(tmp_path):
    def folder(system, environment, *options):
        flags = {"cppflags": [], "cxxflags": [], "ldflags": [], "modules_detailed": [], "env_vars": {}}
        run = SimpleNamespace(
            build_root=tmp_path,
            build_locally=True,
            build_system=SimpleNamespace(config_opts=list(options)),
            current_system=SimpleNamespace(name=system),
            current_partition=SimpleNamespace(name="default", processor=SimpleNamespace(platform="")),
            current_environ=SimpleNamespace(name=environment, cc="gcc", cxx="g++", nvcc="nvcc", **flags),
        )
        return module.build_linkmatrix.build_folder(run)

    assert folder("generic", "builtin") == folder("detected", "gnu")
    assert folder("generic", "builtin", "-DLINKMATRIX_MPI=ON") != folder("generic", "builtin")


@pytest.fixture
def sources(tmp_path):
    folder = tmp_path / "sources"
    (folder / "core").mkdir(parents=True)
    (folder / "core" / "json.cpp").write_text("int one;\n")
    return folder


def test_the_content_of_sources_depends_on_names_and_contents_and_on_no_times(sources):
    first = cmake_builds.source_hash(sources)
    os.utime(sources / "core" / "json.cpp", (1, 1))
    assert cmake_builds.source_hash(sources) == first
    (sources / "core" / "json.cpp").write_text("int two;\n")
    changed = cmake_builds.source_hash(sources)
    (sources / "core" / "json.cpp").rename(sources / "core" / "text.cpp")
    assert len({first, changed, cmake_builds.source_hash(sources)}) == 3


@pytest.mark.parametrize(
    ("mark", "programs", "built"),
    [
        ("abc p2p_matrix collective_perf", ["p2p_matrix"], True),
        ("abc p2p_matrix collective_perf", ["p2p_matrix", "nbody_scaling"], False),
        ("abd p2p_matrix collective_perf", ["p2p_matrix"], False),
        ("abc p2p_matrix collective_perf", ["collective_perf"], False),  # the file is gone
        ("", ["p2p_matrix"], False),
        (None, ["p2p_matrix"], False),
    ],
)
def test_a_build_is_skipped_only_for_programs_of_the_same_sources_that_are_there(tmp_path, mark, programs, built):
    (tmp_path / "p2p_matrix").touch()
    (tmp_path / "nbody_scaling").touch()
    if mark is not None:
        (tmp_path / cmake_builds.MARK).write_text(mark)
    assert cmake_builds.is_built(tmp_path, "abc", programs) is built


def test_each_script_that_a_job_starts_is_one_that_the_build_copies():
    checks = [
        importlib.import_module(f"linkmatrix_checks.{name}") for name in ("adapter_matrix", "binding", "peer", "rdma")
    ]
    assert {check.SCRIPT for check in checks} == {script.name for script in module.SCRIPTS}
