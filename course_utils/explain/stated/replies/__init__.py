"""What a policy samples and is paid for: groups, references, rewards, replies cut out."""

from course_utils.explain.stated.replies.clip_range import narrow_for_tokens
from course_utils.explain.stated.replies.first_answer import compared_with_the_first
from course_utils.explain.stated.replies.found_somewhere import found_somewhere
from course_utils.explain.stated.replies.never_loaded import never_loaded
from course_utils.explain.stated.replies.one_of_several import reaches_one
from course_utils.explain.stated.replies.opened_tags import opened_by_the_prompt
from course_utils.explain.stated.replies.overlong_buffer import penalised_from_the_start
from course_utils.explain.stated.replies.paid_per_block import paid_per_block
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
from course_utils.explain.stated.replies.unfinished import cut_before_the_end
from course_utils.explain.stated.replies.unsent_buffers import router_bias_left
from course_utils.explain.stated.replies.weighted_parts import parts_of_the_sum
from course_utils.explain.stated.replies.whole_gold import against_a_solution

RULES = (
    cut_before_the_end,
    read_at_first_pad,
    opened_by_the_prompt,
    defaults_of_the_model,
    reasoning_cut,
    cut_at_own_length,
    remembered_without_the_reply,
    put_behind_the_end,
    reference_of_other_rows,
    groups_of_other_prompts,
    one_seed_each_round,
    penalised_from_the_start,
    narrow_for_tokens,
    router_bias_left,
    reaches_one,
    reference_is_policy,
    cut_by_characters,
    prompts_cut,
    found_somewhere,
    goes_on_with_the_prompt,
    goes_on_behind_its_end,
    compared_with_the_first,
    against_a_solution,
    paid_per_block,
    never_loaded,
    parts_of_the_sum,
)
