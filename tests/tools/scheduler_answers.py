"""Recorded answers of scheduler commands, from files of tests/data/schedulers."""

import re
from pathlib import Path

from linkmatrix.site import partitions

DATA = Path(__file__).resolve().parents[1] / "data" / "schedulers"
# {what a command line holds: the file with the answer}
ANSWERS = {
    r"sinfo .*": "nodes.txt",
    r"scontrol show config": "config.txt",
    r"scontrol show partition --oneliner": "partitions.txt",
    r"scontrol show node --oneliner": "node_list.txt",
    r"scontrol show topology": "topology.txt",
    r"sacctmgr -n -P show assoc user=\S+ .*format=account,maxwall,defaultqos,partition": "accounts.txt",
    r"sacctmgr -n -P show qos format=name,maxwall": "qos.txt",
    r"pbsnodes -a": "nodes.txt",
    r"qstat -Qf": "queues.txt",
    r"qhost -q -F": "hosts.txt",
    r"qconf -sql": "queues.txt",
    r"qconf -sq (\S+)": r"queue_\1.txt",
    r"qconf -sp (\S+)": r"pe_\1.txt",
}


def recorded(folder, without=(), **instead):
    """A function that answers a command with a file of tests/data/schedulers.

    without: the names of files that have no answer.
    instead: {file without its suffix: other text}; "" for the file's own text.
    """

    def answer(command):
        line = " ".join(command)
        ((pattern, name),) = [(pattern, name) for pattern, name in ANSWERS.items() if re.fullmatch(pattern, line)]
        file = DATA / folder / re.sub(pattern, name, line)
        if text := instead.get(file.stem):
            return text
        if name in without or not file.exists():
            raise OSError(f"{command[0]} does not answer")
        return file.read_text()

    return answer


def asked(dialect, folder, **instead):
    """(cluster, {name: partition}) of the recorded answers of a scheduler."""
    found = partitions.SCHEDULERS[dialect].ask(recorded(folder, **instead))
    return found, {partition.name: partition for partition in found.partitions}


def written(found):
    """(system, {partition: its entry}) of the system file that is written of a cluster."""
    scope = {}
    exec(partitions.system_file(found, "my-cluster"), scope)
    return scope["system"], {partition["name"]: partition for partition in scope["system"]["partitions"]}
