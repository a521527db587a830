"""Sessions for ReFrame. A session is one job that measures all tests of a suite. Each test reads its results.

| module | content |
|---|---|
| `session`, `member` | the job, and a test |
| `suites`, `suite_words` | the tests that a session may measure, and the words that select tests |
| `processes`, `containers`, `durations` | the script of the job, commands in containers, time limits |
| `parts`, `endings` | the output of the job, and why a job ended |
| `fixtures` | workarounds for fixtures in retries and restored sessions |
"""
