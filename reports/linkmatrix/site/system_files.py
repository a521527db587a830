"""Reads system files, the Python files of config/systems. A mistake is one sentence with the file and the line."""

import difflib
import importlib.util
import itertools
import json
import os
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import reframe
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.exceptions import ConfigError

from ..errors import BadInput
from . import ignored_processes

SCHEMA = Path(reframe.__file__).parent / "schemas" / "config.json"


def load(file: Path, prefix: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The system and the environments of a system file. Raises BadInput.

    prefix: the folder of results of a system that names none. An environment is of its own system unless it names
    others.
    """
    module = read(file)
    system = {"prefix": str(prefix), **module.system}
    environments = getattr(module, "environments", [])
    check(file, system, environments)
    return system, [{"target_systems": [system["name"]], **environment} for environment in environments]


def read(file: Path) -> ModuleType:
    """The module of a system file. Raises BadInput."""
    spec = importlib.util.spec_from_file_location(f"linkmatrix_systems_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise BadInput(f"{file}, line {error.lineno}: {error.msg}") from None
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        where = f"{file}, line {lines[-1]}" if lines else file
        raise BadInput(f"{where}: {type(error).__name__}: {error}") from None
    if not isinstance(getattr(module, "system", None), dict):
        raise BadInput(f"{file} defines no `system`: slurm_example.py is a file to copy")
    return module


def check(file: Path, system: Mapping[str, Any], environments: Sequence[Mapping[str, Any]]) -> None:
    """Raises BadInput with the first mistake, by ReFrame's schema and by the rules of this package."""
    content = {"systems": [system], "environments": environments}
    validator = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))
    errors = [error for error in validator.iter_errors(content) if error.absolute_path]  # the rest is in settings.py
    # a word that is not known says more than the one that is missing for it
    errors.sort(key=lambda error: error.validator != "additionalProperties")
    if errors:
        raise BadInput(f"{file}: {place_of(errors[0], content)}: {sentence_of(errors[0])}")
    for partition in system["partitions"]:
        try:
            getscheduler(partition["scheduler"])
            getlauncher(partition["launcher"])
            ignored_processes.of_extras(partition.get("extras", {}))
        except (BadInput, ConfigError) as error:
            raise BadInput(f"{file}: partition '{partition['name']}': {error}") from None
    modules = [place["name"] for place in [*system["partitions"], *environments] if place.get("modules")]
    if modules and "modules_system" not in system:  # ReFrame would load none, without a message
        raise BadInput(
            f"{file}: '{modules[0]}' has modules, and the system no 'modules_system' to load them by: lmod or envmod, "
            "or nomod to load none"
        )


def place_of(error: jsonschema.ValidationError, content: Any) -> str:
    """ "partition 'gpu', scheduler" of the path to an error."""
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


def sentence_of(error: jsonschema.ValidationError) -> str:
    """What is wrong, and what may be meant."""
    if error.validator != "additionalProperties":
        return error.message.partition("\n")[0][:200]
    known = list(error.schema.get("properties", {}))
    wrong = [key for key in error.instance if key not in known]
    meant = [close[0] for key in wrong if (close := difflib.get_close_matches(key, known, 1))]
    return f"there is no '{', '.join(wrong)}'" + (f"; is '{', '.join(meant)}' meant?" if meant else "")


def named_system(words: Sequence[str]) -> str:
    """The system that ReFrame's command line names, as `--system=SYSTEM:PARTITION`, else $RFM_SYSTEM; "" for none."""
    given = os.environ.get("RFM_SYSTEM", "")
    for word, after in itertools.pairwise([*words, ""]):
        option, equals, value = word.partition("=")
        if option == "--system":
            given = value if equals else after
    return given.partition(":")[0]


def load_all(
    folders: Sequence[Path], prefix: Path, words: Sequence[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The systems and the environments of all system files; a file of a later folder replaces its namesake.

    ReFrame takes the first system whose hostnames match, and generic.py, which comes last, matches all. It asks
    nvidia-smi twice, which takes seconds where nothing else keeps the GPUs awake. So it is left out where `words`,
    ReFrame's command line, names another system. Raises BadInput.
    """
    found = {file.stem: file for folder in folders for file in folder.glob("*.py")}
    generic = found.pop("generic", None)
    loaded = [load(found[name], prefix) for name in sorted(found)]
    if generic and named_system(words) not in [system["name"] for system, _ in loaded]:
        loaded.append(load(generic, prefix))
    systems = [system for system, _ in loaded]
    environments = [one for _, environments in loaded for one in environments]
    known = {"builtin", *(one["name"] for one in environments)}
    for system in systems:
        for partition in system["partitions"]:
            if unknown := ", ".join(sorted({*partition.get("environs", [])} - known)):
                place = f"{system['name']}:{partition['name']}"
                raise BadInput(f"environments '{unknown}' are not defined for '{place}'")
    return systems, environments
