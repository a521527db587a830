"""What goes wrong because of what came in."""


class BadInput(ValueError):  # noqa: N818  a user's mistake is named as one, as in src/
    """A file, option or table cannot be used: one sentence that names it and says the remedy."""
