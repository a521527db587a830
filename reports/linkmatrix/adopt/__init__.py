"""References out of stored runs, and how they get into their file."""
