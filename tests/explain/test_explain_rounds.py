"""Logs of blind rounds, behind their first score: what is said of each now.

They were mended behind the score, so this says nothing of logs that nobody here had read
(docs/blind_rounds.md does).
"""

from functools import cache
from pathlib import Path

import pytest
from whole import cases

from course_utils.explain import explain

ROUNDS = Path(__file__).parents[2] / "benchmarks" / "diagnostics" / "blind"
NAMED = {
    "round_9/14_llama_rm": "rows_pooled_wrong",
    "round_9/30_axolotl_mistral": "pad_is_eos",
    "round_9/32_swift_minicpm": "ranks_disagree",
    "round_9/35_llama_dpo": "reference_moves",
    "round_9/36_prune_distill": "probabilities_as_logs",
    "round_10/08_pasted": "shapes_unfit",
    "round_10/09_pasted": "nan_weights",
    "round_10/11_pasted": "labels_masked",
    "round_10/13_pasted": "engines_disagree",
    "round_10/15_pasted": "stale_sampler",
    "round_10/16_pasted": "pairs_inverted",
    "round_10/17_pasted": "schedule_ends_early",
    "round_10/18_pasted": "rewards_cut",
    "round_10/19_pasted": "pad_is_eos",
    "round_10/20_pasted": "proxy_rises_alone",
    "round_11/12_thread": "engines_disagree",
    "round_11/14_thread": "nan_shown_as_zero",
    "round_13/01_log": "schedule_ends_early",
    "round_13/03_log": "beta_zero",
    "round_13/04_log": "engines_disagree",
    "round_13/06_log": "no_gradient",
    "round_13/07_log": "rewards_cut",
    "round_13/09_log": "anomaly",
    "round_13/10_log": "engines_disagree",
    "round_13/11_log": "rounding_swallows",
    "round_13/12_log": "loss_off_by_a_factor",
    "round_13/14_log": "stale_sampler",
    "round_13/16_log": "no_gradient",
    "round_13/17_log": "rate_not_asked",
    "round_13/18_log": "index_outside",
    "round_13/20_log": "norm_never_finite",
    "round_13/21_log": "gradients_not_cleared",
    "round_13/22_log": "nan_weights",
    "round_13/24_log": "fp16_overflow",
    "round_24/04_log": "stale_sampler",
    "round_24/09_log": "stale_sampler",
    "round_24/11_log": "engines_disagree",
    "round_24/13_log": "ranks_disagree",
    "round_24/14_log": "numbers_broken",
    "round_24/15_log": "end_masked",
    "round_24/17_log": "fp16_overflow",
    "round_24/20_log": "no_gradient",
    "round_24/21_log": "labels_masked",
    "round_24/22_log": "rate_too_high",
    "round_28/01_log": "stale_sampler",
    "round_28/04_log": "rate_zero",
    "round_28/09_log": "engines_disagree",
    "round_28/10_log": "nan_metric",
    "round_28/11_log": "rewards_cut",
    "round_28/12_log": "tie_broken",
    "round_28/13_log": "engines_disagree",
    "round_28/14_log": "guesses",
    "round_28/16_log": "adapter_not_loaded",
    "round_28/18_log": "stops_elsewhere",
    "round_28/19_log": "ranks_disagree",
    "round_28/20_log": "resumed_without_state",
    "round_30/02_log": "rows_pooled_wrong",
    "round_30/03_log": "constant_part",
    "round_30/04_log": "schedule_ends_early",
    "round_30/06_log": "reference_moves",
    "round_30/07_log": "other_tokenizer",
    "round_30/08_log": "stops_elsewhere",
    "round_30/09_log": "rate_too_high",
    "round_30/13_log": "engines_disagree",
    "round_30/15_log": "kl_of_a_part",
    "round_30/16_log": "rounding_swallows",
    "round_30/17_log": "rate_too_low",
    "round_30/21_log": "prefix_cache_kept",
    "round_30/23_log": "tool_results_learnt",
    "round_30/24_log": "last_step_alone",
    "round_36/01_log": "no_signal",
    "round_36/03_log": "ranks_disagree",
    "round_36/04_log": "schedule_ends_early",
    "round_36/05_log": "labels_constant",
    "round_36/07_log": "positions_wrong",
    "round_36/08_log": "rounding_swallows",
    "round_36/09_log": "labels_masked",
    "round_36/11_log": "head_is_new",
    "round_36/12_log": "new_tokens_untrained",
    "round_36/13_log": "wrong_reference",
    "round_36/15_log": "pairs_alike",
    "round_36/16_log": "no_signal",
    "round_36/18_log": "schedule_ends_early",
    "round_36/19_log": "pad_is_eos",
    "round_36/20_log": "teacher_one_place_on",
    "round_36/22_log": "labels_masked",
    "round_36/23_log": "checkpoint_without_gradient",
    "round_36/24_log": "stale_sampler",
    "round_38/03_log": "labels_shifted",
    "round_38/04_log": "checkpoint_without_gradient",
    "round_38/07_log": "pairs_inverted",
    "round_38/08_log": "probabilities_as_logs",
    "round_38/10_log": "constant_part",
    "round_64/08_log": "head_frozen",
    "round_66/02_log": "pad_is_eos",
    "round_66/03_log": "template_differs",
    "round_66/05_log": "pairs_alike",
    "round_66/08_log": "head_frozen",
    "round_66/11_log": "evaluation_rows_differ",
    "round_68/02_log": "rewards_cut",
    "round_68/07_log": "template_differs",
    "round_68/11_log": "pairs_inverted",
    "round_70/04_log": "template_differs",
    "round_70/08_log": "head_frozen",
    "round_72/02_log": "no_signal",
    "round_72/05_log": "head_frozen",
    "round_72/15_log": "proxy_rises_alone",
    "round_74/05_log": "similarity_unscaled",
    "round_74/06_log": "constant_part",
    "round_74/08_log": "wrong_reference",
    "round_74/09_log": "pairs_alike",
    "round_76/02_log": "rate_too_low",
    "round_76/08_log": "unscale_half",
    "round_78/04_log": "pairs_alike",
    "round_78/05_log": "template_differs",
    "round_78/07_log": "one_class",
    "round_78/09_log": "rows_pooled_wrong",
    "round_78/10_log": "rate_too_high",
    "round_78/12_log": "schedule_ends_early",
    "round_78/14_log": "reward_pays_junk",
    "round_82/01_log": "pad_is_eos",
    "round_82/06_log": "wrong_reference",
    "round_82/07_log": "schedule_ends_early",
    "round_84/01_log": "pad_is_eos",
    "round_84/13_log": "proxy_rises_alone",
    "round_86/01_log": "pairs_alike",
    "round_86/06_log": "replies_cut",
    "round_86/08_log": "loss_off_by_a_factor",
    "round_88/05_log": "pairs_alike",
    "round_88/06_log": "schedule_ends_early",
    "round_88/11_log": "thrown_about",
    "round_88/15_log": "rate_too_high",
    "round_90/02_log": "end_missing",
    "round_90/06_log": "adapter_not_loaded",
    "round_90/07_log": "template_differs",
    "round_90/10_log": "labels_masked",
    "round_90/11_log": "proxy_rises_alone",
    "round_90/14_log": "rate_too_low",
    "round_92/03_log": "head_frozen",
    "round_94/01_log": "rewards_cut",
    "round_94/10_log": "entropy_runs",
    "round_94/12_log": "kl_negative",
    "round_94/14_log": "labels_constant",
    "round_96/06_log": "layers_take_turns",
    "round_96/13_log": "new_tokens_untrained",
    "round_98/01_log": "template_differs",
    "round_98/06_log": "constant_part",
    "round_98/07_log": "replies_masked",
    "round_98/13_log": "labels_masked",
    "round_100/02_log": "positives_twice",
    "round_100/05_log": "schedule_ends_early",
    "round_100/06_log": "pairs_alike",
    "round_100/10_log": "engines_disagree",
    "round_100/12_log": "negatives_too_easy",
    "round_102/01_log": "pad_is_eos",
    "round_102/04_log": "proxy_rises_alone",
    "round_102/05_log": "template_differs",
    "round_102/07_log": "too_long",
    "round_102/11_log": "head_frozen",
    "round_102/15_log": "pairs_alike",
    "round_104/04_log": "pairs_alike",
    "round_104/12_log": "new_tokens_untrained",
    "round_104/13_log": "schedule_ends_early",
    "round_9/23_nemo_rl_gsm8k": "constant_part",
    "round_26/19_log": "labels_constant",
    "round_42/17_log": "teacher_one_place_on",
    "round_44/04_log": "replies_cut",
    "round_44/08_log": "pairs_alike",
    "round_44/12_log": "logp_disagree",
    "round_46/03_log": "reward_pays_junk",
    "round_46/09_log": "head_frozen",
    "round_46/10_log": "rows_in_both",
    "round_46/13_log": "adapter_not_loaded",
    "round_46/19_log": "prompts_learnt_alone",
    "round_48/05_log": "loss_not_shifted",
    "round_50/01_log": "length_tells",
    "round_50/05_log": "merged_not_equal",
    "round_50/07_log": "reward_of_other_row",
    "round_50/12_log": "schedule_ends_early",
    "round_50/18_log": "pairs_inverted",
    "round_50/20_log": "evaluation_cuts_replies",
    "round_50/21_log": "new_tokens_untrained",
    "round_56/07_log": "constant_part",
    "round_66/06_log": "rows_in_both",
    "round_66/07_log": "message_dropped",
    "round_66/10_log": "rewards_cut",
    "round_66/12_log": "reward_pays_junk",
    "round_66/15_log": "stale_sampler",
    "round_80/07_log": "labels_not_read",
    "round_82/12_log": "prompt_in_loss",
    "round_84/05_log": "prompt_twice",
    "round_86/05_log": "targets_beyond_cosine",
    "round_86/15_log": "labels_not_read",
    "round_106/04_log": "template_differs",
    "round_106/07_log": "pairs_alike",
    "round_108/03_log": "fp16_overflow",
    "round_108/10_log": "proxy_rises_alone",
    "round_110/14_log": "proxy_rises_alone",
    "round_112/07_log": "pairs_alike",
    "round_112/15_log": "proxy_rises_alone",
    "round_114/09_log": "rate_too_high",
    "round_114/11_log": "reward_pays_junk",
    "round_114/15_log": "template_differs",
    "round_116/08_log": "replies_cut",
    "round_116/10_log": "rows_pooled_wrong",
    "round_116/14_log": "fp16_overflow",
    "round_116/15_log": "reward_pays_junk",
    "round_118/08_log": "ending_tells",
    "round_118/12_log": "template_differs",
    "round_118/15_log": "rows_in_order",
    "round_120/03_log": "pairs_alike",
    "round_120/05_log": "constant_part",
    "round_120/10_log": "proxy_rises_alone",
    "round_120/14_log": "new_tokens_untrained",
    "round_120/15_log": "replies_cut",
    "round_122/10_log": "new_tokens_untrained",
    "round_122/13_log": "one_class",
    "round_122/15_log": "adapter_not_loaded",
}
ACCUSED_OF_NOTHING = (
    "round_64/04_log",
    "round_64/09_log",
    "round_64/13_log",
    "round_66/09_log",
    "round_66/14_log",
    "round_68/04_log",
    "round_68/10_log",
    "round_68/13_log",
    "round_70/03_log",
    "round_70/09_log",
    "round_70/14_log",
    *("round_72/04_log", "round_72/09_log", "round_72/13_log"),
    *("round_74/03_log", "round_74/10_log", "round_74/13_log"),
    *("round_76/05_log", "round_76/09_log", "round_76/13_log"),
    *("round_78/06_log", "round_78/08_log", "round_78/13_log"),
    *("round_80/03_log", "round_80/08_log", "round_80/12_log"),
    *("round_82/04_log", "round_82/09_log", "round_82/13_log"),
    *("round_84/03_log", "round_84/08_log", "round_84/14_log"),
    *("round_86/03_log", "round_86/09_log", "round_86/14_log"),
    *("round_88/03_log", "round_88/09_log", "round_88/12_log"),
    *("round_90/03_log", "round_90/09_log", "round_90/13_log"),
    *("round_92/02_log", "round_92/07_log", "round_92/11_log"),
    *("round_94/04_log", "round_94/09_log", "round_94/13_log"),
    *("round_96/05_log", "round_96/09_log", "round_96/14_log"),
    "round_106/06_log",
    *("round_98/02_log", "round_98/09_log", "round_98/15_log"),
    *("round_100/04_log", "round_100/09_log", "round_100/13_log"),
    *("round_9/16_zephyr_dpo", "round_9/22_pythia_v100"),
    *("round_10/07_pasted", "round_11/05_thread", "round_11/18_thread"),
    *("round_13/02_log", "round_13/08_log", "round_13/13_log", "round_13/19_log"),
    *("round_24/16_log", "round_30/11_log", "round_30/18_log", "round_30/22_log"),
    *(f"round_36/{number}_log" for number in ("02", "06", "10", "14", "17", "21")),
)
LEFT_OPEN = (
    *("round_9/07_lf_8gpu", "round_9/12_qwen2vl_lora", "round_9/19_dapo_math"),
    "round_9/31_reward_mail",
    *("round_24/01_log", "round_24/07_log", "round_24/12_log", "round_24/23_log"),
)


