"""How many cores this process may use, which is rarely what the machine has."""

import math
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """What limits the cores of this process."""

    machine: int  # cores it has
    job: int | None  # SLURM_CPUS_PER_TASK
    affinity: int  # cores this process may be scheduled on
    quota: float | None  # cores the control group grants

    @property
    def rule(self):
        """Which limit decides: "job", "cgroup" or "affinity"."""
        if self.job:
            return "job"
        return "cgroup" if self.quota and math.ceil(self.quota) < self.affinity else "affinity"

    @property
    def allowed(self):
        """Cores to use."""
        counts = {"job": self.job, "cgroup": self.quota, "affinity": self.affinity}
        return max(1, math.ceil(counts[self.rule]))


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


def limits():
    """The limits of this process."""
    job = os.environ.get("SLURM_CPUS_PER_TASK", "")
    machine = os.cpu_count() or 1
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else machine
    return Limits(machine, int(job) if job.isdigit() and int(job) > 0 else None, affinity, _cgroup_quota())


def allowed():
    """Cores of the job (SLURM_CPUS_PER_TASK), else of the affinity mask, at most the control group's quota."""
    return limits().allowed
