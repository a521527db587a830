"""The verdict on every cell of a record that is compared with references."""
