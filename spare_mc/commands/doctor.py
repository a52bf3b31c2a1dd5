"""``spare-mc doctor``: what this machine offers, and whether every backend on it computes what it should."""

import click

from .common import json_option, print_json


@click.command("doctor", short_help="what this machine offers, and a self-test")
@click.option(
    "--compile", "compiles", is_flag=True, help="Test kernels that take a minute or two to compile, too."
)
@click.option(
    "--clear-caches",
    "clears",
    is_flag=True,
    help="Remove Numba kernels compiled from other sources or versions.",
)
@json_option
def command(compiles, clears, as_json):
    """Show cores, vector level, backends, caches, GPU and versions; compare every backend with the reference.

    The self-test takes some five seconds, ten more with a GPU. Numba's kernels are left out where they are not compiled
    yet, CUDA's of reordering and training always: --compile compiles them. Exit status 1 if a backend differs from the
    reference.
    """
    from spare_mc import doctor, selftest

    if clears:
        folders, size = doctor.clear_caches()
        if not as_json:
            print(f"removed {folders} older cache folders, {_mib(size)}")
    found = doctor.facts()
    states = found["backends"]
    cold = not compiles and not found["numba_cache"].get("kernels")
    names = [name for name in states if not (cold and name == "numba")]
    if as_json:
        verdicts = list(selftest.run(names, quick=not compiles))
        print_json(doctor.as_json(found, verdicts))
    else:
        _print(found)
        verdicts = []
        print(
            "\nself-test against the plain-Python reference, trial by trial; speed at N = 600, r = 9 on one core"
        )
        for verdict in selftest.run(names, quick=not compiles):
            verdicts.append(verdict)
            print("  " + _line(verdict))
        if cold and not states["numba"]["missing"]:
            print("  numba      not compiled on this machine yet: left out; --compile tests it too")
        if not compiles and not states["cuda"]["missing"]:
            print("  cuda       reordering and training left out; --compile tests them too")
    return 0 if all(verdict.passed for verdict in verdicts) else 1


def _line(verdict):
    told = f"{verdict.backend:<10} {verdict.measure:<11}"
    if verdict.error:
        return f"{told} FAILED   {verdict.error}"
    if verdict.differ:
        return f"{told} DIFFERS  {verdict.differ} of {verdict.compared} trials"
    speed = "" if verdict.rate is None else f", {verdict.rate:,.0f} a second"
    return f"{told} ok       {verdict.compared} trials{speed}"


def _print(found):
    versions, cores, vectors = found["versions"], found["cores"], found["vectors"]
    print(f"spare-mc {versions['spare-mc']}, Python {versions['python']}, {versions['system']}")
    packages = versions["packages"].items()
    print("  with     " + ", ".join(f"{name} {version}" for name, version in packages if version))
    print("  without  " + (", ".join(name for name, version in packages if not version) or "nothing missing"))
    print(f"processor  {versions['processor']}, levels {', '.join(vectors['processor']) or 'none'}")
    print(f"cores      {cores['allowed']} used: {_RULES[cores['rule']]}")
    quota = "no limit" if cores["cgroup"] is None else f"{cores['cgroup']:g}"
    job = "none" if cores["job"] is None else cores["job"]
    print(f"           machine {cores['machine']}, job {job}, affinity {cores['affinity']}, cgroup {quota}")
    print(
        "vectors    "
        + (f"SPARE_MC_SIMD = {vectors['asked']}; " if vectors["asked"] else "")
        + _kernels(vectors)
    )
    for name, state in found["backends"].items():
        told = state["missing"] or "here; " + ", ".join(state["measures"])
        print(f"backend    {name}: {told}")
    print("cache      " + _cache(found["numba_cache"]))
    gpu = found["gpu"]
    devices = "; ".join(gpu["devices"]) or "none"
    print(
        f"GPU        {devices}"
        + (f", driver {gpu['driver']}" if gpu["driver"] else "")
        + (f"; numba-cuda {gpu['numba_cuda']}" if gpu["devices"] and gpu["numba_cuda"] else "")
    )
    print(f"folder     {found['folder']['path']}: file locking " + (found["folder"]["locking"] or "works"))


_RULES = {
    "job": "the job's (SLURM_CPUS_PER_TASK)",
    "affinity": "the process' affinity mask",
    "cgroup": "the control group's quota, rounded up",
}


def _kernels(vectors):
    told = []
    for stem, kernel in vectors["kernels"].items():
        told.append(
            f"{stem} at {kernel['used']} (built: {', '.join(kernel['built'])})"
            if kernel["used"]
            else f"{kernel['reason']}"
        )
    return "; ".join(told)


def _cache(cache):
    if cache["folder"] is None:
        return cache["reason"]
    older = (
        f"; {cache['older']} older folders, {_mib(cache['older_bytes'])} (--clear-caches removes them)"
        if cache["older"]
        else ""
    )
    state = (
        f"{cache['kernels']} compiled functions, {_mib(cache['bytes'])}"
        if cache["kernels"]
        else "nothing compiled yet"
    )
    return f"{cache['folder']}: writable, {state}{older}"


def _mib(size):
    return f"{size / 2**20:.1f} MiB"
