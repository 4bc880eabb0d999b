"""Waits of one node, where a group has more: who did not come is not in the paste."""

import pytest

from tests.helpers.explained import answer

RUN = [f"step {n} | loss 0.8{n} | gnorm 0.40 | tok/s 1800" for n in range(1, 7)]
WAIT = (
    "[rank{0}]: [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88, "
    "OpType=_ALLGATHER_BASE, NumelIn=1000, NumelOut={1}, Timeout(ms)=600000) ran for 600010 ms"
)


def waits(ranks, size: int):
    return [WAIT.format(rank, 1000 * size) for rank in ranks]


@pytest.mark.parametrize(
    "shown", [waits(range(4), 16), [*waits((0, 2), 16), "... the same for ranks 1 and 3"]]
)
def test_where_other_nodes_are_not_shown_no_cause_is_named(shown):
    told = answer(*RUN, *shown, "received SIGTERM", "My bet is a hanging read in a worker.")
    assert not told.causes and not told.is_healthy
    assert "ranks 0 to 3 wait" in told.worries[0] and "the other 12" in told.worries[0]


@pytest.mark.parametrize(
    "shown",
    [
        waits(range(4), 4),
        waits((0, 1, 3), 4),
        [*waits(range(3), 16), WAIT.format(3, 16000).replace("=88", "=87")],
        ["Map: 40%|####      | 40/100 [00:10<00:15]", *waits(range(4), 16)],
    ],
)
def test_where_the_whole_group_or_a_difference_is_shown_it_is_told(shown):
    assert answer(*RUN, *shown).causes[0].key == "ranks_disagree"
