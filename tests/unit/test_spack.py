"""What can be said of building with Spack where there is no Spack: files, recipe, decisions, recorded outputs."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml
from fake_programs import fake_program

from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.site import machine, spack
from linkmatrix.site import spack_environment as environment

REPOSITORY = Path(__file__).resolve().parents[2]
HOME = REPOSITORY / "spack-env"
RECIPE = HOME / "repo" / "spack_repo" / "linkmatrix" / "packages" / "linkmatrix" / "package.py"
DATA = REPOSITORY / "tests" / "data" / "spack"
SCHEMA = json.loads((DATA / "spack_yaml.schema.json").read_text())
PACKAGES = "packages:\n  cmake: {buildable: false, externals: [{spec: cmake@3.25.1, prefix: /usr}]}\n"


def load(name):
    spec = importlib.util.spec_from_file_location(f"linkmatrix_checks_{name}", REPOSITORY / "checks" / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build_log = load("build_log")


@pytest.fixture(autouse=True)
def forget_the_version():
    version = spack.version  # a test may replace it
    version.cache_clear()
    yield
    version.cache_clear()


@pytest.fixture
def fake_spack(tmp_path, monkeypatch):
    """A PATH that begins with a fake spack: it only says its version, or runs the given shell commands."""

    def install(version="1.1.0 (0c2be44e4ece21eb091ad5de4c97716b7c6d4c87)", commands=None):
        folder = tmp_path / "bin"
        fake_program(folder / "spack", commands or f"echo {version!r}")
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    return install


@pytest.fixture
def systems(tmp_path):
    """A folder with systems/mine/packages.yaml."""
    folder = tmp_path / "systems" / "mine"
    folder.mkdir(parents=True)
    (folder / "packages.yaml").write_text(PACKAGES)
    return folder.parent


def valid(section):
    """`section` is what Spack reads in a spack.yaml; in `config` it would ignore a key that it does not know."""
    jsonschema.validate({"spack": section}, SCHEMA)
    assert set(section.get("config", ())) <= set(SCHEMA["definitions"]["section_config"]["properties"])


def test_the_files_of_spack_env_are_what_spack_reads():
    valid(yaml.safe_load((HOME / "spack.yaml").read_text())["spack"])
    valid(yaml.safe_load((HOME / "peers.yaml").read_text()))
    for file in HOME.glob("systems/**/packages.yaml"):
        valid(yaml.safe_load(file.read_text()))
    repo = yaml.safe_load((RECIPE.parents[2] / "repo.yaml").read_text())["repo"]
    assert repo == {"namespace": RECIPE.parents[2].name, "api": "v2.2"}


def test_a_generated_environment_is_what_spack_reads_and_has_absolute_paths_only(systems, tmp_path, fake_spack):
    fake_spack()
    files = environment.package_files(systems, "mine", "gpu")
    folder = environment.prepare(["linkmatrix@main +mpi"], files, tmp_path / "builds")
    section = yaml.safe_load((folder / "spack.yaml").read_text())["spack"]
    valid(section)
    paths = [*section["include"], *section["repos"].values(), section["develop"]["linkmatrix"]["path"]]
    assert all(Path(path).exists() for path in paths)
    places = [section["config"]["install_tree"]["root"], *section["config"]["build_stage"]]
    places += [section["config"]["develop_stage_link"], section["view"]["default"]["root"]]
    assert all(Path(path).is_relative_to(tmp_path / "builds") for path in places)


@pytest.mark.parametrize("change", ["packages", "version", "specs"])
def test_an_environment_has_a_folder_for_all_that_its_lock_file_depends_on(
    systems, tmp_path, fake_spack, monkeypatch, change
):
    fake_spack()
    files = environment.package_files(systems, "mine", "gpu")
    first = environment.prepare(["linkmatrix"], files, tmp_path / "builds")
    assert environment.prepare(["linkmatrix"], files, tmp_path / "builds") == first
    if change == "packages":
        files[0].write_text(PACKAGES + "# another\n")
    if change == "version":
        monkeypatch.setattr(spack, "version", lambda: "1.2.0")
    specs = ["linkmatrix +mpi"] if change == "specs" else ["linkmatrix"]
    assert environment.prepare(specs, files, tmp_path / "builds") != first


def calls(tree, name):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(name)]


def test_variants_and_cmake_options_are_the_same_in_recipe_checks_and_sources():
    tree = ast.parse(RECIPE.read_text())
    mapped = {call.args[1].value: call.args[0].value for call in calls(tree, "define_from_variant")}
    options = set(re.findall(r"^option\((\w+)", (REPOSITORY / "src" / "CMakeLists.txt").read_text(), re.MULTILINE))
    assert mapped == {name: f"LINKMATRIX_{name.upper()}" for name in ("cuda", "mpi", "nccl")}
    assert set(mapped.values()) | {"LINKMATRIX_TESTS"} <= options
    assert 'FEATURES = ("cuda", "mpi", "nccl")' in (REPOSITORY / "checks" / "build.py").read_text()
    defined = {call.args[0].value for call in calls(tree, ".define")}
    assert {name for name in defined if name.startswith("LINKMATRIX")} <= options
    variants = {call.args[0].value for call in calls(tree, "variant") if ast.unparse(call.func) == "variant"}
    assert variants == {"mpi", "nccl"}  # cuda and cuda_arch are CudaPackage's


@pytest.mark.parametrize("version", ["0.23.1", "0.24.0.dev0 (a6c9b55fad)", "nonsense"])
def test_a_spack_that_is_too_old_is_named(fake_spack, systems, tmp_path, version):
    fake_spack(version)
    reason = environment.unusable_reason(tmp_path, systems, "mine", "gpu")
    assert reason == f"the Spack on PATH is {version}, and the recipe needs 1.0 or newer"


def test_a_spack_that_fails_is_a_reason_too(fake_spack, systems, tmp_path):
    fake_spack(commands="echo 'no module named spack' >&2; exit 1")
    reason = environment.unusable_reason(tmp_path, systems, "mine", "gpu")
    assert reason == "'spack --version' failed with exit code 1: no module named spack"


def test_spack_is_used_where_the_system_or_the_partition_has_packages(fake_spack, systems, tmp_path):
    fake_spack()
    assert environment.unusable_reason(tmp_path, systems, "mine", "gpu") == ""
    assert "packages.yaml is missing" in environment.unusable_reason(tmp_path, systems, "other", "gpu")
    (systems / "other" / "gpu").mkdir(parents=True)
    (systems / "other" / "gpu" / "packages.yaml").write_text(PACKAGES)
    assert environment.unusable_reason(tmp_path, systems, "other", "gpu") == ""
    assert "use letters, digits" in environment.unusable_reason(tmp_path / "a b", systems, "mine", "gpu")


def test_the_packages_of_a_partition_come_before_its_systems(systems):
    (systems / "mine" / "gpu").mkdir()
    (systems / "mine" / "gpu" / "packages.yaml").write_text(PACKAGES)
    files = environment.package_files(systems, "mine", "gpu")
    assert [file.parent.name for file in files] == ["gpu", "mine"]


@pytest.mark.parametrize(
    "text, said",
    [
        ("packages: {cmake: {externals: [{spec: cmake@3, prefix: /nowhere}]}}", "cmake@3 should be in /nowhere"),
        ("packages:\n  cmake: [\n", "line 3 is not YAML"),
        ("cmake: {}", "is not a packages.yaml"),
        ("packages: {cmake: {externals: [{prefix: /usr}]}}", "is not a packages.yaml"),
        ("", "is not a packages.yaml"),
    ],
)
def test_a_packages_yaml_that_cannot_be_used_is_named(tmp_path, text, said):
    file = tmp_path / "packages.yaml"
    file.write_text(text)
    with pytest.raises(BadInput, match=re.escape(said)) as caught:
        environment.check_externals([file], [])
    assert str(file) in str(caught.value)


def fake_cuda(folder):
    """A toolkit whose fake nvcc knows two architectures; its entry in packages.yaml."""
    fake_program(folder / "bin" / "nvcc", "printf 'compute_80\\ncompute_90\\n'")
    return f"packages: {{cuda: {{externals: [{{spec: cuda@12.0, prefix: {folder}}}]}}}}"


def test_a_cuda_too_old_for_an_architecture_is_named(tmp_path):
    file = tmp_path / "packages.yaml"
    file.write_text(fake_cuda(tmp_path / "cuda"))
    environment.check_externals([file], ["80", "90"])
    with pytest.raises(BadInput, match=r"cuda@12.0 does not compile for cuda_arch 90,100: name a CUDA toolkit"):
        environment.check_externals([file], ["90", "100"])


def test_peers_are_those_that_the_environment_can_build():
    assert environment.peer_specs({"mpi"}, []) == ["osu-micro-benchmarks ~cuda"]
    assert environment.peer_specs(set(), []) == []
    names = [spec.split()[0] for spec in environment.peer_specs({"cuda", "mpi"}, ["90"])]
    assert sorted(names) == ["nccl-tests", "nvbandwidth", "osu-micro-benchmarks"]
    assert all(spec.endswith("cuda_arch=90") for spec in environment.peer_specs({"cuda", "mpi"}, ["90"]))
    assert environment.peer_specs({"cuda", "mpi", "nccl"}, ["90"]) == environment.peer_specs({"cuda", "mpi"}, ["90"])


def test_the_concrete_spec_is_read_from_the_lock_file():
    said = environment.concrete_spec(DATA / "cuda_mpi.spack.lock").split()
    assert said[0] == "linkmatrix@main"
    assert {"+cuda", "+mpi", "~nccl", "cuda_arch=90", "build_type=Release", "target=x86_64", "/dftdvzx"} <= set(said)
    assert {"^cuda@13.0.88", "^gcc@12.2.0", "^openmpi@4.1.4"} <= set(said)


def recorded(*names):
    return [(DATA / name).read_text() for name in names]


def test_of_a_failed_build_the_compilers_reason_and_the_log_are_shown():
    texts = recorded("failed_compiler.out", "failed_compiler.err")
    reason, packages = build_log.causes(texts)
    (log,) = build_log.logs(texts)
    assert reason == "<command-line>: error: 'nonsense' was not declared in this scope"
    assert re.match(r"==> Error: The following packages failed to install: linkmatrix@main/\w+: ", packages)
    assert log.startswith("/scratch/builds/spack/stage/root/spack-stage-linkmatrix-main-") and log.endswith(".log")


def test_of_what_cannot_be_concretised_the_first_reason_is_shown():
    (said,) = build_log.causes(recorded("failed_concretizer.err"))
    assert said == (
        "==> Error: failed to concretize `linkmatrix@main~cuda+mpi+nccl` for the following reasons:"
        " 1. linkmatrix: +nccl needs +cuda: say '+cuda cuda_arch=90 +nccl', or '~nccl'"
    )


def test_of_cmake_the_place_and_the_reason_are_shown():
    assert build_log.causes(
        ["> CMake Error at FindMPI.cmake:1 (message):\n    Could NOT find MPI\n  Call Stack\n"]
    ) == ["CMake Error at FindMPI.cmake:1 (message): Could NOT find MPI"]


def test_without_a_known_word_the_last_lines_are_shown():
    assert build_log.causes(["\n".join(f"line {i}" for i in range(20))]) == [f"line {i}" for i in range(12, 20)]
    assert build_log.causes(["", "\n"]) == ["no output"]


FAKE_FINDER = """
case "$*" in
--version) echo 1.1.0 ;;
*"config get packages"*) cat "$(dirname "$0")/found.yaml" ;;
*) ;;
esac
"""


def test_what_spack_finds_becomes_a_packages_yaml_with_nccl_and_without_wrappers(
    fake_spack, tmp_path, monkeypatch, capsys
):
    fake_spack(commands=FAKE_FINDER)
    header = tmp_path / "nccl" / "include" / "nccl.h"
    header.parent.mkdir(parents=True)
    header.write_text("#define NCCL_MAJOR 2\n#define NCCL_MINOR 28\n#define NCCL_PATCH 9\n")
    monkeypatch.setenv("NCCL_ROOT", str(tmp_path / "nccl"))
    entries = {
        "gcc": [{"spec": "gcc@12.2.0", "prefix": "/usr", "extra_attributes": {"compilers": {"c": "/usr/bin/gcc"}}}],
        "cmake": [
            {"spec": "cmake@3.25.1", "prefix": "/usr"},
            {"spec": "cmake@3.30", "prefix": "/root/.pyenv/shims/.."},
        ],
        "openmpi": [{"spec": "openmpi@4.1.4", "prefix": "/usr"}],
        "python": [{"spec": "python@3.11", "prefix": "/usr"}],
    }
    found = {"packages": {name: {"externals": externals} for name, externals in entries.items()}}
    (tmp_path / "bin" / "found.yaml").write_text(yaml.safe_dump(found))
    (tmp_path / "config").mkdir()
    monkeypatch.setattr(machine, "machine", lambda: machine.Machine("n1", 2, 1, (), None, "local", "local", True))
    command = ["detect", "--spack", "--system", "mine", "--config", str(tmp_path / "config")]
    assert cli.main(command) == 0
    file = tmp_path / "spack-env" / "systems" / "mine" / "packages.yaml"
    section = yaml.safe_load(file.read_text())
    valid(section)
    packages = section["packages"]
    assert set(packages) == {"all", "mpi", "c", "cxx", "gcc", "cmake", "openmpi", "nccl"}
    assert packages["cmake"]["externals"] == [{"spec": "cmake@3.25.1", "prefix": "/usr"}]
    assert packages["nccl"]["externals"] == [{"spec": "nccl@2.28.9-1 +cuda", "prefix": str(tmp_path / "nccl")}]
    assert cli.main(command) == 2 and "--force" in capsys.readouterr().err


def test_detect_without_a_spack_is_refused_in_a_sentence(tmp_path, monkeypatch, linkmatrix):
    (tmp_path / "config").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert linkmatrix.err("detect", "--spack", "--config", tmp_path / "config").count("\n") == 1
    assert not (tmp_path / "spack-env").exists()


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([], "say: spack-env/offline sources|binaries ENVIRONMENT FOLDER"),
        (["sources", "nowhere", "out"], "nowhere has no spack.yaml"),
        (["everything", "HOME", "out"], "'everything' is neither sources nor binaries"),
    ],
)
def test_the_offline_script_refuses_bad_usage_in_a_sentence(fake_spack, tmp_path, arguments, said):
    fake_spack()
    arguments = [str(HOME) if argument == "HOME" else argument for argument in arguments]
    command = [HOME / "offline", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("offline: ") and said in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
