"""What several causes would make is a look; a cause goes before what follows from it."""

import pytest

from tests.helpers.explained import answer, keys

FALLS = [f"step {n} | loss {2.4 - n / 10:.2f} | grad_norm 0.{n}1 | lr 1e-5" for n in range(1, 8)]
NO_GRAD = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"
CHECKPOINTED = "UserWarning: None of the inputs have requires_grad=True. Gradients will be None"


@pytest.mark.parametrize(
    ("lines", "look"),
    [
        ([f"step {n} | loss {2.0 * 0.2**n:.2g} | lr 1e-5" for n in range(8)], "memorised"),
        ([f"{{'reward': 0.0, 'loss': 0.0{n}, 'kl': 0.0{n}}}" for n in range(1, 6)], "no_signal"),
        (["Detected call of `lr_scheduler.step()` before `optimizer.step()`."], "schedule_before"),
    ],
)
def test_what_several_causes_would_make_is_a_look_and_says_so(lines, look):
    told = answer(*lines)
    assert not told.causes and told.fits[0].key.startswith(look) and not told.is_healthy
    assert "More than one cause would make" in str(told) and "look at" in str(told)


def test_a_run_that_goes_on_behind_an_error_has_mended_it():
    assert not keys("At first I had this:", NO_GRAD, "which is gone.", *FALLS)
    assert keys(*FALLS, NO_GRAD) == ["no_grad_fn"]
    assert keys(NO_GRAD, FALLS[0]) == ["no_grad_fn"]


def test_a_worker_that_died_is_not_what_ended_a_run_that_went_on():
    died = "RuntimeError: DataLoader worker (pid 8123) exited unexpectedly with exit code 1"
    assert not keys(died, *FALLS)
    assert keys(*FALLS, died) == ["worker_died"]


def test_a_cause_goes_before_what_follows_from_it_however_plainly_that_is_said():
    assert keys(CHECKPOINTED, NO_GRAD) == ["checkpoint_without_gradient", "no_grad_fn"]
    twice = "UserWarning: Already found a `peft_config` attribute in the model."
    lost = "Found missing adapter keys while loading the checkpoint: ['base_model.model.lora_A']"
    assert keys(twice, lost)[0] == "adapter_twice"


def test_what_a_log_only_infers_does_not_go_before_what_it_shows():
    log = [f"step {n} loss {0.6 + 0.7 * n:.2f} lr 1e-3 grad_norm 3.{n}" for n in range(1, 9)]
    log += [f"step {n} loss nan lr 1e-3 grad_norm nan" for n in range(9, 12)]
    assert keys(*log)[0] == "diverged"


def test_whoever_interrupts_a_run_has_seen_something_else():
    stands = [
        f"{{'loss': 0.0{n}, 'reward': 0.5, 'reward_std': 0.0, 'grad_norm': 0.0}}" for n in range(6)
    ]
    assert keys(*stands, "KeyboardInterrupt") == ["no_signal", "interrupted"]
    assert keys("KeyboardInterrupt") == ["interrupted"]


def test_a_run_that_is_said_to_hang_gets_what_to_bring_and_no_cause():
    told = answer(*FALLS, "After this line it hangs, and all the GPUs are at 100%.")
    assert not told.causes and "py-spy dump" in str(told) and "it hangs" in str(told)
    assert "py-spy dump" not in str(answer(*FALLS, "The loss hangs at 1.3 then."))
