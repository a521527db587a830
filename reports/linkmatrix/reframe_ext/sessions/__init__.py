"""Sessions for ReFrame: one job measures the tests of a suite, and each test reads its part of the output.

| module | content |
|---|---|
| `session`, `member` | the job, and a test |
| `suites`, `suite_words` | the tests that a session may measure, and the words that select tests |
| `processes`, `containers`, `durations` | the script of the job, commands in containers, time limits |
| `parts`, `endings` | the output of the job, and why a job ended |
| `fixtures` | workarounds for fixtures in retries and restored sessions |
"""
