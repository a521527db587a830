"""The commands of `linkmatrix`, a module each, named as the command."""
