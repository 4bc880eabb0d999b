"""Causes in the sentences, tables, code and lists beside the numbers."""

from collections.abc import Callable, Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.benchmarks import turned_round
from course_utils.explain.stated.class_weights import weights_in_another_order
from course_utils.explain.stated.clip_range import narrow_for_tokens
from course_utils.explain.stated.comparisons import compared
from course_utils.explain.stated.cut_ends import ends_cut
from course_utils.explain.stated.cut_rows import cut_rows
from course_utils.explain.stated.divided_divergence import kl_over_the_words
from course_utils.explain.stated.every_rank import each_reads_all
from course_utils.explain.stated.few_positives import copies_in_the_batch
from course_utils.explain.stated.forward_range import outside_of_float16
from course_utils.explain.stated.fresh_adapter import still_in_the_first_step
from course_utils.explain.stated.held_out_rows import held_out_of_the_training_rows
from course_utils.explain.stated.image_prompts import counted_without_the_images
from course_utils.explain.stated.index_before_shuffle import looked_up_by_an_old_number
from course_utils.explain.stated.label_maps import numbered_in_each_file
from course_utils.explain.stated.label_types import not_masked, text_as_bool
from course_utils.explain.stated.learnt_ends import another_end
from course_utils.explain.stated.listed_rows import end_hidden_as_padding
from course_utils.explain.stated.mask_marks import all_is_learnt
from course_utils.explain.stated.merged_by_hand import merged_at_another_scale
from course_utils.explain.stated.micro_sums import summed_over_rows
from course_utils.explain.stated.module_names import names_apart
from course_utils.explain.stated.new_tokens import new_tokens_left
from course_utils.explain.stated.one_of_several import reaches_one
from course_utils.explain.stated.opened_tags import opened_by_the_prompt
from course_utils.explain.stated.optimizer_order import made_before
from course_utils.explain.stated.overlong_buffer import penalised_from_the_start
from course_utils.explain.stated.packed_code import packed_without_bounds
from course_utils.explain.stated.padding_free import joined_without_flash
from course_utils.explain.stated.pairs_by_order import turned_by_its_order
from course_utils.explain.stated.pairs_shown import worse_one_chosen
from course_utils.explain.stated.plain_kl import plain_difference_in_the_loss
from course_utils.explain.stated.plans import plans
from course_utils.explain.stated.prefix_mask import shifted_by_thoughts
from course_utils.explain.stated.principal_adapter import base_counts_twice
from course_utils.explain.stated.prompt_again import prompt_again
from course_utils.explain.stated.read_at_first_pad import read_at_first_pad
from course_utils.explain.stated.reference_order import reference_of_other_rows
from course_utils.explain.stated.reply_cuts import cut_at_own_length
from course_utils.explain.stated.resumed_rate import rate_of_before
from course_utils.explain.stated.reward_memo import remembered_without_the_reply
from course_utils.explain.stated.rolled_labels import rolled_after_the_split
from course_utils.explain.stated.rope_written import base_not_read
from course_utils.explain.stated.rows_one_by_one import rows_one_by_one
from course_utils.explain.stated.sampler_defaults import defaults_of_the_model
from course_utils.explain.stated.score_column import put_behind_the_end
from course_utils.explain.stated.served_adapter import without_effect
from course_utils.explain.stated.served_prompt import another_prompt
from course_utils.explain.stated.served_template import another_template
from course_utils.explain.stated.serving import served
from course_utils.explain.stated.sharded_norm import clipped_by_shard
from course_utils.explain.stated.shifted_twice import moved_twice
from course_utils.explain.stated.shown_lists import end_without_label
from course_utils.explain.stated.shown_rows import rows_without_label, shown_rows
from course_utils.explain.stated.shrunk_images import text_too_small
from course_utils.explain.stated.sibling_rows import siblings_in_a_batch
from course_utils.explain.stated.skipped_batches import skipped_by_steps
from course_utils.explain.stated.small_integers import ids_cut
from course_utils.explain.stated.stop_strings import reasoning_cut
from course_utils.explain.stated.teacher_entropy import entropy_is_the_floor
from course_utils.explain.stated.templates import templates
from course_utils.explain.stated.tiled_groups import groups_of_other_prompts
from course_utils.explain.stated.tokens_kept import kept_without_the_tokenizer
from course_utils.explain.stated.two_starts import two_starts
from course_utils.explain.stated.unsent_buffers import router_bias_left

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
    rows_one_by_one,
    prompt_again,
    rate_of_before,
    another_prompt,
    joined_without_flash,
    outside_of_float16,
    end_hidden_as_padding,
    new_tokens_left,
    read_at_first_pad,
    not_masked,
    rows_without_label,
    cut_rows,
    text_as_bool,
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
    ends_cut,
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
    kl_over_the_words,
    penalised_from_the_start,
    plain_difference_in_the_loss,
    narrow_for_tokens,
    router_bias_left,
    looked_up_by_an_old_number,
    shifted_by_thoughts,
    summed_over_rows,
    reaches_one,
)
