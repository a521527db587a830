"""Recorded answers of scheduler commands, from files of tests/data/schedulers."""

from pathlib import Path

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
