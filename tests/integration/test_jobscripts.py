"""The job scripts of every check on every system of config/systems, to the letter: tests/data/jobscripts.

ReFrame writes them in a dry run, which needs neither the scheduler nor MPI nor a GPU. After a change that is meant,

    LINKMATRIX_UPDATE_GOLDEN=1 python -m pytest tests/integration/test_jobscripts.py

writes them anew, and `git diff` shows what it means on each system.
"""

import difflib
import os
import re
import shutil
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIG = REPOSITORY / "config"
GOLDEN = REPOSITORY / "tests" / "data" / "jobscripts"
UPDATE = "LINKMATRIX_UPDATE_GOLDEN"


class Variant(NamedTuple):
    """Another way to run the checks of a system.

    options: of reframe. replace: (text of the system's file, other text), as a site changes it. systems: the files of
    config/systems that it is for; empty for all. partition: the only one; "" for all. build: whether the script of the
    build is kept too, of a variant those lines that "all" has not. nodes: the one of a sweep. suite: what the sessions
    measure.
    """

    options: tuple[str, ...] = ()
    replace: tuple[str, str] = ("", "")
    systems: tuple[str, ...] = ()
    partition: str = ""
    build: bool = False
    nodes: str = ""
    suite: str = ""


GPUS_PER_NODE, GRES = "--gpus-per-node={num_gpus_per_node}", "--gres=gpu:{num_gpus_per_node}"
OF_ONE_RUN = ("account=project", "qos=high", "reservation=acceptance", "constraint=h200", "exclude=node[3-4]")
EVERY_JOB = '"gpus_in_every_job": True'
APPTAINER = (
    '"container": {"platform": "Apptainer", "image": "/shared/linkmatrix.sif", "mounts": ["/scratch:/data"], '
    '"options": ["--env", "A=b c"]}'
)
PYXIS = (
    '"container": {"platform": "pyxis", "image": "registry#linkmatrix:0.2", "mounts": ["/scratch"], '
    '"options": ["--no-container-mount-home"]}'
)
ON_A_NODE = ("-S", "build_linkmatrix.build_locally=no")

# {folder below that of the system: what is run}; the folder "all" has one script for each kind of job
VARIANTS = {
    "all": Variant(build=True, suite="all"),
    "16-nodes-and-sweep": Variant(
        ("-n", "^node_sweep|crossnode_matrix.*extent=all", "-S", "crossnode_matrix.nodes=16"),
        systems=("slurm_example", "pbs_example", "sge_example"),
        nodes="n01",
    ),
    "4-nodes-and-build-on-a-node": Variant(
        ("-n", "rank_p2p", "-S", "rank_p2p.nodes=4", *ON_A_NODE), systems=("abci",), build=True, suite="rank_p2p"
    ),
    "gres-and-options-of-one-run": Variant(
        ("-n", "gpu_topology|process_p2p|rank_p2p", *(word for option in OF_ONE_RUN for word in ("-J", option))),
        (f'"{GPUS_PER_NODE}"', f'"{GRES}"'),
        ("slurm_example",),
        partition="gpu",
        suite="gpu_topology,process_p2p,rank_p2p",
    ),
    # a build in a job of its own, and a job of host memory, where no job without GPUs is taken
    "gpus-in-every-job": Variant(
        ("-n", "rank_p2p", *ON_A_NODE),
        (f"# {EVERY_JOB}", EVERY_JOB),
        ("slurm_example", "pbs_example"),
        build=True,
        suite="rank_p2p",
    ),
    "nccl": Variant(
        ("-n", "device_collectives|device_sends"),
        ('"features": ["cuda", "mpi"]', '"features": ["cuda", "mpi", "nccl"]'),
        ("hgx_h200",),
        build=True,
        suite="device_collectives,device_collectives_without,device_sends",
    ),
    "apptainer": Variant(
        ("-n", "gpu_topology|rank_p2p"),
        ('"link_class": "NV18"', f'{APPTAINER}, "link_class": "NV18"'),
        ("slurm_example", "hgx_h200"),
        partition="gpu",
        suite="gpu_topology,rank_p2p",
    ),
    "pyxis": Variant(
        ("-n", "gpu_topology|rank_p2p"),
        ('"link_class": "NV18"', f'{PYXIS}, "link_class": "NV18"'),
        ("slurm_example",),
        partition="gpu",
        suite="gpu_topology,rank_p2p",
    ),
    "build-on-a-node": Variant(("-n", "rank_p2p", *ON_A_NODE), systems=("sge_example",), build=True, suite="rank_p2p"),
}
# generic.py is the machine that the tests run on
SYSTEMS = sorted(file.stem for file in (CONFIG / "systems").glob("*.py") if file.stem != "generic")
CASES = [
    (system, name)
    for system in SYSTEMS
    for name, variant in VARIANTS.items()
    if not variant.systems or system in variant.systems
]
# what differs from machine to machine and from run to run: (pattern, what stands for it)
NORMAL = [
    (r"(--container-workdir=)\S*/stage/\S*/(\w+?)(?:_[0-9a-f]{8})?(?=\s)", r"\1STAGE/\2"),
    (r"[^\s\":,=]*/stage/[^\s\":,]*/(\w+?)(?:_[0-9a-f]{8})?(?=[\":,])", r"STAGE/\1"),
    (r"\S*/stage/[^/\s]+/\S*?(build_linkmatrix)_\w+/prefix", r"STAGE/\1/prefix"),
    (r"\S*/stage/\S*/(\w+?)(?:_[0-9a-f]{8})?(?=\s)", r"STAGE/\1"),
    (r"(rfm_[a-z0-9_]+?)_[0-9a-f]{2,8}(?=\W)", r"\1_HASH"),
    (r"\S*/\.build/[^/\s]+-[0-9a-f]{8}\b", "OBJECTS"),
    (re.escape(f"{REPOSITORY}/"), "REPOSITORY/"),
    (r" -G Ninja\b", ""),
    (r"(cmake --build \S+) -j \d+", r"\1 -j CORES"),
    (r"(--testcase) [\w,]+", r"\1 TESTCASE"),
    (r"(--asked-by) ('[^']*'|\S+)", r"\1 CHECK"),
    (r"\bosu_\w+ -c", "OSU -c"),
]


