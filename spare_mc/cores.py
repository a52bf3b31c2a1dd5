"""How many cores this process may use, which is rarely what the machine has."""

import math
import os
from pathlib import Path


def _cgroup_quota():
    """Cores the control group grants (float), or None without a limit."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return None if quota == "max" else float(quota) / float(period)
    except (OSError, ValueError):
        pass
    try:  # version 1 of the interface
        quota = int(Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").read_text())
        period = int(Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us").read_text())
        return quota / period if quota > 0 else None
    except (OSError, ValueError):
        return None


def allowed():
    """Cores of the job (SLURM_CPUS_PER_TASK), else of the affinity mask, at most the control group's quota."""
    job = os.environ.get("SLURM_CPUS_PER_TASK", "")
    if job.isdigit() and int(job) > 0:
        return int(job)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _cgroup_quota()
    return max(1, min(cores, math.ceil(quota)) if quota else cores)
