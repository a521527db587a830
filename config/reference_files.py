"""Files of references, read once.

ReFrame reads the whole file that a check's `$ref` names again for each of the check's variants, with PyYAML's slow
loader: with seventy variants and some thousand references that is half a minute before the first job.
"""

import functools

import reframe.core.pipeline
import yaml

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ReadOnce:
    """PyYAML, but for a text that was read before; ReFrame copies what it takes out of one."""

    def __getattr__(self, name):
        return getattr(yaml, name)

    @staticmethod
    def safe_load(stream):
        return parsed(stream.read())


@functools.cache
def parsed(text):
    """What a YAML text says."""
    return yaml.load(text, Loader=Loader)


def read_once():
    """From now on, in this process."""
    reframe.core.pipeline.yaml = ReadOnce()
