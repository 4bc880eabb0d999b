"""Causes in the sentences, tables, code and lists beside the numbers."""

from collections.abc import Callable, Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.calls.cut_off import wrong_in_the_graph
from course_utils.explain.stated.calls.half import wrong_in_the_format
from course_utils.explain.stated.calls.kept import wrong_in_what_is_kept
from course_utils.explain.stated.calls.layouts import (
    laid_out_otherwise,
    opened_behind_the_end,
    padded_on_the_right,
)
from course_utils.explain.stated.calls.stepped import wrong_in_the_step
from course_utils.explain.stated.calls.tokens import wrong_tokens
from course_utils.explain.stated.calls.trained import wrong_in_what_is_trained
from course_utils.explain.stated.evaluations.benchmarks import turned_round
from course_utils.explain.stated.evaluations.comparisons import compared
from course_utils.explain.stated.evaluations.judged_by_step import judged_worse_by_step
from course_utils.explain.stated.evaluations.one_shard import same_part_judged
from course_utils.explain.stated.evaluations.read_in_part import number_read_in_part
from course_utils.explain.stated.labels.cut_ends import ends_cut
from course_utils.explain.stated.labels.cut_rows import cut_rows, removed_without_label
from course_utils.explain.stated.labels.image_prompts import counted_without_the_images
from course_utils.explain.stated.labels.label_types import (
    not_masked,
    number_for_a_bool,
    text_as_bool,
)
from course_utils.explain.stated.labels.labels_counted import none_is_counted
from course_utils.explain.stated.labels.learnt_ends import another_end
from course_utils.explain.stated.labels.listed_rows import end_hidden_as_padding
from course_utils.explain.stated.labels.mask_marks import (
    all_is_learnt,
    mark_in_no_row,
    marks_found_nothing,
)
from course_utils.explain.stated.labels.packed_code import packed_without_bounds
from course_utils.explain.stated.labels.pad_hides_end import pad_hides_end
from course_utils.explain.stated.labels.padding_free import joined_without_flash
from course_utils.explain.stated.labels.padding_in_labels import padding_in_labels
from course_utils.explain.stated.labels.prefix_mask import shifted_by_thoughts
from course_utils.explain.stated.labels.prompt_again import prompt_again
from course_utils.explain.stated.labels.reply_after_a_cut import reply_after_a_cut
from course_utils.explain.stated.labels.rolled_labels import rolled_after_the_split
from course_utils.explain.stated.labels.rows_at_the_limit import rows_at_the_limit
from course_utils.explain.stated.labels.rows_one_by_one import rows_one_by_one
from course_utils.explain.stated.labels.shifted_twice import moved_twice
from course_utils.explain.stated.labels.shown_lists import end_without_label
from course_utils.explain.stated.labels.shown_rows import rows_without_label, shown_rows
from course_utils.explain.stated.labels.tails_shown import tail_without_end
from course_utils.explain.stated.labels.tools_in_mask import tools_in_the_mask
from course_utils.explain.stated.labels.unended_text import text_without_end
from course_utils.explain.stated.replies.clip_range import narrow_for_tokens
from course_utils.explain.stated.replies.found_somewhere import found_somewhere
from course_utils.explain.stated.replies.one_of_several import reaches_one
from course_utils.explain.stated.replies.opened_tags import opened_by_the_prompt
from course_utils.explain.stated.replies.overlong_buffer import penalised_from_the_start
from course_utils.explain.stated.replies.passed_ends import goes_on_behind_its_end
from course_utils.explain.stated.replies.plain_prompts import goes_on_with_the_prompt
from course_utils.explain.stated.replies.prompts_cut import prompts_cut
from course_utils.explain.stated.replies.read_at_first_pad import read_at_first_pad
from course_utils.explain.stated.replies.reference_is_policy import reference_is_policy
from course_utils.explain.stated.replies.reference_order import reference_of_other_rows
from course_utils.explain.stated.replies.reply_characters import cut_by_characters
from course_utils.explain.stated.replies.reply_cuts import cut_at_own_length
from course_utils.explain.stated.replies.reward_memo import remembered_without_the_reply
from course_utils.explain.stated.replies.sampler_defaults import defaults_of_the_model
from course_utils.explain.stated.replies.score_column import put_behind_the_end
from course_utils.explain.stated.replies.seeded_rounds import one_seed_each_round
from course_utils.explain.stated.replies.stop_strings import reasoning_cut
from course_utils.explain.stated.replies.tiled_groups import groups_of_other_prompts
from course_utils.explain.stated.replies.unsent_buffers import router_bias_left
from course_utils.explain.stated.rows.cut_pairs import cut_pairs
from course_utils.explain.stated.rows.easy_negatives import drawn_at_random
from course_utils.explain.stated.rows.every_rank import each_reads_all
from course_utils.explain.stated.rows.few_positives import copies_in_the_batch
from course_utils.explain.stated.rows.held_out_rows import held_out_of_the_training_rows
from course_utils.explain.stated.rows.index_before_shuffle import looked_up_by_an_old_number
from course_utils.explain.stated.rows.label_maps import numbered_in_each_file
from course_utils.explain.stated.rows.name_orders import (
    counted_from_another_number,
    names_in_two_orders,
)
from course_utils.explain.stated.rows.overlap_counted import counted_in_both
from course_utils.explain.stated.rows.pairs_by_order import turned_by_its_order
from course_utils.explain.stated.rows.pairs_shown import worse_one_chosen
from course_utils.explain.stated.rows.set_order import numbered_by_a_set
from course_utils.explain.stated.rows.shared_turn import first_turn_of_both
from course_utils.explain.stated.rows.shrunk_images import text_too_small
from course_utils.explain.stated.rows.sibling_rows import siblings_in_a_batch
from course_utils.explain.stated.rows.small_integers import ids_cut
from course_utils.explain.stated.rows.split_after import split_after_copies
from course_utils.explain.stated.rows.tokens_kept import kept_without_the_tokenizer
from course_utils.explain.stated.rows.two_starts import two_starts
from course_utils.explain.stated.served.adapter_of_zeros import saved_before_it_learnt
from course_utils.explain.stated.served.measured_base import (
    adapter_is_off,
    base_generates,
    base_is_measured,
)
from course_utils.explain.stated.served.merged_and_adapter import put_on_twice
from course_utils.explain.stated.served.merged_by_hand import merged_at_another_scale
from course_utils.explain.stated.served.merged_nothing import merged_nothing
from course_utils.explain.stated.served.names_unmatched import no_name_matches
from course_utils.explain.stated.served.new_tokens import new_tokens_left
from course_utils.explain.stated.served.principal_adapter import base_counts_twice
from course_utils.explain.stated.served.prompt_lengths import prompt_is_shorter
from course_utils.explain.stated.served.rope_written import base_not_read
from course_utils.explain.stated.served.served_adapter import without_effect
from course_utils.explain.stated.served.served_base import base_is_asked
from course_utils.explain.stated.served.served_prompt import another_prompt
from course_utils.explain.stated.served.served_system import another_system
from course_utils.explain.stated.served.served_template import another_template
from course_utils.explain.stated.served.serving import served
from course_utils.explain.stated.served.tables_left_out import tables_left_out
from course_utils.explain.stated.served.templates import templates
from course_utils.explain.stated.served.tied_tables import tie_lost
from course_utils.explain.stated.served.token_ids import other_ids
from course_utils.explain.stated.served.turn_not_opened import turn_not_opened
from course_utils.explain.stated.steps.best_kept import worst_taken_for_best
from course_utils.explain.stated.steps.class_weights import weights_in_another_order
from course_utils.explain.stated.steps.divided_divergence import kl_over_the_words
from course_utils.explain.stated.steps.forward_range import dead_in_float16, outside_of_float16
from course_utils.explain.stated.steps.fresh_adapter import still_in_the_first_step
from course_utils.explain.stated.steps.hangs import said_to_hang
from course_utils.explain.stated.steps.micro_sums import summed_over_rows
from course_utils.explain.stated.steps.module_names import names_apart
from course_utils.explain.stated.steps.one_gpu_at_a_time import layers_take_turns
from course_utils.explain.stated.steps.optimizer_order import made_before
from course_utils.explain.stated.steps.padded_mean import divided_by_the_padding
from course_utils.explain.stated.steps.plain_kl import plain_difference_in_the_loss
from course_utils.explain.stated.steps.plans import plans
from course_utils.explain.stated.steps.resumed_rate import rate_of_before
from course_utils.explain.stated.steps.sharded_norm import clipped_by_shard
from course_utils.explain.stated.steps.skipped_batches import skipped_by_steps
from course_utils.explain.stated.steps.teacher_entropy import entropy_is_the_floor

