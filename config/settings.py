"""ReFrame's configuration: `reframe -C config/settings.py`. It collects systems/*.py and sets what all systems share.

A folder of `linkmatrix init` has systems, references and topologies of its own, and takes the rest from here.

To add a system, put a file into systems/ that defines `system`, one entry of ReFrame's `systems`. It may also define
`environments`. Nothing here needs to be changed. Results go to .linkmatrix, or to $LINKMATRIX_PREFIX.
"""

import importlib.util
import os
import sys
from pathlib import Path

import reframe

CONFIG = Path(__file__).resolve().parent
SITE = globals().get("SITE", CONFIG)  # linkmatrix.suite gives the folder config of a site
PREFIX = Path(os.environ.get("LINKMATRIX_PREFIX") or SITE.parent / ".linkmatrix").absolute()


def refused(sentence):
    """End ReFrame with exit code 2, as for an unknown option; a ConfigError would end it with 1, as a failed check."""
    print(f"linkmatrix: {sentence}", file=sys.stderr)
    return SystemExit(2)


# Without the package ReFrame would skip every check with a warning, run none and say PASSED.
try:
    from linkmatrix import reframe_ext, suite
    from linkmatrix.errors import BadInput
    from linkmatrix.references.tables import References
    from linkmatrix.runs.modes import of_suite
    from linkmatrix.site import environment, system_files
except ModuleNotFoundError as error:
    remedy = f"make setup, or PYTHONPATH={CONFIG.parent}/reports"
    raise refused(f"the Python package {error.name} is not installed: {remedy}") from None

try:
    suite.usable(PREFIX).mkdir(parents=True, exist_ok=True)  # ReFrame makes every folder but its log file's
except BadInput as error:
    raise refused(f"{error} in $LINKMATRIX_PREFIX") from None
except OSError as error:
    remedy = "name another folder in $LINKMATRIX_PREFIX"
    raise refused(f"results cannot go to {PREFIX}: {error.strerror}; {remedy}") from None

environment.need_home(PREFIX)

if warning := reframe_ext.untried(reframe.VERSION):
    print(f"linkmatrix: warning: {warning}", file=sys.stderr)

# Checks know by these where a site has its own things, which a package that is replaced must not hold.
if SITE != CONFIG:
    os.environ["LINKMATRIX_SITE"] = str(SITE.parent)
    os.environ.setdefault("LINKMATRIX_BUILD", str(SITE.parent / ".build"))

# Two options that ReFrame 4.10 takes from its command line or environment only: its schema refuses the first in a file,
# and the second is merely a format there. With a folder for each session no run disturbs or overwrites another.
# A relative folder is one of the folder where ReFrame starts: tests are judged in other folders.
references = Path(os.environ.get("RFM_REFERENCE_PREFIX") or SITE / "references").absolute()
os.environ["RFM_REFERENCE_PREFIX"] = str(references)
os.environ.setdefault("RFM_TIMESTAMP_DIRS", f"%Y%m%dT%H%M%S-{os.getpid()}")

# ReFrame skips the checks whose table it cannot read, and takes a NaN for a reference: here that is an error.
try:
    References.load(references)
    systems, environments = system_files.load_all([CONFIG / "systems", SITE / "systems"], PREFIX, sys.argv[1:])
except BadInput as error:
    raise refused(str(error)) from None

# Login nodes are shared: a session asks a scheduler for all of its jobs together, once a second at most. The longer
# nothing happens the less often, down to once a minute. Jobs of the local scheduler are the session's own processes,
# which cost nothing to poll: ten times a second at least, where ReFrame's default reports the end of a short job late.
QUEUED = [system["name"] for system in systems if any(part["scheduler"] != "local" for part in system["partitions"])]
LOCAL = [system["name"] for system in systems if system["name"] not in QUEUED]

site_configuration = {
    "systems": [reframe_ext.with_schedulers(system) for system in systems],
    "environments": environments,
    "general": [
        {
            "topology_prefix": str(SITE / "topology"),
            "report_file": str(PREFIX / "reports" / "run-report-{sessionid}.json"),
            "colorize": sys.stdout.isatty(),
            # a line for each pair would bury the rest: `linkmatrix show` prints the matrices
            "perf_info_level": "verbose",
        },
        {"target_systems": QUEUED, "poll_rate_max": 1, "poll_rate_min": 1 / 60},
        {"target_systems": LOCAL, "poll_rate_max": 50, "poll_rate_min": 10},
    ],
    # ReFrame's results need polars, which a cluster's own module of it may lack
    "storage": [{"enable": bool(importlib.util.find_spec("polars")), "sqlite_db_file": str(PREFIX / "results.db")}],
    "modes": [
        {"name": "smoke", "options": ["--tag=smoke", *of_suite("smoke")]},
        {"name": "quick", "options": ["--tag=quick", *of_suite("quick")]},
        # one test a node, of the nodes that $LINKMATRIX_NODES names
        {"name": "sweep", "options": ["--tag=node-sweep"]},
        # each value must have a reference
        {"name": "acceptance", "options": ["--tag=acceptance", *of_suite("acceptance"), "-S require_reference=yes"]},
        # all but simulations, which take longer than all links, and programs of others, which measure the same
        {"name": "measure", "options": ["-T nbody|peers", *of_suite("all,-nbody,-peers")]},
    ],
    "logging": [
        {
            # for each record, also one that is written nowhere, ReFrame collects all that a check has to log: without
            # this line 84 ms of each test, of which there are tens of thousands on a cluster
            "level": "info",
            "handlers": [
                {"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"},
                {
                    "type": "file",
                    "name": str(PREFIX / "reframe.log"),
                    "level": "info",
                    "format": "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s",
                    "append": False,
                },
            ],
            "handlers_perflog": [
                {
                    "type": "filelog",
                    "prefix": "%(check_system)s/%(check_partition)s",
                    "basedir": str(PREFIX / "perflogs"),
                    "level": "info",
                    "format": "%(check_result)s,%(check_job_completion_time)s,%(check_#ALL)s,%(check_perfvalues)s",
                    "format_perfvars": (
                        "%(check_perf_value)s,%(check_perf_ref)s,%(check_perf_lower_thres)s,"
                        "%(check_perf_upper_thres)s,%(check_perf_unit)s,"
                    ),
                    "append": True,
                }
            ],
        }
    ],
}
