"""Rules of `course explain` at their edges: similar logs are told apart, healthy ones pass."""

import json

import pytest
from explain_shapes import DPO, GRPO, rows
from pasted_logs import Pasted

from course_utils.explain import explain
from course_utils.explain.messages.phrases import PHRASES, branches, literal


def keys(log: list[dict], *more: str) -> list[str]:
    answer = explain("\n".join([*map(json.dumps, log), *more, ""]))
    return [one.key for one in answer.causes]


FALLS = {"loss": lambda n: 2 - n / 40, "grad_norm": 0.7}
OVER = "{'train_runtime': 12.5, 'train_loss': 1.2}"


def test_a_warmup_that_begins_at_a_late_step_is_of_a_resumed_run():
    late = [
        row | {"step": 500 + 10 * row["step"]}
        for row in rows(8, **FALLS, learning_rate=lambda n: 1e-6 * (n + 1))
    ]
    assert keys(late) == ["resumed_without_state"]
    first = [row | {"learning_rate": 1e-7 * row["step"]} for row in late]
    assert not keys(first)  # the same steps of a warm-up that began at 0


def test_a_rate_that_falls_and_stays_low_is_no_restart():
    assert not keys(rows(20, **FALLS, learning_rate=lambda n: 1e-4 if n < 10 else 1e-5))
    assert not keys(rows(20, **FALLS, learning_rate=lambda n: 1e-4 * (1 - n / 21)))


def test_a_warmup_without_end_needs_a_run_that_is_over():
    climbing = rows(12, **FALLS, learning_rate=lambda n: 1e-6 * n)
    assert not keys(climbing)
    assert keys(climbing, OVER) == ["schedule_ends_early"]
    assert not keys(rows(12, **FALLS, learning_rate=lambda n: 1e-6 * min(n, 9)), OVER)


@pytest.mark.parametrize(("rate", "found"), [("0.000", []), ("0.0", ["rate_zero"])])
def test_a_rate_that_is_printed_short_may_not_be_0(rate, found):
    log = "\n".join(f"step {n}  lr: {rate}  loss: 2.{n}1" for n in range(9))
    assert [one.key for one in explain(log).causes] == found


def test_six_decimals_speak_against_a_rate_of_0():
    assert "4e-7 looks the same" in str(explain(Pasted("vision-2007", None).text))


def test_losses_that_come_again_need_digits_and_all_of_them():
    again = rows(12, loss=lambda n: (2.3141, 2.2718, 2.4669)[n % 3], grad_norm=0.8)
    assert keys(again) == ["weights_do_not_move"]
    assert not keys(rows(12, loss=lambda n: (2.3, 2.2, 2.4)[n % 3], grad_norm=0.8))
    again[10]["loss"] += 0.0001
    assert not keys(again)


def test_an_evaluation_that_stays_to_the_last_digit():
    log = rows(9, loss=lambda n: 2.1 + n * n % 7 / 9, grad_norm=0.8, eval_loss=2.13371)
    assert "weights_do_not_move" in keys(log)
    log[3]["eval_loss"] = 2.13372
    assert "weights_do_not_move" not in keys(log)


def test_one_accuracy_in_every_evaluation_is_no_overfitting():
    falls = {"loss": lambda n: 2 - n / 8, "grad_norm": 0.7}
    change = falls | {"eval_loss": lambda n: 2.0 + n / 4, "eval_accuracy": 0.5676}
    log = rows(7, **change)
    assert keys(log)[0] == "evaluation_stands_still" and "overfits" not in keys(log)
    log[3]["eval_accuracy"] = 0.5946
    fits = explain("\n".join(map(json.dumps, log))).fits
    assert fits[0].key == "overfits"


def test_a_norm_that_is_clipped_to_a_round_number_is_none_of_broken_numbers():
    assert not keys(rows(9, **FALLS | {"grad_norm": 1.0}))
    assert not keys(rows(9, **FALLS | {"grad_norm": 0.9999998807907104}))
    assert keys(rows(9, **FALLS | {"grad_norm": 1.4142135381698608})) == ["numbers_broken"]


