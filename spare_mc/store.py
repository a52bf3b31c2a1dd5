"""Results files: HDF5, crash-safe, resumable, mergeable. The schema is documented in docs/store.md.

::

    with store.Writer("out.h5", study) as writer:     # makes the file, or resumes it
        writer.add(tally)
        writer.publish()
    store.read("out.h5").points[0].estimates
    store.summary("out.h5").to_dataframe()
    store.merge(["a.h5", "b.h5"], "both.h5")
"""

from contextlib import suppress

from . import store_files as files
from . import store_schema as schema
from .errors import UserError
from .store_contents import check_same, copy_of, in_order, new_publication, now, of_study, widest
from .store_journal import Journal, path_of, replay
from .store_merge import merge
from .store_read import contents_of, read, summary, view
from .store_stopped import joined_shares, told_reasons, whole_of_shares
from .store_view import File, Summary
from .store_write import image_of
from .tallies import MEASURES, Tally

__all__ = ["File", "Summary", "Writer", "merge", "read", "summary", "view"]


def check_study(path, study):
    """UserError when a results file cannot be resumed with a study, as ``Writer`` raises it; nothing is changed."""
    files.target_of(path)
    check_same(contents_of(path)[0], of_study(study), path)


class Writer:
    """The one writer of a results file; a context manager.

    Opening takes the writer's lock and reads what the file and its journal hold. Tallies are added in memory. Flushed,
    they reach the journal, which the next writer reads. Published, they reach the file: the whole of it is written
    beside and renamed over the old one, so that readers, and a crash at any moment, see one or the other.

    Parameters
    ----------
    path : results file, made on the first publication; an existing one must hold the same study: seed, random
        numbers and set of points. Measures, totals, name and confidence may differ.
    study : Study
    share : ``(i, n)`` when only that share of the study is counted here

    Raises UserError, changing nothing, when the file is held by another writer, holds another study, is not a results
    file, is damaged, has a newer schema, or its folder is missing or not writable.
    """

    def __init__(self, path, study, share=None):
        self._path = str(path)
        self._target = files.target_of(path)
        state, self._contents = self._open(study)
        self._lock = files.lock(self._target, path)
        try:
            if files.state_of(self._target) != state:  # another writer was here in between
                state, self._contents = self._open(study)
            files.remove_stale(self._target)
            self._new = state is None
            self._changed = False
            self._index = {identity: i for i, (identity, _) in enumerate(self._contents.points)}
            self._results = {}  # index -> PointResult whose estimates are up to date
            self._share = share
            self._journal = None
            self._pending = {}  # (point, measure) -> Tally of what was added and neither flushed nor published
            if not self._new:
                self._replay()
        except BaseException:
            self._lock.release()
            raise

    def _replay(self):
        """Add what the journal holds."""
        try:
            for tally in replay(self._target, self._path, self._contents.publication):
                self.add(tally)
        except UserError as error:
            name = path_of(self._target).name
            raise UserError(
                f"{self._path}: its journal {name} does not fit it ({error}); remove {name} to go on from the file as "
                "last published"
            ) from None

    def _open(self, study):
        """What identifies the file's state now, and its contents brought up to the study asked for."""
        state, asked = files.state_of(self._target), of_study(study)
        if state is None:
            return None, asked
        stored, version = contents_of(self._path)
        if version > schema.SCHEMA_VERSION:
            raise UserError(
                f"{self._path}: has schema {version[0]}.{version[1]}, this spare-mc writes "
                f"{schema.SCHEMA_VERSION[0]}.{schema.SCHEMA_VERSION[1]} and would lose what is new: update spare-mc"
            )
        check_same(stored, asked, self._path)
        asked.measures = in_order([*stored.measures, *asked.measures])
        for kept in ("tallies", "columns", "created", "publication", "stopped", "shares"):
            setattr(asked, kept, getattr(stored, kept))
        return state, asked

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.close()
            return
        try:  # what was counted before the error, or Ctrl-C, is worth keeping
            if self._changed:
                self.publish()
        except UserError:  # the first error is the one to tell; a journal may fit where a whole file does not
            with suppress(UserError):
                self.flush()
        finally:
            self._let_go()

    def tally(self, point_id, measure):
        """What is counted for a point and measure so far, stored or added since: a Tally, or None."""
        held = self._contents.tallies.get((point_id, measure))
        return None if held is None else copy_of(held)

    def add(self, tally):
        """Add a tally of a point of the study, in memory.

        Raises UserError, adding nothing, when it shares a trial with what is there or is of another seed or point.
        """
        contents = self._contents
        if tally.point not in self._index or tally.measure not in MEASURES:
            raise UserError(f"{self._path}: has no point {tally.point[:12]} with measure {tally.measure!r}")
        if tally.rows is not None:
            self._check_rows(tally.rows, tally.total)
        key = (tally.point, tally.measure)
        held = contents.tallies.get(key)
        fresh = held is None
        held = Tally(tally.measure, tally.point, contents.seed) if fresh else held
        held.add(tally)
        if not held.spans:
            return
        contents.tallies[key] = held
        self._pending.setdefault(key, Tally(tally.measure, tally.point, contents.seed)).add(tally)
        contents.measures = in_order([*contents.measures, tally.measure])
        self._results.pop(self._index[tally.point], None)
        self._changed = True

    def _check_rows(self, rows, total):
        columns = schema.row_columns(rows.shape[1])
        if rows.shape != (total, len(columns[0])):
            raise ValueError(f"rows of shape {rows.shape}, expected {(total, len(columns[0]))}")
        message = (
            f"{self._path}: its training rows have other columns than this spare-mc counts; choose another -o"
        )
        self._contents.columns = widest(self._contents.columns, columns, message)

    def results(self):
        """List of PointResult in the study's order."""
        return self._contents.results()

    def publish(self):
        """Bring the file up to what was added; UserError, leaving the old file as it was, when that cannot be done."""
        contents = self._contents
        for index in range(len(contents.points)):
            if index not in self._results:
                self._results[index] = contents.result(index)
        before, contents.updated, contents.publication = contents.publication, now(), new_publication()
        try:
            image = image_of(contents, [self._results[i] for i in range(len(contents.points))])
            files.publish(self._target, self._path, image)
        except BaseException:
            contents.publication = before  # the journal, if there is one, still goes on from there
            raise
        # From here on the journal names a publication that is no more: a crash before it is removed does no harm.
        (self._journal or Journal(self._target, self._path, before)).remove()
        self._journal, self._pending = None, {}
        self._new = self._changed = False

    def flush(self):
        """Bring the journal up to what was added; UserError, losing nothing that was stored, when that fails.

        A writer that found a journal, or whose file is not there yet, publishes instead. Returns whether it published.
        """
        if not self._pending:
            return False
        if self._journal is None and (self._new or path_of(self._target).exists()):
            self.publish()
            return True
        if self._journal is None:
            self._journal = Journal(self._target, self._path, self._contents.publication)
        self._journal.append(self._pending.values())
        self._pending = {}
        return False

    def stopped(self, reasons):
        """Note why each point has what it has: point id -> dict measure -> reason (``spare_mc.stopping``)."""
        contents = self._contents
        told = {identity: told_reasons(found) for identity, found in reasons.items()}
        shares = (
            () if self._share is None else joined_shares(contents.shares, [self._share], contents.tallies)
        )
        if shares == () and self._share is not None:  # the last share: together they are the whole
            told = {
                identity: whole_of_shares(text) for identity, text in {**contents.stopped, **told}.items()
            }
        if shares != contents.shares or any(contents.stopped.get(i) != text for i, text in told.items()):
            contents.stopped, contents.shares = {**contents.stopped, **told}, shares
            for index, result in self._results.items():
                result.stopped = contents.stopped.get(contents.points[index][0], "")
            self._changed = True

    def close(self):
        """Publish if anything was added, or the file is new; release the lock."""
        try:
            if self._lock.held and (self._changed or self._new):
                self.publish()
        finally:
            self._let_go()

    def _let_go(self):
        if self._journal is not None:
            self._journal.close()
        self._lock.release()
