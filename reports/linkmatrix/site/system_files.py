"""Reads system files, the Python files in config/systems. Each error is one sentence with the file."""

import difflib
import itertools
import json
import os
import re
import socket
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import reframe
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.exceptions import ConfigError

from ..errors import BadInput, clean
from ..files import read_whole
from ..reframe_ext.sessions import containers
from . import ignored_processes, login_node

SCHEMA = Path(reframe.__file__).parent / "schemas" / "config.json"
#: {deprecated name of a modules system: its new name}. ReFrame warns of the old name, and `linkmatrix run` ends at each
#: warning.
RENAMED = {"tmod4": "envmod"}

MOST_BYTES = 1 << 24  # of a system file


def load(file: Path, prefix: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns (system, environments) of a system file. Raises BadInput.

    A system without `prefix`, the folder of results, gets the given prefix. An environment without `target_systems` is
    for this system only.
    """
    module = load_module(file)
    system = {"prefix": str(prefix), **module.system}
    if (name := system.get("modules_system")) in RENAMED:
        system["modules_system"] = RENAMED[name]
    environments = getattr(module, "environments", [])
    validate(file, system, environments)
    return system, [{"target_systems": [system["name"]], **environment} for environment in environments]


def load_module(file: Path) -> ModuleType:
    """Runs a system file, and returns its module. Raises BadInput if the file fails.

    A file that calls sys.exit fails too. ReFrame would end with exit code 0.
    """
    content = read_whole(file, MOST_BYTES)
    module = ModuleType(f"linkmatrix_systems_{file.stem}")
    module.__file__ = str(file)
    try:
        # not importlib: its cached bytecode hides a change within a second to the same size, as `adopt --use` can make
        code = compile(content, str(file), "exec")
    except SyntaxError as error:
        location = f"{file}, line {error.lineno}" if error.lineno else str(file)
        raise BadInput(f"{location}: {error.msg}") from None
    except ValueError as error:  # a null byte, before Python 3.11.4
        raise BadInput(f"{file}: {error}") from None
    try:
        exec(code, module.__dict__)
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        location = f"{file}, line {lines[-1]}" if lines else str(file)
        raise BadInput(clean(f"{location}: {type(error).__name__}: {error}")) from None
    if not isinstance(getattr(module, "system", None), dict):
        raise BadInput(f"{file} defines no `system`: copy slurm_example.py")
    return module


def validate(file: Path, system: Mapping[str, Any], environments: Sequence[Mapping[str, Any]]) -> None:
    """Raises BadInput if a system file violates ReFrame's schema or our rules. The message is about one violation."""
    content = {"systems": [system], "environments": environments}
    validator = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))
    errors = [error for error in validator.iter_errors(content) if error.absolute_path]  # settings.py has the rest
    # an unknown key explains a missing key
    errors.sort(key=lambda error: error.validator != "additionalProperties")
    if errors:
        raise BadInput(f"{file}: {error_location(errors[0], content)}: {error_message(errors[0])}")
    for pattern in system["hostnames"]:
        try:
            re.compile(pattern)
        except re.error as error:
            name = system["name"]
            raise BadInput(
                f"{file}: system '{name}', hostnames: '{pattern}' is not a regular expression: {error}"
            ) from None
    for partition in system["partitions"]:
        try:
            getscheduler(partition["scheduler"])
            getlauncher(partition["launcher"])
            ignored_processes.from_extras(partition.get("extras", {}))
            containers.from_extras(partition.get("extras", {}), partition["launcher"])
        except (BadInput, ConfigError) as error:
            raise BadInput(f"{file}: partition '{partition['name']}': {error}") from None
    modules = [place["name"] for place in [*system["partitions"], *environments] if place.get("modules")]
    if modules and "modules_system" not in system:  # ReFrame would load none, without a message
        raise BadInput(
            f"{file}: '{modules[0]}' has modules, but the system has no 'modules_system': set lmod or envmod, or nomod "
            "to load no modules"
        )