@cache
def answer(name):
    folder, log = name.split("/")
    return explain((ROUNDS / folder / "logs" / f"{log}.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", cases(NAMED, kind=NAMED.get))
def test_a_log_is_named_first(name):
    assert answer(name).causes[0].key == NAMED[name]


@pytest.mark.parametrize("name", ACCUSED_OF_NOTHING)
def test_a_healthy_log_is_accused_of_nothing(name):
    assert not answer(name).causes


@pytest.mark.parametrize("name", LEFT_OPEN)
def test_what_a_log_cannot_tell_is_left_open(name):
    first = answer(name).causes[0]
    assert "no rule tells" in first.open + first.says


SAYS = {
    "round_94/05_log": "a whole worked solution that ends in 18",
    "round_72/02_log": "it scores str() of a reply",
    "round_72/14_log": "the TEMPLATE of the Modelfile lacks the roles",
    "round_74/06_log": "the whole solution, with ####",
    "round_74/08_log": "turns the adapter off for the reference",
    "round_76/15_log": "they answer well in Transformers: in Ollama they get another text",
    "round_78/07_log": "argmax over one column is 0 for every row",
    "round_78/10_log": "the whole model is trained",
    "round_80/04_log": "one process alone runs the model",
    "round_86/13_log": "has its prefix twice",
    "round_88/11_log": "5e-7 to 1e-6",
    "round_90/10_log": "<|im_start|>assistant",
    "round_98/06_log": "a dot takes no newline",
    "round_100/05_log": "steps once for each process",
    "round_100/10_log": "weights in fewer bits",
    "round_102/05_log": "the server is told to use that of <|start_header_id|>",
    "round_104/04_log": "the code takes message [0] of both lists",
    "round_104/13_log": "takes a step for each process",
    "round_110/06_log": "from 0.0001 on the steps break",
    "round_110/09_log": "prepared for k-bit training behind get_peft_model",
    "round_112/04_log": 'the replies are of the role "bot", and only "assistant" is trained',
}


@pytest.mark.parametrize("name", SAYS)
def test_what_stands_beside_the_numbers_sharpens_the_cause(name):
    assert SAYS[name] in answer(name).causes[0].says


def test_a_list_in_an_advice_is_not_cut():
    advice = answer("round_120/14_log").causes[0].fix
    assert "modules_to_save=['embed_tokens', 'lm_head'] or trainable_token_indices" in advice


def test_a_progress_bar_above_the_log_file_is_no_other_run():
    assert not answer("round_74/12_log").restart


SETTINGS_THAT_DIFFER = {
    "round_13/11_log": "bfloat16 in it, float32 in the run of lines 34 to 57",
    "round_13/20_log": "gradient_accumulation_steps 4 in it, 1 in the run of lines 32 to 36",
    "round_13/21_log": "ZeRO stage 0 in it, 1 in the run of lines 39 to 53",
}


@pytest.mark.parametrize("name", SETTINGS_THAT_DIFFER)
def test_what_differs_between_two_runs_is_named(name):
    told = answer(name)
    assert not told.is_healthy and told.about
    assert SETTINGS_THAT_DIFFER[name] in " ".join(told.causes[0].for_it)


def test_a_collective_of_two_sizes_is_no_dead_process():
    said = answer("round_9/32_swift_minicpm").causes[0].says
    assert "different sizes" in said
    assert "died" not in said
