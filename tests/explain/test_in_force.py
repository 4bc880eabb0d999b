"""What stands in a log's settings is not advised, and decides between the things it may be."""

import pytest

from course_utils.explain import explain
from course_utils.explain.clauses import clauses, without

MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
UPDATES = [
    f"step:{n} - actor/entropy:{0.3 + 0.5 * n:.3f} - critic/score/mean:{0.5 - 0.04 * n:.3f}"
    for n in range(1, 13)
]
TUNED = [f"1|{n}|Loss: {1.6 - n / 50:.4f}" for n in range(1, 13)]


def first(*lines: str):
    return explain("\n".join([*lines, ""])).causes[0]


def test_a_fix_loses_its_clauses_and_never_all_of_them():
    said = "a smaller micro-batch, shorter replies (512, say), or gradient checkpointing"
    assert len(clauses(said)) == 3
    assert without(said, clauses(said)[:2]) == "gradient checkpointing"
    assert without(said, clauses(said)) == ""
    assert without(said, ["another"]) == said


@pytest.mark.parametrize(
    "setting", ["gradient_checkpointing: true", "--model.enable_gradient_checkpointing=True"]
)
def test_what_is_switched_on_is_not_advised(setting):
    assert "gradient checkpointing" in first(MEMORY).fix
    assert "gradient checkpointing" not in first(setting, MEMORY).fix
    assert first(setting, MEMORY).fix
    told = "I then tried it with gradient_checkpointing: true and it was the same"
    assert "gradient checkpointing" in first(told, MEMORY).fix


def test_an_entropy_bonus_that_is_0_is_not_looked_for():
    random = first(*UPDATES)
    assert random.key == "entropy_runs"
    assert "entropy_coeff=0" in random.fix and "bonus" in random.look
    without_one = first("actor.entropy_coeff=0", *UPDATES)
    assert "entropy_coeff" not in without_one.fix
    assert without_one.look == ""


def test_steps_that_are_too_long_are_named_by_their_settings():
    long = first("actor.optim.lr=1e-5", "actor.grad_clip=50.0", *UPDATES)
    assert "lr 1e-5 and grad_clip 50.0" in long.says
    usual = first("actor.optim.lr=1e-6", "actor.grad_clip=1.0", *UPDATES)
    adapter = first("actor.optim.lr=1e-5", "model.lora_rank=32", *UPDATES)
    assert "goes far" not in usual.says + adapter.says


def test_an_engine_that_stays_awake_fills_the_memory():
    assert "not put to sleep" in first("rollout.free_cache_engine=False", MEMORY).says
    assert "not put to sleep" not in first("rollout.free_cache_engine=True", MEMORY).says


def test_who_killed_a_process_is_open_unless_something_speaks_of_memory():
    killed = "torch.distributed.elastic: failed (exitcode: -9) local_rank: 3"
    assert "preemption" in first("a", killed).open
    assert first("kernel: oom-kill: task=python", killed).open == ""


def test_an_adapter_over_a_base_model_leaves_its_end_token_untrained():
    def fits(*lines):
        found = explain("\n".join([*lines, ""]))
        return [*found.causes, *found.fits][0].key

    losses = [f"{{'loss': {1.6 - n / 20}, 'epoch': {n / 10}}}" for n in range(1, 9)]
    words = "The reply is right, and then generation is not stopping."
    base = ["model_name_or_path: Qwen/Qwen3-4B-Base", "lora_rank: 16"]
    assert fits(words, *base, *losses) == "new_tokens_untrained"
    tables = "additional_target: embed_tokens,lm_head"
    assert fits(words, *base, tables, *losses) == "pad_is_eos"
    assert fits(words, "model_name_or_path: Qwen/Qwen3-4B", base[1], *losses) == "pad_is_eos"


