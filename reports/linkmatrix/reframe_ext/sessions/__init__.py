"""Sessions for ReFrame: one job measures the tests of a suite, and each test reads its part of the output.

`fixtures` keeps fixtures in retries and restored sessions. `suites` knows the tests that a session may measure,
`suite_words` the words that select them.
`session` is the job, `member` a test. `processes` writes the script of the job, and `containers` the commands in
containers. `parts` reads the output of the job.
"""
