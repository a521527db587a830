"""A mistake in a file of systems/ as one sentence with its file and line, where Python and ReFrame say thirty lines."""

import difflib
import itertools
import json
import os
import traceback
from pathlib import Path

import jsonschema
import reframe
from reframe.core.exceptions import ConfigError

from linkmatrix.errors import BadInput
from linkmatrix.site import ignored_processes

SCHEMA = Path(reframe.__file__).parent / "schemas" / "config.json"


def read(file, module_of):
    """The module of a system's file, by `module_of`. Raises ConfigError."""
    try:
        module = module_of(file)
    except SyntaxError as error:
        raise ConfigError(f"{file}, line {error.lineno}: {error.msg}") from None
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        where = f"{file}, line {lines[-1]}" if lines else file
        raise ConfigError(f"{where}: {type(error).__name__}: {error}") from None
    if not isinstance(getattr(module, "system", None), dict):
        raise ConfigError(f"{file} defines no `system`: slurm_example.py is a file to copy")
    return module


def check(file, system, environments):
    """Raises ConfigError with the first thing that ReFrame does not take."""
    content = {"systems": [system], "environments": environments}
    validator = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))
    errors = [error for error in validator.iter_errors(content) if error.absolute_path]  # the rest is in settings.py
    # a word that is not known says more than the one that is missing for it
    errors.sort(key=lambda error: error.validator != "additionalProperties")
    if errors:
        raise ConfigError(f"{file}: {place_of(errors[0], content)}: {sentence_of(errors[0])}")
    for partition in system["partitions"]:
        try:
            ignored_processes.of_extras(partition.get("extras", {}))
        except BadInput as error:
            raise ConfigError(f"{file}: partition '{partition['name']}': {error}") from None


def place_of(error, content):
    """ "partition 'gpu', scheduler" of the path to an error."""
    said, entry = [], content
    for step in error.absolute_path:
        if isinstance(step, int):
            entry = entry[step]
            name = entry.get("name") if isinstance(entry, dict) else None
            said[-1] = said[-1].removesuffix("s") + (f" '{name}'" if name else f" {step + 1}")
        else:
            entry = entry[step]
            said.append(step)
    return ", ".join(said)


def sentence_of(error):
    """What is wrong, and what may be meant."""
    if error.validator != "additionalProperties":
        return error.message.partition("\n")[0][:200]
    known = list(error.schema.get("properties", {}))
    wrong = [key for key in error.instance if key not in known]
    meant = [close[0] for key in wrong if (close := difflib.get_close_matches(key, known, 1))]
    return f"there is no '{', '.join(wrong)}'" + (f"; is '{', '.join(meant)}' meant?" if meant else "")


def named(words):
    """The system that ReFrame's command line names, as `--system=SYSTEM:PARTITION`, else $RFM_SYSTEM; "" for none."""
    given = os.environ.get("RFM_SYSTEM", "")
    for word, after in itertools.pairwise([*words, ""]):
        option, equals, value = word.partition("=")
        if option == "--system":
            given = value if equals else after
    return given.partition(":")[0]
