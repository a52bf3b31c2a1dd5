"""Who computes the blocks: threads, processes, the ranks of an MPI job, the workers of a Dask cluster.

Which of them it is shows nowhere in the result.
"""

import os
import signal
from contextlib import contextmanager

from .errors import UserError, nearest

NAMES = ("threads", "processes", "mpi", "dask")


def check_ranks(name):
    """UserError when several MPI ranks would each run the whole study: they were started without executor 'mpi'."""
    told = [os.environ.get(key, "1") for key in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")]
    ranks = max(int(text) if text.isdecimal() else 1 for text in told)
    if name != "mpi" and ranks > 1:
        raise UserError(
            f"executor = {name!r}: this is one of {ranks} MPI ranks, each would run the whole study; "
            "give --executor mpi"
        )


@contextmanager
def opened(name, workers=None, scheduler=None):
    """An executor of that name, for as long as the context lasts.

    Parameters
    ----------
    name : one of NAMES
    workers : worker threads or processes; None takes the cores this job may use. MPI and Dask have their own number
    scheduler : Dask: address of a scheduler, or path of its scheduler file; None starts workers on this machine

    Yields
    ------
    ``(executor, workers)``: the ``concurrent.futures.Executor`` and how many workers it has; the executor is None for
    threads, which the engine makes itself. Yields None on an MPI rank that is a worker, once its work is done: such a
    process has nothing more to do.

    Raises UserError for an unknown name, a package that is missing, a cluster that does not answer.
    """
    if name not in NAMES:
        raise UserError(f"executor = {name!r}: {nearest(name, NAMES)}")
    if scheduler is not None and name != "dask":
        raise UserError(f"scheduler = {scheduler!r}: only executor 'dask' has one")
    if workers is not None and name == "mpi":
        raise UserError(
            f"threads = {workers}: executor 'mpi' has one worker a rank; start more ranks (mpiexec -n)"
        )
    with _OPENED[name](workers, scheduler) as found:
        yield found


@contextmanager
def _threads(workers, scheduler):
    yield None, workers


@contextmanager
def _processes(workers, scheduler):
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    from .engine import check_threads

    workers = check_threads(workers)
    # Forking a process that has threads can hang it; spawned ones start clean.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_in_worker)
    try:
        yield pool, workers
    finally:
        pool.shutdown(cancel_futures=True)


def _in_worker():
    """Ctrl-C reaches every process of a terminal; only the one that hands out work acts on it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _mpi(workers, scheduler):
    try:
        from mpi4py import MPI
        from mpi4py.futures import MPICommExecutor
    except ImportError as error:
        raise UserError(
            f"executor = 'mpi': {error}; it needs an MPI library and 'pip install spare-mc[mpi]'"
        ) from None
    ranks = MPI.COMM_WORLD.size
    if ranks < 2:
        raise UserError(
            "executor = 'mpi': this is the only rank; start it with mpiexec -n R, R - 1 of them work, e.g. "
            "mpiexec -n 5 spare-mc run ..."
        )
    with MPICommExecutor(MPI.COMM_WORLD, root=0) as pool:
        yield None if pool is None else (pool, ranks - 1)


@contextmanager
def _dask(workers, scheduler):
    try:
        from dask.distributed import Client, LocalCluster
    except ImportError:
        raise UserError(
            "executor = 'dask': dask.distributed is missing: pip install spare-mc[dask]"
        ) from None
    from .engine import check_threads

    if scheduler is None:
        # A dashboard would take a port and packages that the work does not need.
        with (
            LocalCluster(
                n_workers=check_threads(workers), threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            yield _dask_executor(client)
        return
    told = {"scheduler_file": scheduler} if os.path.exists(scheduler) else {"address": scheduler}
    try:
        client = Client(**told, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        raise UserError(f"scheduler = {scheduler!r}: no Dask scheduler answers there: {error}") from None
    with client:
        yield _dask_executor(client)


def _dask_executor(client):
    workers = sum(client.nthreads().values())
    if not workers:
        raise UserError("executor = 'dask': the scheduler has no workers; start some (dask worker ADDRESS)")
    # A block is a pure function, but hashing its arguments to find out would cost more than sending them.
    return client.get_executor(pure=False, retries=3), workers


_OPENED = {"threads": _threads, "processes": _processes, "mpi": _mpi, "dask": _dask}
