"""The Python interface: measures of a layout, studies, results files."""

from . import engine
from .errors import UserError, nearest
from .layouts import check_layout
from .study import Study, load, of_layout
from .study_model import KEYS


def _measure(measure, layout, backend, threads, **asked):
    study = of_layout(check_layout(layout), measure, **asked)
    memory = engine.Memory()
    engine.run(study, have=memory.tally, keep=memory.add, backend=backend, threads=threads)
    return engine.results(study, memory.tally)[0]


_SECTIONS = ("cluster", "failures", "domains", "replay")


def _sections(given):
    """Sections of a study given as keyword arguments; UserError for any other name."""
    for name in given:
        if name not in _SECTIONS:
            raise UserError(f"unknown argument {name!r}; {nearest(name, _SECTIONS)}")
    return given


def survival(layout, *, trials=1_000_000, seed=0, backend="auto", threads=None, confidence=0.95, **sections):
    """How many failures a layout endures, by simulation of its failure orders.

    Parameters
    ----------
    layout : Layout
    trials : failure patterns to draw, 0 to 10**13
    seed : 64-bit seed; the same seed gives the same failure orders for every layout of as many groups
    backend : "auto", "numba", "cython" or "reference"; all give the same counts
    threads : worker threads; None takes the cores this process may use
    confidence : of the intervals
    sections : ``cluster``, ``failures``, ``domains``, ``replay``: dicts of keys as in those sections of a study
        (docs/study.md); without them groups fail in a uniformly random order, and nothing is said of time

    Returns
    -------
    PointResult with ``.trials``; ``.estimates["endurable_failures"]`` and ``["wipeout_index"]`` (mean, low, high, std);
    ``.curves["survival"]``, float64[N+1], entry k the share of trials alive after k failures.

    Raises UserError (a ValueError) for bad arguments.
    """
    asked = {"trials": trials, "seed": seed, "confidence": confidence, **_sections(sections)}
    return _measure("survival", layout, backend, threads, **asked)


def stacks(layout, *, trials=100_000, seed=0, backend="auto", threads=None, confidence=0.95, **sections):
    """The least all-reduce stack after every failure, S*(k), over simulated lives of a layout.

    Parameters as in ``survival``. Returns a PointResult with, besides what ``survival`` gives,
    ``.estimates["mean_stack"]`` (stacks; the interval respects that the failures of one trial are correlated) and
    ``["above_bound_fraction"]``; ``.curves["min_stack"]``, the mean S* among the trials alive after k failures,
    and ``["min_stack_bound"]``, c(k) = ceil(N/(N-k)); ``.tallies["stacks"].counts["trials_at_depth"]``, int64[N+1, r].
    """
    asked = {"trials": trials, "seed": seed, "confidence": confidence, **_sections(sections)}
    return _measure("stacks", layout, backend, threads, **asked)


def reordering(layout, *, trials=100_000, seed=0, backend="auto", threads=None, confidence=0.95, **sections):
    """What the reordering controller does over simulated lives of a layout, one failure at a time.

    Parameters as in ``survival``. Returns a PointResult with, besides what ``survival`` gives,
    ``.estimates["reorder_fraction"]`` (of failures), ``["moves_per_reorder"]``, ``["patch_stacks"]`` (per reorder);
    curves ``phase_fixed``, ``phase_depth``, ``phase_reorder`` (shares) and ``moves`` (mean) at the k-th failure.
    """
    asked = {"trials": trials, "seed": seed, "confidence": confidence, **_sections(sections)}
    return _measure("reordering", layout, backend, threads, **asked)


