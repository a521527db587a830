"""Records: the JSON files that the programs write, with the results of one run. Modules here read and check records."""
