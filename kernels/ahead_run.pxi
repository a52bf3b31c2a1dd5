# The memory of a training run, as training_state lays it out, for the other parts of ahead_training.pyx.

cdef enum:  # training_settings
    SPARE, REPLICATION, CHECKPOINT_ONLY
cdef enum:
    EXPONENTIAL, WEIBULL, LOGNORMAL  # beyond these: ahead_laws.pxi
cdef enum:
    RENEWAL, FRESH, SYSTEM, STREAM
cdef enum:
    BLOCKING, SAVER, BACKGROUND
cdef enum:
    PER_STACK, PER_BLOCK
cdef enum:
    CONSECUTIVE, CYCLIC
cdef enum:
    STEP_END, FAILURE, REORDER, SAVE, RESTART, PATCH, RETURN, REJOIN
cdef enum:  # COLUMNS, the first places of reg
    NEEDED, REDUNDANT, PATCH_TIME, WAITING, ALLREDUCE, SHRINK, DETECTION, CHECKPOINT, REWORK, RESTARTING, WALL
    SHRINK_TOTAL, USEFUL, FAILURES, RESTARTS, REORDERS, FIXED, DEEPER, MOVES, PATCH_STACKS, SAVES, EXECUTED, COMMITTED
    ROLLED_BACK, FINISHED, RETURNS, REJOINS, REJOIN_MOVES, SPARES_USED, SPARES_LACKING, OUT_STEPS
    # training_state: registers
    NOW, DONE, RESUME, LAST_SAVE, LIFE, DELAY, SAVING, SAVING_DONE, EDGE, SOON_COUNT, OUT_COUNT, EVENT_INDEX, SPENT, SHORT
    SLOWEST_LEFT, SLOWEST_BLOCKS, SINGLE_LEFT, SINGLE_BLOCKS, FIRST_ALIVE, PENDING_COUNT, LOWEST, NEXT_SAVE
    KNOWN, COMING_COUNT, WAITING_FIRST, WAITING_COUNT, REPAIRS_FIRST, REPAIRS_COUNT, FREE, NOTED
    KEY_0, KEY_1, RUN_0, RUN_1
    # marks, seven bins each, then the settings
    MARK
    BEGUN = MARK + 7
    LATER = BEGUN + 7
    SCHEME = LATER + 7
    GROUPS, REDUNDANCY, STEPS, STACK_TIME, ALLREDUCE_TIME, FOUND_ALLREDUCE_TIME, SAVE_TIME, RESTART_TIME, SHRINK_TIME
    DETECTION_TIME, LAW, CLOCKS, EXTENDED, LOWEST_ONLY, RESUME_AFTER, SAVE_KIND, SAVE_BLOCKING, JITTER, PATCH_ALL
    PLACEMENT, SAVE_STEPS, MAX_WALL, REPAIR_TIME, SPARES, SWAP_TIME, REJOIN_TIME, KEEP_DEPTH, SHIFT, BUCKETS
    EVENT_LIMIT, ELASTIC, REPAIRS, REPAIRS_ROOM, HITS, HITS_ROOM, HITS_COUNT, HORIZON, LAW_TABLE, LAW_SIZE
    DEPTH_STEPS
cdef enum:
    BINS = 7
    BLOCK = 64  # jitter draws kept of each stream
    NAMED = 31  # columns before the steps at each depth
cdef enum:  # status of a group
    ALIVE, HIT, FOUND, PENDING

ctypedef struct run_memory:
    int64_t* reg
    # rows of ``group``, N numbers each
    int64_t* due
    int64_t* drawn
    int64_t* status
    int64_t* link
    int64_t* head
    int64_t* soon
    int64_t* out
    int64_t* queue
    int64_t* ready  # these four where groups can come back
    int64_t* coming
    int64_t* waiting
    int64_t* back
    # parts of ``real``
    double* kept  # a block of each stream of jitter draws
    const double* scale
    const double* base  # by stacks in a row, 0..r, like spread and reach
    const double* spread
    const double* reach
    const double* log_of  # log_of[n] for n = 1..N
    const double* slowest
    const double* law_table
    double shape, inverse_shape
    # of the plan
    const int64_t* intervals
    int64_t interval_count, width


cdef int bind_run(run_memory* s, state, plan) except -1:
    """Point ``s`` to the arrays of training_state.make_state and of a plan, which must outlive it."""
    cdef int64_t n = plan.settings.groups, r = plan.settings.redundancy
    cdef int64_t* group
    cdef double* real
    s.reg = <int64_t*>address(state[0], "int64")
    real = <double*>address(state[1], "float64")
    group = <int64_t*>address(state[2], "int64")
    s.due, s.drawn, s.status, s.link = group, group + n, group + 2 * n, group + 3 * n
    s.head, s.soon, s.out, s.queue = group + 4 * n, group + 5 * n, group + 6 * n, group + 7 * n
    s.ready, s.coming, s.waiting, s.back = group + 8 * n, group + 9 * n, group + 10 * n, group + 11 * n
    s.kept, s.shape, s.scale = real, real[2 * BLOCK], real + 2 * BLOCK + 1
    s.inverse_shape = 1.0 / s.shape
    s.base = s.scale + n
    s.spread = s.base + r + 1
    s.reach = s.spread + r + 1
    s.log_of = s.reach + r  # its first number is of n = 1
    s.slowest = s.log_of + n + 1
    s.law_table = real + s.reg[LAW_TABLE]
    s.intervals, s.interval_count = <int64_t*>address(plan.intervals, "int64"), plan.intervals.size
    s.width = plan.width
    return 0
