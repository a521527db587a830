"""How tests are spread over processes, and how they import checks."""

import importlib.util
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

#: folders whose tests share a cluster that a process starts once
CLUSTERS = {"slurm", "gridengine", "pbs", "spack", "network"}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With `--dist loadscope`, the tests of a lab share a process, and with it the cluster that they start.

    Those that share no cluster are spread by file.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByLab(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = Path(nodeid.partition("::")[0])
            return str(file.parent if file.parent.name in CLUSTERS else file)

    return ByLab(config, log) if config.getvalue("dist") == "loadscope" else None
