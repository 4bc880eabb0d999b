"""What is saved, merged and served, and with which prompt."""

from course_utils.explain.stated.served.adapter_of_zeros import saved_before_it_learnt
from course_utils.explain.stated.served.exported_base import merged_into_another
from course_utils.explain.stated.served.head_drawn_again import head_not_in_the_file
from course_utils.explain.stated.served.made_anew import made_anew_and_not_loaded
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

RULES = (
    made_anew_and_not_loaded,
    served,
    templates,
    without_effect,
    another_prompt,
    new_tokens_left,
    another_template,
    merged_at_another_scale,
    base_counts_twice,
    base_not_read,
    saved_before_it_learnt,
    prompt_is_shorter,
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
    merged_into_another,
    head_not_in_the_file,
)
