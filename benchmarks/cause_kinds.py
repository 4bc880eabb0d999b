"""Which kinds of failure (`incidents.declare.CLASSES`) each cause names."""

_KEYS = {
    "adapter": "merged_not_equal adapter_not_loaded nothing_trainable shapes_differ "
    "targets_missing adapter_twice",
    "never_stops": "pad_is_eos end_masked end_missing stops_elsewhere replies_cut rewards_cut "
    "no_pad_token no_pad_id",
    "labels": "labels_masked labels_shifted padding_learnt prompt_in_loss no_samples",
    "no_signal": "no_signal signal_ended constant_part rewards_cut rewards_missing",
    "logp_mismatch": "logp_disagree engines_disagree kl_negative",
    "hang": "ranks_disagree ray_worker_died terminated timed_out",
    "memory": "cuda_memory killed_for_memory memory_odd memory_by_logits",
    "normalisation": "split_changes_loss loss_off_by_a_factor",
    "sharding": "unused_parameters weight_without_gradient",
    "half_precision": "fp16_overflow half_weights unscale_half nan_shown_as_zero steps_skipped",
    "collapse": "collapse kl_runs entropy_gone nan_weights sampling_from_nan update_too_large "
    "rate_too_high rate_unusual entropy_runs much_is_clipped",
    "reward_hacking": "reward_pays_junk proxy_rises_alone parts_apart constant_part "
    "length_into_limit",
    "stale_weights": "stale_sampler",
    "template": "template_differs double_bos no_template",
    "padding_side": "padding_side padding_attended row_depends_on_batch",
    "packing": "packing_leak",
    "retokenised": "retokenised",
    "length_bias": "length_is_paid length_into_limit",
    "kl_place": "kl_without_effect kl_negative reference_moves",
    "embeddings": "tie_broken new_tokens_untrained index_outside",
    "resume": "resumed_without_state",
    "pooling": "rows_pooled_wrong",
    "schedule": "schedule_ends_early rate_not_asked rate_zero warmup_never_ends",
    "preference": "wrong_reference pairs_alike pair_prompts_differ reference_moves at_chance "
    "margin_by_pushing_down policy_is_reference margin_saturated pairs_inverted thrown_about",
    "rounding": "rounding_swallows weights_do_not_move nothing_moves",
    "routing": "routing_flips",
    "tiny_std": "tiny_std std_of_one",
    "no_grad": "nothing_trainable optimizer_holds_others weight_without_gradient no_grad_fn "
    "no_gradient policy_is_reference weights_do_not_move checkpoint_without_gradient",
    "rate": "update_too_large rate_too_high rate_unusual diverged kl_runs above_uniform",
    "bad_numbers": "operation_not_finite loaded_broken_weight nan_from_the_start nan_gradient "
    "norm_never_finite nan_now_and_then nan_metric reward_nan numbers_broken critic_nan "
    "critic_update_nan std_of_one nan_already nan_weights step_breaks_weights",
}
KINDS: dict[str, frozenset[str]] = {
    key: frozenset(kind for kind, keys in _KEYS.items() if key in keys.split())
    for keys in _KEYS.values()
    for key in keys.split()
}


def names_it(key: str, kind: str, causes: tuple[str, ...]) -> bool:
    """Whether a cause is right: the incident lists it, or it is of the incident's kind."""
    return key in causes or kind in KINDS.get(key, frozenset())
