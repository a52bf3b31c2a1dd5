"""Groups that come back to the reordering controller: least depth, least moves, states of the plain-Python twin."""

import numpy as np
from reorder_cases import library_cost, make_plan, some_layout

from spare_mc.kernels import controller
from spare_mc.kernels.reference_reorder import Controller, least_cost
from spare_mc.kernels.reference_stacks import least_depth


def rows_of(plan, state):
    return [state.stack[g, : plan.width[g]].tolist() for g in range(len(plan.width))]


def lives(seed, count, keep=False):
    """Random failures and returns in random layouts; yields after every decision what was done and what it left.

    (layout, plan, state, twin, rows before, whether groups came back, phase, moves)
    """
    rng = np.random.default_rng(seed)
    made = 0
    while made < count:
        layout = some_layout(rng)
        plan = make_plan(layout)
        state = controller.plain_state(plan)
        twin = Controller(layout.host_table(), layout.stack_table())
        out, alive = [], list(range(layout.groups))
        most, share = int(rng.integers(1, 5)), rng.uniform(0.1, 0.6)
        phase = 0
        while phase != controller.WIPED and made < count:
            back = bool(out) and rng.random() < share
            source, target = (out, alive) if back else (alive, out)
            groups = [
                source.pop(int(rng.integers(len(source))))
                for _ in range(min(len(source), int(rng.integers(1, most + 1))))
            ]
            target += groups
            if back:
                for g in groups:
                    controller.rejoin(plan, state, g)
                rows = rows_of(plan, state)
                moves = 0 if keep else controller.relax(plan, state)
                assert twin.rejoin(groups, keep) == moves
            else:
                rows = rows_of(plan, state)
                for g in groups:
                    controller.fail(plan, state, g)
                phase, moves, _, _ = controller.decide(plan, state)
                told = twin.fail(groups)
                assert (told["phase"], told["moves"]) == (phase, moves)
            yield layout, plan, state, twin, rows, back, phase, moves
            made += 1


def test_depth_and_moves_are_the_least_when_groups_come_back():
    """Depth S*(alive set) after every failure and every return; moves by scipy's assignment and by flow on slots."""
    fell = moved = several = 0
    for number, (layout, plan, state, twin, rows, back, phase, moves) in enumerate(lives(1, 1500)):
        if phase == controller.WIPED:
            continue
        before, depth = int(state.reg[controller.BEFORE]), int(state.reg[controller.DEPTH])
        hosts = [sorted(set(map(int, layout.hosts(t)))) for t in range(layout.groups)]
        assert depth == least_depth(hosts, twin.alive, layout.redundancy)
        assert int(state.reg[controller.ALIVE]) == len(twin.alive)
        after = rows_of(plan, state)
        assert all(after[g] == twin.order[g] for g in twin.alive)
        assert {t for g in twin.alive for t in after[g][:depth]} == set(range(layout.groups))
        if not back:
            continue
        alive = np.zeros(layout.groups, bool)
        alive[list(twin.alive)] = True
        assert library_cost(rows, alive, depth) == moves
        if number % 60 == 0:
            assert least_cost(hosts, dict(enumerate(rows)), twin.alive, depth) == moves
        promoted = sum(len(set(after[g][:depth]) - set(rows[g][:depth])) for g in twin.alive)
        assert promoted == moves
        fell += depth < before
        moved += moves > 0
        several += moves > 1
    assert fell > 100 and moved > 30 and several > 10


def test_the_depth_stays_where_it_is_told_to():
    kept = 0
    for layout, _, state, twin, _, _, phase, _ in lives(2, 200, keep=True):
        if phase != controller.WIPED:
            hosts = [sorted(set(map(int, layout.hosts(t)))) for t in range(layout.groups)]
            depth = int(state.reg[controller.DEPTH])
            assert depth == twin.depth >= least_depth(hosts, twin.alive, layout.redundancy)
            kept += depth > least_depth(hosts, twin.alive, layout.redundancy)
    assert kept > 20


def test_all_groups_back_is_depth_one_again():
    rng = np.random.default_rng(3)
    for _ in range(20):
        layout = some_layout(rng)
        plan = make_plan(layout)
        state = controller.plain_state(plan)
        order = rng.permutation(layout.groups).tolist()
        for count, g in enumerate(order, 1):
            controller.fail(plan, state, g)
            if controller.decide(plan, state)[0] == controller.WIPED:
                break
            for back in order[:count]:
                controller.rejoin(plan, state, back)
                controller.rejoin(plan, state, back)  # back twice is back once
            controller.relax(plan, state)
            assert state.reg[controller.DEPTH] == 1 and state.reg[controller.ALIVE] == layout.groups
            for gone in order[:count]:
                controller.fail(plan, state, gone)
            if controller.decide(plan, state)[0] == controller.WIPED:
                break
