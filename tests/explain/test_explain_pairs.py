"""Lines of names and numbers as loops of their own and many frameworks print them."""

import pytest

from tests.helpers.explained import answer, first, keys

FORMS = {  # what is printed, and what is read of it
    "it {n} loss {loss} gn 0.52 lr 1.0e-05": "step loss grad_norm learning_rate",
    "Epoch [1/3], Step [{n}/500], Loss: {loss}": "epoch step loss",
    "epoch 1/3 step {n}/500 train_loss {loss} val_loss 2.2 acc 0.54": "epoch step loss eval_loss",
    "step {n}  loss {loss}  acc 54.0%  lr 1e-05": "step loss accuracy learning_rate",
    "step {n}  loss={loss}  gnorm=0.52  lr=1e-5": "step loss grad_norm learning_rate",
    "step {n:4d} | rm_loss {loss} | pair_acc 0.54 | lr 1e-5": "step loss accuracy learning_rate",
    "step={n} dpo_loss={loss} reward_margin=0.4 reward_acc=0.6": "step loss margin accuracy",
    "Steps:   2%|#  | {n}/500 [00:10<08:00, 1.1s/it, lr=1e-5, step_loss={loss}]": "loss",
    "step:{n} - actor/entropy:np.float64(0.4) - actor/pg_loss:np.float64({loss})": (
        "step entropy policy_loss"
    ),
    "10:00:00 SUCCESS Step {n} | Time: 12.1s | Loss: {loss} | Entropy: 0.41 | LR: 1e-06": (
        "step loss entropy learning_rate"
    ),
    "Step {n}: reward=0.31, kl=0.002, loss={loss}": "step reward kl loss",
    "03/01 10:00:00 - mmengine - INFO - Iter(train) [ {n}/500]  lr: 1.0e-05  loss: {loss}": (
        "step loss learning_rate"
    ),
    "steps: {n} loss: {loss} iter time (s): 1.1 samples/sec: 29.1": "step loss",
    "[step {n}] reward_mean=0.3 reward_std=0.2 kl={loss} mean_len=311 trunc_frac=0.02": (
        "step reward reward_std kl length truncated_share"
    ),
    "rollout {n}: {{'rollout/raw_reward': {loss}, 'rollout/response_lengths': 812.2}}": (
        "reward length"
    ),
    '{{"step": {n}, "metrics": {{"loss": {loss}, "grad_norm": 0.5}}, "lr": 1e-5}}': (
        "step loss grad_norm learning_rate"
    ),
    "2025-03-01 10:00:00.1 | INFO | __main__:train:88 - step {n}, loss {loss}, grad norm 0.5": (
        "step loss grad_norm"
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_line_of_names_and_numbers_is_an_entry_in_each_form(form):
    told = answer(*(form.format(n=10 * n, loss=f"{2.1 - n / 20:.3f}") for n in range(1, 6)))
    assert told.num_entries == 5 and set(FORMS[form].split()) <= told.known


def test_a_sentence_with_numbers_is_no_entry():
    said = "In run 3 we had a loss of 2.1 in step 40, in run 4 one of 1.9 and in run 5 one of 1.8."
    assert answer(said, "Version 3 of 5, batch 8, GPU 4 and 2 nodes").num_entries == 0


def test_what_is_wrong_in_such_a_line_is_named():
    log = [f"it {n}, loss 0.0, gn nan, lr 1.0e-05" for n in range(10, 60, 10)]
    assert keys("it 5, loss 2.1, gn 0.6, lr 1.0e-05", *log)[0] == "nan_shown_as_zero"


def test_a_flat_loss_at_a_rate_of_no_run_has_that_reason():
    flat = [f"it {n} loss 2.10{7 * n % 5} gn 0.5{n} lr 1.8e-09" for n in range(1, 10)]
    assert first(*flat).key == "rate_too_low"
    assert first(*(one.replace("e-09", "e-05") for one in flat)).key == "nothing_moves"
