"""Weights that are never sent or are rounded away, and tokens that are read at another place."""

import pytest

from tests.helpers.explained import first


def policy(rises: bool = False, parts: bool = True):
    return [
        f"step {n} reward {0.4 + 0.05 * n * rises:.3f} pg_loss 0.01 clipfrac 0.0{n}"
        f" | dlogp(trainer,sampler) {0.012 * (n if parts else 1) ** 2:.4f}"
        for n in range(1, 9)
    ]


OFF = "cfg: batch=32, weight_sync_interval=0, lr=1e-6"
ASKED = ['INFO: 10.0.0.2 - "POST /v1/completions HTTP/1.1" 200 OK'] * 4
SENT = ['INFO: 10.0.0.2 - "POST /update_weights_from_disk HTTP/1.1" 200 OK']


def test_a_sync_that_is_off_never_sends_the_weights():
    one = first(OFF, *policy())
    assert one.key == "stale_sampler" and "weight_sync_interval=0" in one.says
    assert any("dlogp(trainer,sampler)" in row for row in one.for_it)


def test_a_server_that_is_only_asked_to_sample_gets_no_weights():
    one = first(*policy(), *ASKED)
    assert one.key == "stale_sampler" and "/v1/completions and nothing else" in one.for_it[0]


@pytest.mark.parametrize(
    "lines",
    [
        (OFF.replace("=0", "=4"), *policy()),
        (OFF, *policy(parts=False)),
        (OFF, *policy(rises=True)),
        (*policy(), *ASKED, *SENT),
        (*policy(parts=False), *ASKED),
    ],
)
def test_a_sampler_that_gets_weights_or_whose_policy_learns_is_not_blamed(lines):
    one = first(*lines)
    assert one is None or "never sent" not in one.says


SMALL = [f"step {n} | loss 1.41{n} | lr 5e-07 | grad_norm 2.{n}" for n in range(1, 9)]
KEPT = "model_dtype: bfloat16"
CHANGED = ["name  numel  differ", *(f"layers.{n}.weight 4096 1.{n}0% 2e-05" for n in range(4))]


def test_few_elements_change_where_bfloat16_rounds_small_updates_away():
    one = first(KEPT, *SMALL, *CHANGED)
    assert one.key == "rounding_swallows" and any("1.30 %" in row for row in one.for_it)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("model_dtype: bfloat16", "model_dtype: float32"),
        ("model_dtype: bfloat16", "model_dtype: bfloat16\nmaster_weights: true"),
        ("lr 5e-07", "lr 2e-04"),
        (" 1.", " 81."),
    ],
)
def test_copies_in_float32_large_rates_or_many_changes_are_not_blamed(old, new):
    one = first("\n".join([KEPT, *SMALL, *CHANGED]).replace(old, new))
    assert one is None or one.key != "rounding_swallows"


FALLS = [f"step {n} | loss {3 - n / 5:.2f} | lr 1e-05 | grad_norm 1.{n}" for n in range(1, 9)]
STUDENT = "s_out = student_model(ids).logits[:, :-1, :]"
TEACHER = "t_out = teacher_model(ids).logits[..., 1:, :]"


def test_logits_that_are_cut_at_different_ends_are_of_different_tokens():
    one = first(STUDENT, TEACHER.replace("...", ":"), *FALLS)
    assert one.key == "teacher_one_place_on" and "one way" in one.fix
    assert first("student_logits[:, 1:]", "teacher_logits[:, :-1]", *FALLS).key == one.key


@pytest.mark.parametrize(
    "lines",
    [
        (STUDENT, STUDENT.replace("student", "teacher")),
        (STUDENT, "teacher_labels = labels[:, 1:]"),
        (STUDENT, "target = labels[:, 1:]"),
    ],
)
def test_logits_that_are_cut_alike_are_not_blamed(lines):
    assert first(*lines, *FALLS) is None


BASES = ['"rope_theta": 500000.0, "hidden_size": 4096', "rotary_emb_base ......... 10000"]
PLACES = ["0-7  2.91  2.93", "8-63  1.52  1.98", "64-511  1.21  2.87", "512-2047  1.08  3.66"]


def test_another_base_of_the_positions_shows_further_back():
    one = first(*BASES, *FALLS, *PLACES)
    assert one.key == "positions_wrong" and "500000.0" in one.fix and not one.against
    assert first(*BASES, *FALLS).against


@pytest.mark.parametrize(
    "lines",
    [
        (BASES[0], BASES[1].replace("10000", "500000")),
        (*BASES, "we use YaRN to get to 128k tokens"),
        (BASES[0], BASES[0].replace("500000", "10000")),
    ],
)
def test_one_base_or_one_that_is_changed_on_purpose_is_not_blamed(lines):
    one = first(*lines, *FALLS)
    assert one is None or one.key != "positions_wrong"
