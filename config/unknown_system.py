"""A --system that no file of systems/ has: the sentence says which there are, where ReFrame's leaves that open.

ReFrame then ends with 2, as for any other option that it does not know, and not with 1, as if a check had failed:
`linkmatrix run` takes 2 for bad input.
"""

import difflib
import functools
import sys

from reframe.core import runtime
from reframe.core.config import _SiteConfig
from reframe.core.exceptions import ConfigError

BAD_INPUT = 2


def fault(wanted, systems):
    """What is wrong with SYSTEM or SYSTEM:PARTITION, and what may be meant, in a sentence; "" if nothing is."""
    name, _, partition = wanted.partition(":")
    partitions = {system["name"]: [part["name"] for part in system["partitions"]] for system in systems}
    if name not in partitions:
        new = "; for a new one, 'linkmatrix detect --system NAME' writes a file into config/systems"
        return f"there is no system '{name}'{meant(name, partitions)}: name one of {', '.join(partitions)}{new}"
    if partition and partition not in partitions[name]:
        known = partitions[name]
        return f"'{name}' has no partition '{partition}'{meant(partition, known)}: name one of {', '.join(known)}"
    return ""


def meant(name, known):
    """The one that it may have been, as a question."""
    close = difflib.get_close_matches(name, known, 1)
    return f" (is '{close[0]}' meant?)" if close else ""


def name_those_there_are(systems):
    """From now on, in this process, where ReFrame refuses a name."""
    select = _SiteConfig.select_subconfig

    @functools.wraps(select)
    def selected(config, system=None, *args, **kwargs):
        try:
            return select(config, system, *args, **kwargs)
        except ConfigError:
            if said := system and fault(system, systems):
                print(f"linkmatrix: --system={system}: {said}", file=sys.stderr)
                raise SystemExit(BAD_INPUT) from None
            raise

    _SiteConfig.select_subconfig = selected


def refuse_what_no_system_can_be():
    """From now on, in this process: a scheduler, launcher or environment that there is not is bad input too."""
    initialise = runtime.init_runtime

    @functools.wraps(initialise)
    def initialised(*args, **kwargs):
        try:
            return initialise(*args, **kwargs)
        except ConfigError as error:
            print(f"linkmatrix: {error}", file=sys.stderr)
            raise SystemExit(BAD_INPUT) from None

    runtime.init_runtime = initialised
