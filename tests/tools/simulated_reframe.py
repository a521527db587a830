"""A simulated ReFrame, which writes prepared reports, for tests of the commands that start it."""

import json
import sys

#: Starts the simulated ReFrame. Python prints a traceback if it is interrupted while it starts. So the shell ignores
#: interrupts, and Python handles them after its start.
STARTS = """#!/bin/sh
trap '' INT
exec {python} {played} "$@"
"""

#: The simulated ReFrame: writes the report that a test prepared for this run or for every run, and ends with the
#: prepared exit code. If a test prepared a wait, the program ends on a signal.
PLAYED = """
import json, os, signal, sys, time
if "--describe" in sys.argv:
    sys.exit(0)
prefix = os.environ["LINKMATRIX_PREFIX"]
if sys.argv[-1].startswith("--show-config"):
    print(open(prefix + "/system.json").read())
    sys.exit(0)
def report():
    prepared = prefix + f"/prepared-{len(open(prefix + '/command.txt').readlines()) - 1}.json"
    if not os.path.exists(prepared):
        prepared = prefix + "/prepared.json"
    if os.path.exists(prepared):
        content = json.load(open(prepared))
        content["session_info"]["cmdline"] = " ".join(sys.argv)
        if os.path.exists(prefix + "/by_hand"):
            content["session_info"]["cmdline"] = "reframe -r"
        elif "--session-extras" in sys.argv:
            stored = sys.argv[sys.argv.index("--session-extras") + 1].split(",")
            content["session_info"] |= dict(one.split("=", 1) for one in stored)
        open(prefix + "/folders.txt", "a").write(os.environ["RFM_TIMESTAMP_DIRS"] + "\\n")
        count = len(os.listdir(prefix + "/reports"))
        text = json.dumps(content)
        if os.path.exists(prefix + "/cut"):
            text = text[:int(open(prefix + "/cut").read())]
        open(prefix + f"/reports/run-report-{count}.json", "w").write(text)
def ended(*_):
    if os.path.exists(prefix + "/aborts"):
        report()
    sys.exit(1)
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, ended)
open(prefix + "/command.txt", "a").write(" ".join(sys.argv[1:]) + "\\n")
open(prefix + "/nodes.txt", "w").write(os.environ.get("LINKMATRIX_NODES", ""))
open(prefix + "/pid.txt", "w").write(str(os.getpid()))
if os.path.exists(prefix + "/wait"):
    time.sleep(60)
report()
sys.exit(int(open(prefix + "/code").read()) if os.path.exists(prefix + "/code") else 0)
"""


class Machine:
    """A machine on which a simulated ReFrame runs.

    folder: the folder of results. write_record, linkmatrix: the fixtures of these names.
    """

    def __init__(self, folder, program, write_record, linkmatrix):
        self.folder, self.reframe, self.prepared = folder, program, 0
        self.write_record, self.linkmatrix = write_record, linkmatrix
        played = program.with_suffix(".py")
        played.write_text(PLAYED)
        program.write_text(STARTS.format(python=sys.executable, played=played))
        program.chmod(0o755)

    def prepare(self, *results, attempts=1, **changes):
        """Prepare a run with these results of ReFrame. changes: of the first record. Returns the report as JSON."""
        cases, self.prepared = [], self.prepared + 1
        for number, word in enumerate(results):
            place = self.folder / "output" / f"{number}-{self.prepared}"
            self.write_record(path=place / "record.json", **(changes if number == 0 else {}))
            cases.append(
                {
                    "name": f"intranode_p2p_{number}",
                    "display_name": f"intranode_p2p %testcase={number}",
                    "result": word,
                    "outputdir": str(place),
                    "stagedir": str(place),
                    "reference_name": "hgx",
                    "system": "node",
                    "partition": "gpu",
                    "hashcode": f"abc{number}",
                    "fail_reason": None if word == "pass" else "it failed",
                }
            )
        return self.store({"session_info": {"cmdline": "reframe"}, "runs": [{"testcases": cases}] * attempts})

    def store(self, report, code=None):
        """Prepare a report. code: ReFrame's exit code; None to keep the code. Returns the report as JSON."""
        text = json.dumps(report)
        (self.folder / "prepared.json").write_text(text)
        if code is not None:
            (self.folder / "code").write_text(str(code))
        return text

    def choose(self, system, *partitions):
        """Set the system and the partitions that ReFrame selects on this machine."""
        content = {"name": system, "partitions": [{"name": name} for name in partitions]}
        (self.folder / "system.json").write_text(json.dumps(content))

    def lack_a_reference(self, variable, table="", **changes):
        """Prepare a run that fails because a performance variable has no reference."""
        report = json.loads(self.prepare("fail", **changes))
        what = f"no reference value found for performance variable '{variable}' on system 'node:gpu'"
        for case in report["runs"][0]["testcases"]:
            case |= {"fail_phase": "performance", "fail_reason": f"performance error: {what}"}
            case["reference_name"] = table
        self.store(report, code=1)

    def run(self, *arguments):
        """(exit code, output) of `linkmatrix run`."""
        return self.linkmatrix("run", "--reframe", self.reframe, *arguments)[:2]

    def commands(self):
        """The options of each call of ReFrame."""
        return (self.folder / "command.txt").read_text().splitlines()
