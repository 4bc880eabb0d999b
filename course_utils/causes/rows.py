"""Causes in which rows meet: padding, packing, pooling, the ids and labels of a data set."""

from course_utils.causes.cause import WARNED, Cause, Phrase, keys
from course_utils.causes.harms import ENDED, EVALUATION, MEASURED, SOUND, WRONG
from course_utils.causes.shared import (
    NOTHING_MOVES,
    OF_LABELS,
    OF_ROWS,
    OUTCOME,
)

EQUAL_SCORES = 7.6  # of a phrase: a loss that stands still follows from it

_MIXED = (  # of TRL, in the words of several versions, and of axolotl
    r"cross-contamination between|(?:Padding-free training is enabled|are using packing), but the "
    r"attention implementation is not set to.{0,60}|"
    r"sample_packing without .{0,60}does not handle cross sample decontamination"
)

ROWS = (
    Cause(
        "rows_packed",
        "several short rows are packed into one, so there are fewer rows and steps, and every "
        "token is there",
        "none needed; packing off, or smaller batches, for more and smaller updates",
        "the tokens of an epoch against those of the data",
        thread="alignment-handbook#220",
        healthy=True,
    ),
    Cause(
        "padding_side",
        "padding stands on the side where the reply should go on, or where positions "
        "are counted from",
        "padding_side='left' to generate; pass the attention mask",
        "one row alone and within its batch",
        lesson="07_never_stops",
        met="padded on the left and masked",
        instrument="inspect_batch",
        thread="transformers#25790",
        kinds=("padding_side",),
        harm=WRONG,
        explains=keys("row_depends_on_batch template_differs"),
        speaks_of=OF_ROWS,
        names=("padding side",),
        phrases=(
            Phrase(r"right-padding was detected", WARNED),
            Phrase(r"batched generation with padding_side=.right", WARNED),
        ),
        complaints=(("differs in a batch", 1),),
    ),
    Cause(
        "padding_attended",
        "padding counts as text",
        "pass the attention mask that the tokenizer makes",
        "the mask of the shortest row",
        lesson="07_never_stops",
        met="attention_mask",
        instrument="inspect_batch",
        thread="unsloth#3699",
        kinds=("padding_side",),
        harm=WRONG,
        explains=keys("row_depends_on_batch engines_disagree logp_disagree collapse"),
        raises_first_loss=True,
        speaks_of=OF_ROWS,
        names=("padding attended",),
        complaints=(("differs in a batch", 3),),
    ),
    Cause(
        "row_depends_on_batch",
        "a row gives other numbers within its batch than alone",
        "left padding needs its mask and positions; a score needs the right last token",
        "one row alone and within its batch",
        lesson="07_never_stops",
        met="padded on the left and masked",
        instrument="inspect_batch",
        thread="transformers#25790",
        kinds=("padding_side",),
        harm=WRONG,
        explains=keys("at_chance"),
        raises_first_loss=True,
        speaks_of=OF_ROWS,
        complaints=(("differs in a batch", 2),),
    ),
    Cause(
        "packing_leak",
        "documents packed into one row see each other",
        "attn_implementation='flash_attention_2' where the model is loaded (position_ids that "
        "start again with each document, and no attention mask), or no packing",
        "a document alone and packed",
        lesson="07_never_stops",
        met="packed",
        instrument="inspect_batch",
        thread="trl#3067",
        kinds=("packing",),
        harm=WRONG,
        explains=keys("row_depends_on_batch"),
        raises_first_loss=True,
        follows=frozenset({"loss"}),
        speaks_of=OF_ROWS,
        settings_fix="packing that keeps rows apart",
        names=("packing leaks", "labels across documents"),
        phrases=(Phrase(_MIXED, WARNED),),
        complaints=(("worse packed", 1),),
    ),
    Cause(
        "packed_state_leak",
        "packed rows are kept apart in the attention alone: the state and the convolution of "
        "linear attention or Mamba layers run on from row to row",
        "one row per sequence, padded; or pass cu_seq_lens_q and seq_idx, with the kernels of "
        "flash-linear-attention and causal-conv1d installed",
        "the logits of a row packed and alone",
        lesson="07_never_stops",
        met="packed",
        instrument="inspect_batch",
        thread="ms-swift#9618",
        kinds=("packing",),
        harm=WRONG,
        would_show="the loss of held-out rows, each alone, beside a run on padded rows",
        explains=keys("packing_leak row_depends_on_batch"),
        speaks_of=OF_ROWS | frozenset({"packed rows"}),
        one_fix="packing=False: one row per sequence, padded",
        phrases=(Phrase(r"`\w+` can't keep packed sequences apart without `[\w-]+`"),),
    ),
    Cause(
        "column_changes_type",
        "a column of the data holds another type from one row on: each column of a dataset has one",
        "make the column of one type in all rows (a string, for one), or give load_dataset its "
        "features; each line may still be valid JSON",
        "the row that is named, and that column in the first row",
        kinds=("labels",),
        harm=ENDED,
        explains=keys("no_samples"),
        phrases=(
            Phrase(r"Column\(\S+\) changed from \w+ to \w+ in row \d+", 11.0),
            Phrase(r"Couldn't cast array of type \S+ to \S+", 11.0),
            Phrase(
                r"ArrowInvalid: Could not convert .{1,60} with type \w+: tried to convert", 11.0
            ),
        ),
    ),
    Cause(
        "rows_pooled_wrong",
        "the score of a row is read at the wrong token: its end is taken for padding, "
        "or padding for its end",
        "set model.config.pad_token_id to a pad token of its own",
        "the score of one row with and without padding",
        lesson="07_never_stops",
        met="pool",
        instrument="inspect_batch",
        thread="transformers#35352",
        kinds=("pooling",),
        harm=WRONG,
        explains=NOTHING_MOVES | keys("row_depends_on_batch weight_without_gradient"),
        follows=OUTCOME,
        speaks_of=frozenset(
            {"gradients", "pad of the scores", "rows alone", "scores of pairs", "tokens"}
        ),
        one_fix="model.config.pad_token_id = tokenizer.pad_token_id, a token of its own",
        phrases=(
            Phrase(r"\d+ instances where the predictions for both options are equal", EQUAL_SCORES),
        ),
    ),
    Cause(
        "ids_wrapped",
        "token ids are kept in an integer type that ends below the vocabulary: larger ones wrap "
        "round to other tokens",
        "a type that holds the largest id, such as uint32, and the file written anew",
        "the largest id of the file beside the size of the tokenizer",
        thread="LLM-Shearing#65",
        kinds=("embeddings",),
        harm=WRONG,
        speaks_of=frozenset({"ids", "tokens"}),
    ),
    Cause(
        "reply_cut_within_prompt",
        "the reply is cut out of what was generated at the wrong place, so that it is read with "
        "the end of its prompt in front",
        "cut all rows at the padded width, out[:, inputs['input_ids'].shape[1]:], decode and score "
        "again; the model need not be trained again",
        "the first words of some decoded replies, in a batch of one and in a large one",
        kinds=("padding_side", "metric"),
        where=EVALUATION,
        harm=MEASURED,
        explains=keys("row_depends_on_batch padding_side"),
    ),
    Cause(
        "labels_constant",
        "every row that is learnt from has one and the same label",
        "look at the column where it was made: a comparison that is always true, a filter, or a "
        "cut of a sorted file",
        "how often each label stands in the data set",
        kinds=("labels",),
        harm=WRONG,
        speaks_of=OF_LABELS,
    ),
    Cause(
        "evaluation_lacks_classes",
        "the rows that are evaluated lack classes that are frequent in training",
        "shuffle(seed=0) before select, or evaluate all rows",
        "how often each label stands in eval_dataset",
        kinds=("metric",),
        where=EVALUATION,
        harm=SOUND,
        would_show="the same metric over rows of all classes",
        explains=keys("one_class"),
        speaks_of=frozenset({"the direction of the best metric"}),
    ),
)