def test_a_loss_of_0_in_an_entry_without_a_norm_stops_no_rule():
    log = rows(8, **FALLS | {"grad_norm": 1.4142135381698608})
    log += [{"step": 9, "loss": 0.0}, {"step": 10, "loss": 0.0}]
    assert "numbers_broken" in keys(log)
    still = rows(8, **FALLS | {"grad_norm": 0.0})
    assert "numbers_broken" not in keys([*still, {"step": 9, "loss": 0.0}])


def test_a_model_from_scratch_begins_at_a_guess_and_leaves_it():
    assert not keys(rows(12, loss=lambda n: 10.37 - n / 3, grad_norm=2.0))
    assert keys(rows(9, loss=lambda n: 10.37 + n * n % 7 / 300, grad_norm=2.0))[0] == "guesses"


@pytest.mark.parametrize("name", ["rewards/chosen", "rewards/margins"])
def test_one_score_for_both_replies_of_a_pair(name):
    scored = rows(6, loss=0.6931, grad_norm=0.2, **{"rewards/margins": 0.0})
    assert keys(scored) == ["rows_pooled_wrong", "pairs_alike"]
    alike = rows(6, **DPO | {"loss": 0.6931, "rewards/chosen": 0.4, "rewards/rejected": 0.4})
    assert keys(alike)[0] == "pairs_alike"
    frozen = rows(6, **DPO | {"loss": 0.6931, "rewards/chosen": 0.0, "rewards/rejected": 0.0})
    assert keys(frozen) == ["policy_is_reference"]


@pytest.mark.parametrize(("chosen", "found"), [(0.3, ["wrong_reference"]), (0.02, [])])
def test_a_reference_that_is_another_model_shows_in_step_1(chosen, found):
    log = rows(4, **DPO | {"rewards/chosen": chosen, "rewards/rejected": -chosen})
    assert keys([row | {"step": row["step"] + 1} for row in log]) == found


RATIO = "sampling/importance_sampling_ratio/mean"


def test_a_mean_ratio_on_one_side_of_1_throughout():
    on = GRPO | {"loss": 0.2}
    assert keys(rows(6, **on, **{RATIO: lambda n: 0.94 + n / 200})) == ["engines_disagree"]
    assert not keys(rows(6, **on, **{RATIO: lambda n: 1 + 0.03 * (-1) ** n}))
    assert not keys(rows(6, **on, **{RATIO: lambda n: 1.002 + n / 9000}))


def test_engines_that_agree_to_the_last_bit_have_given_only_nan():
    apart, cut = "sampling/sampling_logp_difference/mean", "completions/clipped_ratio"
    on = {"loss": 0.0, "reward": 0.0, cut: 1.0}
    assert keys(rows(4, **on, **{apart: 0.0}))[0] == "sampler_not_finite"
    assert keys(rows(4, **on, **{apart: 1e-7}))[0] == "rewards_cut"
    assert "sampler_not_finite" not in keys(rows(4, **on | {"reward": 0.5}, **{apart: 0.0}))
    assert "sampler_not_finite" not in keys(rows(4, **on))


def test_engines_that_drift_apart_within_the_first_epoch_keep_no_prefixes():
    apart = "sampling/sampling_logp_difference/mean"
    on = GRPO | {"loss": 0.2, "epoch": lambda n: n / 4}
    assert keys(rows(12, **on, **{apart: lambda n: 1e-6 if n < 5 else 0.04})) == [
        "prefix_cache_kept"
    ]
    assert not keys(rows(12, **on, **{apart: lambda n: 0.004 * n}))  # old weights, or a format
    assert not keys(rows(12, **on, **{apart: lambda n: 1e-6 if n < 5 else 0.01}))
    assert not keys(rows(12, **on | {"epoch": 0.1}, **{apart: lambda n: 1e-6 if n < 5 else 0.04}))


