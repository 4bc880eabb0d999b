"""A log is read however it was pasted: quoted, wrapped, coloured, cut, from many ranks."""

import json
import textwrap

import pytest
from explain_shapes import SHAPES, rows

from course_utils.explain import explain

NAN = float("nan")
DEAD = rows(
    8, loss=lambda n: 2.0 - n / 9 if n < 5 else NAN, grad_norm=lambda n: NAN if n > 4 else 1
)
KEY = "nan_weights"
BAR = " {}%|\u2588\u2588\u2588   | {}/900 [00:0{}<10:21,  1.22it/s]"
RANKS = (
    "[rank{}]: {}",
    "10.1.7.{}: {}",
    "(Worker pid=311{}) {}",
    "{}: {}",
    "node-{} | {}",
    "[default{}]:{}",
)


def pasted(change, log=DEAD) -> str:
    return "\n".join(change(n, str(row)) for n, row in enumerate(log))


CHANGES = {
    "quoted": lambda n, line: f"> {line}",
    "quoted twice": lambda n, line: f"> > {line}",
    "coloured": lambda n, line: f"\x1b[32m{line}\x1b[0m",
    "behind bars": lambda n, line: f"{BAR.format(n, n, n)}\r{line}",
    "before bars": lambda n, line: f"{line}{BAR.format(n, n, n)}",
    "with times": lambda n, line: f"2025-03-0{n + 1} 11:02:0{n},120 - INFO - {line}",
    "in a list": lambda n, line: f"* `{line}`",
    "curly quotes": lambda n, line: line.replace("'", "\u2019"),
    "wide signs": lambda n, line: line.replace(":", "\uff1a").replace(",", "\uff0c"),
    "entities": lambda n, line: line.replace("'", "&#39;"),
    "no-break spaces": lambda n, line: line.replace(" ", "\u00a0"),
    "wrapped": lambda n, line: "\n".join(textwrap.wrap(line, 30)),
    "numbers of a cloud's log": lambda n, line: f"[{1743 + n}] {line}",
    "between prompts": lambda n, line: (
        f"User: what is {n} + 5?\nAssistant: {n + 5}. That is it.\n{line}"
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_paste_is_read_as_the_log_it_is_of(change):
    answer = explain(pasted(change))
    assert (answer.num_entries, answer.findings[0].key) == (len(DEAD), KEY), str(answer)


def test_a_fence_and_words_around_it_change_nothing():
    answer = explain(
        f"My run dies, see here:\n```python\n{pasted(lambda n, line: line)}\n```\nHelp!"
    )
    assert (answer.num_entries, answer.findings[0].key) == (len(DEAD), KEY)


@pytest.mark.parametrize("form", RANKS)
def test_of_ranks_that_say_the_same_one_is_heard(form):
    log = "\n".join(form.format(rank, row) for row in DEAD for rank in range(4))
    finite = [row for row in DEAD if row["loss"] == row["loss"]]
    answer = explain("\n".join(form.format(rank, row) for row in finite for rank in range(4)))
    assert answer.num_entries == len(finite) and not answer.restart
    assert explain(log).findings[0].key == KEY


def test_a_nan_of_another_rank_is_heard():
    lines = [f"[rank{rank}]: {{'loss': 2.{n}, 'step': {n}}}" for n in range(5) for rank in (0, 1)]
    lines.insert(7, "[rank3]: {'loss': nan, 'step': 3}")
    assert explain("\n".join(lines)).not_finite


@pytest.mark.parametrize("said", ["nan", "NaN", "NAN", "-nan", "-nan(ind)", "'nan'", '"NaN"'])
def test_every_spelling_of_nan_is_one(said):
    log = "\n".join(f"{{'loss': {2 - n / 9 if n < 3 else said}, 'epoch': {n}}}" for n in range(6))
    assert explain(log).findings[0].key == KEY


@pytest.mark.parametrize("said", ["inf", "Inf", "INF", "-inf", "Infinity", "-Infinity"])
def test_every_spelling_of_inf_is_one(said):
    log = "\n".join(f"{{'loss': 2.{n}, 'grad_norm': {said}}}" for n in range(6))
    assert explain(log).findings[0].key == "norm_never_finite"


TABLES = {
    "tabs": "{}\t{}\t{}",
    "semicolons": "{};{};{}",
    "columns": "{}    {}    {}",
    "markdown": "| {} | {} | {} |",
}


@pytest.mark.parametrize("form", TABLES.values(), ids=TABLES)
def test_a_table_with_decimal_commas(form):
    body = [form.format(n, f"{2 + n:.2f}".replace(".", ","), "0,8") for n in range(12)]
    answer = explain("\n".join([form.format("step", "loss", "grad_norm"), *body]))
    assert answer.num_entries == 12 and answer.findings[0].key == "rate_too_high"
    assert answer.entries[5].numbers["loss"] == 7.0


def test_decimal_commas_without_a_table():
    answer = explain("\n".join(f"loss: {n},25  grad_norm: 0,5" for n in range(3)))
    assert [entry.numbers["loss"] for entry in answer.entries] == [0.25, 1.25, 2.25]


@pytest.mark.parametrize("cut", [30, 200, 333])
def test_half_a_trainer_state(cut):
    whole = json.dumps({"best_metric": None, "log_history": DEAD}, indent=2)
    for part in (whole[:-cut], whole[cut:]):
        answer = explain(part)
        assert answer.num_entries >= len(DEAD) - 4
        assert not {one.key for one in answer.causes} - {KEY, "nan_gradient"}


WANDB = """wandb: Run history:
wandb:         train/loss \u2588\u2587\u2585\u2582\u2581
wandb: Run summary:
wandb:        train/epoch 3.0
wandb:    train/grad_norm nan
wandb:         train/loss 0.0
wandb: You can sync this run to the cloud by running:"""


def test_the_summary_of_wandb():
    answer = explain(WANDB)
    assert answer.findings[0].key == "nan_shown_as_zero"
    assert answer.entries[0].numbers["epoch"] == 3.0


def test_what_sums_up_a_run_is_no_point_of_it():
    log = [str(row) for row in SHAPES["memorised"]]
    summary = "***** train metrics *****\n  train_loss  =  0.71\n  train_runtime = 0:02:59.80"
    assert explain("\n".join([*log, summary])).num_entries == len(log)
    alone = explain("  train_loss  =  0.0\n  train_runtime  =  0:02:59.80")
    assert {one.key for one in alone.findings} == {"labels_masked", "nan_shown_as_zero"}


VERL = (
    "step:{n} - actor/entropy:{e} - actor/pg_clipfrac:0.0 - actor/grad_norm:0.4 - "
    "critic/score/mean:{r} - response_length/mean:212.5 - response_length/clip_ratio:0.0"
)


@pytest.mark.parametrize("width", [60, 90, 400])
def test_lines_of_verl_that_a_terminal_wrapped(width):
    log = [VERL.format(n=n, e=0.5 + n / 9, r=0.6 - n / 30) for n in range(12)]
    answer = explain("\n".join(part for line in log for part in textwrap.wrap(line, width)))
    assert answer.num_entries == 12 and answer.findings[0].key == "entropy_runs", str(answer)


def test_bars_between_cells():
    line = (
        " iteration {:8}/    9000 | learning rate: 9.1E-06 | lm loss: {:.6E} | loss scale: 1.0 | "
        "grad norm: {} | number of skipped iterations:   0 | number of nan iterations:   0 |"
    )
    answer = explain("\n".join(line.format(n + 1, 2.0 + n, 1.0 + n) for n in range(12)))
    assert answer.findings[0].key == "rate_too_high"
    assert answer.entries[3].numbers == {
        "step": 4,
        "learning_rate": 9.1e-6,
        "loss": 5.0,
        "loss_scale": 1,
        "grad_norm": 4,
        "skipped": 0,
    }


SAID = {
    "After fine-tuning the model doesn't stop generating": "pad_is_eos",
    "it generates until max_new_tokens": "pad_is_eos",
    "The merged model forgot everything": "merged_not_equal",
    "The LoRA output is the same as the base model": "adapter_not_loaded",
    "When I resume from the checkpoint the loss jumps to 3": "resumed_without_state",
    "Batched generation gives different answers than a single prompt": "padding_side",
    "I added a special token and the model never generates it": "new_tokens_untrained",
    "the loss is 8 times larger with gradient accumulation": "split_changes_loss",
    "Served with vllm it gives gibberish": "template_differs",
    "the reward increases but the accuracy drops": "proxy_rises_alone",
}
FALLS = [str(row) for row in rows(12, loss=lambda n: 2 - n / 9, grad_norm=0.7)]


@pytest.mark.parametrize(("said", "key"), SAID.items())
def test_words_beside_a_healthy_log_give_hints_that_quote_them(said, key):
    for paste in ([said, *FALLS], [*FALLS, said]):
        answer = explain("\n".join(paste))
        assert answer.fits[0].key == key and not answer.causes and not answer.is_healthy
        assert answer.fits[0].for_it[0].partition(" says: ")[2] in said
        assert all(one.against for one in answer.fits)


@pytest.mark.parametrize("said", SAID)
def test_replies_between_entries_are_no_complaints(said):
    assert not explain("\n".join([*FALLS[:5], said, *FALLS[5:]])).is_odd


@pytest.mark.parametrize("said", ["Is this healthy?", "I stop the run after ten steps.", "Thanks!"])
def test_other_words_change_nothing(said):
    assert not explain("\n".join([said, *FALLS])).is_odd


PRINTED = ["(Worker pid=11) Keep generating", "got_prompts=31/64: keep generating, never stop"]


@pytest.mark.parametrize("said", PRINTED)
def test_what_a_program_prints_is_no_complaint(said):
    assert not explain("\n".join([said, *FALLS])).is_odd


def test_a_title_with_a_tag_is_a_complaint():
    assert explain("\n".join(["[Bug] tuned model never stops", *FALLS])).fits


@pytest.mark.parametrize(("share", "is_hinted"), [(0.01, False), (0.3, True)])
def test_replies_that_end_speak_against_an_end_that_was_never_learnt(share, is_hinted):
    cut = {"response_length/clip_ratio": lambda n: share + n % 3 / 900, "grad_norm": 0.2}
    log = map(str, rows(9, **cut, **{"critic/score/mean": lambda n: 0.3 + n % 2 / 90}))
    found = [one.key for one in explain("\n".join(["It never stops.", *log])).fits]
    assert ("end_masked" in found) == is_hinted and "stops_elsewhere" in found


def test_what_a_log_shows_goes_before_what_is_said():
    answer = explain("\n".join(["It never stops.", *map(str, DEAD)]))
    assert answer.causes[0].key == KEY and not answer.fits


CONSOLES = {
    "OpenRLHF": (
        "Train epoch [1/1]: 100%|###| 16/16 [00:40<00:00, 2.51s/it, pg=-0.0123, rm=0.45, glen=256, "
        "tlen=400, kl=0.01, act_lr=5e-7]",
        {"policy_loss": -0.0123, "reward": 0.45, "length": 256, "kl": 0.01, "learning_rate": 5e-7},
    ),
    "DeepSpeed-Chat": (
        "Epoch: 0 | Step: 10 | PPO Epoch: 1 | Actor Loss: 0.09 | Critic Loss: 0.03 | "
        "Unsupervised Loss: 0.0",
        {"epoch": 0, "step": 10, "policy_loss": 0.09, "critic_loss": 0.03},
    ),
    "torchtune": (
        "Step 7 | loss:1.54 lr:2e-05 tokens_per_second_per_gpu:811.2",
        {"loss": 1.54, "learning_rate": 2e-5},
    ),
    "torchtitan": (
        "[rank0]:2025-02-01 10:00:01,120 - root - INFO - step: 10  loss:  8.1234  grad_norm: 1.21  "
        "memory: 10.21GiB(12.9%)  tps: 1,234",
        {"step": 10, "loss": 8.1234, "grad_norm": 1.21},
    ),
    "prime-rl": (
        "Step 10 | Time: 12.20s | Loss: 0.0120 | Entropy: 0.31 | Importance Ratio: 1.002 | "
        "Grad. Norm: 0.12 | LR: 1.00e-06",
        {
            "step": 10,
            "loss": 0.012,
            "entropy": 0.31,
            "importance_ratio": 1.002,
            "grad_norm": 0.12,
            "learning_rate": 1e-6,
        },
    ),
    "slime": (
        "step 12: {'train/loss': 0.01, 'train/pg_loss': 0.02, 'train/kl_loss': 0.001, "
        "'train/grad_norm': 0.4, 'train/train_rollout_logprob_abs_diff': 0.3}",
        {
            "loss": 0.01,
            "policy_loss": 0.02,
            "kl_loss": 0.001,
            "grad_norm": 0.4,
            "logp_difference": 0.3,
        },
    ),
    "NeMo-RL": (
        "Training Results:\n  \u2022 Loss: 0.0123\n  \u2022 Avg Reward: 0.4500\n"
        "  \u2022 Mean Generation Length: 512.2500",
        {"loss": 0.0123, "reward": 0.45, "length": 512.25},
    ),
    "open-instruct": (
        "\u2502 objective/kl \u2502 0.011 \u2502\n\u2502 objective/scores \u2502 3.2 \u2502\n"
        "\u2502 loss/policy_avg \u2502 0.02 \u2502",
        {"kl": 0.011, "reward": 3.2, "policy_loss": 0.02},
    ),
    "NeMo": (
        "Epoch 0: :  20%|##| 10/50 [00:31<02:05, v_num=1, reduced_train_loss=1.22, "
        "global_step=9.000, val_loss=1.31]",
        {"loss": 1.22, "step": 9, "eval_loss": 1.31},
    ),
}


@pytest.mark.parametrize(("text", "numbers"), CONSOLES.values(), ids=CONSOLES)
def test_the_console_of_each_trainer_is_read(text, numbers):
    [entry] = explain(f"{text}\n\n").entries
    assert {name: entry.numbers.get(name) for name in numbers} == numbers


def test_lines_of_code_beside_a_log_are_no_entries():
    code = ["total, steps = 0, 0", "    loss = 0", "reward = 0.0  # so far", "optimizer.step()"]
    assert explain("\n".join([*code, *FALLS])).num_entries == len(FALLS)
    assert explain("\n".join(f"loss = {2.5 - n / 9:.3f}" for n in range(8))).num_entries == 8


def test_a_step_ahead_of_its_numbers_is_read_and_tells_two_runs_apart():
    line = "Step {} | loss:{} lr:6e-07 tokens_per_second_per_gpu:2940.8 grad_norm:2.7952 "
    once = [line.format(10 * n + 10, 1.9 - n / 50) for n in range(9)]
    answer = explain("\n".join([*once, "the same with another seed", *once]))
    assert answer.entries[2].numbers["step"] == 30
    assert "step falls from 90 to 10" in answer.restart.lower()
