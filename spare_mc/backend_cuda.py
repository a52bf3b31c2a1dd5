"""The cuda backend: NVIDIA GPUs, see docs/gpu.md."""

import importlib

from . import gpu, measures
from .backend_kernels import Kernels


class Cuda(Kernels):
    """On NVIDIA GPUs: compiled at first use, in every process, by up to a minute for training runs."""

    name = "cuda"
    modules = {
        "survival": "cuda_survival",
        "stacks": "cuda_stacks",
        "reordering": "cuda_reorder",
        "training": "cuda_training",
    }
    measures = tuple(modules)
    quick = ("survival", "stacks")
    same_runs = False  # CUDA's logarithms differ in their last bits (docs/gpu.md)
    cost = 2.5e-4  # fills a GPU with training runs
    MOST_GROUPS, MOST_REDUNDANCY = 65_534, 128  # what 16 and 7 bits tell apart

    def missing(self, wanted=None):
        return gpu.missing()

    def refusal(self, measure, point):
        if reason := super().refusal(measure, point):
            return reason
        if measure != "survival" and point.layout.groups > self.MOST_GROUPS:
            return (
                f"cannot do {measure} of {point.layout.groups} groups, only of {self.MOST_GROUPS:,} or fewer"
            )
        if measure == "stacks" and point.layout.redundancy > self.MOST_REDUNDANCY:
            most = self.MOST_REDUNDANCY
            return (
                f"cannot do stacks of layout.redundancy = {point.layout.redundancy}, only of {most} or less"
            )
        return None

    def plan(self, measure, point):
        plan = super().plan(measure, point)
        return self.kernel(measure).prepare(plan) if measure == "training" else plan

    def workers(self, asked):
        return min(asked, 2 * max(1, gpu.count()))  # so many streams there are (kernels.cuda_device)

    def kernel(self, measure):
        return importlib.import_module(f"spare_mc.kernels.{self.modules[measure]}")

    def _survival(self, kernel, plan, layout, key, first, count):
        return {"counts": {"endurable_failures": kernel.counts(plan, key, first, count)}}

    def _stacks(self, kernel, plan, layout, key, first, count):
        return measures.stacks_of(*kernel.tallies(plan, key, first, count))