def test_length_that_is_not_paid_for():
    grows = {"completions/mean_length": lambda n: 200 + 30 * n}
    assert keys(rows(15, **GRPO, **grows)) == ["length_is_paid"]
    assert not keys(rows(15, **GRPO | {"reward": lambda n: n / 15}, **grows))


def test_replies_that_learn_to_end_are_not_junk():
    log = rows(
        12,
        **GRPO | {"loss": 0.2, "reward": lambda n: n / 12},
        **{"completions/mean_length": lambda n: 8 - 0.65 * n, "completions/clipped_ratio": 0.0},
    )
    assert keys(log) == ["reward_pays_junk"]
    for row in log:
        row["completions/clipped_ratio"] = 0.9 - row["step"] / 14
    assert "reward_pays_junk" not in keys(log)


def test_ranks_that_wait_in_different_operations_are_told_apart():
    said = str(explain(Pasted("nccl-1409", None).text))
    assert "rank 3 waits in ALLREDUCE number 80078" in said
    assert "rank 7 in BROADCAST number 80078" in " ".join(said.split())
    same = " ".join(str(explain(Pasted("LlamaFactory-6269", None).text)).split())
    assert "ranks 0, 4 wait in the same _REDUCE_SCATTER_BASE number 7753" in same


def test_an_error_of_one_rank_goes_before_the_wait_of_the_others():
    text = Pasted("LlamaFactory-6269", None).text
    answer = explain(f"{text}\n[rank3]: torch.OutOfMemoryError: CUDA out of memory.")
    assert [one.key for one in answer.causes] == ["cuda_memory", "ranks_disagree"]


def test_every_phrase_holds_its_literal():
    """What is searched for first must be in every text that the pattern matches."""
    for pattern in (phrase[3].pattern for phrase in PHRASES):
        assert branches(pattern) == [pattern]
        plain = pattern.lower().replace("\\.", ".").replace("\\(", "(").replace("\\]", "]")
        assert literal(pattern) in plain


def test_what_is_not_finite_is_quoted_from_its_first_entry():
    log = rows(3, loss=lambda n: 2.4 if n == 0 else 0.0, grad_norm=float("nan"))
    log = [row | {"step": 200 + row["step"]} for row in log]  # not the first of the run
    found = explain("\n".join(map(str, log))).causes[0]
    assert found.key == "nan_shown_as_zero" and found.at.where == "line 1", found
    log = rows(3, loss=lambda n: 2.4 if n == 0 else 0.0, grad_norm=lambda n: n and float("nan"))
    assert explain("\n".join(map(str, log))).causes[0].at.where == "line 2"


def test_an_overflow_that_a_scaler_skipped_is_not_where_a_later_nan_began():
    norms = [float("inf"), 1.0, 1.0, float("nan"), float("nan")]
    log = rows(5, loss=lambda n: 2.4 if n < 4 else 0.0, grad_norm=lambda n: norms[n])
    assert explain("\n".join(map(str, log))).causes[0].at.where == "line 4"


def test_a_loss_that_turns_to_0_without_a_gradient_may_have_no_labels():
    turned = {"loss": lambda n: 2.4 if n == 0 else 0.0}
    assert keys(rows(4, **turned, grad_norm=lambda n: 1.3 if n == 0 else 0.0)) == ["labels_masked"]
    assert keys(rows(4, **turned, grad_norm=1.7320507764816284)) == ["numbers_broken"]


def test_numbers_that_improve_are_no_ground_to_call_a_run_healthy():
    log = rows(12, **FALLS)
    alone = explain("\n".join(map(str, log)))
    assert not alone.is_odd and not alone.is_healthy and "does not show a healthy run" in str(alone)
    both = [row | {"eval_loss": row["loss"] + 0.1} for row in log]
    two = explain("\n".join(map(str, both)))
    assert not two.is_odd and not two.is_healthy


