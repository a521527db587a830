"""Environment modules, by Lmod and by Environment Modules (Tcl): compiler and variables of a run come from them.

Both packages are looked for where .ci/run unpacks them, below .build/debian: installing them would change every shell,
and Debian lets only one of them be there.
"""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from reframe_runs import record_of

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]

BUILDS = Path(__file__).resolve().parents[2] / ".build"
UNPACKED = BUILDS / "debian"
# paths of the packages' own files, in their scripts
OWN = re.compile(
    rb"(?<![\w./-])/(?=(?:usr/share|etc)/(?:lmod|modules|environment-modules)\b|usr/lib/[\w-]+-linux-gnu\b(?!/lua))"
)
OPTIONS = "intranode_p2p.extra_opts=--samples,3,--size,$MODULE_SIZE"
HOST = ("-r", "-n", "device_to_device_memcpy_write_ce$", "-S", OPTIONS)

# config/systems/slurm_example.py on this machine alone: {text of it: other text}
LOCAL = {
    '"scheduler": "slurm"': '"scheduler": "local"',
    '"launcher": "srun"': '"launcher": "local"',
    '"process_options": ["--cpu-bind=none"]': '"process_options": []',
}


class Kind(NamedTuple):
    """A modules system. init: the file that a login shell reads. commands: the folder of its programs.

    module: name and text of the file of the module toolchain/1.0.
    """

    package: str
    init: str
    commands: str
    module: tuple[str, str]


KINDS = {
    "lmod": Kind(
        "lmod",
        "etc/profile.d/lmod.sh",
        "usr/bin",
        ("1.0.lua", 'setenv("MODULE_SIZE", "2MiB")\nprepend_path("PATH", "{bin}")\n'),
    ),
    "envmod": Kind(
        "environment-modules",
        "usr/share/modules/init/bash",
        "usr/bin",
        ("1.0", "#%Module\nsetenv MODULE_SIZE 2MiB\nprepend-path PATH {bin}\n"),
    ),
}


def moved(package, folder):
    """A copy of an unpacked package in a folder, whose scripts look for its files there."""
    shutil.copytree(package, folder, symlinks=True)
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            content = file.read_bytes()
            found = content if b"\0" in content else OWN.sub(bytes(folder) + b"/", content)
            if found != content:
                file.write_bytes(found)
    return folder


@pytest.fixture(scope="session")
def toolchain():
    """A folder with a compiler, bin/c++-of-toolchain, that writes down that it was called.

    What was compiled for other tests is asked for first (ccache), by this compiler and not by CMake, which would ask by
    its name. Programs are linked anew.
    """
    folder = BUILDS / "toolchain"
    compiler = folder / "bin" / "c++-of-toolchain"
    compiler.parent.mkdir(parents=True, exist_ok=True)
    launcher = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "")
    compiler.write_text(f'#!/bin/sh\necho called >> {folder}/calls\nexec {launcher} g++ "$@"\n')
    compiler.chmod(0o755)
    return folder


@pytest.fixture
def with_modules(on_system, unavailable, toolchain, monkeypatch, tmp_path):
    """A function that runs ReFrame in a shell that has a modules system, with the module toolchain/1.0.

    That has the compiler on PATH, and $MODULE_SIZE. modules: what the environment loads.
    """

    def run(name, modules, *options):
        kind = KINDS[name]
        if not (UNPACKED / kind.package).exists():
            unavailable(f"no package {kind.package} in {UNPACKED}: see .ci/run")
        root = moved(UNPACKED / kind.package, tmp_path / kind.package)
        modulefiles = tmp_path / "modulefiles" / "toolchain"
        modulefiles.mkdir(parents=True)
        file, text = kind.module
        (modulefiles / file).write_text(text.format(bin=toolchain / "bin"))
        caches = BUILDS.glob("programs-*/CMakeCache.txt")
        linked = [cache.with_name("p2p_matrix") for cache in caches if "c++-of-toolchain" in cache.read_text()]
        for made in [*linked, toolchain / "calls"]:
            made.unlink(missing_ok=True)

        login = f". {shlex.quote(str(root / kind.init))} && module use {modulefiles.parent} && env -0"
        path = f"{os.environ['PATH']}:{root / kind.commands}"
        shell = subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", login],
            env={**os.environ, "HOME": str(tmp_path), "PATH": path},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert shell.returncode == 0, shell.stderr
        for entry in shell.stdout.split("\0")[:-1]:
            monkeypatch.setenv(*entry.split("=", 1))
        monkeypatch.delenv("CMAKE_CXX_COMPILER_LAUNCHER", raising=False)
        changes = {
            '# "modules_system": "lmod"': f'"modules_system": "{name}"',
            '# "modules": ["gcc/13", "openmpi/5"]': f'"modules": {modules}',
            '"cxx": "g++"': '"cxx": "c++-of-toolchain"',
            '"gnu"': '"toolchain"',
            **LOCAL,
        }
        return on_system("slurm_example.py", "cpu", *options, replace=changes)

    return run


@pytest.mark.parametrize("name", KINDS)
def test_modules_are_loaded_to_build_and_in_the_job(with_modules, toolchain, name):
    run = with_modules(name, ["toolchain/1.0"], *HOST)
    assert run.code == 0, run.output
    assert (toolchain / "calls").exists()
    (check,) = run.checks()
    for script in (Path(run.build()["outputdir"]) / "rfm_build.sh", Path(check["outputdir"]) / "rfm_job.sh"):
        assert "module load toolchain/1.0" in script.read_text()
    record = record_of(check)
    assert [result["size_bytes"] for result in record["results"]] == [2 << 20]


@pytest.mark.parametrize("name", KINDS)
def test_a_module_that_is_missing_is_one_verdict_that_names_it(with_modules, name):
    run = with_modules(name, ["toolchain/2.0"], *HOST)
    assert run.code != 0
    # of a session that lost its build; neither word ever counts as passed
    assert {check["result"] for check in run.checks()} == {"skip"}
    reason = run.build()["fail_reason"].strip()
    assert re.fullmatch("build error: modules of the environment toolchain cannot be loaded: .*toolchain/2.0.*", reason)
    assert "Traceback" not in run.output


def test_modules_without_a_modules_system_are_refused_with_the_remedy(on_system):
    run = on_system("slurm_example.py", "cpu", "-l", replace={'# "modules": ["gcc/13"': '"modules": ["gcc/13"'})
    assert run.code != 0
    assert "'gnu' has modules, but the system has no 'modules_system'" in run.output
    assert "Found" not in run.output


def test_a_modules_system_that_is_not_there_is_refused_in_a_sentence(on_system, monkeypatch):
    monkeypatch.delenv("LMOD_CMD", raising=False)
    run = on_system("slurm_example.py", "cpu", "-l", replace={'# "modules_system": "lmod"': '"modules_system": "lmod"'})
    assert run.code != 0
    assert "could not find a sane Lmod installation" in run.output
    assert "Traceback" not in run.output
