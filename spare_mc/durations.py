"""Durations as text."""


def duration(seconds):
    """A duration for people: three to four digits and a unit that suits its size."""
    for length, unit in ((86400.0 * 2, "days"), (7200.0, "h"), (120.0, "min")):
        if abs(seconds) >= length:
            return f"{seconds / {'days': 86400.0, 'h': 3600.0, 'min': 60.0}[unit]:.4g} {unit}"
    return f"{seconds:.4g} s"
