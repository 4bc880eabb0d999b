"""A grad_norm of exactly 0: what the log leaves open, and what the text beside it decides."""

import json

import pytest
from explain_shapes import rows

from course_utils.explain import explain

POLICY = {
    "loss": 0.0,
    "grad_norm": 0.0,
    "learning_rate": 2e-6,
    "reward": lambda n: 0.5 + n % 3 / 20,
    "reward_std": 0.3,
    "kl": 0.0,
}
TUNED = {"loss": lambda n: 1.4 - n % 3 / 20, "grad_norm": 0.0, "learning_rate": 1e-4}
WRAPPED = (
    "model = prepare_model_for_kbit_training(model)",
    "model = get_peft_model(model, LoraConfig(r=8))",
    "trainer = SFTTrainer(model=model, args=args, train_dataset=rows)",
)


def first(log: list[dict], *before: str):
    return explain("\n".join([*before, *map(json.dumps, log)]) + "\n").causes[0]


@pytest.mark.parametrize("log", [rows(8, **POLICY), rows(8, **TUNED)])
def test_what_loses_the_gradient_is_left_open(log):
    one = first(log)
    assert one.key == "no_gradient" and "no rule tells" in one.says
    assert all(word in one.open for word in ("trainable", "connected", "DeepSpeed"))


@pytest.mark.parametrize(
    "text",
    [
        ("On one GPU the same script works fine.", "deepspeed: zero3.json"),
        ("--train_type full --deepspeed zero2", "x"),
        (
            "trainable params: 15 || trainable%: 100.00",
            "offload_optimizer=true",
        ),
    ],
)
def test_an_engine_is_named_where_the_text_rules_out_the_rest(text):
    one = first(rows(8, **POLICY), *text)
    assert (
        one.key == "no_gradient" and "engine" in one.says and one.fix.startswith("another version")
    )
    assert "no rule tells" in one.says + one.open
    assert any("line 1 says" in row for row in one.for_it)


@pytest.mark.parametrize(
    "text",
    [
        ("On one GPU it does not work either, and nothing runs.", "deepspeed: zero3.json"),
        ("--train_type lora --deepspeed zero2", "x"),
        ("--train_type full", "x"),  # and no engine is named
    ],
)
def test_an_engine_is_not_named_without_a_reason(text):
    assert not first(rows(8, **POLICY), *text).fix.startswith("another version")


def test_a_ready_peft_model_on_a_quantised_base_may_be_frozen_again():
    one = first(rows(6, **TUNED), *WRAPPED)
    assert one.key == "no_gradient" and "second time" in one.says
    assert "after the trainer is built" in one.fix
    handed_over = (*WRAPPED[:2], "trainer = SFTTrainer(model=base, peft_config=LoraConfig(r=8))")
    assert "second time" not in first(rows(6, **TUNED), *handed_over).says
    assert "second time" not in first(rows(6, **TUNED), *WRAPPED[1:]).says  # no quantised base


LOADED = "model = PeftModel.from_pretrained(base, 'sft-adapter')"
WARNED = "UserWarning: None of the inputs have requires_grad=True. Gradients will be None"


def test_an_adapter_that_is_loaded_frozen_is_named():
    one = first(rows(6, **TUNED), LOADED)
    assert "is_trainable" in one.says and "line 1 says" in " ".join(one.for_it)
    trained = LOADED.replace("')", "', is_trainable=True)")
    assert "is_trainable" not in first(rows(6, **TUNED), trained).says


def test_a_checkpointed_block_without_a_gradient_is_named():
    one = first(rows(6, **TUNED), WARNED)
    assert "reentrant" in one.says and "use_reentrant" in one.fix
    assert "reentrant" not in first(rows(6, **TUNED), "UserWarning: None").says


def test_an_engine_is_looked_at_first_only_where_one_is_named():
    assert first(rows(8, **POLICY)).fix.startswith("requires_grad")
    assert first(rows(8, **POLICY), "--deepspeed zero2").fix.startswith("one step without")


DIVERGES = {
    "loss": lambda n: 0.6 - n / 90 if n < 10 else min(6.0, 0.5 * 2 ** (n - 10)),
    "grad_norm": lambda n: 0.3 + n % 3 / 20 if n < 8 else (20.0 / 8 ** (n - 12) if n < 16 else 0.0),
    "learning_rate": 5e-4,
}


def test_a_gradient_that_fades_behind_a_divergence_is_not_cut_off():
    one = first(rows(24, **DIVERGES))
    assert one.key == "rate_too_high" and "fades" in " ".join(one.for_it)
    assert one.at.where != "line 17"  # but where it left its course


@pytest.mark.parametrize(
    "change",
    [
        {"loss": lambda n: 0.6 - n / 90 if n < 10 else 0.5 + n % 3 / 50},  # nothing has climbed
        {"grad_norm": lambda n: 0.3 + n % 3 / 20 if n < 16 else 0.0},  # no norm has jumped
    ],
)
def test_a_gradient_that_ends_without_a_divergence_is_cut_off(change):
    kept = {"loss": lambda n: 0.6 - n / 90 if n < 10 else 0.5 + n % 3 / 50}
    one = first(rows(24, **DIVERGES | kept | change))
    assert one.key == "no_gradient"


PAIRS = {
    "loss": 0.6931,
    "rewards/chosen": 0.0,
    "rewards/rejected": 0.0,
    "logits/chosen": lambda n: -1.2 - n % 3 / 90,
    "logits/rejected": lambda n: -1.3 - n % 4 / 90,
}
UNCOUNTED = {"logps/chosen": 0.0, "logps/rejected": 0.0}


@pytest.mark.parametrize("beside", [{}, {"grad_norm": 0.0}])
def test_log_probs_of_exactly_0_are_of_no_token(beside):
    one = first(rows(8, **PAIRS, **UNCOUNTED, **beside))
    assert one.key == "labels_masked" and "no token" in one.says
    assert "logps/chosen 0" in " ".join(one.for_it)


def test_logits_of_no_token_have_no_mean():
    nothing = {"logits/chosen": float("nan"), "logits/rejected": float("nan"), "grad_norm": 0.0}
    assert first(rows(8, **PAIRS | UNCOUNTED | nothing)).key == "labels_masked"
    lost = {"loss": 0.0}  # of a run whose numbers broke, it is no ln 2
    assert first(rows(8, **PAIRS | UNCOUNTED | nothing | lost)).key != "labels_masked"


@pytest.mark.parametrize(
    "change",
    [
        {"logps/chosen": lambda n: -70.0 - n, "logps/rejected": lambda n: -80.0 + n},
        {"logps/chosen": 0.0, "logps/rejected": -80.0},
        {"logits/chosen": 0.0, "logits/rejected": 0.0},  # nothing is computed at all
    ],
)
def test_other_log_probs_are_of_a_policy_that_stands(change):
    assert first(rows(8, **PAIRS | UNCOUNTED | change)).key == "policy_is_reference"
