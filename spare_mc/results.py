"""What was found out about a point, read back the same from memory and from a file."""

from dataclasses import dataclass, field
from functools import cached_property

from .errors import UserError


@dataclass
class PointResult:
    """Tallies of one point and what follows from them.

    Attributes
    ----------
    id : identity of the point (hex SHA-256 of its resolved parameters)
    parameters : dotted key -> resolved value, e.g. ``{"cluster.groups": 600, "layout.redundancy": 9}``
    seed : 64-bit seed the trials were drawn with
    tallies : measure -> Tally
    confidence : of the intervals, 0.95 unless the study says otherwise
    stopped : why nothing more was counted (total, target, maximum, time limit, share); empty while that is open
    """

    id: str
    parameters: dict
    seed: int
    tallies: dict = field(default_factory=dict)
    confidence: float = 0.95
    stopped: str = ""
    inputs: dict | None = field(default=None, repr=False, compare=False)  # of study.Point, where known

    @property
    def stream(self):
        """The failure stream of this point's patterns (``study.Point.stream``), or None.

        Raises UserError where it is made of tables or logs of which a file holds only the hash.
        """
        from .failure_streams import stream_plan_of

        try:
            return stream_plan_of(self.parameters, self.inputs)
        except KeyError as error:
            raise UserError(f"failures: {error.args[0]}: a file holds only its hash") from None

    @property
    def trials(self):
        """Failure patterns counted (the most any pattern measure has)."""
        return max((t.total for m, t in self.tallies.items() if m != "training"), default=0)

    @property
    def runs(self):
        """Training runs counted."""
        return self.tallies["training"].total if "training" in self.tallies else 0

    @cached_property
    def estimates(self):
        """Name -> Estimate (mean, low, high, std), for every measure counted."""
        from .estimates import estimates_of

        return estimates_of(self)

    @cached_property
    def curves(self):
        """Name -> float64 array, index k = failures so far."""
        from .estimates import curves_of

        return curves_of(self)

    @cached_property
    def layout(self):
        """The Layout of this point, rebuilt from its parameters."""
        from .study import layout_of

        return layout_of(self.parameters)

    def as_json(self, curves=True):
        """The object that ``show --json`` prints for this point."""
        record = {
            "id": self.id,
            "parameters": self.parameters,
            "trials": self.trials,
            "runs": self.runs,
            "counted": {measure: tally.total for measure, tally in self.tallies.items()},
            "seed": self.seed,
            "stopped": self.stopped,
            "estimates": {name: value._asdict() for name, value in self.estimates.items()},
        }
        if curves:
            record["curves"] = {name: values.tolist() for name, values in self.curves.items()}
        return record
