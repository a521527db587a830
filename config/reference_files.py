"""Files of references, read and checked once.

ReFrame reads the whole file that a check's `$ref` names again for each of the check's variants, with PyYAML's slow
loader, and checks the types of all its entries again before each test is judged: with seventy variants and some
thousand references that is half a minute before the first job, and some seconds after the last.
"""

import functools

import reframe.core.pipeline
import yaml

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
References = reframe.core.pipeline._ReferenceDict


class ReadOnce:
    """PyYAML, but for a text that was read before; ReFrame copies what it takes out of one."""

    def __getattr__(self, name):
        return getattr(yaml, name)

    @staticmethod
    def safe_load(stream):
        return parsed(stream.read())


@functools.cache
def parsed(text):
    """What a YAML text says; of an empty one, that there is no reference."""
    return yaml.load(text, Loader=Loader) or {}


def resolved_once(resolve):
    """ReFrame's `resolve_external_references`, whose result the tests of one class share: none changes it."""
    known = {}  # {(file, class of the test): (index, entries)}

    @functools.wraps(resolve)
    def resolve_external_references(references, test):
        key = (references._ReferenceDict__ref_file, type(test).__name__, test.prefix)
        if key in known:
            references._index, references.data = known[key]
            return
        resolve(references, test)
        known[key] = references._index, references.data

    resolve_external_references.resolves_once = True
    return resolve_external_references


def read_once():
    """From now on, in this process."""
    reframe.core.pipeline.yaml = ReadOnce()
    if not hasattr(References.resolve_external_references, "resolves_once"):
        References.resolve_external_references = resolved_once(References.resolve_external_references)
