"""Pairs that a run cannot tell apart: cut to what they share, or judged against the policy."""

import pytest

from tests.helpers.explained import first, keys

SAME = [
    f"{n} loss: 0.6931 rew_chosen: 0.000 rew_rejected: 0.000 margin: 0.000 "
    f"logps_chosen: {-80.5 - 9 * n} logps_rejected: {-95.25 - 22 * n} grad_norm: 7.{n}"
    for n in range(8)
]
CALL = "runner = Runner(policy, lr=2e-6)"


@pytest.mark.parametrize(
    "code",
    [
        "        self.ref = reference or policy",
        "        self.ref_net = policy if reference is None else reference",
        "        self.anchor = reference if reference is not None else policy.eval()",
    ],
)
def test_a_reference_that_falls_back_to_the_policy_is_the_policy(code):
    one = first(*SAME, code, CALL)
    assert one.key == "reference_moves" and "where no reference is given" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        ["        self.ref = reference or policy", "r = Runner(policy, reference=frozen)"],
        ["        self.ref = reference or policy", "r = Runner(policy, ref_model)"],
        ["        self.ref = reference or copy.deepcopy(policy)", CALL],
    ],
)
def test_a_reference_that_is_given_or_copied_is_not_said_to_fall_back(lines):
    one = first(*SAME, *lines)
    assert "where no reference is given" not in one.says


def test_rows_of_two_log_probs_are_not_called_read_at_a_wrong_token():
    assert not {"rows_pooled_wrong", "pairs_alike"} & set(keys(*SAME))
    bare = [row.replace("rew_chosen: 0.000 rew_rejected: 0.000 ", "") for row in SAME]
    assert not {"rows_pooled_wrong", "pairs_alike"} & set(keys(*bare))


def ranked(hits: float, sign: int = 1) -> list[str]:
    rows = []
    for n in range(9):
        gap = 0 if n % 4 == 0 else sign * (0.03 * n - 0.02)
        loss = 0.6931 - gap / 3 + (0.012 if n == 5 else 0)
        rows.append(
            f"step={n} loss={loss:.4f} acc={hits:.3f} chosen_reward={0.2 - n / 50:.3f} "
            f"reject_reward={0.2 - n / 50 - gap:.3f}"
        )
    return rows


LENGTHS = ["tokens        p10   median   p90", "question      610   1180     2300"]


def test_pairs_that_tie_though_a_few_teach_are_cut_to_what_they_share():
    one = first("--max_len 768", *ranked(0.1), *LENGTHS)
    assert one.key == "pairs_alike" and "768" in one.says and "1180" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        ["--max_len 4096", *ranked(0.1), *LENGTHS],
        ["--max_len 768", *ranked(0.7), *LENGTHS],
        ["--max_len 768", *ranked(0.1, sign=-1), *LENGTHS],
        ["--max_len 768", *ranked(0.1)],
    ],
)
def test_room_for_the_reply_or_pairs_that_are_turned_round_are_not_called_cut(lines):
    assert "pairs_alike" not in keys(*lines)
