"""ReFrame's configuration (`reframe -C config/settings.py`): the systems of systems/*.py, and their common settings.

To add a system, put a file into systems/ that defines `system`, one entry of ReFrame's `systems`. The file may also
define `environments`. This file needs no change. Results go to .linkmatrix, or to $LINKMATRIX_PREFIX.

A folder of `linkmatrix init` has its own systems, references and topologies, and loads this file for the settings.
"""

import importlib.util
import os
import sys
from pathlib import Path

import reframe

CONFIG = Path(__file__).resolve().parent
SITE = globals().get("SITE", CONFIG)  # for a site, linkmatrix.suite sets SITE to its folder `config`
PREFIX = Path(os.environ.get("LINKMATRIX_PREFIX") or SITE.parent / ".linkmatrix").absolute()


def exit_with(sentence):
    """Prints an error, and returns an exception for exit code 2. ReFrame's ConfigError would exit with code 1."""
    print(f"linkmatrix: {sentence}", file=sys.stderr)
    return SystemExit(2)


# Without the package, ReFrame would skip every check with a warning and print PASSED.
try:
    from linkmatrix import reframe_ext, suite
    from linkmatrix.errors import BadInput
    from linkmatrix.judge.intermittent import PASSES, PER_PASS
    from linkmatrix.references.tables import References
    from linkmatrix.runs.modes import WITHOUT_NBODY, session_options, suite_options
    from linkmatrix.site import environment, system_files
except ModuleNotFoundError as error:
    remedy = f"run 'make setup', or set PYTHONPATH={CONFIG.parent}/reports"
    raise exit_with(f"the Python package {error.name} is not installed: {remedy}") from None

try:
    suite.supported_folder(PREFIX).mkdir(parents=True, exist_ok=True)  # ReFrame creates no folder for its log file
except BadInput as error:
    raise exit_with(f"{error} in $LINKMATRIX_PREFIX") from None
except OSError as error:
    remedy = "name another folder in $LINKMATRIX_PREFIX"
    raise exit_with(f"results cannot go to {PREFIX}: {error.strerror}; {remedy}") from None

environment.set_home(PREFIX)

if warning := reframe_ext.version_warning(reframe.VERSION):
    print(f"linkmatrix: warning: {warning}", file=sys.stderr)

# The checks read these variables. Builds of a site stay in its folder, because an upgrade replaces the package.
if SITE != CONFIG:
    os.environ["LINKMATRIX_SITE"] = str(SITE.parent)
    os.environ.setdefault("LINKMATRIX_BUILD", str(SITE.parent / ".build"))

# ReFrame 4.10 accepts these two settings only as options or environment variables. RFM_TIMESTAMP_DIRS gives each
# session its own folder, so that concurrent runs do not overwrite results. The folder of references becomes absolute,
# because tests are judged in other working folders.
references = Path(os.environ.get("RFM_REFERENCE_PREFIX") or SITE / "references").absolute()
os.environ["RFM_REFERENCE_PREFIX"] = str(references)
os.environ.setdefault("RFM_TIMESTAMP_DIRS", f"%Y%m%dT%H%M%S-{os.getpid()}")

# This call refuses unreadable tables and NaN. ReFrame would skip the checks of such a table, and use the NaN.
try:
    References.load(references)
    systems, environments = system_files.load_all([CONFIG / "systems", SITE / "systems"], PREFIX, sys.argv[1:])
except BadInput as error:
    raise exit_with(str(error)) from None

# On a login node, a session polls all its jobs in one query, between once per second and once per minute, because users
# share the node. The poll rate decreases while nothing changes. Polls of the local scheduler are cheap. The rate is at
# least ten per second, because ReFrame's default would notice the end of a short job late.
QUEUED = [system["name"] for system in systems if any(part["scheduler"] != "local" for part in system["partitions"])]
LOCAL = [system["name"] for system in systems if system["name"] not in QUEUED]

site_configuration = {
    "systems": [reframe_ext.extend_schedulers(system) for system in systems],
    "environments": environments,
    "general": [
        {
            "topology_prefix": str(SITE / "topology"),
            "report_file": str(PREFIX / "reports" / "run-report-{sessionid}.json"),
            "colorize": sys.stdout.isatty(),
            # prints no line per pair: `linkmatrix show` prints the matrices
            "perf_info_level": "verbose",
        },
        {"target_systems": QUEUED, "poll_rate_max": 1, "poll_rate_min": 1 / 60},
        {"target_systems": LOCAL, "poll_rate_max": 50, "poll_rate_min": 10},
    ],
    # ReFrame's database needs polars, which a cluster's module of ReFrame may lack
    "storage": [{"enable": bool(importlib.util.find_spec("polars")), "sqlite_db_file": str(PREFIX / "results.db")}],
    "modes": [
        {"name": "smoke", "options": ["--tag=smoke", *suite_options("smoke"), WITHOUT_NBODY]},
        {"name": "quick", "options": ["--tag=quick", *suite_options("quick"), WITHOUT_NBODY]},
        # one test per node in $LINKMATRIX_NODES
        {"name": "sweep", "options": ["--tag=node-sweep", WITHOUT_NBODY]},
        # requires a reference for each value, and short samples of each cell to find intermittent links
        {
            "name": "acceptance",
            "options": [
                "--tag=acceptance",
                *suite_options("acceptance"),
                WITHOUT_NBODY,
                "-S require_reference=yes",
                *session_options("short_samples", PASSES * PER_PASS),
            ],
        },
        # all tests except simulations, which take long, and foreign programs, which measure the same links
        {"name": "measure", "options": ["-T nbody|peers", *suite_options("all,-nbody,-peers"), WITHOUT_NBODY]},
    ],
    "logging": [
        {
            # ReFrame collects all variables of a check for each log record, even below this level. This level creates
            # fewer records, which saves 84 ms per test.
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