def test_a_run_that_was_to_go_on_and_starts_at_the_beginning():
    asked = "I started it again to go on from the saved epoch."
    again = first(asked, "resume_from_checkpoint: False", *TUNED, "$ tune run", *TUNED[:6])
    assert again.key == "begun_anew"
    assert any("resume_from_checkpoint: False" in row for row in again.for_it)
    fresh = explain("\n".join([*TUNED, "$ tune run", *TUNED[:6], ""]))
    assert "begun_anew" not in [one.key for one in fresh.causes]
    compared = [*TUNED, "resume_from_checkpoint: null", "$ tune run", *TUNED[:6]]
    alike = explain("\n".join([*compared, ""]))  # a setting, and nobody who says so
    assert "begun_anew" not in [one.key for one in alike.causes]
    goes_on = [f"1|{n}|Loss: {1.6 - n / 50:.4f}" for n in range(13, 25)]
    whole = explain("\n".join([asked, *TUNED, "$ tune run", *goes_on, ""]))
    assert "begun_anew" not in [one.key for one in whole.causes]


def test_sampler_and_trainer_that_agree_at_one_temperature_alone():
    def rows(ratio):
        return [
            f"{{'loss': 0.01, 'reward': 0.4, 'epoch': {n / 100}, "
            f"'sampling/importance_sampling_ratio/mean': {ratio + n / 1000}}}"
            for n in range(1, 7)
        ]

    hot = first(
        "GRPOConfig(temperature=0.6, beta=0.0)", *rows(1.13), "temperature=1.0:", *rows(1.0)
    )
    assert "divides its logits by the temperature" in hot.says
    assert "processed_logprobs" in hot.fix


def test_what_was_tried_is_not_advised():
    tried = "We also tried a smaller learning rate and the trend was the same."
    assert "smaller learning rate" in first(*UPDATES).fix
    assert "smaller learning rate" not in first(tried, *UPDATES).fix


def test_an_engine_that_finds_no_room_for_its_cache():
    frame = 'File "vllm/engine/llm_engine.py", line 429, in _initialize_kv_caches'
    found = first('vllm_device="cuda:0", vllm_gpu_memory_utilization=0.9', frame, MEMORY)
    assert "no room for its cache" in found.says
    assert any("utilization=0.9" in row for row in found.for_it)


def test_an_error_that_is_known_needs_no_paste_of_its_last_lines():
    ended = "  exitcode  : 1 (pid: 7562)"
    assert [one.key for one in explain(f"a\n{MEMORY}{ended}\n").causes] == ["cuda_memory"]
    assert [one.key for one in explain(f"a\n{ended}\n").causes] == ["python_error"]


def test_a_ratio_that_falls_from_1_to_nothing_is_of_old_weights():
    def rows(*ratios):
        return [
            f"{{'loss': 0.1, 'reward': 0.4, 'sampling/importance_sampling_ratio/mean': {one}}}"
            for one in ratios
        ]

    assert first(*rows(0.98, 0.9, 0.5, 0.2, 0.05, 0.01, 1e-3, 1e-4, 1e-6)).key == "stale_sampler"
    assert first(*rows(0.3, 0.2, 0.2, 0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-6)).key == "engines_disagree"


def test_a_loss_that_fell_and_then_lies_flat_has_moved():
    fell = [
        f"{{'loss': {loss}, 'epoch': {n / 10}}}"
        for n, loss in enumerate([2.1, 1.4, 0.9] + 9 * [0.8, 0.82])
    ]
    assert "no trend" not in str(explain("\n".join([*fell, ""])))


def test_processes_that_wait_in_one_collective_for_another():
    text = "Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=27, "
    text += "OpType=BROADCAST, NumelIn=18)"
    assert "does not come" in first("a", text.format(1), text.format(2)).says


def test_a_temperature_below_1_where_two_engines_differ_from_the_first_entry_on():
    def rows(first_one):
        return [
            f"{{'loss': 0.01, 'reward': 0.4, 'sampling/importance_sampling_ratio/mean': {one}}}"
            for one in (first_one, 1.2, 1.21, 1.19, 1.22, 1.2)
        ]

    cold = first("GRPOConfig(temperature=0.6)", *rows(1.2))
    assert "temperature is 0.6" in cold.says and "processed_logprobs" in cold.fix
    assert "temperature is" not in first("GRPOConfig(temperature=0.6)", *rows(1.0)).says
    assert "temperature is" not in first("GRPOConfig(temperature=1.0)", *rows(1.2)).says


