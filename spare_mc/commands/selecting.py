"""Options of verbs that read points of results files: which of them, in which order."""

import click

where_option = click.option(
    "--where",
    "conditions",
    metavar="CONDITION",
    multiple=True,
    help="Take only points that meet it: 'redundancy >= 9', 'kind in golomb,random', 'mean_stack < 2.1'. Keys are "
    "parameters, estimates, trials, runs, stopped; repeat for several.",
)
