"""Environment variables with which Open MPI starts ranks on a machine without a scheduler."""

import os


def variables(oversubscribe: bool) -> list[list[str]]:
    """Returns [name, value] of each environment variable for Open MPI 4 and 5.

    If root runs this process, the variables allow ranks of root.
    oversubscribe: whether to allow more ranks than cores. Open MPI then binds no rank to a core.
    """
    found = []
    if oversubscribe:
        found += [
            ["OMPI_MCA_rmaps_base_oversubscribe", "1"],
            ["PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"],
        ]
    if os.geteuid() == 0:
        found += [["OMPI_ALLOW_RUN_AS_ROOT", "1"], ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"]]
    return found
