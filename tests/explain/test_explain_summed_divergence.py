"""kl_div's batchmean on whole batches, and on tokens."""

import pytest

from tests.helpers.explained import first, keys

CODE = [
    "s = F.log_softmax(student_logits / T, dim=-1)   # (B, T, V)",
    "t = F.softmax(teacher_logits / T, dim=-1)",
    'kd = F.kl_div(s, t, reduction="batchmean") * T ** 2',
]
SUM = [*CODE[:2], "kd = F.kl_div(s, t, reduction='sum') / student_logits.shape[0]"]
SHAPE = ["print(logits.shape)", "torch.Size([4, 1024, 151936])"]
FLAT = [*CODE[:2], 'kd = F.kl_div(s.view(-1, V), t.view(-1, V), reduction="batchmean")']
MASKED = [*CODE[:2], "s, t = s[mask], t[mask]", CODE[2]]
DIVIDED = [*CODE[:2], f"{CODE[2]} / mask.sum()"]


def rows(kd: float, ce: float = 1.4):
    return [
        f"step {20 * n} loss {(kd + ce) / 2 - n:.3f} kd {kd - n:.2f} ce {ce} grad_norm 2000.{n}"
        for n in range(8)
    ]


@pytest.mark.parametrize(
    "lines",
    [
        [*CODE, "seq = 1024", *rows(1700)],
        [*SUM, *rows(610)],
        [*SHAPE, CODE[0].partition("#")[0], *CODE[1:], *rows(900)],
        [*CODE, "kd_loss=561.3, ce_loss=1.31", "with 2048 tokens kd doubles", *rows(561)],
    ],
)
def test_a_sum_over_the_positions_is_named(lines):
    one = first(*lines)
    assert one.key == "divergence_summed" and "positions" in one.says and "view(-1, V)" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [*FLAT, *rows(1700)],
        [*MASKED, *rows(1700)],
        [*DIVIDED, *rows(1700)],
        [*CODE, *rows(1.9)],  # pooled logits, of which it is a mean
        [*CODE, *rows(18.0)],
        [CODE[0], CODE[1], "kd = F.kl_div(s, t, reduction='mean')", *rows(1700)],
    ],
)
def test_a_mean_over_tokens_is_not_accused(lines):
    assert "divergence_summed" not in keys(*lines)
