# The reordering controller in Cython, included by every extension that needs it: controller.py and controller_state.py
# step for step, where the method and the meaning of every row are told. Groups and types are uint16 or uint32 as in the
# plan, so there are two kinds of life, and fused functions over both.

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

from .controller_state import AGAIN as _AGAIN
from .controller_state import COVER as _COVER
from .controller_state import FLAG as _FLAG
from .controller_state import FROM as _FROM
from .controller_state import LABEL as _LABEL
from .controller_state import PI as _PI
from .controller_state import PRICED as _PRICED
from .controller_state import SCRATCH as _SCRATCH
from .controller_state import SLOT as _SLOT
from .controller_state import VIA as _VIA
from .controller_state import WHEN as _WHEN

cdef enum:  # controller_state
    OUT_LABEL = -1
    FAR = 0x7FFFFFFF

cdef enum:  # the phases of decide(), in controller's order
    PHASE_FIXED, PHASE_DEEPER, PHASE_REORDER, PHASE_WIPED

ctypedef struct life16:
    int64_t groups, redundancy
    const uint16_t* hosts
    const uint16_t* stacks
    const int32_t* width
    const int32_t* first
    uint16_t* stack
    uint16_t* uncovered
    uint16_t* saved
    int32_t* touched
    int32_t* cover
    int32_t* flag
    int32_t* label
    int32_t* pi
    int32_t* priced
    int32_t* via
    int32_t* origin
    int32_t* slot
    int32_t* again
    int32_t* when
    int32_t* scratch
    int32_t* queue
    int32_t* queue_next
    int32_t* bucket
    int64_t depth, alive, uncovered_count, before, found, touched_count, event, base  # State.reg

ctypedef struct life32:
    int64_t groups, redundancy
    const uint32_t* hosts
    const uint32_t* stacks
    const int32_t* width
    const int32_t* first
    uint32_t* stack
    uint32_t* uncovered
    uint32_t* saved
    int32_t* touched
    int32_t* cover
    int32_t* flag
    int32_t* label
    int32_t* pi
    int32_t* priced
    int32_t* via
    int32_t* origin
    int32_t* slot
    int32_t* again
    int32_t* when
    int32_t* scratch
    int32_t* queue
    int32_t* queue_next
    int32_t* bucket
    int64_t depth, alive, uncovered_count, before, found, touched_count, event, base

ctypedef fused life:
    life16
    life32

ctypedef struct decision:
    int64_t phase, moves, patch, changed


cdef int bind(life* s, plan, state) except -1:
    """Point ``s`` to the arrays of a controller_state Plan and State, which must outlive it."""
    cdef int64_t n
    cdef int32_t* table = <int32_t*>address(state.table, "int32")
    n, s.redundancy = plan.stacks.shape
    s.groups = n
    if life is life16:
        s.hosts, s.stacks = <uint16_t*>address(plan.hosts, "uint16"), <uint16_t*>address(plan.stacks, "uint16")
        s.stack, s.saved = <uint16_t*>address(state.stack, "uint16"), <uint16_t*>address(state.saved, "uint16")
        s.uncovered = <uint16_t*>address(state.uncovered, "uint16")
    else:
        s.hosts, s.stacks = <uint32_t*>address(plan.hosts, "uint32"), <uint32_t*>address(plan.stacks, "uint32")
        s.stack, s.saved = <uint32_t*>address(state.stack, "uint32"), <uint32_t*>address(state.saved, "uint32")
        s.uncovered = <uint32_t*>address(state.uncovered, "uint32")
    s.width, s.first = <int32_t*>address(plan.width, "int32"), <int32_t*>address(plan.first, "int32")
    s.touched = <int32_t*>address(state.touched, "int32")
    s.cover, s.flag, s.label = table + n * <int>_COVER, table + n * <int>_FLAG, table + n * <int>_LABEL
    s.pi, s.priced = table + n * <int>_PI, table + n * <int>_PRICED
    s.via, s.origin, s.slot = table + n * <int>_VIA, table + n * <int>_FROM, table + n * <int>_SLOT
    s.again, s.when, s.scratch = table + n * <int>_AGAIN, table + n * <int>_WHEN, table + n * <int>_SCRATCH
    s.queue = <int32_t*>address(state.queue, "int32")
    s.queue_next = s.queue + <Py_ssize_t>state.queue.shape[1]
    s.bucket = <int32_t*>address(state.bucket, "int32")
    s.event = 0
    return 0