def training(
    layout,
    *,
    system_mtbf=None,
    law="exponential",
    shape=None,
    gpus_per_group=None,
    runs=16,
    seed=0,
    backend="auto",
    threads=None,
    confidence=0.95,
    **settings,
):
    """Whole training runs on a layout, under SPARe, replication or checkpoints alone.

    Parameters
    ----------
    layout : Layout; replication takes only its groups and redundancy
    system_mtbf : mean time between failures of the full-strength system, seconds or words such as "5 min"
    law, shape : of the groups' lifetimes
    gpus_per_group : GPUs of a group; reports GPU-hours
    runs : training runs
    settings : keys of section [training] of a study (docs/study.md): scheme, rules, steps, checkpoint_steps, ...; and
        the sections ``cluster``, ``failures``, ``domains``, ``replay`` as in ``survival``, ``failures`` in place of
        ``system_mtbf``, ``law`` and ``shape``
    seed, backend, threads, confidence : as in ``survival``

    Returns
    -------
    PointResult with ``.runs``; ``.estimates`` such as ``time_to_train_s``, ``time_to_train_ratio``, ``availability``,
    ``useful_fraction``, ``restarts``, ``failures`` (docs/training.md); ``.tallies["training"].rows``, int64[runs, ...].

    Raises UserError (a ValueError) for bad arguments.
    """
    sections = {name: settings.pop(name) for name in _SECTIONS if name in settings}
    unknown = [name for name in settings if name not in KEYS["training"]]
    if unknown:
        raise UserError(f"training: unknown setting {unknown[0]!r}; {nearest(unknown[0], KEYS['training'])}")
    stated = {"system_mtbf": system_mtbf, "shape": shape, "law": None if law == "exponential" else law}
    for name, value in stated.items():
        if value is not None:
            sections["failures"] = {**sections.get("failures", {}), name: value}
    if gpus_per_group is not None:
        sections["cluster"] = {**sections.get("cluster", {}), "gpus_per_group": gpus_per_group}
    return _measure(
        "training",
        layout,
        backend,
        threads,
        runs=runs,
        seed=seed,
        confidence=confidence,
        training=settings,
        **sections,
    )


def run(
    study,
    path=None,
    *,
    overrides=None,
    backend="auto",
    threads=None,
    progress=None,
    executor=None,
    workers=None,
    share=None,
):
    """Run a study, resuming a results file that holds part of it.

    Parameters
    ----------
    study : Study, path of a TOML file, preset name, or dict of sections
    path : HDF5 results file to write or resume; None keeps the results in memory
    overrides : dict of dotted key -> value laid over the study
    backend, threads : as in ``survival``
    progress : callable taking ``spare_mc.engine.Progress``
    executor : a ``concurrent.futures.Executor`` whose workers take the place of threads: a ``ProcessPoolExecutor``,
        ``mpi4py.futures.MPIPoolExecutor``, ``dask.distributed.Client().get_executor()``; the caller's to close
    workers : how many workers it has, where it does not tell
    share : ``(i, n)`` counts the i-th of n shares of the study only, i from 1; ``spare_mc.store.merge`` joins them

    Returns a list of PointResult, one a point. Raises UserError for bad input, WorkerError when a worker dies: what
    was done is then stored, and the same call goes on from there.
    """
    if isinstance(study, Study):
        if overrides:
            raise UserError(
                "overrides: a Study is complete; lay them over the file, preset or dict it came from"
            )
    else:
        study = load(study, overrides)
    options = {"backend": backend, "threads": threads, "progress": progress}
    options |= {"executor": executor, "workers": workers, "share": checked_share(share)}
    if path is None:
        memory = engine.Memory()
        outcome = engine.run(study, have=memory.tally, keep=memory.add, **options)
        return _told(engine.results(study, memory.tally), outcome)
    from . import store

    with store.Writer(path, study, share) as writer:
        outcome = engine.run(study, have=writer.tally, keep=engine.Storing(writer), **options)
        writer.stopped(outcome.stopped)
        return _told(engine.results(study, writer.tally), outcome)


def _told(results, outcome):
    from .store_stopped import told_reasons

    for result in results:
        if result.id in outcome.stopped:
            result.stopped = told_reasons(outcome.stopped[result.id])
    return results


def checked_share(share):
    """``(i, n)`` of whole numbers, 1 <= i <= n, or None; UserError otherwise."""
    if share is None:
        return None
    try:
        at, of = share
    except (TypeError, ValueError):
        raise UserError(f"share = {share!r}: must be (i, n), the i-th of n shares") from None
    of = engine.check_whole("share n", of, 1)
    return engine.check_whole("share i", at, 1, of), of


def open(path):
    """A results file, open for reading; quick however many points it holds.

    Returns
    -------
    spare_mc.store.File: ``.points`` (list of PointResult), ``.attributes``, ``.study_text``; ``.to_xarray()`` for
    labelled arrays, ``.to_dataframe()`` for a flat table (docs/reading.md). Tallies are read when they are asked for.

    Raises UserError, naming the file, when there is none, it is not a results file, or it is damaged.
    """
    from . import store

    return store.view(path)
