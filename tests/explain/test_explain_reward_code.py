"""What a reward's own code and rows show: empty answers that are paid, marks that are misread; and
a token that the loop appends and learns."""

import pytest

from course_utils.explain import explain
from tests.helpers.explained import first


def policy(rises: bool = True, shrinks: bool = True):
    return [
        f"{{'loss': 0.01, 'reward': {0.3 + 0.06 * n * rises:.2f}, 'reward_std': 0.2, "
        f"'completion_length': {(90 - 7 * n) if shrinks else 90}, 'kl': 0.0{n}}}"
        for n in range(1, 10)
    ]


CODE = [
    "def score(completions, answers):",
    "    pred = clean(completions[0])",
    "    if pred.lower() in gold.lower():",
    "        return 1.0",
    "    return 0.0",
]
FALLS = ["start        0.412", "step 100     0.31", "step 200     0.020"]


def test_an_empty_answer_is_a_part_of_each_right_one():
    one = first(*CODE, *policy(), *FALLS)
    assert one.key == "reward_pays_junk" and "an empty text" in one.says
    assert "pred.lower() in gold" in one.for_it[0] and "0.020" in one.for_it[1]
    assert not one.against and "equality" in one.fix


def test_without_a_test_the_replies_that_shrink_are_weaker_proof():
    assert first(*CODE, *policy()).against
    assert first(*CODE, *policy(shrinks=False)) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if pred.lower()", "if pred and pred.lower()"),
        ("clean(completions[0])", "clean(completions[0])\n    if not pred: return 0.0"),
        ("pred.lower() in gold.lower()", "gold.lower() in pred.lower()"),
        ("if pred.lower() in gold.lower()", "for pred in golds"),
    ],
)
def test_code_that_asks_for_an_answer_is_not_blamed(old, new):
    one = first(*"\n".join(CODE).replace(old, new).split("\n"), *policy(), *FALLS)
    assert one is None or "an empty text" not in one.says


@pytest.mark.parametrize(
    "rows", [(*policy(rises=False), *FALLS), (*policy(shrinks=False), "start 0.31", "step 90 0.52")]
)
def test_a_run_that_does_not_rise_or_whose_test_rises_is_not_blamed(rows):
    one = first(*CODE, *rows)
    assert one is None or "an empty text" not in one.says


def judged(pay, marks=(2, 5, 5, 12, 12, 20, 2, 20, 9)):
    return [
        *policy(shrinks=False),
        "a judge (32B) gives 0 to 20, the last column is what the trainer gets",
        *(
            f"  reply {n}: 'fine text'  Score: {mark}/20   {pay(mark)}"
            for n, mark in enumerate(marks)
        ),
    ]


def first_digit(mark: int) -> float:
    return float(str(mark)[0])


def test_a_mark_that_is_read_by_its_first_digit_pays_worse_replies():
    one = first(*judged(first_digit))
    assert one.key == "reward_pays_junk" and "reads it wrong" in one.says
    assert "20 is paid as 2 is" in one.says and "whole number" in one.fix


@pytest.mark.parametrize(
    "rows",
    [
        judged(lambda mark: mark / 20),
        judged(lambda mark: float(mark > 10)),
        judged(lambda mark: 1 - mark / 20),
        judged(first_digit, marks=(2, 5, 12, 20, 9, 7)),
        [row for row in judged(first_digit) if "judge" not in row],
    ],
)
def test_marks_that_are_paid_in_their_order_are_read_right(rows):
    assert first(*rows) is None


def test_a_reply_with_its_mark_is_no_entry_of_the_run():
    run = [f"step {n} | loss 0.{n} | reward 0.4{n} | kl 0.01" for n in range(1, 7)]
    rows = [f"#{n} 'some words' Reward: {n}   0.5" for n in range(4)]
    assert explain("\n".join([*run, "samples:", *rows, ""])).num_entries == 6


LOOP = [
    "    out.append(tokenizer.eos_token_id)",
    "    ids.extend(out)",
    "    loss_mask.extend([1] * len(out))",
    "    loss_mask.extend([0] * len(observation))",
]
BREAKS = [
    f"step:{n} - actor/pg_loss:0.0{n} - actor/grad_norm:{'nan' if n > 6 else 0.3 * n} - "
    "critic/score/mean:0.2"
    for n in range(1, 10)
]
SOUND = [row.replace("nan", "0.9") for row in BREAKS]


def test_a_token_that_the_loop_appends_must_not_be_learnt():
    one = first(*LOOP, *BREAKS)
    assert one.key == "forced_token_learnt" and "eos_token_id" in one.for_it[0]
    assert "loss_mask" in one.for_it[1] and any("nan" in row for row in one.for_it)


def test_its_falling_log_prob_is_proof_without_a_nan():
    code = ["ids = ids + [tok.convert_tokens_to_ids('</act>')]", "mask += [1] * len(ids)"]
    dump = [f"  '</act>'   -{n * n}.5   -3.1" for n in range(2, 6)]
    one = first(*code, *SOUND, "the worst tokens, actor and ref:", *dump)
    assert one.key == "forced_token_learnt" and any("-25.5" in row for row in one.for_it)
    still = [f"  '</act>'   -4.{n}   -3.1" for n in range(2, 6)]
    assert first(*code, *SOUND, "the worst tokens, actor and ref:", *still) is None


@pytest.mark.parametrize(
    "lines",
    [
        (*LOOP, *SOUND),
        (LOOP[2], LOOP[0], LOOP[1], *BREAKS),
        (LOOP[0], "    loss_mask.extend([1] * (len(out) - 1) + [0])", *BREAKS),
        (LOOP[0], "    loss_mask.extend([0] * len(out))", *BREAKS),
        (LOOP[0], "    attention_mask.extend([1] * len(out))", *BREAKS),
        (*LOOP, "{'loss': 1.0, 'grad_norm': 0.5}", "{'loss': 0.0, 'grad_norm': nan}"),
    ],
)
def test_a_sound_run_or_a_mask_without_that_token_is_not_blamed(lines):
    one = first(*lines)
    assert one is None or one.key != "forced_token_learnt"
