"""The file to give to `reframe -C`. It gathers systems/*.py and holds what is true of every system.

A folder of `linkmatrix init` has systems, references and topologies of its own, and takes the rest from here.

To add a system, put a file into systems/ that defines `system` (one entry of ReFrame's `systems`) and, if it has any
of its own, `environments`. Nothing here needs to be changed. Results go to the folder .linkmatrix of this repository,
or to $LINKMATRIX_PREFIX.
"""

import importlib.util
import os
import sys
from pathlib import Path

import reframe
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.exceptions import ConfigError

CONFIG = Path(__file__).resolve().parent
SITE = globals().get("SITE", CONFIG)  # linkmatrix.suite gives the folder config of a site
PREFIX = Path(os.environ.get("LINKMATRIX_PREFIX") or SITE.parent / ".linkmatrix").absolute()


def refused(sentence):
    """The end of ReFrame, after a sentence: 2, as of an option that it does not know, and not the 1 of a check that
    failed, as of a ConfigError. `linkmatrix run` then has begun nothing, and --resume goes on from before.
    """
    print(f"linkmatrix: {sentence}", file=sys.stderr)
    return SystemExit(2)


# Without it ReFrame would skip every check with a warning, run none and say PASSED.
try:
    from linkmatrix import suite
    from linkmatrix.errors import BadInput
    from linkmatrix.references.tables import References
    from linkmatrix.site import environment
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

# Checks know by these where a site has its own things, which a package that is replaced must not hold.
if SITE != CONFIG:
    os.environ["LINKMATRIX_SITE"] = str(SITE.parent)
    os.environ.setdefault("LINKMATRIX_BUILD", str(SITE.parent / ".build"))

# Two options that ReFrame 4.10 takes from its command line or environment only: its schema refuses the first in a file,
# and the second is merely a format there. With a folder for each session no run disturbs or overwrites another.
os.environ.setdefault("RFM_REFERENCE_PREFIX", str(SITE / "references"))
os.environ.setdefault("RFM_TIMESTAMP_DIRS", f"%Y%m%dT%H%M%S-{os.getpid()}")

# ReFrame skips the checks whose table it cannot read, and takes a NaN for a reference: here it is one sentence instead.
try:
    References.load(os.environ["RFM_REFERENCE_PREFIX"])
except BadInput as error:
    raise refused(str(error)) from None


def module_of(file):
    """A Python file of this folder, as a module."""
    spec = importlib.util.spec_from_file_location(f"linkmatrix_{file.parent.name}_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


system_files = module_of(CONFIG / "system_files.py")


def load(file):
    """The system and environments of one file of systems/; an environment is its own system's unless it says more."""
    module = system_files.read(file, module_of)
    system = {"prefix": str(PREFIX), **module.system}
    environments = getattr(module, "environments", [])
    system_files.check(file, system, environments)
    loads = [place["name"] for place in [*system["partitions"], *environments] if place.get("modules")]
    if loads and "modules_system" not in system:  # ReFrame would load none, and say nothing
        raise refused(
            f"{file}: '{loads[0]}' has modules, and the system no 'modules_system' to load them by: lmod or envmod, "
            "or nomod to load none"
        )
    for partition in system["partitions"]:  # ReFrame would end with 1 for a name that it does not know
        getscheduler(partition["scheduler"]), getlauncher(partition["launcher"])
    return system, [{"target_systems": [system["name"]], **environment} for environment in environments]


untested = module_of(CONFIG / "reframe_versions.py").fault(reframe.VERSION)
if untested:
    raise refused(untested)

schedulers = module_of(CONFIG / "schedulers.py")
schedulers.end_every_wait()
schedulers.ask_once_for_nodes()
module_of(CONFIG / "pending.py").say_why_jobs_wait()
module_of(CONFIG / "slurm_silence.py").live_through_silence()
module_of(CONFIG / "retries.py").keep_what_passed()
module_of(CONFIG / "fixture_variables.py").need_no_variables()
module_of(CONFIG / "colours.py").keep_out_of_files()
module_of(CONFIG / "steady_polls.py").mend()
module_of(CONFIG / "deprecations.py").look_for_callers_alone()

# ReFrame takes the first system whose hostnames match, and generic.py matches all of them. It asks nvidia-smi twice,
# which takes seconds where nothing else keeps the GPUs awake: not for a run that names another system.
files = {file.stem: file for folder in (CONFIG, SITE) for file in (folder / "systems").glob("*.py")}
files = sorted(files.values(), key=lambda file: (file.stem == "generic", file.stem))
named, loaded = system_files.named(sys.argv[1:]), []
for file in files:
    if file.stem != "generic" or named not in [system["name"] for system, _ in loaded]:
        try:
            loaded.append(load(file))
        except ConfigError as error:
            raise refused(error) from None

defined = {"builtin", *(one["name"] for _, environments in loaded for one in environments)}
for system, _ in loaded:
    for partition in system["partitions"]:
        if unknown := ", ".join(sorted({*partition.get("environs", [])} - defined)):
            raise refused(f"environments '{unknown}' are not defined for '{system['name']}:{partition['name']}'")

# Login nodes are shared: a session asks a scheduler once a second at most, for all of its jobs at once, and less often
# the longer nothing happens, down to once a minute. Where jobs are its own processes, which cost nothing to look at, it
# looks every tenth of a second: less and less often, as by default, it saw the end of a job of ten seconds two later.
QUEUED = [system["name"] for system, _ in loaded if any(part["scheduler"] != "local" for part in system["partitions"])]
LOCAL = [system["name"] for system, _ in loaded if system["name"] not in QUEUED]

site_configuration = {
    "systems": [system for system, _ in loaded],
    "environments": [environment for _, environments in loaded for environment in environments],
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
        {"name": "smoke", "options": ["--tag=smoke"]},
        {"name": "quick", "options": ["--tag=quick"]},
        # one test a node, of the nodes that $LINKMATRIX_NODES names
        {"name": "sweep", "options": ["--tag=node-sweep"]},
        # each value must have a reference
        {"name": "acceptance", "options": ["--tag=acceptance", "-S require_reference=yes"]},
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