cdef void reset(life* s) noexcept nogil:
    """All groups alive, stacks in first order, depth 1."""
    cdef int64_t i
    for i in range(s.groups * s.redundancy):
        s.stack[i] = s.stacks[i]
    for i in range(s.groups):
        s.cover[i] = s.first[i]
        s.label[i] = FAR
    s.depth, s.alive, s.uncovered_count, s.before, s.found, s.touched_count = 1, s.groups, 0, 1, 0, 0
    s.event += 1  # forgets what places_again() told
    s.base = FAR


cdef inline void take_out(life* s, int64_t group) noexcept nogil:
    """``controller.fail``."""
    cdef int64_t place, t, row = group * s.redundancy
    if s.label[group] == OUT_LABEL:
        return
    s.label[group] = OUT_LABEL
    s.alive -= 1
    for place in range(min(s.depth, <int64_t>s.width[group])):
        t = s.stack[row + place]
        s.cover[t] -= 1
        if s.cover[t] == 0:
            s.uncovered[s.uncovered_count] = t
            s.uncovered_count += 1


cdef inline decision decide(life* s) noexcept nogil:
    cdef decision made
    s.event += 1
    s.touched_count = 0
    s.before = s.depth
    s.found = s.uncovered_count
    if s.uncovered_count == 0:
        made.phase, made.moves, made.patch, made.changed = PHASE_FIXED, 0, 0, 0
        return made
    return repair(s)


cdef inline int64_t places_again(life* s, int64_t group) noexcept nogil:
    cdef int64_t width = s.width[group], places = min(s.depth, width) - min(s.before, width)
    if s.when[group] == (s.event & 0x7FFFFFFF):
        places += s.again[group]
    return places


cdef void rejoin(life* s, int64_t group) noexcept nogil:
    """``controller.rejoin``."""
    cdef int64_t place, width = s.width[group], row = group * s.redundancy
    if s.label[group] != OUT_LABEL:
        return
    s.label[group] = FAR
    s.alive += 1
    for place in range(width):
        s.stack[row + place] = s.stacks[row + place]
    for place in range(min(s.depth, width)):
        s.cover[s.stack[row + place]] += 1


cdef int64_t relax(life* s) noexcept nogil:
    """``controller.relax``: the depth becomes the least feasible again; returns the promotions this takes."""
    cdef int64_t depth, t
    cdef decision made
    s.event += 1
    s.touched_count = 0
    s.before = s.depth
    s.found = 0
    depth = (s.groups + s.alive - 1) // s.alive
    if depth >= s.before:
        return 0
    made.moves = made.changed = 0
    shallow(s, depth)
    for t in range(s.groups):
        if s.cover[t] == 0:
            s.uncovered[s.uncovered_count] = t
            s.uncovered_count += 1
    cover_all(s, depth, &made)
    return made.moves


cdef void shallow(life* s, int64_t depth) noexcept nogil:
    """Let alive prefixes reach ``depth`` places only, less than they do."""
    cdef int64_t g, place
    for g in range(s.groups):
        if s.label[g] != OUT_LABEL:
            for place in range(depth, min(s.depth, <int64_t>s.width[g])):
                s.cover[s.stack[g * s.redundancy + place]] -= 1
    s.depth = depth


cdef decision repair(life* s) noexcept nogil:
    cdef decision made
    cdef int64_t depth = s.before
    made.phase, made.moves, made.patch, made.changed = PHASE_WIPED, 0, 0, 0
    if not sort_uncovered(s):
        return made
    # No group takes more than S types, so S < N / alive cannot do; beyond that, a failed search tells.
    while depth * s.alive < s.groups:
        depth += 1
    cover_all(s, depth, &made)
    made.patch = s.touched_count
    if s.depth > s.before:
        grown(s, &made)
    made.phase = PHASE_REORDER if made.moves > 0 else PHASE_DEEPER
    return made


cdef void cover_all(life* s, int64_t depth, decision* made) noexcept nogil:
    """``controller._cover``: cover the uncovered types, at the least depth from ``depth`` on that can."""
    while True:
        if depth > s.depth:
            deepen(s, depth)
        if promote(s, depth):
            break
        undo(s, depth)
        depth += 1
    s.uncovered_count = 0
    settle_groups(s, made)


