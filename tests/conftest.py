"""How tests are spread over processes."""

from pathlib import Path

import pytest

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
