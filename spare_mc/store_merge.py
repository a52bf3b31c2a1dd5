"""Results files of one study -> one file, whatever their order."""

import os
from pathlib import Path

from . import store_files as files
from .errors import UserError
from .store_contents import copy_of, difference, in_order, new_publication, now, widest
from .store_journal import Journal, replay
from .store_read import contents_of
from .store_stopped import joined_reasons, joined_shares
from .store_write import image_of
from .tallies import Tally, merge_spans


def merge(paths, out):
    """Merge results files of one study over different trials or points into one file.

    The result is the same whatever the order of ``paths``, but for the attributes ``updated``, ``host`` and
    ``publication``. Name, text and confidence come from the file with the most trials.

    Parameters
    ----------
    paths : one or more results files
    out : file to write; must not exist, unless it is one of ``paths``

    Raises UserError naming the files when they are of different studies, count a trial twice, or cannot be read;
    ``out`` is then untouched.
    """
    paths = [str(path) for path in paths]
    if not paths:
        raise UserError("merge: no files given; name one or more results files")
    target = files.target_of(out)
    real = [os.path.realpath(path) for path in paths]
    for index, name in enumerate(real):
        if name in real[:index]:
            raise UserError(f"{paths[index]}: given twice; each file can be merged once")
    _check_free(target, real, out)
    # Files that cannot be merged are refused before a lock file is made, unless one of them is to be replaced.
    merged = None if str(target) in real else _read_all(paths)
    held = files.lock(target, out)
    try:
        _check_free(target, real, out)
        merged = merged or _read_all(paths)
        files.remove_stale(target)
        files.publish(target, out, image_of(merged, merged.results()))
        Journal(target, out, "").remove()  # that of a file merged into itself is in there now
    finally:
        held.release()


def _read_all(paths):
    return _merged({path: _with_journal(path) for path in paths})


def _with_journal(path):
    """Contents of a file and of its journal, which a run that was killed leaves beside it."""
    contents = contents_of(path)[0]
    for tally in replay(Path(os.path.realpath(path)), path, contents.publication):
        key = (tally.point, tally.measure)
        held = contents.tallies.get(key, Tally(tally.measure, tally.point, tally.seed))
        contents.tallies[key] = copy_of(held).add(tally)
    return contents


def _check_free(target, real, out):
    if Path(target).exists() and str(target) not in real:
        raise UserError(f"{out}: exists and is not among the files to merge; choose another file")


def _merged(read):
    """Contents of all files; ``read`` is path -> Contents."""
    order = sorted(read, key=lambda path: _rank(read[path]))
    first = order[0]
    merged = read[first]
    for path in order[1:]:
        found = difference(merged, read[path])
        if found:
            raise UserError(f"{path}: holds another study than {first}: {found.replace('asked', 'there')}")
    sources = {key: [first] for key in merged.tallies}
    tallies = {key: copy_of(tally) for key, tally in merged.tallies.items()}
    for path in order[1:]:
        other = read[path]
        message = f"{path}: its training rows have other columns than those of {first}"
        merged.columns = widest(merged.columns, other.columns, message)
        for key, tally in other.tallies.items():
            if key not in tallies:
                tallies[key], sources[key] = copy_of(tally), [path]
                continue
            _check_disjoint(tally, path, {name: read[name].tallies[key] for name in sources[key]})
            tallies[key].add(tally)
            sources[key].append(path)
    merged.tallies = tallies
    merged.measures = in_order([measure for contents in read.values() for measure in contents.measures])
    merged.created = min(contents.created for contents in read.values())
    merged.updated, merged.publication = now(), new_publication()
    _join_reasons(merged, list(read.values()))
    return merged


def _join_reasons(merged, read):
    """Why each point has what it has, and which shares are there, of all files."""
    shares = joined_shares((), [share for contents in read for share in contents.shares], merged.tallies)
    whole = not shares
    texts = {i: [contents.stopped.get(i, "") for contents in read] for i, _ in merged.points}
    merged.shares = shares
    merged.stopped = {i: text for i, found in texts.items() if (text := joined_reasons(found, whole))}


def _rank(contents):
    """Order of files that does not depend on where they were named: most trials first."""
    return (
        -contents.trials(),
        contents.text,
        contents.name,
        contents.confidence,
        [p[0] for p in contents.points],
    )


def _check_disjoint(tally, path, others):
    for name, other in others.items():
        try:
            merge_spans(other.spans + tally.spans)
        except ValueError as error:
            raise UserError(
                f"{path}: shares trials of seed {tally.seed} with {name}: point {tally.point[:12]}, "
                f"{tally.measure}, {error}"
            ) from None
