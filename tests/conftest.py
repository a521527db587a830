"""How tests are spread over processes."""

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With `--dist loadscope`, the tests of one folder share a process, and with it the cluster that they start."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFolder(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return nodeid.partition("::")[0].rpartition("/")[0]

    return ByFolder(config, log) if config.getvalue("dist") == "loadscope" else None
