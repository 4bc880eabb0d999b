"""Which rows are trained on: pairs, classes, splits, what a limit leaves of them."""

from course_utils.explain.stated.rows.alike_printed import same_in_both
from course_utils.explain.stated.rows.copies_counted import copies_in_both
from course_utils.explain.stated.rows.cut_pairs import cut_pairs
from course_utils.explain.stated.rows.easy_negatives import drawn_at_random
from course_utils.explain.stated.rows.end_on_one_side import end_on_one_side
from course_utils.explain.stated.rows.every_rank import each_reads_all
from course_utils.explain.stated.rows.few_positives import copies_in_the_batch
from course_utils.explain.stated.rows.first_rows_alone import taken_before_the_shuffle
from course_utils.explain.stated.rows.full_text import prompt_in_front
from course_utils.explain.stated.rows.held_out_rows import held_out_of_the_training_rows
from course_utils.explain.stated.rows.index_before_shuffle import looked_up_by_an_old_number
from course_utils.explain.stated.rows.index_named import taken_by_truth
from course_utils.explain.stated.rows.label_maps import numbered_in_each_file
from course_utils.explain.stated.rows.longer_chosen import chosen_is_longer
from course_utils.explain.stated.rows.name_orders import (
    counted_from_another_number,
    names_in_two_orders,
)
from course_utils.explain.stated.rows.overlap_counted import counted_in_both
from course_utils.explain.stated.rows.pairs_by_order import turned_by_its_order
from course_utils.explain.stated.rows.pairs_shown import worse_one_chosen
from course_utils.explain.stated.rows.sentence_losses import beyond_a_cosine, labels_not_read
from course_utils.explain.stated.rows.set_order import numbered_by_a_set
from course_utils.explain.stated.rows.shared_turn import first_turn_of_both
from course_utils.explain.stated.rows.shrunk_images import text_too_small
from course_utils.explain.stated.rows.sibling_rows import siblings_in_a_batch
from course_utils.explain.stated.rows.small_integers import ids_cut
from course_utils.explain.stated.rows.split_after import split_after_copies
from course_utils.explain.stated.rows.tokens_kept import kept_without_the_tokenizer
from course_utils.explain.stated.rows.two_preparations import made_by_two_functions
from course_utils.explain.stated.rows.two_starts import two_starts

RULES = (
    end_on_one_side,
    cut_pairs,
    held_out_of_the_training_rows,
    turned_by_its_order,
    two_starts,
    worse_one_chosen,
    kept_without_the_tokenizer,
    siblings_in_a_batch,
    ids_cut,
    numbered_in_each_file,
    each_reads_all,
    text_too_small,
    copies_in_the_batch,
    drawn_at_random,
    numbered_by_a_set,
    looked_up_by_an_old_number,
    names_in_two_orders,
    counted_from_another_number,
    split_after_copies,
    counted_in_both,
    first_turn_of_both,
    chosen_is_longer,
    taken_by_truth,
    labels_not_read,
    beyond_a_cosine,
    prompt_in_front,
    copies_in_both,
    taken_before_the_shuffle,
    made_by_two_functions,
    same_in_both,
)
