"""What the parts of a run do to each other: its schedule, the weights it keeps or averages, its
adapters, its loss's terms, the positions that are pooled, the rows that a reward reads."""

from course_utils.causes.cause import Cause, keys
from course_utils.causes.harms import BY_ANOTHER_JUDGE, LESS, REWARD, SOUND, WRONG
from course_utils.causes.shared import NOTHING_MOVES, OF_RATES, OUTCOME

PARTS = (
    Cause(
        "schedule_too_slow",
        "the schedule hardly moves in this run: it is stepped too rarely, or was made for a far "
        "longer one, so that the rate that was asked for is never reached",
        "step the schedule after each optimizer step, and make it for the number of these",
        "the learning rate of each step, beside the schedule's own number of steps",
        kinds=("schedule",),
        harm=LESS,
        explains=NOTHING_MOVES | keys("rate_too_low rate_not_asked"),
        follows=OUTCOME | {"rates used"},
        speaks_of=OF_RATES,
    ),
    Cause(
        "schedule_repeats",
        "the schedule runs through again and again: its length is given in epochs, and it is "
        "stepped with each batch",
        "T_max = the number of optimizer steps of the run; or step the schedule once an epoch",
        "the learning rate of each step",
        kinds=("schedule",),
        harm=LESS,
        explains=keys("resumed_without_state rate_not_asked schedule_ends_early"),
        follows=OUTCOME | {"rates used"},
        speaks_of=OF_RATES,
    ),
    Cause(
        "kept_by_reference",
        "the weights that were kept as the best ones are the live ones: state_dict() gives "
        "references, and training goes on in them, so that nothing is put back",
        "copy.deepcopy(model.state_dict()), or a clone of each tensor, or a file",
        "data_ptr() of a kept tensor beside that of the model's",
        kinds=("stale_weights",),
        harm=LESS,
        explains=keys("overfits memorised last_loaded_as_best"),
    ),
    Cause(
        "average_without_buffers",
        "the average of the weights leaves the running statistics of the batch norms out: it is "
        "evaluated with those of a new model",
        "average or copy the buffers as well, as torch.optim.swa_utils.AveragedModel does, or run "
        "update_bn on it",
        "num_batches_tracked and running_mean of the average, beside those of the model",
        kinds=("stale_weights",),
        harm=SOUND,
    ),
    Cause(
        "another_adapter_trained",
        "another adapter is trained than the one that was added: add_adapter does not make it the "
        "active one",
        "model.set_adapter(name) before the Trainer or the optimizer is made",
        "model.active_adapters, and which of the adapters' weights require a gradient",
        kinds=("adapter",),
        harm=WRONG,
    ),
    Cause(
        "last_loaded_as_best",
        "the weights that are loaded at the end are those that the model has already: the best "
        "epoch's were overwritten or never kept",
        "keep the weights only where the evaluation is better than before, and under a name of "
        "their own",
        "when the file or the dict of the best weights is written",
        kinds=("stale_weights",),
        harm=LESS,
        explains=keys("overfits memorised"),
    ),
    Cause(
        "term_without_gradient",
        "a term of the loss has no effect on the weights: its weight is 0, or its gradient ends "
        "before it reaches them",
        "look at the weight of each term, and at detach(), no_grad() and .item() on its way",
        "the gradient of each term alone",
        kinds=("no_grad",),
        harm=LESS,
    ),
    Cause(
        "divergence_divided",
        "kl_div with reduction='mean' divides by the number of words as well: the teacher's term "
        "is far too small, and the rest of the loss decides alone",
        "reduction='batchmean' on rows of (tokens, words), or sum over the words and take the mean "
        "over the tokens",
        "the gradient of each term of the loss alone",
        kinds=("normalisation",),
        harm=LESS,
    ),
    Cause(
        "padding_pooled",
        "the loss reads the vectors of padding: the position that is pooled does not fit the side "
        "of the padding, or a mean runs over padding as well",
        "find the last token by the mask and the padding side (hidden[:, -1] for padding on the "
        "left, mask.sum(1) - 1 for padding on the right), and weigh a mean with the mask",
        "the attention mask of a short row, beside the position that is read",
        kinds=("pooling", "padding_side"),
        harm=WRONG,
        explains=keys("positives_twice rows_pooled_wrong padding_side row_depends_on_batch"),
        follows=OUTCOME,
    ),
    Cause(
        "reward_of_other_row",
        "the reward does not follow the answer of its own row: it compares replies with another "
        "row's answer, or with a fixed one",
        "compare each reply with its own answer: zip(completions, answer)",
        "ten replies, each with its row's answer and its reward",
        kinds=("no_signal", "reward_hacking"),
        where=REWARD,
        harm=WRONG,
        would_show=BY_ANOTHER_JUDGE,
        explains=keys("at_chance"),
    ),
    Cause(
        "groups_mixed",
        "a group holds replies to different prompts, so that an advantage compares prompts",
        "repeat and group the prompts in one order, and assert that a group has one prompt",
        "the prompts of the rows of one group",
        kinds=("returns",),
        harm=WRONG,
        would_show=BY_ANOTHER_JUDGE,
    ),
    Cause(
        "schedule_of_another_optimizer",
        "the schedule changes the rate of another optimizer than the one that trains, whose rate "
        "never changes",
        "make the schedule with the optimizer that is stepped, and after it",
        "schedule.optimizer is optimizer",
        kinds=("schedule",),
        harm=LESS,
        explains=keys("schedule_not_stepped rate_not_asked"),
        follows=OUTCOME | {"rates used"},
        speaks_of=OF_RATES,
    ),
    Cause(
        "mask_hides_all",
        "the attention mask is 0 for every token of a row: the model reads none of its text, or "
        "all of it and the padding, as its attention has it",
        "attention_mask is 1 for each token of the text and 0 for padding, as tokenizers give it",
        "the sum of the attention mask by row",
        kinds=("padding_side",),
        harm=WRONG,
        explains=keys("at_chance row_depends_on_batch labels_uninformative"),
        follows=OUTCOME,
    ),
    Cause(
        "similarity_scaled_too_far",
        "the scores of the softmax over the batch are so large that it is sure of one text each "
        "time: next to no other text has a gradient",
        "cosines times about 20 (a temperature of 0.05)",
        "the smallest and largest score of one batch",
        kinds=("rate",),
        harm=LESS,
        follows=OUTCOME,
    ),
    Cause(
        "class_weights_misplaced",
        "the weights of the classes stand in another order than the numbers of the classes, so "
        "that each class gets the weight of another",
        "weights by the number of the class: [len(rows) / (k * count[i]) for i in range(k)]; then "
        "train again",
        "the weights of the loss beside the counts, class by class",
        kinds=("labels",),
        harm=WRONG,
        explains=keys("class_weights_inverted class_without_weight"),
    ),
    Cause(
        "class_weights_inverted",
        "the loss gives the frequent class the larger weight, so that the rare one teaches even "
        "less than its few rows would",
        "one over the number of rows of each class, not that number",
        "the weights of the loss beside the counts of the labels",
        kinds=("labels",),
        harm=LESS,
        explains=keys("one_class"),
    ),
    Cause(
        "never_in_training_mode",
        "the model is trained in evaluation mode: its batch norms use the statistics that they "
        "were made with, and never learn those of the data",
        "model.train() before the loop, and after each evaluation",
        "model.training in a step; running_mean of a batch norm",
        harm=LESS,
    ),
    Cause(
        "reward_against_answer",
        "replies that hold the answer of their row earn less than those that hold another one: the "
        "reward is turned round",
        "look at the sign of the reward, and at what it returns for a right reply",
        "ten replies, each with its row's answer and its reward",
        kinds=("no_signal", "reward_hacking"),
        where=REWARD,
        harm=WRONG,
        would_show=BY_ANOTHER_JUDGE,
        explains=keys("at_chance"),
    ),
)
