"""`inspect_batch`: reads a batch token by token and says what is wrong with it. Changes nothing."""

from dataclasses import replace

from course_utils.diagnostics.batch_view import ends, places, prompts
from course_utils.diagnostics.batch_view.case import Case, Finding
from course_utils.diagnostics.batch_view.report import BatchReport
from course_utils.diagnostics.batch_view.sources import case_of, tokenizer_of
from course_utils.diagnostics.batch_view.template import template_of
from course_utils.diagnostics.libraries.arguments import as_installed
from course_utils.diagnostics.loss_kind import may_speak

# In the order in which they are told: what spoils most comes first.
LOOKS = (
    ends.nothing_is_learnt,
    places.labels_are_shifted,
    places.padding_is_learnt,
    places.mask_has_holes,
    ends.end_is_masked,
    ends.end_is_missing,
    ends.stops_elsewhere,
    prompts.template_differs,
    places.begins_twice,
    places.pads_on_the_wrong_side,
    places.padding_is_attended,
    places.documents_leak,
    places.predicts_across,
    places.several_replies,
    prompts.prompt_is_learnt,
)


def inspect_batch(
    source: object, tokenizer: object = None, *, serving: object = None, num_rows: int = 8
) -> BatchReport:
    """Read a model's batch: which tokens are learnt, attended to and hidden, and what is wrong.

    Args:
        source: a Trainer (SFT, DPO, reward, GRPO, or any with a `data_collator`) or a DataLoader,
            whose dataset's first rows are collated as it does it itself; or a batch, a mapping
            with `input_ids` (B, T), as tensors, arrays or lists.
        tokenizer: of the batch; a Trainer's own is taken where none is given.
        serving: the tokenizer that will serve the model, if it is another one.
        num_rows: how many rows of a batch are shown; of a Trainer or a DataLoader, how many of
            its dataset are read.

    Trainer, loader, model, data and random state stay as they are. Only these rows are looked at;
    no text is judged. GRPO has no labels before it samples: its prompts are read.

    Raises:
        BadRequest: there are no token ids, no tokenizer, or no data to read.
    """
    case = case_of(source, tokenizer, num_rows)
    if serving is not None:
        case = Case(**{**vars(case), "serving": template_of(tokenizer_of(serving))})
    looks = [look for look in LOOKS if may_speak(look, case.loss)]
    found = [replace(f, fix=as_installed(f.fix)) for look in looks if (f := look(case))]
    of_its_own = num_rows if case.is_whole_batch else len(case.view.rows)
    return BatchReport(case, _faults_first(found), num_shown=of_its_own)


def _faults_first(found: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda finding: not finding.is_fault))