def test_a_first_loss_above_a_guess_is_worth_a_look():
    answer = explain("\n".join(map(str, rows(12, loss=lambda n: 14 - n / 3, grad_norm=9.0))))
    assert not answer.is_healthy and "begins at 14, above the cost of a guess" in str(answer)


TRACEBACK = """Traceback (most recent call last):
  File "/home/me/train.py", line 12, in <module>
    main()
  File "/home/me/data.py", line 71, in __getitem__
    label = self.classes[name]
KeyError: 'tabby_cat'"""


def test_an_exception_without_a_rule_is_named_with_its_place_where_it_ended_the_run():
    log = list(map(str, rows(12, **FALLS)))
    ended = explain("\n".join([*log, *TRACEBACK.splitlines()])).causes
    assert [one.key for one in ended] == ["exception"]
    assert "raised at data.py, line 71, in __getitem__" in ended[0].for_it
    assert not explain("\n".join([*log[:3], *TRACEBACK.splitlines(), *log[3:]])).causes


# --- an evaluation, a configuration, a policy that is certain ---------------------------------


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ("OverflowError: out of range integral type conversion attempted", "ignored_is_decoded"),
        ("OverflowError: can't convert negative int to unsigned", "ignored_is_decoded"),
        ("TypeError: '<=' not supported between instances of 'float' and 'str'", "rate_is_text"),
    ],
)
def test_an_error_of_decoding_or_of_a_rate_that_is_text_has_its_cause(said, key):
    pasted = f'Traceback (most recent call last):\n  File "a.py", line 5, in run\n    run()\n{said}'
    assert explain(pasted).causes[0].key == key


def certain(**fields):
    return keys(rows(12, **{"loss": 0.1, "entropy": 0.001, "kl": 0.1} | fields))


def test_a_policy_without_entropy_has_collapsed_only_where_it_earns_less():
    fallen = certain(reward=lambda n: 0.8 if n < 4 else 0.5)
    assert "collapse" in fallen
    behind = certain(reward=0.1, **{"critic/vpred_mean": 0.5})
    assert "collapse" in behind
    solved = certain(reward=lambda n: 0.5 + n / 30, **{"critic/vpred_mean": 0.7})
    assert "collapse" not in solved


def test_entropy_that_a_supervised_run_loses_is_what_it_learns():
    falls = {"loss": lambda n: 2 / (n + 1), "entropy": lambda n: 2 / (n + 1) ** 2}
    assert "entropy_gone" not in keys(rows(12, **falls))
    assert "entropy_gone" in keys(rows(12, reward=0.4, reward_std=0.2, **falls))


@pytest.mark.parametrize(
    ("reward", "is_gone"),
    [
        (lambda n: min(0.95, 0.1 + n / 6), False),  # certain of what earns all
        (lambda n: min(-0.2, -5 + n), False),
        (lambda n: 0.4 + n / 200, True),
        (lambda n: 0.9 if n in (4, 5) else 0.3, True),  # it earned more, and lost it
    ],
)
def test_entropy_may_go_where_the_reward_has_come(reward, is_gone):
    falls = {"entropy": lambda n: 2 / (n + 1) ** 3, "reward_std": lambda n: 0.3 / (n + 1)}
    assert ("entropy_gone" in keys(rows(12, loss=0.1, reward=reward, **falls))) == is_gone


def test_a_zero_that_hides_a_nan_is_not_also_a_masked_label():
    log = rows(6, loss=0.0, grad_norm=float("nan"), learning_rate=0.05)
    answer = explain("\n".join(map(json.dumps, log)))
    found = [one.key for one in answer.causes]
    assert "nan_shown_as_zero" in found and "labels_masked" not in found
    assert not any("does not climb" in said for one in answer.causes for said in one.against)