def changed(system, variant, folder):
    """The configuration with the system's file as the variant changes it; the repository's own where it does not."""
    old, new = variant.replace
    if not old:
        return CONFIG
    shutil.copytree(CONFIG, folder)
    file = folder / "systems" / f"{system}.py"
    text = file.read_text()
    assert old in text, f"{file.name} has no {old}"
    file.write_text(text.replace(old, new))
    return folder


def scripts(stage):
    """{path below tests/data/jobscripts/SYSTEM/VARIANT: text} of the job scripts in a stage folder.

    The scripts of a check that differ in nothing but the name of the test case are one, CHECK.sh; where they differ,
    each kind has a file, CHECK-TESTCASE.sh, with the first test case of its kind.
    """
    kinds = defaultdict(lambda: defaultdict(list))
    for file in stage.rglob("rfm_*.sh"):
        partition, environment, check, name = file.parts[-4:]
        text = file.read_text()
        testcase = re.search(r"--testcase (\w+)", text)
        for pattern, stands_for in NORMAL:
            text = re.sub(pattern, stands_for, text)
        check = "build" if name == "rfm_build.sh" else re.sub(r"_[0-9a-f]{8}$", "", check)
        kinds[f"{partition}-{environment}/{check}"][text].append(testcase[1] if testcase else "")
    return {
        f"{check}{'' if len(texts) == 1 else '-' + min(testcases)}.sh": text
        for check, texts in kinds.items()
        for text, testcases in texts.items()
    }


def kept(system, name, found):
    """What is compared of the scripts of a variant, {path: text}."""
    variant = VARIANTS[name]
    if not variant.build:
        return {file: text for file, text in found.items() if not file.endswith("/build.sh")}
    if name == "all":
        return found
    usual = {file: (GOLDEN / system / "all" / file).read_text().splitlines() for file in found if "/build" in file}
    return {
        file: "".join(line for line in text.splitlines(keepends=True) if line.rstrip("\n") not in usual.get(file, ()))
        for file, text in found.items()
    }


def difference(golden, found):
    """What is not the same, as a unified diff."""
    lines = []
    for name in sorted(golden.keys() | found.keys()):
        old, new = (texts.get(name, "").splitlines() for texts in (golden, found))
        lines += difflib.unified_diff(old, new, f"tests/data/jobscripts/{name}", "this run", lineterm="")
    return "\n".join(lines)


@pytest.mark.parametrize(("system", "name"), CASES, ids=[" ".join(case) for case in CASES])
def test_job_scripts_are_these(reframe, system, name, tmp_path, monkeypatch):
    variant, folder = VARIANTS[name], GOLDEN / system / name
    monkeypatch.setenv("LINKMATRIX_NODES", variant.nodes)
    monkeypatch.setenv("LINKMATRIX_BUILD", str(tmp_path / ".build"))  # what `make build` left is of this clone alone
    config = changed(system, variant, tmp_path / "config")
    run = reframe(
        f"--system={system.replace('_', '-')}{':' * bool(variant.partition)}{variant.partition}",
        *variant.options,
        *(f"--setvar={name}.suite={variant.suite}" for name in ("node_session", "nodes_session")),
        *("--dry-run", "--keep-stage-files", "--exec-policy=serial"),
        config=config,
    )
    assert run.code == 0, run.output
    found = kept(system, name, scripts(run.prefix / "stage"))
    assert found, run.output
    if os.environ.get(UPDATE):
        shutil.rmtree(folder, ignore_errors=True)
        for file, text in found.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)
    golden = {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*.sh")}
    if golden != found:
        prefix = f"{system}/{name}/"
        told = difference(*({prefix + file: text for file, text in texts.items()} for texts in (golden, found)))
        pytest.fail(f"job scripts changed; if this is meant: {UPDATE}=1 python -m pytest {__file__}\n{told}")


def test_no_job_script_is_kept_of_what_is_gone():
    kept = {str(file.relative_to(GOLDEN).parents[1]) for file in GOLDEN.rglob("*.sh")}
    assert kept == {f"{system}/{name}" for system, name in CASES}


def test_what_differs_between_machines_is_no_difference_and_the_rest_is(tmp_path):
    """The comparison itself: two stage folders of other machines are the same, another option is not."""
    stage, options = "{0}/stage/2026/s/gpu/gnu", "--testcase {2} --backend cuda"
    job = f"cd {stage}/a_p2p_{{1}}\nsrun {stage}/build_linkmatrix_{{1}}/prefix/bin/p2p_matrix {options}\n"
    for machine, check, text in [
        ("one", "a_p2p_0123abcd", job.format("/home/a", "0123abcd", "x")),
        ("two", "a_p2p_4567cdef", job.format("/scratch/b", "4567cdef", "y")),
        ("other", "a_p2p_4567cdef", job.format("/scratch/b", "4567cdef", "y").replace("cuda", "host")),
    ]:
        stage = tmp_path / machine / "gpu" / "gnu" / check
        stage.mkdir(parents=True)
        (stage / "rfm_job.sh").write_text(text)
    one, two, other = (scripts(tmp_path / machine) for machine in ("one", "two", "other"))
    assert one == two
    assert "-srun" in difference(one, other) and "+srun" in difference(one, other)
