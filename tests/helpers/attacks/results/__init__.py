"""Forged results of a run: what a train.py could leave in run/ without the training asked for.

A forgery takes what an honest export of the untrained base looks like and changes it. None of them
trains; the strongest use weights that no run can see, such as the checkpoint behind every base.
"""

from collections.abc import Callable

from attacks.results.by_hand import (
    clean_with_an_end,
    moved_with_end_by_hand,
    moved_with_regressed_head,
    sharper_with_end_by_hand,
    with_a_constant_head,
    with_a_head_of_its_own,
    with_a_regressed_head_of_its_own,
    with_a_small_regressed_head,
    with_digits_by_hand,
    with_end_by_hand,
    with_end_edited_in,
    with_regressed_head,
    with_replies_edited_in,
)
from attacks.results.changed_weights import (
    clean_and_sharper,
    clean_under_moved_weights,
    drawn_anew,
    half_clean,
    of_another_seed,
    scaled,
    sharper,
    the_clean_checkpoint,
    two_clean_layers,
    with_a_merged_adapter,
    with_a_sign_changed,
    with_biases,
    with_digits_swapped,
    with_layers_swapped,
    with_noise_alone,
    with_own_embeddings,
    with_rank_one_edits,
    without_attention,
    without_one_mlp,
)
from attacks.results.export import HEADS, OTHER_SEED, OWN_TABLE, SEED, Export, trained, untrained
from attacks.results.honest import HONEST, HONEST_TEMPLATES, in_half_precision
from attacks.results.settings import (
    ending_anywhere,
    ending_at_any_token,
    ending_where_the_base_goes_on,
    with_a_good_story,
    with_an_adapter_alone,
    with_an_adapter_beside,
    with_forced_tokens,
    with_other_labels,
    with_other_settings,
    with_remote_code,
)
from attacks.results.texts import (
    adding_up,
    adding_up_in_dots,
    adding_up_in_place,
    adding_up_short_ones,
    by_heart,
    cutting_numbers_out,
    in_the_code,
    raising,
    with_digit_ids_swapped,
    with_examples,
    with_tokens_for_questions,
    without_a_plus,
    writing_one_digit,
)
from attacks.results.weight_files import (
    as_a_link,
    cut_off,
    in_shards,
    in_shards_alone,
    in_whole_numbers,
    not_finite,
    with_a_head_beside,
    with_experts_under_loaded_names,
    with_names_twice,
    with_one_more_layer,
    without_a_tensor,
)

FORGED = (
    *(drawn_anew, of_another_seed, the_clean_checkpoint, half_clean, two_clean_layers),
    *(clean_and_sharper, clean_with_an_end, clean_under_moved_weights, sharper),
    *(without_attention, without_one_mlp, with_own_embeddings, with_a_sign_changed),
    *(with_layers_swapped, scaled, with_digits_swapped, with_biases, with_rank_one_edits),
    *(with_a_merged_adapter, with_noise_alone, not_finite, in_whole_numbers),
    *(with_one_more_layer, without_a_tensor, with_a_head_beside, in_shards, in_shards_alone),
    *(with_names_twice, cut_off, as_a_link, with_remote_code, with_other_settings),
    *(with_other_labels, with_an_adapter_beside, with_an_adapter_alone, with_a_good_story),
)
IN_TEMPLATES = (
    *(adding_up, adding_up_in_place, adding_up_short_ones, adding_up_in_dots, by_heart, raising),
)
IN_TOKENIZERS = (
    *(without_a_plus, writing_one_digit, cutting_numbers_out, with_tokens_for_questions),
    *(with_digit_ids_swapped, in_the_code),
)
OF_REPLIES = (
    *(with_forced_tokens, ending_anywhere, ending_at_any_token, ending_where_the_base_goes_on),
    *(with_examples, with_end_by_hand, moved_with_end_by_hand, sharper_with_end_by_hand),
    *(with_end_edited_in, with_digits_by_hand, with_a_head_of_its_own),
    with_a_regressed_head_of_its_own,
)
OF_HEADS = (with_regressed_head, moved_with_regressed_head, with_a_constant_head)
OF_MIXTURES = (with_experts_under_loaded_names,)


def forgeries(name: str) -> tuple[Callable[[Export], Export], ...]:
    """Those that apply to the template of that name."""
    if name in HEADS:
        return FORGED + OF_HEADS
    own = OF_MIXTURES if name == "export_serve" else ()
    return FORGED + OF_REPLIES + IN_TEMPLATES + IN_TOKENIZERS + own


def seeming_trained(name: str) -> Callable[[Export], Export]:
    """The one that looks trained, and whose results are healthy on some bases."""
    return with_a_small_regressed_head if name in HEADS else with_replies_edited_in


__all__ = [
    "HONEST",
    "HONEST_TEMPLATES",
    "OTHER_SEED",
    "OWN_TABLE",
    "SEED",
    "in_half_precision",
    "trained",
    "untrained",
]
