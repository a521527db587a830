"""Hosts on this machine, and mpirun that starts ranks of the built program on them, with our script in place of ssh."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from reframe_runs import AS_ROOT

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
SCRIPT = HERE / "hosts"
SWITCH = "lmn-switch"

#: major version of Open MPI → what it calls the agent and shared memory; options to go on without a rank that died or
#: whose host is gone; whether mpirun then still ends with the ranks' own exit code
WORDS = {
    4: {
        **{"agent": ("--mca", "plm_rsh_agent"), "shared": "vader"},
        **{"died": ("--enable-recovery",), "gone": (), "tells": False},
    },
    5: {
        **{"agent": ("--prtemca", "plm_ssh_agent"), "shared": "sm"},
        **{"died": ("--with-ft", "ulfm"), "gone": ("--with-ft", "ulfm"), "tells": True},
    },
}


@dataclass(frozen=True)
class Mpi:
    """An Open MPI: the folder of its programs, and its major version."""

    folder: Path
    major: int

    def __str__(self):
        return f"openmpi{self.major}"

    def word(self, name):
        """What this version says for one of WORDS."""
        return WORDS[self.major][name]

    @property
    def environment(self):
        return {**os.environ, **AS_ROOT, "PATH": f"{self.folder}:{os.environ['PATH']}"}


def installed():
    """Every Open MPI on PATH that we know the words of: mostly one."""
    found = {}
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        if not all((folder / name).exists() for name in ("mpirun", "mpicxx")):
            continue
        said = subprocess.run([folder / "mpirun", "--version"], capture_output=True, text=True, timeout=30).stdout
        version = re.search(r"\(Open MPI\) (\d+)", said)
        if version and int(version[1]) in WORDS:
            found.setdefault(int(version[1]), Mpi(folder, int(version[1])))
    return list(found.values())


@pytest.fixture(scope="session", params=installed() or [None], ids=str)
def mpi(request):
    """Each Open MPI of this machine in turn."""
    if request.param is None:
        pytest.skip("no Open MPI 4 or 5 on PATH, so there are no ranks to start")
    return request.param


@pytest.fixture(scope="session")
def program(mpi, tools):
    """p2p_matrix, built with that MPI; the folder is kept, so only the first build takes long."""
    folder = REPOSITORY / ".build" / str(mpi)
    compiler = f"-DMPI_CXX_COMPILER={mpi.folder / 'mpicxx'}"
    for command in (
        ["cmake", "-S", REPOSITORY / "src", "-B", folder, "-DLINKMATRIX_MPI=ON", compiler],
        ["cmake", "--build", folder, "--target", "p2p_matrix", "--parallel", "2"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=mpi.environment)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "p2p_matrix"


@dataclass(frozen=True)
class Done:
    """What a run left: mpirun's exit code, all that was printed, and the record, None if there is none."""

    code: int
    output: str
    record: dict | None
    path: Path

    @property
    def result(self):
        """The record's only matrix."""
        (result,) = self.record["results"]
        return result


class Network:
    """Hosts lmn1, lmn2 … and the MPI that runs on them."""

    def __init__(self, folder, count, mpi):
        self.folder = folder
        self.names = [f"lmn{number}" for number in range(1, count + 1)]
        self.mpi = mpi

    def script(self, verb, *words):
        """Runs `hosts`; its words are at its head."""
        command = [SCRIPT, verb, self.folder, *map(str, words)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr.strip()

    def slow(self, source, destination, **how):
        """What `source` sends to `destination` gets a rate, a delay in ms, or a loss in percent."""
        words = [word for pair in how.items() for word in pair]
        try:
            self.script("slow", source, destination, *words)
        except AssertionError as error:
            if "neither netem" in str(error):
                pytest.skip(str(error).splitlines()[0])
            raise

    def sent(self, host):
        """Bytes that the switch took from a host so far."""
        command = ["ip", "-n", SWITCH, "-s", "-j", "link", "show", f"port{host.removeprefix('lmn')}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        return json.loads(done.stdout)[0]["stats64"]["rx"]["bytes"]

    def when_sent(self, host, amount, process, seconds=60):
        """Waits until a host has sent that many bytes more for a run."""
        begin, end = self.sent(host), time.monotonic() + seconds
        while self.sent(host) < begin + amount:
            assert process.poll() is None, f"it ended before:\n{(self.folder / 'output').read_text()}"
            assert time.monotonic() < end, f"{host} sent less than {amount} bytes in {seconds} s"
            time.sleep(0.1)

    def kill(self, host, name):
        """Ends the processes of that name on a host as the kernel does where memory is short."""
        pids = subprocess.check_output(["ip", "netns", "pids", host], text=True, timeout=10).split()
        ours = [int(pid) for pid in pids if Path(f"/proc/{pid}/comm").read_text().strip() == name[:15]]
        assert ours, f"no process {name} on {host}"
        for pid in ours:
            os.kill(pid, signal.SIGKILL)

    def command(self, *words, hostfile=None, ranks=1, options=()):
        """What starts `ranks` ranks on each host, typed on lmn1. `words`: the program and its options."""
        mca, agent = self.mpi.word("agent")
        hostfile = hostfile or self.hostfile(f"{name} slots={ranks}" for name in self.names)
        line = [
            *("mpirun", mca, agent, f"{SCRIPT} enter {self.folder}", "--hostfile", hostfile),
            *("--mca", "pml", "ob1", "--mca", "btl", f"self,{self.mpi.word('shared')},tcp"),
            *("--mca", "mpi_yield_when_idle", "1", "--bind-to", "none", *options, *words),
        ]
        return [SCRIPT, "enter", self.folder, self.names[0], f"exec {' '.join(quoted(word) for word in line)}"]

    def hostfile(self, lines):
        """A host file with these lines."""
        path = self.folder / "hosts.cfg"
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    @contextlib.contextmanager
    def start(self, *words, **keywords):
        """A run in the background: its process. It has ended when the context has."""
        command = self.command(*words, **keywords)
        with (self.folder / "output").open("w") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=self.mpi.environment
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait(30)

    def measure(self, program, *options, ignored="*:*", meanwhile=None, timeout=240, launch=None, **keywords):
        """Runs the program and reads what it left.

        ignored: processes that disturb nothing, by default all: other tests run on this machine. meanwhile: called with
        the process while it runs. launch: words for mpirun in place of program and options.
        """
        path = self.folder / "record.json"
        path.unlink(missing_ok=True)
        ignore = ["--ignore-processes", ignored] if ignored else []
        words = launch or [program, *ignore, *options, "--record", path]
        with self.start(*words, **keywords) as process:
            if meanwhile:
                meanwhile(process)
            code = process.wait(timeout)
        record = json.loads(path.read_text()) if path.exists() else None
        return Done(code, (self.folder / "output").read_text(), record, path)


def quoted(word):
    """A word of a line for a shell."""
    return "'" + str(word).replace("'", "'\\''") + "'"


@pytest.fixture
def network(mpi, need_namespaces, unavailable, tmp_path):
    """A function that starts `count` hosts, which send at `rate` at most; they end with the test."""
    if not shutil.which("tc"):
        unavailable("no tc on PATH: apt install iproute2")
    folder = tmp_path / "hosts"

    def up(count, rate="100mbit"):
        hosts = Network(folder, count, mpi)
        hosts.script("up", count, rate)
        return hosts

    yield up
    subprocess.run([SCRIPT, "down", folder], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
