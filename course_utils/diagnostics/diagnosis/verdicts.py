"""For each cause: the stage it acts in, and the damage it can do (`harm` measures the damage)."""

from dataclasses import dataclass

TRAINING, SAMPLING, REWARD = "training", "sampling", "the reward"
EVALUATION, SERVING = "evaluation", "serving"

STILL = "next to nothing is learnt, and no weight is damaged: mend the run and start it again"
WRONG = "the model learns the wrong thing: mend it, and train again from the start"
LESS = "the model learns less than it was meant to, and is not damaged: go on from it with the fix"
BROKEN = "the weights are damaged: go back to a checkpoint from before"
SOUND = "the trained model is as it was: only what is served of it is wrong"
MEASURED = "the trained model is as it was: only what is measured of it is wrong"
ENDED = "the run cannot go on; what was learnt before it is not damaged"


@dataclass(frozen=True)
class Verdict:
    """The stage `where` a cause acts, and the `harm` it does to the model."""

    where: str
    harm: str


_KEYS = {
    (TRAINING, STILL): "labels_masked nothing_trainable optimizer_holds_others rate_zero no_grad_fn"
    " rounding_swallows weights_do_not_move nothing_moves no_gradient policy_is_reference at_chance"
    " pairs_alike no_samples",
    (TRAINING, LESS): "schedule_ends_early weight_without_gradient new_tokens_untrained tie_broken"
    " rate_not_asked steps_skipped update_skipped resumed_without_state unused_parameters overfits"
    " memorised",
    (TRAINING, WRONG): "pad_is_eos end_masked end_missing labels_shifted padding_learnt double_bos"
    " prompt_in_loss packing_leak template_differs padding_side padding_attended length_is_paid"
    " row_depends_on_batch rows_pooled_wrong pair_prompts_differ split_changes_loss kl_negative"
    " loss_off_by_a_factor wrong_reference reference_moves kl_without_effect margin_by_pushing_down"
    " above_uniform pairs_inverted",
    (
        TRAINING,
        BROKEN,
    ): "nan_shown_as_zero nan_weights nan_from_the_start nan_already nan_gradient"
    " norm_never_finite nan_now_and_then numbers_broken diverged loaded_broken_weight fp16_overflow"
    " operation_not_finite half_weights std_of_one tiny_std update_too_large rate_too_high"
    " rate_unusual collapse kl_runs entropy_gone reward_nan entropy_runs",
    (TRAINING, ENDED): "index_outside unscale_half ranks_disagree python_error cuda_memory"
    " killed_for_memory",
    (SAMPLING, WRONG): "logp_disagree stale_sampler retokenised routing_flips engines_disagree",
    (SAMPLING, STILL): "rewards_cut",
    (SAMPLING, LESS): "replies_cut",
    (REWARD, STILL): "no_signal constant_part rewards_missing",
    (REWARD, LESS): "signal_ended",
    (REWARD, WRONG): "reward_pays_junk proxy_rises_alone parts_apart length_into_limit",
    (EVALUATION, ENDED): "memory_by_logits",
    (SERVING, SOUND): "merged_not_equal adapter_not_loaded stops_elsewhere",
}
VERDICTS = {key: Verdict(*verdict) for verdict, keys in _KEYS.items() for key in keys.split()}
_OF_MEASURING = {EVALUATION: MEASURED, SERVING: SOUND}


def verdict_of(key: str, where: str = "") -> Verdict:
    """The verdict on a cause; `where` replaces the usual stage if the cause was seen elsewhere.

    >>> verdict_of("double_bos", "evaluation").harm == MEASURED
    True
    """
    usual = VERDICTS.get(key, Verdict(TRAINING, ""))
    if not where or where == usual.where:
        return usual
    return Verdict(where, _OF_MEASURING.get(where, usual.harm))
