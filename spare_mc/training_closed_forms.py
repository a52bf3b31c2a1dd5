"""What closed forms say of a training run: to print beside the simulated values."""

from . import theory


def closed_forms(parameters, layout):
    """``useful_fraction`` and ``time_to_train_ratio`` by A(T_c) and J, a dict; empty where they do not apply.

    A(T_c) (Saxena et al. 2024, arXiv 2410.18124) at the expected time to the wipe-out of fresh groups and the period
    that the study saves at; the ratio is the time of a step at the mean depth, over one of one stack, over A (the
    paper's J, arXiv 2603.00357). Both take restarts as T_r and failures as masked at no cost: the published rules,
    whose restarts take about twice T_r, lie above. Nothing is said under failure streams, repair or a dynamic period.
    """
    from .study import Point
    from .training_setup import checkpoint_interval, simulates_wipeouts, time_to_wipeout

    p, point = parameters, Point(parameters, layout)
    if simulates_wipeouts(p) or p.get("training.checkpoint") == "dynamic":
        return {}
    until = time_to_wipeout(point)
    step = _depth(p, layout) * p["training.stack_time"] + p["training.allreduce_time"]
    if "training.checkpoint_steps" in p:
        between = p["training.checkpoint_steps"] * step
    elif "training.checkpoint_period" in p:
        between = p["training.checkpoint_period"]
    else:
        between = checkpoint_interval(point)
    save = p["training.save_time"]
    useful = theory.availability(max(between, step) + save, save, p["training.restart_time"], until)
    ratio = (
        step / (p["training.stack_time"] + p["training.allreduce_time"]) / useful
        if useful > 0
        else float("inf")
    )
    return {"useful_fraction": useful, "time_to_train_ratio": ratio}


def _depth(parameters, layout):
    """Mean stacks of a step: the paper's bound under SPARe, r under replication."""
    if parameters["training.scheme"] == "replication":
        return layout.redundancy
    if parameters["training.scheme"] == "checkpoint-only":
        return 1
    return theory.mean_least_stack_bound(layout.groups, layout.redundancy)
