# Included by ahead_streams.pxi: decks of entities, and playing logs, as in stream_logs.py.


# ---- decks -------------------------------------------------------------------------------------------------------


cdef inline words stream_words(stream* s, int64_t element, int64_t second) noexcept nogil:
    """The four words of a draw; ``second``: purpose in the top 8 bits, repetition."""
    s.reg[S_DRAWS] += 1
    return philox4x32(
        <uint32_t>element, <uint32_t>second, <uint32_t>s.reg[S_TRIAL_0], <uint32_t>s.reg[S_TRIAL_1],
        <uint32_t>s.reg[S_KEY_0], <uint32_t>s.reg[S_KEY_1])


cdef inline int64_t deal(
    int32_t* deck, int width, int64_t base, int64_t dealt, int64_t size, double u) noexcept nogil:
    """Deal one of the cards base .. base + size - 1 that are not dealt yet, of which ``dealt`` are."""
    cdef int64_t at = base + dealt
    cdef int64_t other = at + <int64_t>(u * <double>(size - dealt))
    cdef int64_t card = other + deck[width * other + CARD]
    deck[width * other + CARD] = <int32_t>(at + deck[width * at + CARD] - other)
    deck[width * at + CARD] = <int32_t>(card - at)
    deck[width * at + EXCHANGED] = <int32_t>other
    return card


cdef inline void gather(int32_t* deck, int width, int64_t base, int64_t dealt) noexcept nogil:
    """Put the ``dealt`` first cards back: the deck is whole."""
    cdef int64_t at
    for at in range(base, base + dealt):
        deck[width * at + CARD] = 0
        deck[width * <int64_t>deck[width * at + EXCHANGED] + CARD] = 0


# ---- logs --------------------------------------------------------------------------------------------------------


cdef int64_t next_in_log(stream* s, int64_t replay) noexcept nogil:
    """The time of the pass's next failure [us], or -1 when it is over."""
    cdef int64_t* log = s.logs + replay * LOG_COLUMNS
    cdef const int64_t* row = s.replays + replay * REPLAY_COLUMNS
    cdef int64_t time
    if log[L_AT] == row[LOG_FIRST] + row[LOG_EVENTS] and row[LOG_BLOCK] > 0 and log[L_WRAPPED] == 0:
        log[L_WRAPPED] = 1
        log[L_AT] = row[LOG_FIRST]
        log[L_SHIFT] += row[LOG_WINDOW]
    if log[L_AT] < row[LOG_FIRST] + row[LOG_EVENTS]:
        time = s.times[log[L_AT]] + log[L_SHIFT]
        if time <= log[L_END]:
            return time
    return -1


cdef int64_t next_pass(stream* s, int64_t replay) noexcept nogil:
    """Go on to the next pass that has a failure; returns its time, NO_FAILURE beyond the horizon."""
    cdef int64_t* log = s.logs + replay * LOG_COLUMNS
    cdef const int64_t* row = s.replays + replay * REPLAY_COLUMNS
    cdef int64_t window = row[LOG_WINDOW], block = row[LOG_BLOCK], begins, moment, time, low, high, middle
    cdef words w
    while log[L_PASS] < LAST_REPETITION:
        gather(s.log_deck, LOG_CARD_COLUMNS, row[LOG_CARD_AT], log[L_CARDS])
        s.reg[S_PASSES] += 1
        log[L_PASS] += 1
        log[L_EPOCH] = s.reg[S_PASSES]
        log[L_MET] = log[L_CARDS] = log[L_WRAPPED] = 0
        if block > 0 or log[L_PASS] == 0:
            w = stream_words(s, replay, REPLAY_PURPOSE | log[L_PASS])
            moment = <int64_t>(uniform(w.a, w.b) * <double>window)
            log[L_SHIFT] = log[L_PASS] * block - moment
            log[L_END] = (log[L_PASS] + 1) * block if block > 0 else NO_FAILURE
            low, high = row[LOG_FIRST], row[LOG_FIRST] + row[LOG_EVENTS]
            while low < high:  # the first place whose time is later than the moment
                middle = (low + high) >> 1
                if s.times[middle] > moment:
                    high = middle
                else:
                    low = middle + 1
            log[L_AT] = low
            begins = log[L_PASS] * block
        else:
            log[L_SHIFT] += window
            log[L_AT] = row[LOG_FIRST]
            begins = log[L_SHIFT]
        if begins > s.reg[S_HORIZON]:
            break
        time = next_in_log(s, replay)
        if time >= 0:
            return time
    return NO_FAILURE


cdef int64_t start_log(stream* s, int64_t replay) noexcept nogil:
    """The first pass; returns the time of the first failure [us], NO_FAILURE where none comes."""
    cdef int64_t* log = s.logs + replay * LOG_COLUMNS
    log[L_PASS] = -1
    log[L_SHIFT] = log[L_MET] = log[L_CARDS] = 0
    return next_pass(s, replay)


cdef int64_t meet_unit(stream* s, int64_t replay, int64_t base, int64_t size) noexcept nogil:
    """The entity (from 0) of a unit that this pass meets for the first time; after all of them they are dealt anew."""
    cdef int64_t* log = s.logs + replay * LOG_COLUMNS
    cdef int64_t card
    cdef words w
    if log[L_CARDS] == size:
        gather(s.log_deck, LOG_CARD_COLUMNS, base, size)
        log[L_CARDS] = 0
    w = stream_words(s, (replay << 24) | log[L_MET], DEAL_PURPOSE | log[L_PASS])
    card = deal(s.log_deck, LOG_CARD_COLUMNS, base, log[L_CARDS], size, uniform(w.a, w.b))
    log[L_CARDS] += 1
    log[L_MET] += 1
    return card - base


cdef event play(stream* s, int64_t replay) noexcept nogil:
    """The entity that fails now, and the time of the next failure."""
    cdef int64_t* log = s.logs + replay * LOG_COLUMNS
    cdef const int64_t* row = s.replays + replay * REPLAY_COLUMNS
    cdef int64_t unit = s.units[log[L_AT]], first = s.pools[row[LOG_POOL]]
    cdef int64_t size = s.pools[row[LOG_POOL] + 1] - first, place
    cdef event out
    if row[LOG_FIXED] != 0:
        out.entity = first + unit % size
    else:
        place = row[LOG_UNIT_AT] + unit
        if s.map_epoch[place] != log[L_EPOCH]:
            s.map_epoch[place] = log[L_EPOCH]
            s.map_entity[place] = <int32_t>(first + meet_unit(s, replay, row[LOG_CARD_AT], size))
        out.entity = s.map_entity[place]
    log[L_AT] += 1
    out.time = next_in_log(s, replay)
    if out.time < 0:
        out.time = next_pass(s, replay)
    return out
