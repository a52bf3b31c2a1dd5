"""Why each point of a results file has what it has, and which shares of a study it holds."""

from .stopping import SHARE, TOTAL


def told_reasons(reasons):
    """One text of the reasons of a point's measures: the reason, or each measure with its own."""
    if len(set(reasons.values())) == 1:
        return next(iter(reasons.values()))
    return ", ".join(f"{measure}: {reason}" for measure, reason in reasons.items())


def joined_shares(mine, theirs, tallies):
    """The shares ``(i, n)`` of a study that two files hold together, sorted; empty when they are the whole study.

    tallies : (id, measure) -> Tally of both together. Shares of different totals leave holes: no whole.
    """
    found = tuple(sorted({*mine, *theirs}))
    for _, of in found:
        if all((at, of) in found for at in range(1, of + 1)):
            holes = any(
                tally.spans[0][0] > 0 or len(tally.spans) > 1 for tally in tallies.values() if tally.spans
            )
            return found if holes else ()
    return found


def joined_reasons(texts, whole):
    """The reason of a point that several files give reasons for.

    texts : their texts, empty where a file has nothing of the point
    whole : whether the files are all shares of the study
    """
    given = sorted({text for text in texts if text})
    if whole:
        given = sorted({whole_of_shares(text) for text in given})
    return " / ".join(given)


def whole_of_shares(text):
    """A reason once all shares are there: what was a share is then the total."""
    return text.replace(SHARE, TOTAL)
