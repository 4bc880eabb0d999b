"""Limits that do not fit each other, groups of one, heads and ends that are lost on the way."""

import pytest

from course_utils.explain import explain
from tests.helpers.explained import first


def without(key: str, text: str, old: str, new: str) -> bool:
    assert old in text
    return key not in [one.key for one in explain(text.replace(old, new)).causes]


SINGLE = [
    "python -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=512",
    *(
        f"step:{n} - actor/pg_loss:-0.4 - actor/grad_norm:0.5 - critic/score/mean:0.4{n} - "
        f"critic/advantages/mean:0.4{n} - critic/advantages/max:1.0 - critic/advantages/min:0.0"
        for n in range(1, 7)
    ),
]


def test_a_group_that_nothing_sets_is_of_one_reply_in_verl():
    one = first(*SINGLE)
    assert one.key == "groups_of_one" and "is not set" in one.says and "rollout.n=8" in one.fix


def test_a_group_that_is_set_to_one_reply_is_told_by_its_setting():
    one = first(SINGLE[0] + " actor_rollout_ref.rollout.n=1", *SINGLE[1:])
    assert one.key == "groups_of_one" and "rollout.n=1" in one.says


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("advantages/min:0.0", "advantages/min:-0.9"),
        ("adv_estimator=grpo", "adv_estimator=gae"),
    ],
)
def test_a_group_with_a_baseline_or_no_group_is_not_called_one_reply(old, new):
    assert without("groups_of_one", "\n".join(SINGLE), old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("python -m verl.trainer.main_ppo", "python -m own.trainer"),
        ("data.train_batch_size=512", "\n  n: 8\n"),
    ],
)
def test_a_group_whose_size_is_not_told_is_not_said_to_be_of_one_reply(old, new):
    one = first("\n".join(SINGLE).replace(old, new))
    assert "one reply is sampled" not in one.says and "how many replies" in one.fix


TIED = [
    "peft_config = LoraConfig(r=8, modules_to_save=['lm_head', 'embed_tokens'])",
    "model.merge_and_unload().save_pretrained('joined')",
    '"tie_word_embeddings": true,',
    "for k in one: print((one[k] - two[k]).abs().max(), k)",
    "0.1719 lm_head.weight",
]


def test_a_head_that_differs_once_loaded_was_tied_again():
    one = first(*TIED)
    assert one.key == "tie_broken" and "at loading both become one" in one.says
    assert any("0.1719" in row for row in one.for_it)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"tie_word_embeddings": true', '"tie_word_embeddings": false'),
        ("['lm_head', 'embed_tokens']", "['score']"),
        ("0.1719 lm_head", "0.0 lm_head"),
    ],
)
def test_a_head_that_is_untied_or_the_same_is_no_fault(old, new):
    assert without("tie_broken", "\n".join(TIED), old, new)


RUN = [f"{{'loss': 1.{9 - n}, 'grad_norm': 1.{n}, 'learning_rate': 1e-05}}" for n in range(1, 8)]
ENDS = [
    "tok.pad_token = tok.eos_token",
    "text = question + answer + tok.eos_token",
    "collate = DataCollatorForLanguageModeling(tok, mlm=False)",
    *RUN,
    "ended by eos: 3 of 150 replies",
]


def test_the_collator_hides_the_end_where_it_is_the_padding():
    one = first(*ENDS)
    assert one.key == "pad_is_eos" and "-100" in one.says and "of its own" in one.fix
    assert any("3 of 150" in row for row in one.for_it)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pad_token = tok.eos_token", "pad_token = '<|pad|>'"),
        ("tok, mlm=False", "tok, mlm=True"),
        ("DataCollatorForLanguageModeling", "DataCollatorForSeq2Seq"),
        ("ended by eos: 3 of", "ended by eos: 148 of"),
    ],
)
def test_a_pad_token_of_its_own_or_replies_that_end_are_no_fault(old, new):
    assert without("pad_is_eos", "\n".join(ENDS), old, new)