def test_a_nan_alone_says_nothing_of_labels_and_a_shown_one_is_not_hidden():
    dead = rows(6, loss=float("nan"), eval_loss=float("nan"))
    assert keys(dead) == ["nan_from_the_start"]
    later = [row | {"step": row["step"] + 500} for row in dead]
    assert keys(later) == ["nan_already"]
    resumed = explain("\n".join(["Resuming training from runs/a", *map(json.dumps, later), ""]))
    assert "after a checkpoint was loaded" in resumed.causes[0].says


def test_a_loss_that_climbs_before_it_is_nan_has_diverged():
    climbs = (1.6, 1.4, 3.4, 6.5, 7.0, float("nan"), float("nan"))
    assert keys(rows(7, loss=lambda n: climbs[n])) == ["diverged"]
    falls = (2.6, 2.4, 2.2, 2.1, 2.0, float("nan"), float("nan"))
    assert keys(rows(7, loss=lambda n: falls[n])) == ["nan_weights"]


def test_nan_in_rows_of_their_own_is_no_number():
    table = "\n".join(
        ["Step\tTrain loss\tValid loss"]
        + [
            f"{n}00\tnan\t{2 - n / 9:.4f}" if n % 2 else f"{n}00\t{2 - n / 9:.4f}\tnan"
            for n in range(1, 9)
        ]
    )
    answer = explain(table)
    assert not answer.causes and answer.no_faults[0].key == "empty_cells"


def test_an_accuracy_that_never_moves_is_one_answer_to_every_row():
    stuck = {"loss": lambda n: 5 - n / 99, "eval_loss": lambda n: 5 - n / 77}
    assert keys(rows(7, **stuck, eval_accuracy=0.0346)) == ["one_class"]
    assert not keys(rows(7, **stuck, eval_accuracy=lambda n: 0.03 + n / 999))
    assert not keys(rows(7, **stuck, eval_accuracy=1.0))