def test_an_entropy_below_0_is_no_entropy_of_tokens():
    low = [
        f"step:{n} - actor/entropy:{-58 - n} - critic/score/mean:{0.5 - n / 50}" for n in range(9)
    ]
    assert first(*low).key == "entropy_impossible"
    rounded = [f"step:{n} - actor/entropy:-0.0001 - critic/score/mean:0.5" for n in range(9)]
    assert "entropy_impossible" not in [one.key for one in explain("\n".join(rounded)).causes]


def test_the_memory_of_the_node_is_not_that_of_the_gpu():
    ray = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory."
    assert [one.key for one in explain(f"a\n{ray}\n").causes] == ["host_memory"]


def test_a_part_of_the_reward_that_is_gone_at_the_end_whichever_way_it_took():
    parts = [(0.2, 0.02)] * 4 + [(0.28, 0.05)] * 4 + [(0.003, 0.98)] * 4
    log = [
        f"{{'reward': {right + form}, 'rewards/accuracy_reward': {right}, "
        f"'rewards/format_reward': {form}}}"
        for right, form in parts
    ]
    assert first(*log).key == "parts_apart"


def test_a_warning_of_the_start_is_no_cause_in_a_run_that_goes_on():
    drawn = "Some weights of X were not initialized and are newly initialized: ['score.weight']"
    losses = [f"{{'loss': {1 - n / 20}, 'epoch': {n / 10}}}" for n in range(9)]
    assert [one.key for one in explain(f"a\n{drawn}\n").causes] == ["head_is_new"]
    assert not explain("\n".join([drawn, *losses])).causes


def test_settings_of_a_command_are_no_entry():
    command = (
        "    actor_rollout_ref.actor.entropy_coeff=0 actor_rollout_ref.actor.clip_ratio=0.2 \\"
    )
    assert explain("\n".join([command, *UPDATES])).num_entries == len(UPDATES)
    assert "entropy_coeff" not in first(command, *UPDATES).fix


def test_equal_scores_of_both_replies_that_a_library_warns_of():
    warned = "UserWarning: There are 812 out of 1000 instances where the predictions for both "
    warned += "options are equal. As a consequence the accuracy can be misleading."
    flat = [f"{{'loss': 0.6931, 'grad_norm': 0.0007, 'epoch': {n / 10}}}" for n in range(1, 13)]
    assert first(*flat[:6], warned, *flat[6:]).key == "rows_pooled_wrong"
    assert "rows_pooled_wrong" not in [one.key for one in explain("\n".join(flat)).causes]


def test_a_line_of_metrics_with_dots_in_its_names_is_an_entry():
    assert (
        explain("train.loss=2.31 train.lr=1e-4\ntrain.loss=2.11 train.lr=1e-4\n").num_entries == 2
    )


PUSHED = [
    f"{{'loss': {0.6 - n / 40}, 'rewards/chosen': {-0.4 * n}, 'rewards/rejected': {-1.9 * n}}}"
    for n in range(12)
]


@pytest.mark.parametrize(
    "told",
    [
        "After the epoch it answers to each of the prompts with random tokens.",
        "I printed twenty of the completions and they are all alike.",
    ],
)
def test_replies_that_the_writer_has_read_are_not_to_be_read(told):
    assert "replies" in first(*PUSHED).look
    assert first(told, *PUSHED).look == ""


@pytest.mark.parametrize(
    "told",
    ["I have not read the completions yet.", "The answers of the data set are about trains."],
)
def test_replies_that_nobody_has_read_are_to_be_read(told):
    assert "replies" in first(told, *PUSHED).look


def destroyed(entropy, right):
    return [
        f"{one[:-1]}, 'entropy': {entropy(n)}, 'mean_token_accuracy': {right(n)}}}"
        for n, one in enumerate(PUSHED)
    ]


def test_a_policy_that_forgets_every_token_behind_a_good_margin_has_collapsed():
    one = first(*destroyed(lambda n: 2.0 + n / 2, lambda n: 0.5 / 1.4**n))
    assert "collapsed" in one.says and "no rule tells" in one.open
    assert any("mean_token_accuracy" in row and "entropy" in row for row in one.for_it)
    usual = first(*destroyed(lambda n: 2.0 + n / 20, lambda n: 0.5 - n / 90))
    assert usual.key == one.key == "margin_by_pushing_down" and "collapsed" not in usual.says
