"""The ReFrame checks, one file for each question asked of the machine."""
