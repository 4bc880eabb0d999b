"""Orders what was found: how directly it was seen, and how much else it explains."""

from dataclasses import replace

from course_utils.diagnostics.diagnosis.sheet.finding import Found

STILL = {"no_gradient", "weights_do_not_move", "nothing_moves", "policy_is_reference", "at_chance"}
BROKEN = {
    *("nan_shown_as_zero", "nan_weights", "nan_from_the_start", "nan_already", "nan_gradient"),
    *("norm_never_finite", "nan_now_and_then", "numbers_broken", "diverged"),
}
ENDLESS = {"replies_cut", "rewards_cut", "length_into_limit"}
LEAVES = {"kl_runs", "collapse", "entropy_gone", "diverged", "rate_too_high"}
APART = {"engines_disagree", "kl_negative", "collapse", "kl_runs"}
# A cause, and what follows from it: what is explained is no finding of its own.
EXPLAINS: dict[str, set[str]] = {
    "labels_masked": STILL | BROKEN | {"weight_without_gradient"},
    "nothing_trainable": STILL
    | {"no_grad_fn", "weight_without_gradient", "optimizer_holds_others"},
    "pairs_alike": STILL | {"weight_without_gradient"},
    "no_grad_fn": STILL | {"weight_without_gradient"},
    "optimizer_holds_others": STILL,
    "rate_zero": STILL,
    "schedule_ends_early": STILL | {"rate_zero"},
    "rounding_swallows": STILL,
    "weight_without_gradient": {"unused_parameters", "no_gradient"},
    "ranks_disagree": {"python_error"},
    "reference_moves": STILL,
    "no_signal": STILL,
    "signal_ended": STILL - {"no_gradient"},
    "pad_is_eos": ENDLESS,
    "end_masked": ENDLESS,
    "end_missing": ENDLESS,
    "stops_elsewhere": ENDLESS,
    "template_differs": ENDLESS | {"above_uniform"},
    "loaded_broken_weight": BROKEN | STILL,
    "operation_not_finite": BROKEN,
    "nan_gradient": {"nan_from_the_start", "nan_already", "norm_never_finite", "nan_weights"},
    "half_weights": BROKEN | {"fp16_overflow", "unscale_half", "reward_nan"},
    "fp16_overflow": BROKEN | {"operation_not_finite"},
    "reward_nan": BROKEN,
    "std_of_one": BROKEN | {"operation_not_finite", "no_signal"},
    "stale_sampler": APART | {"logp_disagree"},
    "retokenised": APART | {"logp_disagree"},
    "routing_flips": APART | {"logp_disagree"},
    "logp_disagree": APART,
    "reward_pays_junk": {"parts_apart", "entropy_gone", "signal_ended", "length_into_limit"}
    | {"proxy_rises_alone", "no_signal", "constant_part"},
    "update_too_large": LEAVES
    | BROKEN
    | {"margin_by_pushing_down", "rate_unusual", "no_signal", "replies_cut", "rewards_cut"},
    "rate_unusual": LEAVES,
    "rate_too_high": LEAVES,
    "row_depends_on_batch": {"at_chance"},
    "rows_pooled_wrong": {"row_depends_on_batch", "weight_without_gradient", *STILL},
    "padding_side": {"row_depends_on_batch", "template_differs"},
    "padding_attended": {"row_depends_on_batch"},
    "packing_leak": {"row_depends_on_batch"},
    "split_changes_loss": {"loss_off_by_a_factor"},
    "wrong_reference": {"policy_is_reference"},
    "tiny_std": LEAVES | BROKEN,
    "kl_without_effect": {"kl_runs", "collapse"},
    "resumed_without_state": {"rate_not_asked", "rate_too_high"},
}


def ranked(found: list[Found]) -> tuple[Found, ...]:
    """One Found a key, the likeliest first, without those that another, no weaker one explains.

    The order is the weight (counted before measured before what a log hints at), and half a point
    more for each other finding that the cause explains.
    """
    best = _by_key(found)
    scores = {
        key: one.weight + 0.5 * len(EXPLAINS.get(key, set()) & set(best))
        for key, one in best.items()
    }
    by_others = {
        symptom
        for key in best
        for symptom in EXPLAINS.get(key, set()) & set(best)
        if scores[key] >= scores[symptom] and key != symptom
    }
    kept = [one for key, one in best.items() if key not in by_others]
    told = [_with_symptoms(one, best) for one in kept]
    return tuple(sorted(told, key=lambda one: -scores[one.key]))


def _by_key(found: list[Found]) -> dict[str, Found]:
    """The strongest of each key, with what the others of that key say as well."""
    best: dict[str, Found] = {}
    for one in sorted(found, key=lambda one: -one.weight):
        if one.key not in best:
            best[one.key] = one
            continue
        first = best[one.key]
        said = tuple(dict.fromkeys((*first.said, *one.said)))
        best[one.key] = replace(first, said=said, place=first.place or one.place)
    return best


def _with_symptoms(one: Found, best: dict[str, Found]) -> Found:
    """The evidence, with that of what the cause explains."""
    symptoms = [best[key] for key in EXPLAINS.get(one.key, set()) & set(best) if key != one.key]
    said = tuple(f"it explains: {symptom.said[0]}" for symptom in symptoms if symptom.said)
    return replace(one, said=(*one.said, *sorted(said)[:2]))
