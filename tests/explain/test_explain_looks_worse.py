"""Numbers that frighten and are sound, where the arithmetic or the other numbers show it."""

import json

import pytest
from explain_shapes import rows

from course_utils.explain import explain


def answer(log: list[dict], *before: str):
    return explain("\n".join([*before, *map(json.dumps, log)]) + "\n")


def healthy(told) -> list[str]:
    return [one.key for one in told.no_faults] if told.is_healthy else []


LEARNS = {
    "actor/entropy": lambda n: 0.6 / (1 + n / 4),
    "actor/kl_loss": lambda n: n / 900,
    "actor/pg_clipfrac": 0.002,
    "actor/grad_norm": 0.3,
    "critic/score/mean": lambda n: 0.3 + n / 40,
    "response_length/mean": lambda n: 400.0 + n % 3,
    "val-core/sums/acc/mean@4": lambda n: 0.35 + n / 50,
}


def test_an_entropy_that_falls_as_reward_and_evaluation_rise_is_no_fault():
    told = answer(rows(12, **LEARNS))
    assert "sure_of_what_is_right" in healthy(told)
    assert "val-core/sums/acc/mean@4 0.35 to 0.57" in str(told)


@pytest.mark.parametrize(
    "change",
    [
        {"val-core/sums/acc/mean@4": lambda n: 0.35 + n % 2 / 50},  # it rises alone
        {"val-core/sums/acc/mean@4": lambda n: 0.35 + n / 900},
        {"critic/score/mean": lambda n: 0.5 + n % 2 / 90},
        {"response_length/mean": lambda n: 400.0 - 30 * n},
        {"actor/kl_loss": lambda n: n / 9},
        {"actor/entropy": lambda n: 0.6 / (1 + n * n)},  # gone
    ],
)
def test_an_entropy_that_falls_without_them_is_not_called_healthy(change):
    assert not healthy(answer(rows(12, **LEARNS | change)))


def cut(n: int) -> float:
    return 0.3 / (1 + n / 2)


SHORTER = LEARNS | {
    "actor/entropy": 0.4,
    "response_length/clip_ratio": cut,
    "response_length/max": 2048.0,
    "response_length/mean": lambda n: cut(n) * 2048 + (1 - cut(n)) * (500 + 5 * n),
}


def test_replies_that_get_shorter_since_fewer_run_into_the_limit_are_no_fault():
    told = answer(rows(12, **SHORTER))
    assert "shorter_by_ending" in healthy(told)
    assert "leave 500 for the others at first, and 555 at the end" in " ".join(str(told).split())


def test_replies_that_shrink_although_they_end_by_themselves_are_not_called_healthy():
    whole = {"response_length/mean": lambda n: cut(n) * 2048 + (1 - cut(n)) * (500 - 35 * n)}
    assert not healthy(answer(rows(12, **SHORTER | whole)))


STANDS = LEARNS | {
    "actor/entropy": 0.4,
    "critic/score/mean": lambda n: (n % 3 - 1) / 40,
    "train/num_gen_batches": lambda n: 2 + n // 5,
}


def test_the_score_of_kept_groups_stands_while_the_evaluation_rises():
    told = answer(rows(12, **STANDS), "filter_groups.enable=True")
    assert healthy(told) == ["kept_groups_only"] and "2 batches" in str(told)
    flat = {"val-core/sums/acc/mean@4": lambda n: 0.35 + n % 2 / 90}
    assert not healthy(answer(rows(12, **STANDS | flat), "filter_groups.enable=True"))
    assert not healthy(answer(rows(12, **STANDS)))


PACKED = """packing: true
max_length: 1024
attn_implementation: flash_attention_2
Number of raw samples: 5,120
token stats: total={total} mean=200
  Num examples = 1,010
"""
TRAINS = {
    "loss": lambda n: 1.5 - n / 20,
    "grad_norm": 1.0,
    "learning_rate": 1e-5,
    "num_tokens": lambda n: 102_400 * (n + 1),
    "epoch": lambda n: (n + 1) / 10,
}


def test_rows_that_are_packed_full_hold_all_tokens():
    told = answer(rows(20, **TRAINS), PACKED.format(total=1_024_000))
    assert "rows_packed" in healthy(told) and "1034240" in str(told)


def test_rows_that_lose_tokens_or_see_each_other_are_not_called_packed():
    for text in (
        PACKED.format(total=5_024_000),
        PACKED.format(total=1_024_000).replace("flash_attention_2", "eager"),
        PACKED.format(total=1_024_000).replace("packing: true", "packing: false"),
    ):
        assert "rows_packed" not in healthy(answer(rows(20, **TRAINS), text))
    half = TRAINS | {"num_tokens": lambda n: 51_200 * (n + 1)}
    told = answer(rows(20, **half), PACKED.format(total=1_024_000))
    assert "rows_packed" not in healthy(told)


def drafts(*hits: float) -> list[dict]:
    falls = rows(6, loss=lambda n: 0.9 - n / 10, grad_norm=1.0, learning_rate=1e-4)
    return falls + [{f"test/{n}_acc": hit} for n, hit in enumerate(hits)]


def test_draft_tokens_that_are_counted_in_a_row_fall_with_their_place():
    hits = (0.8, 0.56, 0.4, 0.29)
    told = answer(drafts(*hits), "chain of 4: 3.04 tokens a pass, 80 tok/s")
    assert "counted_in_a_row" in healthy(told) and "= 3.05 tokens" in " ".join(str(told).split())


def test_draft_tokens_of_which_fewer_are_accepted_are_not_called_healthy():
    hits = (0.8, 0.56, 0.4, 0.29)
    assert "counted_in_a_row" not in healthy(answer(drafts(*hits), "chain of 4: 2.2 tokens a pass"))
    falls = (0.8, 0.5, 0.2, 0.05)  # by itself as well
    assert "counted_in_a_row" not in healthy(answer(drafts(*falls), "chain of 4: 2.55 tokens"))


def table(name: str, flexible: float, strict: float) -> str:
    return (
        f"hf (pretrained={name}), num_fewshot: 8\n"
        f"|gsm8k|  3|flexible-extract|  8|exact_match|↑  |{flexible}|±  |0.0110|\n"
        f"|     |   |strict-match    |  8|exact_match|↑  |{strict}|±  |0.0120|"
    )


TUNED = rows(8, loss=lambda n: 1.4 - n / 30, grad_norm=1.0, learning_rate=1e-5)


def test_a_strict_match_that_is_low_in_both_models_is_about_the_form():
    told = answer(TUNED, table("tuned", 0.701, 0.22), table("base", 0.695, 0.25))
    assert "strict_about_the_form" in healthy(told)


def test_a_model_that_is_worse_than_its_base_or_stands_alone_is_not_called_healthy():
    for tables in (
        (table("tuned", 0.6, 0.22), table("base", 0.695, 0.25)),
        (table("tuned", 0.701, 0.22), table("base", 0.695, 0.66)),
        (table("tuned", 0.701, 0.22),),
    ):
        assert not healthy(answer(TUNED, *tables))
