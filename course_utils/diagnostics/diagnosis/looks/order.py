"""All looks, in the order in which they are taken."""

from course_utils.diagnostics.diagnosis.looks.adapter import look_at_adapter
from course_utils.diagnostics.diagnosis.looks.after import look_at_outcome
from course_utils.diagnostics.diagnosis.looks.all_pairs import look_at_all_pairs
from course_utils.diagnostics.diagnosis.looks.all_rows import look_at_all_rows
from course_utils.diagnostics.diagnosis.looks.batch import look_at_batch
from course_utils.diagnostics.diagnosis.looks.batch_inputs import look_at_batch_inputs
from course_utils.diagnostics.diagnosis.looks.beginnings import (
    look_at_blank,
    look_at_first_token,
    look_at_spans,
)
from course_utils.diagnostics.diagnosis.looks.best import look_at_best, look_at_best_after
from course_utils.diagnostics.diagnosis.looks.both_splits import look_at_both_splits
from course_utils.diagnostics.diagnosis.looks.classes import look_at_class_numbers, look_at_classes
from course_utils.diagnostics.diagnosis.looks.columns import look_at_columns
from course_utils.diagnostics.diagnosis.looks.displaced import (
    look_at_displaced,
    look_at_replies_before,
)
from course_utils.diagnostics.diagnosis.looks.forbidden import look_at_forbidden
from course_utils.diagnostics.diagnosis.looks.forward import look_at_forward
from course_utils.diagnostics.diagnosis.looks.gradient import look_at_gradients
from course_utils.diagnostics.diagnosis.looks.grounds import has_grounds
from course_utils.diagnostics.diagnosis.looks.held_out import look_at_held_out
from course_utils.diagnostics.diagnosis.looks.id_type import look_at_id_type
from course_utils.diagnostics.diagnosis.looks.images import look_at_images
from course_utils.diagnostics.diagnosis.looks.label_order import look_at_label_order
from course_utils.diagnostics.diagnosis.looks.log import look_at_log
from course_utils.diagnostics.diagnosis.looks.messages import look_at_messages
from course_utils.diagnostics.diagnosis.looks.metrics import look_at_metrics
from course_utils.diagnostics.diagnosis.looks.mirrored import look_at_mirrored
from course_utils.diagnostics.diagnosis.looks.offsets import look_at_offsets
from course_utils.diagnostics.diagnosis.looks.one_length import look_at_one_length
from course_utils.diagnostics.diagnosis.looks.optimizer_numbers import look_at_optimizer_numbers
from course_utils.diagnostics.diagnosis.looks.packed_state import look_at_packed_state
from course_utils.diagnostics.diagnosis.looks.packing import look_at_packing
from course_utils.diagnostics.diagnosis.looks.paired_vectors import (
    look_at_paired_vectors,
    look_at_ranking,
)
from course_utils.diagnostics.diagnosis.looks.positions import look_at_positions
from course_utils.diagnostics.diagnosis.looks.ratings import look_at_ratings
from course_utils.diagnostics.diagnosis.looks.reference_pull import look_at_reference_pull
from course_utils.diagnostics.diagnosis.looks.replies_to_learn import look_at_replies_to_learn
from course_utils.diagnostics.diagnosis.looks.returns import look_at_returns
from course_utils.diagnostics.diagnosis.looks.reward import look_at_rewards
from course_utils.diagnostics.diagnosis.looks.row_mask import look_at_row_mask
from course_utils.diagnostics.diagnosis.looks.schedule import look_at_given_schedule
from course_utils.diagnostics.diagnosis.looks.settings import look_at_settings
from course_utils.diagnostics.diagnosis.looks.shown_rows import show_first_loss, show_rows
from course_utils.diagnostics.diagnosis.looks.shown_settings import write_settings
from course_utils.diagnostics.diagnosis.looks.split import look_at_split
from course_utils.diagnostics.diagnosis.looks.start_of_adapter import (
    look_at_frozen_head,
    look_at_start_of_adapter,
)
from course_utils.diagnostics.diagnosis.looks.stream import look_at_order_of_stream, look_at_stream
from course_utils.diagnostics.diagnosis.looks.strength import look_at_strength
from course_utils.diagnostics.diagnosis.looks.tables import look_at_tables
from course_utils.diagnostics.diagnosis.looks.targets import (
    look_at_answers_of_several,
    look_at_numbers,
    look_at_tags,
)
from course_utils.diagnostics.diagnosis.looks.teacher import look_at_student, look_at_teacher
from course_utils.diagnostics.diagnosis.looks.text_and_ids import look_at_text_and_ids
from course_utils.diagnostics.diagnosis.looks.thinking import look_at_thinking
from course_utils.diagnostics.diagnosis.looks.trends import look_at_trends
from course_utils.diagnostics.diagnosis.looks.unread import look_at_unread
from course_utils.diagnostics.diagnosis.looks.versions import look_at_versions
from course_utils.diagnostics.diagnosis.looks.weights import look_at_weights
from course_utils.diagnostics.diagnosis.looks.what_is_predicted import (
    look_at_decoder,
    look_at_future,
    look_at_hidden,
)
from course_utils.diagnostics.diagnosis.looks.what_labels_say import (
    look_at_labels_across,
    look_at_what_was_learnt,
)
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.libraries.trainer_begins import with_special_tokens
from course_utils.diagnostics.loss_kind import OF_TEXT, Loss, may_speak

