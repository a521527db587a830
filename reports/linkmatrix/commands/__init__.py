"""The subcommands of `linkmatrix`. Each module is named for its subcommand."""
