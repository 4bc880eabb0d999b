"""A soft cross entropy above its floor, the teacher's entropy, and losses that are stuck."""

import pytest

from tests.helpers.explained import answer

CODE = "loss = -(teacher_probs * student_logprobs).sum(-1).mean()"
RUN = [
    f"step {100 * n} soft_ce: {2.31 + 0.9 / n:.4f} teacher_entropy: 2.3{n % 3} grad_norm: 0.8 "
    "lr: 1e-5"
    for n in range(1, 10)
]


def test_a_cross_entropy_that_nears_the_teachers_entropy_is_no_fault():
    told = answer("It should go to zero, shouldn't it?", CODE, *RUN)
    assert not told.causes and told.is_healthy
    assert "is left" in told.findings[0].for_it[1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (CODE, "loss = F.kl_div(student_logprobs, teacher_probs, reduction='batchmean')"),
        (CODE, "loss = mse(student, teacher)"),
        ("teacher_entropy: 2.3", "teacher_entropy: 0.3"),
        ("teacher_entropy: 2.3", "teacher_entropy: 3.3"),
    ],
)
def test_what_is_no_such_loss_or_does_not_near_it_is_not_called_healthy(old, new):
    assert not answer(*"\n".join([CODE, *RUN]).replace(old, new).split("\n")).is_healthy


def test_a_distance_that_stays_is_not_called_healthy():
    still = [row.replace(row[row.index("soft_ce") :][9:15], "2.9000") for row in RUN]
    assert not answer(CODE, *still).is_healthy
