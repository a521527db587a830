"""The places of the values in a JSON document."""


def places(content, at=()):
    """The path of every value, of the document first."""
    yield at
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield from places(value, (*at, key))


def value_at(content, place):
    """The value at a place."""
    for step in place:
        content = content[step]
    return content
