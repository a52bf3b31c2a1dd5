"""The same sweep on a Dask cluster: one here on this machine, or the one whose scheduler is named.

    python dask_sweep.py [SCHEDULER ADDRESS]        needs pip install 'spare-mc[dask]'

Any cluster that dask.distributed knows will do: dask-jobqueue's, Kubernetes', SSH.
"""

import sys
from pathlib import Path

from dask.distributed import Client

import spare_mc


def main(scheduler=None, out="dask.h5", **sampling):
    study = Path(__file__).with_name("sweep.toml")
    overrides = {f"sampling.{key}": value for key, value in sampling.items()}
    where = (
        {"address": scheduler}
        if scheduler
        else {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    )
    with Client(**where) as client:
        executor = client.get_executor(
            pure=False, retries=3
        )  # a worker that dies is replaced, its block repeated
        workers = sum(client.nthreads().values())
        results = spare_mc.run(study, out, overrides=overrides, executor=executor, workers=workers)
    for result in results:
        p, stack = result.parameters, result.estimates["mean_stack"]
        print(
            f"{p['layout.kind']:10} N = {p['cluster.groups']:4} r = {p['layout.redundancy']:2}  "
            f"mean stack {stack.mean:.4f} ({stack.low:.4f} .. {stack.high:.4f})  {result.stopped}"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
