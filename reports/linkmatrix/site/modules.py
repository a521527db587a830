"""The environment modules of this shell."""

import os
from collections.abc import Mapping
from typing import NamedTuple


class Modules(NamedTuple):
    """The loaded environment modules, in the order of loading.

    system: ReFrame's name of the modules system; "" without modules.
    """

    system: str = ""
    names: tuple[str, ...] = ()


#: {variable that a modules system sets: ReFrame's name of the system}. ReFrame does not support Environment Modules 3.
SYSTEMS = {"LMOD_CMD": "lmod", "MODULES_CMD": "envmod"}


def loaded(environment: Mapping[str, str] = os.environ) -> Modules:
    """The modules that this shell has loaded with Lmod or Environment Modules."""
    names = tuple(name for name in environment.get("LOADEDMODULES", "").split(":") if name)
    system = next((name for variable, name in SYSTEMS.items() if environment.get(variable)), "")
    return Modules(system, names) if names and system else Modules()
