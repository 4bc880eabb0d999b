"""What is no fault of the run: free scores, a rate that rests, lists of versions, ties without a
merge; and schedules and templates whose cause the log tells."""

import math

from tests.helpers.explained import answer, first


def pairs(margin: bool):
    wins = [0.2 + 0.1 * n for n in range(12)]
    return [
        f"step {n} | loss {0.69 - 0.02 * n:.3f} | reward_mean {max(1 - 0.4 * n, -1.8):.2f}"
        + (f" | margin {wins[n]:.2f} | acc {0.5 + 0.02 * n:.2f}" if margin else " | kl 0.01")
        for n in range(12)
    ]


def test_the_mean_of_a_reward_models_scores_is_free():
    told = answer(*pairs(margin=True))
    assert not told.causes and not told.worries
    assert first(*pairs(margin=False)).key == "collapse"


RUN = [f"{{'loss': {2 - n / 10:.2f}, 'grad_norm': 1.1, 'epoch': 0.{n}}}" for n in range(1, 9)]


VERSIONS = "We use vllm 0.9.2, transformers 4.52.1, trl 0.18; its replies are bad, they repeat."
REPLY = 'vllm sampled: "Good work! That is a fine and perfect plan, well done to all of you"'


def test_versions_and_replies_do_not_say_where_a_model_answers_well():
    assert all(one.key != "template_differs" for one in answer(VERSIONS, *RUN, REPLY).causes)
    contrast = ("In vllm 0.9.2 the answers are perfect.", "In ollama 0.5.1 they are gibberish.")
    assert first(*contrast).key == "template_differs"


TIED = "UserWarning: the model is tied and tied_target_modules=['lm_head'] are in the adapter."


def test_a_tied_head_is_at_fault_only_where_something_is_merged():
    assert first(TIED, *RUN) is None
    assert first(TIED, *RUN, "model = model.merge_and_unload()").key == "tied_head_merged"


def waves(processes: int, updates: int = 1600):
    rates = (
        2e-5 * (0.5 + 0.5 * math.cos(math.pi * n * processes / updates))
        for n in range(40, updates // 2, 40)
    )
    return [
        f"step: {40 * n} loss: {2 - n / 100:.3f} lr: {rate:.4e}"
        for n, rate in enumerate(rates, start=1)
    ]


CODE = ["accelerator = Accelerator()", "sched = accelerator.prepare(sched)", "total_updates=1600"]


def test_waves_of_a_rate_are_counted_by_the_processes():
    one = first("num_processes: 8", *CODE, *waves(8))
    assert one.key == "schedule_ends_early" and "num_processes" in one.fix
    assert any("1600 / 8" in row for row in one.for_it)
    other = first("num_processes: 3", *CODE, *waves(8))
    assert other is None or "for each process; " not in other.says


def test_a_template_over_two_lines_is_found_in_no_row():
    told = [
        "UserWarning: Could not find response key `### Answer:",
        "` in the following instance: <s> Hello",
    ]
    zeros = [f"{{'loss': 0.0, 'learning_rate': 1e-05, 'epoch': 0.{n}}}" for n in range(1, 7)]
    one = first(*told, *zeros, "{'eval_loss': nan, 'epoch': 0.7}")
    assert one.key == "labels_masked" and "token ids" in one.fix
