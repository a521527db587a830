"""An option of ReFrame 4.10 that takes tests apart which share a job: `--ci-generate`.

It makes a job of CI for each test and each fixture. The session of the tests, alone in its job, would have nothing to
measure, and each test, alone in its own, would find nothing of it and be red.
"""

OPTION, LEAST = "--ci-generate", "--ci"  # ReFrame takes what is enough of an option to know it by


def fault(words):
    """What to do in its place, where ReFrame's words have it; "" where they do not."""
    if not any(word.startswith(LEAST) and OPTION.startswith(word.partition("=")[0]) for word in words):
        return ""
    return (
        f"{OPTION} is not for these tests: they share a job, and each would be a job of CI that finds nothing of it; "
        "let one job of CI run them all: 'linkmatrix run --mode=quick' leaves a JUnit file beside its report"
    )