def error_location(error: jsonschema.ValidationError, content: Any) -> str:
    """The position of an error in a system file, such as "partition 'gpu', scheduler".

    content: the validated content.
    """
    words: list[str] = []
    entry = content
    for step in error.absolute_path:
        entry = entry[step]
        if isinstance(step, int):
            name = entry.get("name") if isinstance(entry, dict) else None
            words[-1] = words[-1].removesuffix("s") + (f" '{name}'" if name else f" {step + 1}")
        else:
            words.append(step)
    return ", ".join(words)


def error_message(error: jsonschema.ValidationError) -> str:
    """The message about an error. If a key is unknown, the message contains the most similar known key."""
    if error.validator != "additionalProperties":
        return error.message.partition("\n")[0][:200]
    known = list(error.schema.get("properties", {}))
    wrong = [str(key) for key in error.instance if key not in known]
    suggestions = [close[0] for key in wrong if (close := difflib.get_close_matches(key, known, 1))]
    keys = ("the key '{}' is unknown" if len(wrong) == 1 else "the keys '{}' are unknown").format("', '".join(wrong))
    return keys + (f"; is '{', '.join(suggestions)}' meant?" if suggestions else "")


def system_option(words: Sequence[str]) -> str:
    """The value of ReFrame's option --system, SYSTEM or SYSTEM:PARTITION.

    Without the option: the value of $RFM_SYSTEM; "" if this variable is not set. words: the command line of ReFrame.
    """
    chosen = os.environ.get("RFM_SYSTEM", "")
    for word, after in itertools.pairwise([*words, ""]):
        option, equals, value = word.partition("=")
        if option == "--system":
            chosen = value if equals else after
    return chosen


def without_local_partitions(system: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The system without its local partitions. On a system with a scheduler, local partitions are login nodes.

    A system that has only local partitions keeps them.
    place: SYSTEM:PARTITION of a local partition to keep; "" for none.
    """
    partitions = system["partitions"]
    queued = [one for one in partitions if one["scheduler"] != "local"]
    kept = [one for one in partitions if one in queued or f"{system['name']}:{one['name']}" == place]
    return {**system, "partitions": kept if queued else partitions}


def refuse_login_node(systems: Sequence[Mapping[str, Any]], host: str) -> None:
    """Raises BadInput if this host is a login node and matches no system file. ReFrame would measure the login node."""
    if any(re.match(pattern, host) for system in systems for pattern in system["hostnames"]):
        return
    if scheduler := login_node.scheduler_of_login_node():
        raise BadInput(
            f"{host} is a login node of {scheduler}, and no system file has its name. Add the name to `hostnames` of"
            " your system file, or write one: linkmatrix detect --scheduler auto. To measure this host itself:"
            " --system=this-machine"
        )


def load_all(
    folders: Sequence[Path], prefix: Path, words: Sequence[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns (systems, environments) of all system files. Raises BadInput.

    * A file replaces a file of the same name in an earlier folder.
    * A login node is measured only if `words`, the command line of ReFrame, names its system.
    * ReFrame selects the first system whose hostnames match. generic.py is last, because it matches all hosts.
    * If `words` names another system, generic.py is left out. It runs nvidia-smi twice, which takes seconds.
    """
    place = system_option(words)
    found = {file.stem: file for folder in folders for file in folder.glob("*.py")}
    generic = found.pop("generic", None)
    loaded = [load(found[name], prefix) for name in sorted(found)]
    if generic and not place:
        refuse_login_node([system for system, _ in loaded], socket.gethostname())
    if generic and place.partition(":")[0] not in [system["name"] for system, _ in loaded]:
        loaded.append(load(generic, prefix))
    systems = [without_local_partitions(system, place) for system, _ in loaded]
    environments = [one for _, environments in loaded for one in environments]
    known = {"builtin", *(one["name"] for one in environments)}
    for system in systems:
        for partition in system["partitions"]:
            if unknown := ", ".join(sorted({*partition.get("environs", [])} - known)):
                place = f"{system['name']}:{partition['name']}"
                raise BadInput(f"environments '{unknown}' are not defined for '{place}'")
    return systems, environments
