"""From the resolved parameters of a point to its failure stream."""


def has_stream(parameters):
    """Whether failures come from a failure stream: groups are then not identical and independent.

    parameters : mapping of dotted key -> resolved value
    """
    keys = ("failures.clock_level", "failures.lemon_share")
    return any(key in keys or key.startswith(("domains.", "replay.", "failures.rates")) for key in parameters)


def stream_plan_of(parameters, layout):
    """The ``kernels.stream_plan.Plan`` of a point, or None where its groups are identical and independent.

    parameters : mapping of dotted key -> resolved value
    layout : spare_mc.layouts.Layout
    """
    return None
