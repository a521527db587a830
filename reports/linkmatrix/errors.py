"""What goes wrong because of what came in."""


class BadInput(ValueError):
    """A file, option or table cannot be used: one sentence that names it and says the remedy."""