cdef bint sort_uncovered(life* s) noexcept nogil:
    """Sort the uncovered types, so that the order of failures does not matter; False if one has no host."""
    cdef int64_t i, j, k, t
    cdef bint hosted
    for i in range(s.uncovered_count):
        t = s.uncovered[i]
        hosted = False
        for j in range(t * s.redundancy, (t + 1) * s.redundancy):
            if s.label[s.hosts[j]] != OUT_LABEL:
                hosted = True
                break
        if not hosted:
            return False
        k = i
        while k > 0 and s.uncovered[k - 1] > t:
            s.uncovered[k] = s.uncovered[k - 1]
            k -= 1
        s.uncovered[k] = t
    return True


cdef void deepen(life* s, int64_t depth) noexcept nogil:
    """Let alive prefixes reach ``depth`` places; types that this covers are uncovered no more."""
    cdef int64_t g, i, place, t, kept = 0
    for g in range(s.groups):
        if s.label[g] != OUT_LABEL:
            for place in range(s.depth, min(depth, <int64_t>s.width[g])):
                s.cover[s.stack[g * s.redundancy + place]] += 1
    s.depth = depth
    for i in range(s.uncovered_count):
        t = s.uncovered[i]
        if s.cover[t] == 0:
            s.uncovered[kept] = t
            kept += 1
    s.uncovered_count = kept


cdef void grown(life* s, decision* made) noexcept nogil:
    """Alive groups with new places in the prefix after the depth grew, and those places."""
    cdef int64_t g, width
    made.patch = 0
    for g in range(s.groups):
        width = s.width[g]
        if s.label[g] != OUT_LABEL and width > s.before:
            made.patch += 1
            made.changed += min(s.depth, width) - s.before


cdef void undo(life* s, int64_t depth) noexcept nogil:
    """Take back what promotions changed before ``depth`` was found too small."""
    cdef int64_t i, g, place, old, new, row, kept
    for i in range(s.touched_count):
        g = s.touched[i]
        row, kept = g * s.redundancy, i * s.redundancy
        s.slot[g] = -1
        for place in range(depth):
            old, new = s.saved[kept + place], s.stack[row + place]
            s.flag[old] = 0
            s.flag[new] = 0
            if old != new:
                s.cover[new] -= 1
                s.cover[old] += 1
                s.stack[row + place] = old
    s.touched_count = 0


cdef void settle_groups(life* s, decision* made) noexcept nogil:
    """``controller._settle``: the final order of every touched group; counts moves and changed places."""
    cdef int64_t depth = s.depth, i, k, g, row, prefix, place, old, new, t, promoted, below, write, missing, kept = 0
    cdef bint leaves
    for i in range(s.touched_count):
        g = s.touched[i]
        row, prefix = g * s.redundancy, i * s.redundancy
        s.slot[g] = -1
        promoted = below = 0
        for place in range(depth):
            old, new = s.saved[prefix + place], s.stack[row + place]
            s.flag[old] = 0
            s.flag[new] = 0
            if old != new:
                s.scratch[promoted] = new
                promoted += 1
                if place < s.before:
                    below += 1
        if promoted == 0:
            continue  # its promotions were all undone
        # Backwards through the rest: promoted types leave, the others close up at the end of the row.
        write = s.width[g]
        missing = promoted
        for place in range(write - 1, depth - 1, -1):
            t = s.stack[row + place]
            leaves = False
            for k in range(promoted):
                if s.scratch[k] == t:
                    leaves = True
                    break
            if leaves:
                missing -= 1
                s.scratch[promoted + missing] = t  # the promoted types once more, in their old order
            else:
                write -= 1
                s.stack[row + write] = t
        k = 0
        for place in range(depth):
            if s.stack[row + place] != s.saved[prefix + place]:
                s.stack[row + place] = s.scratch[promoted + k]
                s.stack[row + depth + k] = s.saved[prefix + place]
                k += 1
        made.moves += promoted
        made.changed += below
        s.touched[kept] = g
        kept += 1
        s.again[g] = below
        s.when[g] = s.event & 0x7FFFFFFF
    s.touched_count = kept


include "ahead_promotions.pxi"
