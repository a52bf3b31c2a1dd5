"""The command line: verbs, thin; each is imported when it is used, so that help is instant."""

import atexit
import contextlib
import gc
import importlib
import os
import sys

import click

from . import __version__
from .errors import UserError, WorkerError

VERBS = {
    "run": "simulate a study; rerun it to resume",
    "theory": "closed forms and exact values for a cluster",
    "show": "table of a results file, with intervals",
    "check": "test a results file against exact values",
    "plot": "pictures of results files",
    "diff": "differences between results files or points, with intervals",
    "life": "one life of the reordering controller, step by step",
    "reproduce": "the paper's published runs beside ours",
    "optimize": "the redundancy, checkpoint period and layout of least time-to-train",
    "timeline": "one training run, event by event",
    "fit": "law and rate from a failure log",
    "merge": "join results files of one study, such as shards",
    "slurm": "write a job-array script for a study",
    "doctor": "what this machine offers, and a self-test of every backend",
}


class _ReaderGone(Exception):
    """Whoever read our output went away (head, less): nothing more to say."""


class Verbs(click.Group):
    """A group whose commands are imported on demand."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # of which Click would make exit status 1, a check that disagrees
            raise _ReaderGone from None

    def list_commands(self, ctx):
        return list(VERBS)

    def get_command(self, ctx, name):
        if name not in VERBS:
            return None
        return importlib.import_module(f"spare_mc.commands.{name}").command

    def resolve_command(self, ctx, arguments):
        try:
            return super().resolve_command(ctx, arguments)
        except click.UsageError:
            import difflib

            close = difflib.get_close_matches(arguments[0], VERBS, 1)
            told = f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(VERBS)
            raise click.UsageError(f"no verb {arguments[0]!r}; {told}") from None

    def format_commands(self, ctx, formatter):
        # The stock version imports every verb for its short help.
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="'spare-mc VERB --help' tells more. A quick start: spare-mc run paper-600",
)
@click.version_option(__version__, message="spare-mc %(version)s")
def group():
    """spare-mc: Monte Carlo engine for fault-tolerant LLM pretraining.

    Simulates failure arrivals, decides whether a stacked-redundancy data layout survives them and at what cost,
    and sets the statistics beside closed forms and exact values.
    """


def _fail(message):
    with contextlib.suppress(OSError):  # standard error may lie on the full disk that it is to tell of
        print("spare-mc: error: " + " ".join(str(message).split()), file=sys.stderr, flush=True)
    return 2


def _end_on_terminate():
    """Let a batch system's request to end, or a lost terminal, be an interrupt: what was done is stored."""
    import signal

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores SIGHUP: leave it so
            signal.signal(number, signal.default_int_handler)


def _start_and_end_quickly():
    """Leave out what costs a short run a tenth each and is of no use to it."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's BLAS starts a thread on every core
    gc.set_threshold(50_000)  # the garbage collector looks through what imports make, which stays
    atexit.register(gc.freeze)  # and at exit once more, through all of it


def main(arguments=None):
    """Entry point. Exit status 0; 1: a check disagrees; 2: bad input; 3: a worker died; 130: interrupted."""
    _end_on_terminate()
    _start_and_end_quickly()
    try:
        status = group.main(arguments, prog_name="spare-mc", standalone_mode=False) or 0
        if sys.stdout is not None:  # None where a daemon started us without one
            sys.stdout.flush()  # a closed pipe shows here, not at interpreter exit
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        status = 0
    except click.exceptions.Exit as error:
        status = error.exit_code
    except click.ClickException as error:
        status = _fail(error.format_message())
    except UserError as error:
        status = _fail(error)
    except WorkerError as error:
        _fail(error)
        status = 3
    except MemoryError as error:
        usual = "fewer groups, a lower redundancy or fewer --threads need less"
        status = _fail(f"out of memory: {str(error) or usual}")
    except (KeyboardInterrupt, click.Abort) as error:
        stored = getattr(error, "stored", None) or getattr(error.__cause__, "stored", None)
        more = f"; what was counted is in {stored}, the same command goes on from there" if stored else ""
        print(f"spare-mc: interrupted{more}", file=sys.stderr)
        status = 130
    except (BrokenPipeError, _ReaderGone):
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), 1
        )  # what is still to be written would be tried again at exit
        status = 141  # as of a program that the system ends for it
    except OSError as error:
        status = _fail(f"{error.filename or 'standard output'}: cannot be written: {error.strerror}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what could not be written would be tried again at exit
    sys.exit(status)