MARKS = [
    "tokenizer.add_tokens(['[OPEN]', '[CLOSE]'], special_tokens=True)",
    "LoraConfig(r=8, target_modules='all-linear')",
    *(
        f"step {n}0 | loss 0.0{9 - n}1 | [OPEN] 0.69{n % 3 + 2}0 | [CLOSE] 0.69{n % 2 + 3}0"
        for n in range(1, 9)
    ),
]


def test_two_marks_at_ln_2_are_two_rows_that_nothing_tells_apart():
    one = first(*MARKS)
    assert one.key == "new_tokens_untrained" and "cannot learn which" in one.says
    assert any("[OPEN]" in row and "ln 2" in row for row in one.for_it)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'all-linear')", "'all-linear', modules_to_save=['embed_tokens', 'lm_head'])"),
        ("[CLOSE] 0.69", "[CLOSE] 0.09"),
    ],
)
def test_marks_that_are_trained_or_learnt_are_no_fault(old, new):
    assert without("new_tokens_untrained", "\n".join(MARKS), old, new)


ROWS = [
    "max_length: 512",
    "input_ids: [128000, 128006, 882, 128007, 271, 40, 128009, 128006, 78191, 128007, 11, 700]",
    "labels: [-100, -100, -100, -100, -100, -100, -100, -100, -100, -100, 11, 700]",
    *RUN,
    "The summaries never stop. Average length of the target texts: 640 tokens.",
]


def test_targets_that_are_longer_than_the_limit_have_no_end():
    one = first(*ROWS)
    assert one.key == "end_missing" and "512" in one.says
    assert any("end with token 700, not with 128009" in row for row in one.for_it)


def test_a_row_with_its_end_within_the_limit_is_no_fault():
    text = "\n".join(ROWS).replace("11, 700]", "11, 128009]")
    assert without("end_missing", text, "640 tokens", "210 tokens")


PAIRS = [
    "tokens per prompt / reply: prompt p25 700 p50 1500 | reply p50 90",
    "row = tok(chosen_text, truncation=True), tok(rejected_text, truncation=True)",
    "config/max_length 1024",
    *(f"step {n}0 loss 0.6{8 - n} acc 0.2{n}" for n in range(1, 8)),
    "eval margin_median: 0.0",
]


def test_half_of_the_pairs_without_a_difference_are_cut_to_their_prompt():
    one = first(*PAIRS)
    assert one.key == "pairs_alike" and "50 % of the prompts have 1500" in one.says


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("margin_median: 0.0", "margin_median: 0.41"),
        ("p50 1500", "p50 900"),
        ("config/max_length 1024", "config/max_length 1024, truncation_side='left'"),
    ],
)
def test_pairs_that_differ_or_fit_are_no_fault(old, new):
    assert without("pairs_alike", "\n".join(PAIRS), old, new)


WAITS = [
    "fully_shard(model)  # FSDP2",
    "while len(out) < 512:",
    "    logits = model(tokens, cache=cache).logits[:, -1]",
    "    if finished.all():",
    "        break",
    "[rank0] 512 tokens written",
    "[rank1] 512 tokens written",
    "[rank2] 512 tokens written",
    *(f"step {n} loss 1.{9 - n} gn 0.4" for n in range(1, 5)),
    "[rank1] 77 tokens written",
    "[rank0]: [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType="
    "_ALLGATHER_BASE, NumelIn=100, NumelOut=200, Timeout(ms)=600000) ran for 600010 ms",
    "[rank1]: [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType="
    "BROADCAST, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600010 ms",
]


def test_a_loop_that_each_process_leaves_by_itself_is_named_where_the_weights_are_spread():
    one = first(*WAITS)
    assert one.key == "ranks_disagree" and "`if finished.all()`" in one.says
    assert any("77 tokens" in row and "since line 8" in row for row in one.for_it)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fully_shard(model)  # FSDP2", "DistributedDataParallel(model)"),
        ("if finished.all():", "dist.all_reduce(finished); done = finished.all()"),
        ("        break", "        out.append(end)"),
    ],
)
def test_a_loop_that_is_left_together_or_of_whole_weights_is_not_blamed(old, new):
    text = "\n".join(WAITS)
    assert old in text
    assert "leave a loop" not in first(text.replace(old, new)).says