BEFORE = (
    look_at_versions,
    look_at_weights,
    look_at_adapter,
    look_at_frozen_head,
    look_at_start_of_adapter,
    look_at_batch,
    look_at_row_mask,
    look_at_batch_inputs,
    look_at_all_rows,
    look_at_all_pairs,
    look_at_replies_before,
    look_at_ratings,
    look_at_text_and_ids,
    look_at_both_splits,
    look_at_labels_across,
    look_at_label_order,
    look_at_replies_to_learn,
    look_at_numbers,
    look_at_tags,
    look_at_answers_of_several,
    look_at_first_token,
    look_at_spans,
    look_at_blank,
    look_at_hidden,
    look_at_decoder,
    look_at_images,
    look_at_mirrored,
    look_at_tables,
    look_at_id_type,
    look_at_columns,
    look_at_classes,
    look_at_class_numbers,
    look_at_offsets,
    look_at_positions,
    look_at_messages,
    look_at_thinking,
    look_at_stream,
    look_at_order_of_stream,
    look_at_settings,
    look_at_given_schedule,
    look_at_strength,
    look_at_optimizer_numbers,
    look_at_best,
    look_at_forbidden,
    look_at_gradients,
    look_at_future,
    look_at_packing,
    look_at_packed_state,
    look_at_forward,
    look_at_teacher,
    look_at_split,
    look_at_reference_pull,
    look_at_returns,
    look_at_rewards,
    look_at_unread,
    write_settings,
    show_rows,
    show_first_loss,
)
WRITES = OF_TEXT | {Loss.POLICY}
OF_A_FORWARD_PASS = {
    *(look_at_packing, look_at_packed_state, look_at_forward, look_at_split),
    look_at_teacher,
    look_at_future,
    show_first_loss,
}


def look_before(subject: Subject, sheet: Sheet) -> None:
    """Look at data, weights, settings and one forward pass: takes seconds, changes nothing."""
    sheet.kind, sheet.writes = subject.kind, subject.loss in WRITES
    with with_special_tokens(subject.trainer):
        for look in (look for look in BEFORE if may_speak(look, subject.loss)):
            if sheet.broken_forward and look in OF_A_FORWARD_PASS:
                sheet.miss("looks that need a forward pass", f"it raises {sheet.broken_forward}")
                continue
            with sheet.trying(look.__name__.replace("_", " ")):
                look(subject, sheet)


def look_after(subject: Subject, sheet: Sheet) -> None:
    """Look at the log, and at the model that the run leaves."""
    look_at_log(subject.log, sheet, may_name=lambda key: has_grounds(key, subject))
    look_at_trends(subject, sheet)
    with sheet.trying("the metric of the best checkpoint"):
        look_at_best_after(subject, sheet)
    if may_speak(look_at_what_was_learnt, subject.loss):
        with sheet.trying("what was learnt"):
            look_at_what_was_learnt(subject, sheet)
    with sheet.trying("metrics over ranks"):
        look_at_metrics(subject, sheet)
    if not sheet.broken_forward:
        look_at_outcome(subject, sheet)
        if subject.trainer is not None and may_speak(look_at_held_out, subject.loss):
            with sheet.trying("rows that it was not trained on"):
                look_at_held_out(subject, sheet)
        if may_speak(look_at_student, subject.loss):
            with sheet.trying("what the student says"):
                look_at_student(subject, sheet)
        with sheet.trying("replies of the first pairs"):
            look_at_displaced(subject, sheet)
        with sheet.trying("the vectors of the pairs"):
            look_at_paired_vectors(subject, sheet)
        with sheet.trying("pairs of one length"):
            look_at_one_length(subject, sheet)
        with sheet.trying("ranking in the batch"):
            look_at_ranking(subject, sheet)
