"""Sessions for ReFrame: one job that measures the tests of a suite, each of which then reads its part of the output.

`fixtures` keeps fixtures in retries and restored sessions. `suites` knows the tests that a session may measure,
`suite_words` the words that select them.
`session` is the job, `member` a test, `processes` makes the script of the job, `parts` reads what the job left.
"""
