"""What a step does: the loss, the optimizer, the schedule, a resume, several processes."""

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
from course_utils.explain.stated.steps.split_losses import other_by_the_cut
from course_utils.explain.stated.steps.teacher_entropy import entropy_is_the_floor
from course_utils.explain.stated.steps.teacher_prompt_logprobs import one_place_apart

RULES = (
    names_apart,
    plans,
    rate_of_before,
    outside_of_float16,
    dead_in_float16,
    made_before,
    entropy_is_the_floor,
    weights_in_another_order,
    skipped_by_steps,
    clipped_by_shard,
    still_in_the_first_step,
    kl_over_the_words,
    plain_difference_in_the_loss,
    summed_over_rows,
    worst_taken_for_best,
    divided_by_the_padding,
    said_to_hang,
    layers_take_turns,
    one_place_apart,
    other_by_the_cut,
)
