"""Losses that jump between blocks of rows, tails of logs, ties of cut pairs, paid entropy."""

import math

import pytest

from tests.helpers.explained import first, key, keys

LOADER = "train_dl = DataLoader(train_ds, batch_size=16, num_workers=4)"


def blocks(low: float = 0.002, high: float = 1.0, every: int = 5) -> list[str]:
    return [
        f"ep 0 step {100 * n}/2000 | "
        f"loss(avg100) {high if n % every == 1 and n > 1 else low:.4f} | acc(avg100) 1.0000 | "
        f"lr {2e-5 - n * 1e-7:.3e}"
        for n in range(1, 21)
    ]


def test_rows_of_one_label_after_the_other_are_named_from_the_loss_and_the_loader():
    one = first(LOADER, *blocks(), "== val: loss 5.6183 acc 0.2500 macro-f1 0.1000")
    assert one.key == "rows_in_order" and "500 steps" in one.says and "shuffle=True" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        blocks(),
        [LOADER.replace("16,", "16, shuffle=True,"), *blocks()],
        [LOADER, *blocks(low=0.9)],
        [LOADER.replace("train_d", "val_d"), *blocks()],
    ],
)
def test_a_loader_that_mixes_and_a_loss_that_stays_do_not_tell_it(lines):
    assert "rows_in_order" not in keys(*lines)


def tail(first_epoch: float) -> list[str]:
    epochs = [first_epoch + n * (3 - first_epoch) / 19 for n in range(20)]
    rows = [
        f"{{'loss': {0.95 + n % 3 / 50:.3f}, 'learning_rate': {(20 - n) * 1.6e-7:.3e}, "
        f"'epoch': {epoch:.2f}}}"
        for n, epoch in enumerate(epochs)
    ]
    return ["Merging adapter ... done", *rows]


def test_the_end_of_a_schedule_is_not_the_rate_of_the_run():
    assert key(*tail(2.5)) == ""
    assert key(*tail(0.1)) == "rate_too_low"


def overfit(last: float) -> list[str]:
    rows = []
    for n in range(1, 9):
        rows.append(f"{{'loss': {1.6 * 0.6**n:.4f}, 'learning_rate': 0.0001, 'epoch': {n}.0}}")
        judged = 1.1 if n < 3 else 1.1 + (last - 1.1) * (n - 2) / 6
        rows.append(f"{{'eval_loss': {judged:.4f}, 'epoch': {n}.0}}")
    return rows


def test_an_evaluation_that_doubles_while_the_loss_goes_to_nothing_is_a_cause():
    one = first(*overfit(2.1))
    assert one.key == "overfits" and "load_best_model_at_end" in one.fix
    assert key(*overfit(1.35)) == ""


def ties(*hits: float) -> list[str]:
    return [
        "--max_len 512 --learning_rate 9e-6",
        *(
            f"loss={0.64 + n / 100:.3f}, acc={hit}, chosen_reward=0.26, reject_reward=0.14"
            for n, hit in enumerate(hits)
        ),
        "           p5   p25   p50   p75",
        "  prompt  384   561   842  1207",
    ]


def test_pairs_that_are_cut_to_their_prompt_are_named_though_a_batch_has_more_hits():
    assert key(*ties(0.12, 0.19, 0.44, 0.06, 0.12)) == "pairs_alike"
    assert key(*ties(0.52, 0.49, 0.54, 0.56, 0.52)) != "pairs_alike"


def test_the_comment_of_a_setting_is_no_sentence():
    code = "max_length=512, max_prompt_length=None,  # None: we must not lose a document of it"
    assert key(*ties(0.12, 0.19, 0.1, 0.06)[1:], code) == "pairs_alike"


def entropies(*values: float) -> list[str]:
    return [
        f"step:{n} - actor/entropy:{value} - critic/score/mean:{0.5 - 0.04 * n:.3f} - "
        "response_length/clip_ratio:0.6"
        for n, value in enumerate(values)
    ]


def test_an_entropy_that_is_paid_for_goes_before_the_replies_that_it_makes_long():
    paid = "actor.entropy_coeff=0.01 actor.use_kl_loss=False"
    rises = [0.4, 0.4, 0.5, 0.6, 0.9, 1.3, 1.9, 3.1, 5.3, 7.4]
    one = first(paid, *entropies(*rises))
    assert one.key == "entropy_runs" and "entropy_coeff=0.01, and no KL" in one.says
    other = first(paid.replace("0.01", "0"), *entropies(*rises))
    assert other is None or "pays for" not in other.says


def test_scores_of_a_reward_model_may_sink_together():
    rows = [
        f"loss={0.6 - n / 100:.3f}, acc=0.7, chosen_reward={-0.3 - n / 8:.3f}, "
        f"reject_reward={-0.5 - n / 5:.3f}"
        for n in range(12)
    ]
    command = "deepspeed --module openrlhf.cli.train_rm --gradient_checkpointing"
    judged = "eval_loss=0.55, acc_mean=0.71, reward_mean=-1.2, reward_std=1.4"
    assert "margin_by_pushing_down" not in keys(command, *rows, judged)


def test_a_printed_softmax_before_the_loss_is_found_by_its_floor():
    floor = math.log(math.e + 4) - 1
    rows = [
        f"{n}\t{floor + 0.4 - n / 30:.6f}\t{floor + 1 - hit:.6f}\t{hit:.6f}"
        for n, hit in enumerate((0.86, 0.89, 0.9, 0.907, 0.911, 0.909, 0.913), 1)
    ]
    head = "Epoch\tTraining Loss\tValidation Loss\tAccuracy"
    layers = ["(3): Linear(in_features=768, out_features=5, bias=True)", "(4): Softmax(dim=-1)"]
    assert key(head, *rows, *layers) == "probabilities_as_logs"


def test_names_with_a_prefix_in_the_warnings_of_a_load():
    lines = [
        "Some weights of the model checkpoint at /t were not used when initializing Qwen2Model: "
        "['_orig_mod.lm_head.weight', '_orig_mod.model.norm.weight']",
        "Some weights of Qwen2Model were not initialized from the model checkpoint at /t and are "
        "newly initialized: ['lm_head.weight', 'model.norm.weight']",
    ]
    one = first(*lines)
    assert one.key == "guesses" and "_orig_mod." in one.says
    assert key(lines[0].replace("_orig_mod.lm_head", "visual.head"), lines[1]) != "guesses"
