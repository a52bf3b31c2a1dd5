"""Rivals of the training kernels: a compiled walk over all groups, plain Python, SimPy, SimGrid, AIReSim's loop."""

import math
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from spare_mc import training_setup
from spare_mc.kernels import training
from spare_mc.kernels.jit import njit
from spare_mc.kernels.reference_training import training_row
from spare_mc.layouts import Layout
from spare_mc.study import load

SEED = 1
# Checkpoint intervals near the best: steps between saves.
SAVE_STEPS = {"spare": 23, "replication": 8}
SIMGRID = Path(__file__).with_name("simgrid_steps.py")


def point(scheme, groups, redundancy, law="weibull", steps=10_000):
    """The kernel plan of the published setting."""
    layout = Layout.golomb(groups, redundancy) if scheme == "spare" else Layout.partition(groups, redundancy)
    failures = {"law": law, "system_mtbf": 300.0} | ({"shape": 0.78} if law == "weibull" else {})
    study = load(
        {
            "study": {"measure": ["training"]},
            "cluster": {"groups": groups},
            "layout": {"kind": layout.kind, "redundancy": redundancy},
            "failures": failures,
            "training": {"scheme": scheme, "steps": steps, "checkpoint_steps": SAVE_STEPS[scheme]},
        }
    )
    return training_setup.kernel_plan(study.points[0])


def runs(plan, count, first=0, kernel=training):
    rows = np.empty((count, len(training.columns(plan.settings.redundancy))), np.int64)
    kernel.run(plan, SEED, first, rows)
    return rows


@njit
def walk(seed, groups, r, steps, stack, allreduce, save, save_steps, restart, scale, exponent):
    """Replication as published, all groups walked through every step with a draw each; returns the wall time [s]."""
    np.random.seed(seed)
    due = np.empty(groups)
    for g in range(groups):
        due[g] = scale * (-math.log(np.random.random())) ** exponent
    out = np.zeros(groups, np.uint8)  # 1 pending, 2 handled
    now, delay, saver, done, resume = 0.0, 0.0, -1, 0, 0
    while done < steps:
        release = now
        lowest = groups
        for g in range(groups):
            if out[g] == 0:
                arrival = now + (delay if g == saver else 0.0)
                if due[g] > arrival:
                    arrival += r * stack * max(0.1, 1.0 + 0.05 * np.random.normal())
                if due[g] <= arrival:
                    out[g] = 1
                    due[g] = arrival + scale * (-math.log(np.random.random())) ** exponent
                release = max(release, arrival)
            if out[g] == 1:
                lowest = min(lowest, g)
        now, delay = release, 0.0
        if lowest == groups:
            now += allreduce
        else:
            now += allreduce / 2
            out[lowest] = 2
            begin = lowest // r * r
            dead = True
            for g in range(begin, min(groups, begin + r)):
                dead = dead and out[g] == 2
            if dead:
                end = now + restart
                for g in range(groups):
                    window = now
                    while due[g] < window + restart:
                        window = max(window, due[g])
                        due[g] += scale * (-math.log(np.random.random())) ** exponent
                    end = max(end, window + restart)
                    out[g] = 0
                now, done = end, resume
                continue
            now += 0.1
        done += 1
        if done % save_steps == 0:
            saver = 0
            while out[saver] == 2:
                saver += 1
            if out[saver] == 0 and due[saver] > now:
                delay, resume = save, done - 1
    return now


def walk_of(plan, seed):
    s = plan.settings
    return walk(
        seed, s.groups, s.redundancy, s.steps, s.stack / 1e6, s.allreduce / 1e6, s.save / 1e6, s.save_steps,
        s.restart / 1e6, plan.scale[0] / 1e6, 1 / s.shape,
    )  # fmt: skip


def simpy_steps(plan, steps):
    """The least of a SimPy model: a process a group that computes, waits at the barrier, all-reduces; no failures."""
    import simpy

    s = plan.settings
    env = simpy.Environment()
    rng = np.random.default_rng(SEED)
    barrier = {"waiting": s.groups, "event": env.event()}

    def group():
        for _ in range(steps):
            yield env.timeout(s.redundancy * s.stack / 1e6 * max(0.1, 1 + 0.05 * rng.standard_normal()))
            event = barrier["event"]
            barrier["waiting"] -= 1
            if barrier["waiting"] == 0:
                barrier["waiting"], barrier["event"] = s.groups, env.event()
                event.succeed()
            yield event
            yield env.timeout(s.allreduce / 1e6)

    for _ in range(s.groups):
        env.process(group())
    env.run()
    return env.now


def python_steps(plan, steps):
    """Plain Python: the oracle of the tests, the same rules in full."""
    rng = np.random.default_rng(SEED)
    settings = plan.settings._replace(steps=steps)
    return training_row(settings, SEED, 0, lambda: max(0.1, 1 + 0.05 * rng.standard_normal()))


def simgrid_python():
    """An interpreter that has SimGrid's Python bindings: this one, or the system's; None where neither has."""
    for candidate in (sys.executable, shutil.which("python3", path="/usr/bin")):
        if candidate:
            probe = subprocess.run([candidate, "-c", "import simgrid"], capture_output=True)
            if probe.returncode == 0:
                return candidate
    return None


def simgrid_seconds(python, plan, steps):
    """CPU seconds of so many steps in SimGrid, an actor a group, no failures; start-up and making the actors aside."""
    s = plan.settings
    arguments = (s.groups, steps, s.redundancy * s.stack / 1e6, s.allreduce / 1e6)
    command = [python, str(SIMGRID), *map(str, arguments)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])


def airesim_loop(servers, standbys, job, mtbf, recovery, select, repair):
    """AIReSim's event loop (Lin, Pattabiraman and Patel, arXiv 2603.07041) as its authors describe it, written anew.

    One job on all servers. Its next failure: the rates of all servers added up, one exponential draw, the server that
    failed found by a walk along the rates. Recovery; a standby takes its place, or hosts are selected again; a repair
    is a process of its own. Returns the failures. Times in seconds; ``mtbf`` of the whole job.
    """
    import simpy

    rng, env = random.Random(SEED), simpy.Environment()
    rate = {server: 1 / (mtbf * servers) for server in range(servers + standbys)}
    active, spare = list(range(servers)), list(range(servers, servers + standbys))
    counts = {"failures": 0}

    def repaired(server):
        yield env.timeout(rng.expovariate(1 / repair))
        spare.append(server)

    def training():
        left = job
        while left > 0:
            rates = [(server, rate[server]) for server in active]
            total = sum(each for _, each in rates)
            run = rng.expovariate(total)
            if run >= left:
                yield env.timeout(left)
                return
            yield env.timeout(run)
            left -= run
            at, reached = rng.random() * total, 0.0
            for server, each in rates:  # noqa: B007  the one that it stops at
                reached += each
                if at <= reached:
                    break
            counts["failures"] += 1
            env.process(repaired(server))
            yield env.timeout(recovery)
            active.remove(server)
            while not spare:
                yield env.timeout(select)
            active.append(spare.pop())

    env.process(training())
    env.run()
    return counts["failures"]