def test_a_fall_at_an_epoch_needs_level_losses_around_it():
    stairs = rows(12, loss=lambda n: 1.05 - n // 4 * 0.15, epoch=lambda n: 0.15 + n / 4)
    slope = rows(12, loss=lambda n: 3 * 0.7**n, epoch=lambda n: 0.15 + n / 4)
    named = [explain("\n".join([*map(json.dumps, log), ""])) for log in (stairs, slope)]
    assert ["falls_by_epochs" in [f.key for f in one.no_faults] for one in named] == [True, False]


def test_a_whole_multiple_holds_at_each_evaluation():
    tripled = rows(9, loss=lambda n: 6 - n / 9, eval_loss=lambda n: 2 - n / 27, grad_norm=1.0)
    assert keys(tripled) == ["loss_off_by_a_factor"]
    assert not keys([{"step": 0, "eval_loss": 2.0}, *rows(9, loss=lambda n: 6.2 - n / 900)])


def test_a_rate_of_0_at_first_is_not_laid_to_a_library_that_the_log_does_not_name():
    late = rows(8, **FALLS, learning_rate=lambda n: 0.0 if n < 4 else 1e-5)
    answer = explain("\n".join(map(json.dumps, late)))
    assert "optimizer_waits" in [one.key for one in answer.no_faults]
    assert "DeepSpeed" not in str(answer)


RESUMED = """\
Epoch:[1/6](41200/66310) loss:1.512 lr:0.000471
Epoch:[1/6](41300/66310) loss:1.498 lr:0.000470
{said}
Epoch:[1/6](41300/66310) loss:1.506 lr:0.000470
Epoch:[1/6](41400/66310) loss:3.688 lr:0.000470
Epoch:[1/6](41500/66310) loss:3.741 lr:0.000469
Epoch:[1/6](41600/66310) loss:3.702 lr:0.000469
"""


def test_a_loss_that_climbs_where_a_run_was_resumed_is_not_laid_to_its_rate():
    answer = explain(RESUMED.format(said="-- killed, resume --"))
    assert [one.key for one in answer.causes] == ["resumed_without_state"]
    assert "no rule tells" in " ".join(str(answer).split())
    for other in ("saving checkpoint-41300", "resume=False"):
        assert [one.key for one in explain(RESUMED.format(said=other)).causes] == ["rate_too_high"]


def of(log: list[dict], *more: str):
    return explain("\n".join([*map(json.dumps, log), *more, ""]))


def test_a_first_gradient_of_nan_at_rate_0_was_made_by_no_update():
    dead = rows(5, loss=lambda n: 1.13 if n == 0 else 0.0, grad_norm=float("nan"))
    cold = [row | {"learning_rate": 1e-7 * n} for n, row in enumerate(dead)]
    for log in (cold, [{k: v for k, v in row.items() if k != "step"} for row in cold]):
        assert keys(log)[:2] == ["nan_from_the_start", "nan_shown_as_zero"]
        assert "learning_rate 0" in str(of(log))
    late = [row | {"step": 300 + n, "learning_rate": 1e-5} for n, row in enumerate(dead)]
    assert "nan_from_the_start" not in keys(late)  # what stands before the paste is not known


def test_an_evaluation_that_is_nan_beside_a_fine_training_is_said_so():
    judged = [row for n in range(6) for row in ({"loss": 2 - n / 9, "grad_norm": 0.7, "step": n},)]
    judged += [{"eval_loss": float("nan"), "step": n} for n in (3, 5)]
    answer = of(judged)
    assert [one.key for one in answer.causes] == ["nan_metric"]
    assert "no rule tells" in " ".join(str(answer).split()) and "best checkpoint" not in str(answer)
    chosen = 'metric_for_best_model="eval_loss",'
    assert "best checkpoint" in str(explain(f"{chosen}\n{answer_text(judged)}"))
    alone = of([{"eval_loss": float("nan"), "eval_accuracy": 0.0, "epoch": 0.08}])
    assert [one.key for one in alone.causes] == ["nan_metric"]
    assert "the log shows 0" not in str(alone)


def answer_text(log: list[dict]) -> str:
    return "\n".join(map(json.dumps, log)) + "\n"


def test_a_zero_before_an_evaluation_of_nan_is_a_hidden_nan():
    log = rows(6, loss=lambda n: 3.0 - n / 9 if n < 3 else 0.0, learning_rate=1e-5)
    assert keys([*log, {"eval_loss": float("nan"), "step": 5}])[0] == "nan_shown_as_zero"


ON_POLICY = {"loss": 0.03, "grad_norm": 6.0, "reward_std": 0.8, "reward": 1.7, "clip_ratio": 0.0}


def test_what_only_looks_wrong_in_a_policy_is_explained_and_not_called_healthy():
    answer = of(rows(3, **ON_POLICY, kl=0.0), "beta is 0 in my config")
    assert [one.key for one in answer.no_faults] == ["clips_nothing", "no_kl_term"]
    assert not answer.causes and not answer.to_dict()["healthy"]
    unsaid = of(rows(3, **ON_POLICY, kl=0.0))
    assert "no_kl_term" not in [one.key for one in unsaid.no_faults]
    still = of(rows(3, **ON_POLICY | {"grad_norm": 0.0}))
    assert not still.no_faults


def test_one_group_without_spread_among_others_is_no_fault():
    tied = {"loss": 0.0, "grad_norm": 0.0, "reward": 0.0, "reward_std": 0.0}
    alive = {"loss": 0.1, "grad_norm": 5.0, "reward": 0.4, "reward_std": 0.5}
    answer = of([{"step": n} | (tied if n == 1 else alive) for n in range(3)])
    assert [one.key for one in answer.no_faults] == ["groups_tied_at_times"]
    assert "Worth a look" not in str(answer) and not answer.is_healthy
    assert "groups_tied_at_times" not in keys_of(of([{"step": n} | tied for n in range(3)]))


def keys_of(answer) -> list[str]:
    return [one.key for one in answer.findings]


PAIRS = {"loss": 0.3, "rewards/accuracies": 0.85, "rewards/rejected": -5.0, "grad_norm": 7.0}


def test_negative_rewards_of_a_growing_margin_are_no_fault():
    down = rows(2, **PAIRS, **{"rewards/chosen": lambda n: -0.1 - n / 5, "rewards/margins": 4.7})
    assert keys_of(of(down)) == ["only_the_margin"]
    far = rows(6, **PAIRS, **{"rewards/chosen": lambda n: -1.0 - n, "rewards/margins": 1.0})
    assert "only_the_margin" not in keys_of(of(far))


def test_a_loss_that_begins_at_ln_2_may_be_of_pairs():
    begun = of([{"loss": x, "epoch": 0.02 * n} for n, x in enumerate((0.692, 0.69, 0.688, 0.68))])
    assert keys_of(begun) == ["dpo_start"] and not begun.is_healthy
    later = of([{"loss": 0.692, "epoch": 2.1}, {"loss": 0.688, "epoch": 2.2}])
    assert not keys_of(later)


def test_a_part_of_replies_that_is_cut_where_nothing_is_earned():
    cut = {"step": 34, "response_length/clip_ratio": 0.27, "critic/score/mean": -0.02}
    assert keys([cut]) == ["replies_cut"]
    assert not keys([cut | {"critic/score/mean": 0.6}])
    assert not keys([cut | {"response_length/clip_ratio": 0.06}])


def test_cut_replies_that_earn_or_are_learnt_to_end_are_no_fault():
    def log(cut, reward):
        return rows(12, loss=0.02, reward=reward, **{"completions/clipped_ratio": cut})

    assert keys(log(0.7, 0.2)) == ["replies_cut"]
    assert not keys(log(0.7, lambda n: 0.5 + n / 30))  # more than the 0.3 that end could earn
    assert not keys(log(lambda n: 0.7 - n / 20, lambda n: 0.1 + n / 50))


def test_an_evaluation_by_hand_that_jumps_is_of_another_model():
    trained = [*rows(8, loss=lambda n: 4 - n / 4), {"eval_loss": 2.2, "epoch": 1.0}]
    by_hand = [{"eval_loss": 2.21}, {"eval_loss": 9.8}]
    assert keys(trained + by_hand) == ["merged_not_equal"]
    assert not keys([*trained, {"eval_loss": 2.21}, {"eval_loss": 2.25}])


def test_a_kl_that_grows_evenly_while_the_reward_rises_does_not_run_away():
    even = rows(12, **{"objective/kl": lambda n: 0.4 + 1.3 * n, "objective/scores": lambda n: n})
    assert not keys(even)
    assert "kl_runs" in keys([row | {"objective/scores": -row["step"]} for row in even])


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (
            "RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62",
            "engine_wakes_without_room",
        ),
        ("AssertionError: Token prefix mismatch. Token prefix: [1, 2]", "retokenised"),
    ],
)
def test_an_engine_says_it_outright(line, cause):
    assert explain(f"step 3\n{line}\n").causes[0].key == cause


