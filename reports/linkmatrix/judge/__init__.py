"""The verdict on every cell of a record that is held against references."""
