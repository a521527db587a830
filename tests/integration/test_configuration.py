"""What the configuration makes of a system: what it promises, and which checks it gets."""

import contextlib
import importlib.util
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fake_programs import fake_program

from linkmatrix.site import nccl

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]

REPOSITORY = Path(__file__).resolve().parents[2]
WRITE = "device_to_device_memcpy_write_ce"


def generic(monkeypatch, folder, nvidia_smi=None, visible=None):
    """config/systems/generic.py as a machine with this nvidia-smi (a shell script's text) would read it."""
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(nccl, "prefixes", lambda toolkits=(): [str(folder)])
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    if nvidia_smi is not None:
        fake_program(folder / "nvidia-smi", nvidia_smi)
    spec = importlib.util.spec_from_file_location("generic", REPOSITORY / "config" / "systems" / "generic.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.system["partitions"][0]


def test_a_machine_without_a_driver_has_no_gpus(monkeypatch, tmp_path):
    partition = generic(monkeypatch, tmp_path)
    assert (partition["devices"], partition["features"]) == ([], [])


def test_gpus_are_counted_by_model(monkeypatch, tmp_path):
    partition = generic(
        monkeypatch, tmp_path, "echo 'NVIDIA H200, 9.0'; echo 'NVIDIA H200, 9.0'; echo 'NVIDIA L4, 8.9'"
    )
    assert partition["features"] == ["gpu", "cuda"]
    assert partition["devices"] == [
        {"type": "gpu", "arch": "sm_90", "model": "NVIDIA H200", "num_devices": 2},
        {"type": "gpu", "arch": "sm_89", "model": "NVIDIA L4", "num_devices": 1},
    ]


def test_a_library_of_collectives_is_promised_beside_gpus_alone(monkeypatch, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libnccl.so.2").touch()
    assert generic(monkeypatch, tmp_path)["features"] == []
    assert generic(monkeypatch, tmp_path, "echo 'NVIDIA L4, 8.9'")["features"] == ["gpu", "cuda", "nccl"]


def test_hidden_gpus_are_not_expected(monkeypatch, tmp_path):
    partition = generic(monkeypatch, tmp_path, "for i in 1 2 3 4; do echo 'NVIDIA H200, 9.0'; done", visible="0,2")
    assert partition["devices"][0]["num_devices"] == 2


def test_a_driver_that_does_not_answer_is_no_gpu(monkeypatch, tmp_path):
    assert generic(monkeypatch, tmp_path, "echo 'NVIDIA-SMI has failed'; exit 9")["devices"] == []


def test_checks_run_every_test_case_of_the_programs(reframe, on_system):
    """A test case that is added to the program and to no check would never be measured."""
    run = reframe("-r", "-n", WRITE, "--keep-stage-files")
    libraries = {'"features": ["cuda", "mpi"]': '"features": ["cuda", "mpi", "nccl"]'}
    nodes = {'"gpu", "cuda", "mpi", "crossnode"]': '"gpu", "cuda", "mpi", "crossnode", "nccl"]', **libraries}
    measured = {"p2p_matrix": set(), "collective_perf": set(), "nbody_scaling": set()}
    programs = {"collectives": "collective_perf", "nbody": "nbody_scaling"}
    for described in (
        reframe("--system=slurm-example", "--describe").output,
        on_system("hgx_h200.py", "gpu", "--describe", replace=libraries).output,
        on_system("slurm_example.py", "gpu", "--describe", replace=nodes).output,
    ):
        for check in json.loads(described[described.index("[\n") :]):
            if "testcase" in check and "peers" not in check["tags"]:  # which are programs of others
                program = next((programs[tag] for tag in programs if tag in check["tags"]), "p2p_matrix")
                measured[program].add(check["testcase"])
    for name, testcases in measured.items():
        (program,) = (run.prefix / "stage").rglob(f"prefix/bin/{name}")
        said = subprocess.run([program, "--list"], capture_output=True, text=True, timeout=60, check=True).stdout
        forced = {line.split()[0] for line in said.splitlines() if line.endswith(" forced")}  # too many for anyone
        assert {line.split()[0] for line in said.splitlines()} - forced == testcases - forced


def test_tests_are_found_by_the_number_of_their_nodes(reframe):
    """As in other suites: `-t 1_node`, `-t 2_nodes`."""
    more = ("--system=slurm-example", "--describe", "-S", "rank_p2p.nodes=4", "-S", "crossnode_device_matrix.nodes=16")
    described = reframe(*more).output
    found = {}
    for test in json.loads(described[described.index("[\n") :]):
        if "testcase" in test:
            (tag,) = [tag for tag in test["tags"] if tag.endswith(("_node", "_nodes"))]
            found.setdefault((test["@class"], test.get("extent")), set()).add(tag)
    expected = {
        ("intranode_p2p", None): "1_node",
        ("rank_p2p", None): "4_nodes",
        ("crossnode_sweep", None): "2_nodes",
        ("crossnode_matrix", "two"): "2_nodes",
        ("crossnode_matrix", "all"): "all_nodes",
        ("crossnode_device_matrix", "all"): "16_nodes",
        ("crossnode_device_matrix", "two"): "2_nodes",
    }
    assert {test: found[test] for test in expected} == {test: {tag} for test, tag in expected.items()}


def test_partitions_with_the_same_environment_and_processor_share_a_build(on_system, tmp_path):
    """What was compiled for one is not compiled again for the other."""
    more = 'system["partitions"].append({**system["partitions"][0], "name": "more"})'
    # a folder of this test's own: `make build` or another test may have built there in another way
    folder = f"-Sbuild_linkmatrix.build_root={tmp_path / 'builds'}"
    options = ("--system=this-machine", "--dry-run", "--keep-stage-files", "-n", WRITE, folder)
    run = on_system("generic.py", "", *options, replace={"environments = [": f"{more}\nenvironments = ["})
    scripts = [path.read_text() for path in (run.prefix / "stage").rglob("rfm_build.sh")]
    assert len(scripts) == 2, run.output
    first, second = (set(re.findall(r"builds/programs-\w+-\w+", text)) for text in scripts)
    assert first and first == second


def test_without_linkmatrix_nothing_passes(tmp_path):
    """ReFrame alone would skip all checks, run none and say PASSED."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "sys.path[:] = [folder for folder in sys.path if not folder.endswith('reports')]\n"
        "sys.meta_path[:] = [finder for finder in sys.meta_path if 'editable' not in repr(finder)]\n"
    )
    command = [Path(sys.executable).parent / "reframe", "-C", REPOSITORY / "config" / "settings.py", "-l"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "LINKMATRIX_PREFIX": str(tmp_path)}
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode != 0
    assert "linkmatrix is not installed" in run.stdout + run.stderr


@pytest.mark.parametrize(
    ("system", "most", "least"), [("slurm-example", 1, 1 / 60), ("sge-example", 1, 1 / 60), ("this-machine", 50, 10)]
)
def test_schedulers_are_asked_seldom_and_processes_of_this_machine_always(reframe, system, most, least):
    for name, rate in (("max", most), ("min", least)):
        run = reframe(f"--system={system}", f"--show-config=general/0/poll_rate_{name}", polls=None)
        assert run.code == 0, run.output
        assert float(run.output.split()[-1]) == rate


@pytest.mark.parametrize(
    ("system", "said"),
    [
        ("hgx_h200", "there is no system 'hgx_h200' (is 'hgx-h200' meant?): name one of abci, "),
        ("nosuch", "there is no system 'nosuch': name one of abci, "),
        ("slurm-example:gpus", "'slurm-example' has no partition 'gpus' (is 'gpu' meant?): name one of cpu, gpu"),
    ],
)
def test_a_run_of_a_system_that_is_not_there_is_answered_with_those_that_are(tmp_path, system, said):
    command = [sys.executable, "-m", "linkmatrix", "run", "--mode=quick", f"--system={system}"]
    command += ["--reframe", str(Path(sys.executable).parent / "reframe")]
    environment = {**os.environ, "LINKMATRIX_PREFIX": str(tmp_path), "PYTHONPATH": str(REPOSITORY / "reports")}
    done = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"linkmatrix: --system={system}: {said}") and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


PARTITION = '{"name": "gpu", "scheduler": "local", "launcher": "local", "environs": ["gnu"]}'
TYPOS = {
    ('"scheduler"', '"schedular"'): "partition 'gpu': the key 'schedular' is unknown; is 'scheduler' meant?",
    ('"scheduler": "local"', '"scheduler": "slrum"'): "no such scheduler: 'slrum'",
    ('"launcher": "local"', '"launcher": "srum"'): "no such launcher: 'srum'",
    ('["gnu"]', '["gun"]'): "environments 'gun' are not defined for 'mine:gpu'",
}


@pytest.mark.parametrize("typo", TYPOS, ids=lambda typo: typo[1])
def test_a_typo_in_a_system_file_is_one_sentence_and_bad_input_and_resume_goes_on_from_before(tmp_path, typo):
    site = tmp_path / "site"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LINKMATRIX_", "RFM_"))}
    environment["PYTHONPATH"] = str(REPOSITORY / "reports")
    options = {"env": environment, "capture_output": True, "text": True, "timeout": 120}
    subprocess.run([sys.executable, "-m", "linkmatrix", "init", site], check=True, **options)
    file, last = site / "config" / "systems" / "mine.py", site / ".linkmatrix" / "locks" / "mine-quick.last.json"
    text = f'system = {{"name": "mine", "hostnames": ["x"], "partitions": [{PARTITION}]}}\n'
    file.write_text(text.replace(*typo) + 'environments = [{"name": "gnu"}]\n')
    last.parent.mkdir(parents=True)
    last.write_text("what --resume needs")
    command = [sys.executable, "-m", "linkmatrix", "run", "--mode=quick", "--system=mine"]
    command += ["--reframe", str(Path(sys.executable).parent / "reframe")]
    done = subprocess.run(command, cwd=site, **options)
    assert done.returncode == 2
    assert done.stderr.startswith("linkmatrix: ") and done.stderr.endswith(f"{TYPOS[typo]}\n")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert last.read_text() == "what --resume needs"


def test_a_run_that_names_another_system_asks_nothing_of_this_machines_gpus(reframe, tmp_path, monkeypatch):
    asked, tool = tmp_path / "asked", tmp_path / "bin" / "nvidia-smi"
    fake_program(tool, f"echo $* >> {asked}", "exit 1")
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    assert reframe("-l", "--system=hgx-h200-half", polls=None).code == 0
    assert not asked.exists()
    assert reframe("-l", "--system=this-machine", polls=None).code == 0
    assert asked.exists()


@pytest.mark.parametrize("text", ["intranode_p2p: {", "intranode_p2p:\n  hgx: []\n"])
def test_references_that_cannot_be_read_stop_every_run_with_their_name(reframe, text):
    run = reframe("-l", references=text)
    assert run.code != 0
    assert re.search(r"references/\S+\.yaml", run.output)  # the first of them
    assert "Found" not in run.output


@pytest.mark.parametrize("folder", ["my results", "it's", "$HOME"])
def test_a_folder_for_results_that_reframe_cannot_use_is_refused_with_the_remedy(reframe, folder):
    run = reframe("-l", folder=folder)
    assert run.code != 0
    assert "name another folder in $LINKMATRIX_PREFIX" in run.output


def without_and_with_a_terminal(prefix, checks, name):
    """What a session of the checks of that name prints into a pipe, and what on a terminal."""
    command = [str(Path(sys.executable).parent / "reframe"), "-C", "config/settings.py", "-c", str(checks), "-R", "-r"]
    command += ["-n", name]
    environment = {**os.environ, "LINKMATRIX_PREFIX": str(prefix), "PYTHONPATH": str(REPOSITORY / "reports")}
    environment["TERM"] = "xterm"
    done = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, timeout=300)
    terminal, end = pty.openpty()
    with subprocess.Popen(command, env=environment, cwd=REPOSITORY, stdout=end, stderr=end) as process:
        os.close(end)
        said = b""
        with contextlib.suppress(OSError):  # how Linux says that the other end is closed
            while part := os.read(terminal, 4096):
                said += part
        process.wait(timeout=300)
    os.close(terminal)
    return done.stdout, said


def test_colours_reach_terminals_and_no_pipes(tmp_path):
    piped, said = without_and_with_a_terminal(tmp_path, "checks", "nothing_at_all")
    assert b"PASSED" in piped and b"\x1b[" not in piped, piped
    assert b"\x1b[" in said
    assert b"PASSED" in (tmp_path / "reframe.log").read_bytes()


CHAINED = """from linkmatrix import reframe_ext

site_configuration = {{
    "systems": [
        {{
            "name": "chained",
            "hostnames": ["x"],
            "partitions": [
                {{"name": "cpu", "scheduler": {scheduler}, "launcher": "srun", "environs": ["builtin"]}},
            ],
        }}
    ]
}}
"""


@pytest.mark.parametrize(
    ("scheduler", "registered", "warnings"),
    [('reframe_ext.scheduler("slurm")', "linkmatrix_slurm", 0), ('"slurm"', "slurm", 1)],
)
@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_a_system_of_another_file_has_an_extended_scheduler_or_a_warning(
    reframe, config, tmp_path, scheduler, registered, warnings, first
):
    site = tmp_path / "site.py"
    site.write_text(CHAINED.format(scheduler=scheduler))
    files = ["-C", str(site), "-C", str(config / "settings.py")] if first else ["-C", str(site)]
    options = [*files, "--system=chained"]
    shown = reframe(*options, "--show-config=systems/0/partitions/@cpu/scheduler", polls=None)
    assert registered in shown.output.split()[-1], shown.output
    run = reframe(*options, "--dry-run", "-n", "intranode_p2p")
    assert run.code == 0, run.output
    assert run.output.count("is ReFrame's own 'slurm'") == warnings
