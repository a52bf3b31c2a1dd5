"""The exceptions a user meets, told in one line: bad input, and workers that die."""


class UserError(ValueError):
    """Something the user gave cannot be used.

    The message is one line that names the key or file, the value given, and what is allowed. The command line
    prints it and exits with status 2; from Python it is an ordinary ``ValueError``.
    """


class WorkerError(RuntimeError):
    """A worker of an executor died; what was done is kept, and the same command goes on from there. Exit status 3."""


def nearest(name, known):
    """``"; did you mean 'x'?"`` where a known name is near, else the list of known names."""
    import difflib

    known = sorted(known)
    close = difflib.get_close_matches(str(name), known, 1, cutoff=0.55)
    return f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(known)
