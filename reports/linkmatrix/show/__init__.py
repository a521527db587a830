"""Words, terminal, page, pictures: how verdicts reach people and other tools."""
