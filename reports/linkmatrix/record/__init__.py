"""Reads and checks records. A record is the JSON file with the results of one program run."""
