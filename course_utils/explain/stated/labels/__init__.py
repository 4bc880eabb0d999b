"""Which tokens of a row are learnt: labels, masks, ends."""

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
from course_utils.explain.stated.labels.masked_from_the_left import masked_from_the_left
from course_utils.explain.stated.labels.one_sided import passed_by_all
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
from course_utils.explain.stated.labels.swapped_parts import parts_exchanged
from course_utils.explain.stated.labels.tails_shown import tail_without_end
from course_utils.explain.stated.labels.tools_in_mask import tools_in_the_mask
from course_utils.explain.stated.labels.unended_text import text_without_end
from course_utils.explain.stated.labels.unread_key import thoughts_unread
from course_utils.explain.stated.labels.untrained_role import role_not_trained

RULES = (
    another_end,
    shown_rows,
    role_not_trained,
    rows_one_by_one,
    prompt_again,
    joined_without_flash,
    end_hidden_as_padding,
    not_masked,
    rows_without_label,
    cut_rows,
    removed_without_label,
    text_as_bool,
    number_for_a_bool,
    end_without_label,
    packed_without_bounds,
    rolled_after_the_split,
    moved_twice,
    all_is_learnt,
    mark_in_no_row,
    ends_cut,
    tail_without_end,
    text_without_end,
    counted_without_the_images,
    shifted_by_thoughts,
    rows_at_the_limit,
    pad_hides_end,
    none_is_counted,
    marks_found_nothing,
    padding_in_labels,
    tools_in_the_mask,
    reply_after_a_cut,
    parts_exchanged,
    masked_from_the_left,
    thoughts_unread,
    passed_by_all,
)
