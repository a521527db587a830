"""Distribution of tests over processes, and the import of checks by tests."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

# ReFrame loads checks/ by its path; here it is the package linkmatrix_checks
CHECKS = Path(__file__).resolve().parents[1] / "checks"
spec = importlib.util.spec_from_file_location(
    "linkmatrix_checks", CHECKS / "__init__.py", submodule_search_locations=[str(CHECKS)]
)
sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[spec.name])

#: the reason for which tests marked `slow` are skipped
SLOW = "slow test: run LINKMATRIX_SLOW=1 make test-all"


def pytest_collection_modifyitems(items):
    """Skip tests marked `slow`, unless the environment variable LINKMATRIX_SLOW is set."""
    if os.environ.get("LINKMATRIX_SLOW"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason=SLOW))


#: folders whose tests share a cluster that a process starts once
CLUSTERS = {"slurm", "gridengine", "pbs", "spack", "network"}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Distribute tests over processes: per lab with `--dist loadscope`, else per file.

    The tests of a lab share a process, and so the cluster that they start.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByLab(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = Path(nodeid.partition("::")[0])
            return str(file.parent if file.parent.name in CLUSTERS else file)

    return ByLab(config, log) if config.getvalue("dist") == "loadscope" else None
