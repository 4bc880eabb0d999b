"""What stands beside the numbers: prompts, ends, an adapter's names, shards of rows and experts."""

import json

import pytest
from explain_shapes import NAN, rows

from course_utils.explain import explain


def answer(*parts: list[dict] | str):
    lines = [part if isinstance(part, str) else "\n".join(map(json.dumps, part)) for part in parts]
    return explain("\n".join(lines) + "\n")


CUT = rows(
    12,
    **{
        "loss": 0.0,
        "grad_norm": lambda n: 0.03 if n in (3, 9) else 0.0,
        "completions/clipped_ratio": 1.0,
        "completions/mean_length": 300.0,
        "reward": lambda n: 0.25 if n in (3, 9) else 0.0,
        "reward_std": lambda n: 0.4 if n in (3, 9) else 0.0,
        "frac_reward_zero_std": lambda n: 0.0 if n in (3, 9) else 1.0,
    },
)
LIMIT = "GRPOConfig(max_completion_length=300, num_generations=4)"
PLAIN = '    return {"prompt": f"Translate: {text}", "answer": target}'
APPLIES = "ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True)  # evaluation"


def test_replies_that_are_all_cut_and_earn_next_to_nothing_come_before_equal_rewards():
    causes = answer(LIMIT, CUT).causes
    assert [one.key for one in causes] == ["rewards_cut"]
    assert any("every reply has 300 tokens" in told for told in causes[0].for_it)
    assert "template" not in causes[0].says


@pytest.mark.parametrize("other", [APPLIES, 'GRPOTrainer(model="org/Small-2B-Instruct")'])
def test_prompts_without_a_template_are_named_where_the_code_shows_them(other):
    one = answer(LIMIT, PLAIN, other, CUT).causes[0]
    assert one.key == "rewards_cut" and "plain strings" in one.says and "messages" in one.fix
    assert ("elsewhere" in one.says) == (other is APPLIES)


@pytest.mark.parametrize(
    "code",
    [
        '    return {"prompt": [{"role": "user", "content": text}], "answer": target}',
        '    return {"prompt": tokenizer.apply_chat_template(chat, tokenize=False)}',
        "ds = load_dataset(path)",
    ],
)
def test_prompts_with_a_template_are_not_blamed(code):
    assert not any("plain" in one.says for one in answer(LIMIT, code, APPLIES, CUT).causes)


def test_cut_replies_that_earn_more_and_more_are_no_fault():
    earns = [row | {"reward": 0.2 + n / 20, "reward_std": 0.3} for n, row in enumerate(CUT)]
    assert not any(one.key == "rewards_cut" for one in answer(LIMIT, earns).causes)


LABELS = "[INFO] labels: [-100 * 12]It opens at nine.<|eot_id|>"
STOPS = '  "eos_token": "<|end_of_text|>",'
RUNS_ON = "It answers and then keeps generating until max_tokens."
DONE = rows(4, loss=lambda n: 1.7 - n / 5, grad_norm=1.0)


@pytest.mark.parametrize(
    "stops",
    [STOPS, '  "eos_token": {"content": "<|end_of_text|>"},', '  "eos_token_id": 128001,'],
)
def test_labels_that_end_with_another_token_than_the_printed_eos_are_shown(stops):
    causes = answer(RUNS_ON, LABELS, DONE, stops).causes
    assert [one.key for one in causes] == ["stops_elsewhere"] and causes[0].weight > 5
    assert "<|eot_id|>" in causes[0].says and "train again" in causes[0].fix


@pytest.mark.parametrize(
    "lines",
    [
        (RUNS_ON, LABELS, '  "eos_token": "<|eot_id|>",'),
        (RUNS_ON, LABELS, '  "eos_token_id": [128001, 128009],'),
        (RUNS_ON, LABELS, '  "eos_token_id": 77,'),  # which token that is, the log does not say
        (RUNS_ON, "[INFO] labels: [-100 * 12]It opens at nine.", STOPS),
        ("It answers well.", LABELS, STOPS),
    ],
)
def test_labels_whose_end_is_waited_for_or_not_known_are_not(lines):
    told = answer(*lines[:2], DONE, lines[2]).causes
    assert not any(one.key == "stops_elsewhere" and one.weight > 5 for one in told)


