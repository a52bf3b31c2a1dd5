"""Training steps in SimGrid, an actor a group: compute, wait at the barrier, all-reduce; no failures.

    python simgrid_steps.py GROUPS STEPS COMPUTE_SECONDS ALLREDUCE_SECONDS

Prints the CPU seconds of the simulation, start-up and making the actors aside. A program of its own, as an engine lives
as long as its process, and the bindings may belong to another interpreter (Debian: apt install python3-simgrid).
"""

import random
import sys
import time

from simgrid import Actor, Barrier, Engine, NetZone, this_actor

groups, steps = int(sys.argv[1]), int(sys.argv[2])
compute, allreduce = float(sys.argv[3]), float(sys.argv[4])
engine = Engine(["steps", "--log=root.thresh:error"])
zone = NetZone.create_full_zone("zone")
hosts = [zone.create_host(f"host{number}", 1e9) for number in range(groups)]
zone.seal()
barrier = Barrier(groups)
rng = random.Random(1)


def group():
    for _ in range(steps):
        this_actor.sleep_for(compute * max(0.1, rng.gauss(1, 0.05)))
        barrier.wait()
        this_actor.sleep_for(allreduce)


for number, host in enumerate(hosts):
    Actor.create(f"group{number}", host, group)
begin = time.process_time()
engine.run()
print(time.process_time() - begin)
