"""Commands as a user gives them, run in this process."""

import pytest

from spare_mc.cli import main


def run_verb(capsys, *arguments):
    """(exit status, standard output, standard error) of a command."""
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


def refused(capsys, *arguments):
    """The one line that a command is refused with."""
    status, out, error = run_verb(capsys, *arguments)
    assert (status, out) == (2, "") and error.count("\n") == 1, (status, out, error)
    return error