RULES: tuple[Callable[[Beside, Log], Iterator[Finding]], ...] = (
    served,
    compared,
    names_apart,
    plans,
    templates,
    without_effect,
    another_end,
    shown_rows,
    turned_round,
    judged_worse_by_step,
    rows_one_by_one,
    prompt_again,
    rate_of_before,
    another_prompt,
    joined_without_flash,
    outside_of_float16,
    dead_in_float16,
    end_hidden_as_padding,
    new_tokens_left,
    read_at_first_pad,
    not_masked,
    rows_without_label,
    cut_rows,
    removed_without_label,
    cut_pairs,
    text_as_bool,
    number_for_a_bool,
    opened_by_the_prompt,
    defaults_of_the_model,
    end_without_label,
    packed_without_bounds,
    rolled_after_the_split,
    held_out_of_the_training_rows,
    reasoning_cut,
    turned_by_its_order,
    moved_twice,
    another_template,
    two_starts,
    worse_one_chosen,
    all_is_learnt,
    mark_in_no_row,
    ends_cut,
    tail_without_end,
    text_without_end,
    cut_at_own_length,
    remembered_without_the_reply,
    kept_without_the_tokenizer,
    made_before,
    entropy_is_the_floor,
    merged_at_another_scale,
    counted_without_the_images,
    weights_in_another_order,
    skipped_by_steps,
    put_behind_the_end,
    siblings_in_a_batch,
    clipped_by_shard,
    ids_cut,
    still_in_the_first_step,
    reference_of_other_rows,
    numbered_in_each_file,
    base_counts_twice,
    base_not_read,
    each_reads_all,
    text_too_small,
    groups_of_other_prompts,
    copies_in_the_batch,
    drawn_at_random,
    kl_over_the_words,
    numbered_by_a_set,
    one_seed_each_round,
    penalised_from_the_start,
    plain_difference_in_the_loss,
    narrow_for_tokens,
    router_bias_left,
    looked_up_by_an_old_number,
    shifted_by_thoughts,
    summed_over_rows,
    reaches_one,
    rows_at_the_limit,
    pad_hides_end,
    names_in_two_orders,
    counted_from_another_number,
    reference_is_policy,
    saved_before_it_learnt,
    prompt_is_shorter,
    cut_by_characters,
    base_is_asked,
    tables_left_out,
    tie_lost,
    another_system,
    turn_not_opened,
    put_on_twice,
    other_ids,
    merged_nothing,
    no_name_matches,
    adapter_is_off,
    base_is_measured,
    base_generates,
    worst_taken_for_best,
    none_is_counted,
    same_part_judged,
    marks_found_nothing,
    padding_in_labels,
    divided_by_the_padding,
    number_read_in_part,
    split_after_copies,
    counted_in_both,
    tools_in_the_mask,
    wrong_tokens,
    laid_out_otherwise,
    opened_behind_the_end,
    padded_on_the_right,
    wrong_in_what_is_trained,
    wrong_in_the_step,
    wrong_in_the_format,
    wrong_in_the_graph,
    wrong_in_what_is_kept,
    prompts_cut,
    found_somewhere,
    goes_on_with_the_prompt,
    goes_on_behind_its_end,
    said_to_hang,
    layers_take_turns,
    reply_after_a_cut,
    first_turn_of_both,
)