NO_EFFECT = "The adapter has no effect in vLLM: the answers are those of the base model."
KEY = "base_model.model.model.layers.3.self_attn.v_proj.lora_A.weight"
SERVED = "INFO 02-11 [config.py:88] Resolved architecture: Gemma9ForConditionalGeneration"
LOADS = "vllm serve org/gemma9 --enable-lora --lora-modules mine=out"


def test_an_adapter_of_text_under_a_class_of_images_matches_no_module():
    one = answer(NO_EFFECT, DONE, KEY, LOADS, SERVED).causes[0]
    assert one.key == "adapter_not_loaded" and "Gemma9ForConditionalGeneration" in one.says
    assert "prefix" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        (NO_EFFECT, KEY, LOADS, SERVED.replace("ForConditionalGeneration", "ForCausalLM")),
        (NO_EFFECT, KEY.replace("model.layers", "language_model.layers"), LOADS, SERVED),
        ("It answers in our format.", KEY, LOADS, SERVED),
        (NO_EFFECT, KEY, SERVED),
    ],
)
def test_another_adapter_is_not_accused_of_its_names(lines):
    told = answer(*lines[:1], DONE, *lines[1:]).causes
    assert not any("no name matches" in one.says for one in told)


def judged(loss: float) -> list[dict]:
    trained = rows(6, loss=lambda n: 0.9 - n / 20, grad_norm=0.5, epoch=lambda n: n / 2)
    return [row for one in trained for row in (one, {"eval_loss": loss, "epoch": one["epoch"]})]


@pytest.mark.parametrize(
    "parts",
    [
        ("sequence_parallel_size: 1", judged(0.7), "sequence_parallel_size: 4", judged(NAN)),
        ("Without context parallelism the eval is fine.", "cp_size: 4", judged(NAN)),
    ],
)
def test_an_evaluation_that_is_nan_only_where_rows_are_cut_over_processes(parts):
    one = answer(*parts).causes[0]
    assert one.key == "nan_metric" and "4 processes" in one.says and "half" not in one.says
    assert "sum" in one.fix


@pytest.mark.parametrize(
    "parts",
    [
        ("sequence_parallel_size: 1", judged(NAN)),
        ("context_parallel_size: 4", judged(NAN)),  # nothing to compare with
        ("Without context parallel the training works as well.", "cp_size: 4", judged(NAN)),
        ("sequence_parallel_size: 4", judged(0.7), "sequence_parallel_size: 4", judged(NAN)),
    ],
)
def test_another_nan_of_an_evaluation_is_not_laid_to_the_cut(parts):
    assert not any("0/0" in one.says for one in answer(*parts).causes)


WAIT = (
    "[rank{0}]:[E1206 18:44:12.7 ProcessGroupNCCL.cpp:607] [Rank {0}] Watchdog caught "
    "collective operation timeout: WorkNCCL(SeqNum=412, OpType={1}, NumelIn={2}, "
    "NumelOut={2}, Timeout(ms)=600000) ran for 600058 milliseconds before timing out."
)


def apart(*before: str, kind: str = "_ALLGATHER_BASE"):
    waits = (WAIT.format(0, kind, 65536), WAIT.format(1, kind, 1024))
    return answer(*before, *waits).causes[0]


@pytest.mark.parametrize("model", ["mistralai/Mixtral-8x7B-v0.1", "Qwen/Qwen9-100B-A9B"])
def test_gathers_of_other_sizes_under_zero_3_are_of_other_experts(model):
    one = apart(f"--model {model}", '"zero_optimization": {"stage": 3}')
    assert one.key == "ranks_disagree" and "experts" in one.says
    assert "set_z3_leaf_modules" in one.fix and "buffer" not in one.says


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        (("--model org/Dense-7B", "--zero_stage 3"), "_ALLGATHER_BASE"),
        (("--model Qwen/Qwen9-100B-A9B", "--zero_stage 2"), "_ALLGATHER_BASE"),
        (("--model Qwen/Qwen9-100B-A9B", "--zero_stage 3"), "BROADCAST"),
    ],
)
def test_other_sizes_of_another_model_or_operation_are_not_of_experts(before, kind):
    assert "experts" not in apart(*before, kind=kind).says