def test_a_rate_that_ends_at_the_share_of_one_process():
    steps = [n * 250 for n in range(1, 13)]
    lines = [
        f"step {n}/4000 lr {max(0, 1 - n / 1000) * 1e-5:.3e} loss {2 - n / 9e3}" for n in steps
    ]
    said = explain("\n".join(["accelerate launch --num_processes 4 sft.py", *lines, ""]))
    assert "a step for each process" in said.causes[0].why
    alone = explain("\n".join(["accelerate launch --num_processes 1 sft.py", *lines, ""]))
    assert [one.key for one in alone.causes] == ["schedule_ends_early"]
    assert "a step for each process" not in alone.causes[0].why


def test_an_engine_that_begins_with_random_weights_and_is_sent_an_adapter():
    zeros = [f"step:{n} - critic/score/mean:0.0 - actor/grad_norm:0.0" for n in range(1, 7)]
    asked = ["actor_rollout_ref.rollout.load_format=dummy", "actor_rollout_ref.model.lora_rank=64"]
    assert explain("\n".join([*asked, *zeros, ""])).causes[0].key == "engine_base_random"
    whole = explain("\n".join([asked[0], *zeros, ""]))
    assert "engine_base_random" not in [one.key for one in whole.causes]


def test_a_launcher_that_cleans_up_is_no_kill_by_the_system():
    launcher = "[INFO] [launch.py:316:sigkill_handler] Killing subprocess 2694488"
    assert "killed_for_memory" not in [one.key for one in explain(f"a\n{launcher}\n").causes]
    killed = explain("a\nsubprocess died with <Signals.SIGKILL: 9>\n")
    assert killed.causes[0].key == "killed_for_memory"


def test_a_kl_in_the_loss_that_keeps_growing_is_not_held_by_it():
    verl = {"actor/grad_norm": 2.0, "actor/pg_loss": 0.1, "critic/score/mean": 0.4}
    grows = rows(12, **verl, **{"actor/kl_loss": lambda n: 0.05 * n})
    answer = of(grows)
    assert keys_of(answer) == ["kl_runs"] and "no rule tells" in " ".join(str(answer).split())
    shrinks = {
        "response_length/mean": lambda n: max(1, 3 - n / 4),
        "critic/score/mean": lambda n: n,
    }
    assert keys([a | b for a, b in zip(grows, rows(12, **shrinks), strict=True)])[0] == "kl_runs"
    rests = rows(12, **verl, **{"actor/kl_loss": lambda n: 0.05 * min(n, 4)})
    assert not keys(rests)
    little = rows(12, **verl, **{"actor/kl_loss": lambda n: 0.005 * n})
    assert not keys(little)


MOE = {"loss": 0.01, "grad_norm": 5.0, "reward": 0.8, "reward_std": 0.3, "aux_loss": 1.05}


def test_few_tokens_that_two_engines_score_far_apart_are_of_experts_where_there_are_some():
    mean, most = (f"sampling/sampling_logp_difference/{name}" for name in ("mean", "max"))
    flips = rows(16, **MOE, **{mean: 0.006, most: lambda n: 1.2 if n % 5 == 0 else 0.1})
    assert keys(flips) == ["routing_flips"]
    dense = [{k: v for k, v in row.items() if k != "aux_loss"} for row in flips]
    assert not keys(dense)
    assert not keys(rows(16, **MOE, **{mean: 0.004, most: 0.15}))


def test_pairs_seen_many_times_push_both_replies_down():
    fields = {"loss": lambda n: 0.69 - n / 60, "rewards/chosen": lambda n: -0.1 if n else 0.0}
    fields |= {"rewards/rejected": lambda n: -0.1 - n / 20, "rewards/margins": lambda n: n / 20}
    often = rows(12, **fields, epoch=lambda n: n + 1.0)
    assert keys(often) == ["margin_by_pushing_down"]
    assert not keys(rows(12, **fields, epoch=lambda n: n / 12))
    gains = fields | {"rewards/chosen": lambda n: 0.01 * n}
    assert not keys(rows(12, **gains, epoch=lambda n: n + 1.0))


def test_single_estimates_of_a_kl_that_has_come_to_rest_are_no_run_away():
    kls = [0.0, 0.7, 0.2, 0.3, 0.2, 0.7, 0.5, 0.4, 0.5, 0.5, 0.4, 0.3, 15.0, 15.0]
    log = [{"reward": n / 14, "kl": kl, "grad_norm": 0.8} for n, kl in enumerate(kls)]
    assert "kl_runs" not in keys(log)
    assert "kl_runs" in keys([one | {"reward": 0.5} for one in log])
    assert "kl_runs" in keys([*log, *log[-2:], *log[-2:]])
