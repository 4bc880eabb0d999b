"""Messages of libraries about what they were given: shapes, types, columns, settings, files."""

from course_utils.causes.cause import LATER, Cause, Phrase
from course_utils.causes.harms import ENDED, WRONG

CALLS = (
    Cause(
        "shapes_unfit",
        "two tensors of one operation have shapes that do not fit each other",
        "the shapes of both, at the line that Python names: a layer made for another width, a row "
        "longer than a mask or table, a batch whose last part is smaller",
        "print the shapes before the line that raised",
        harm=ENDED,
        phrases=(
            Phrase(r"shapes cannot be multiplied.{0,40}", LATER),
            Phrase(
                r"size of tensor a \(\d+\) must match the size of tensor b \(\d+\).{0,40}", LATER
            ),
            Phrase(r"Sizes of tensors must match except in dimension.{0,60}", LATER),
            Phrase(r"shape '\[[-\d, ]+\]' is invalid for input of size \d+", LATER),
            Phrase(r"input\.size\(-1\) must be equal to input_size.{0,40}", LATER),
            Phrase(r"Kernel size can't be greater than actual input size", LATER),
        ),
        beside="shapes",
    ),
    Cause(
        "rows_not_padded",
        "the rows of a batch have different lengths, and nothing pads them",
        "a collator that pads (DataCollatorWithPadding, or one for the task), or padding=True; "
        "remove columns that are lists and need none",
        "the type of the collator, and the lengths of two rows of each column",
        harm=ENDED,
        phrases=(
            Phrase(r"stack expects each tensor to be equal size.{0,80}"),
            Phrase(r"expected sequence of length \d+ at dim \d+ \(got \d+\)"),
            Phrase(r"Unable to create tensor, you should probably activate", LATER),
        ),
    ),
    Cause(
        "label_type",
        "the labels have another number type than the loss takes: whole numbers for classes, "
        "fractions for amounts and for several labels a row",
        "labels of type int64 for one class a row, float32 for amounts or several classes; "
        "problem_type and num_labels to match",
        "labels.dtype and problem_type",
        kinds=("labels",),
        harm=ENDED,
        phrases=(
            Phrase(r"Found dtype Long but expected (Float|Half|BFloat16)"),
            Phrase(r"expected scalar type Long but found (Float|Int|Double)", LATER + 1.5),
            Phrase(r"nll_loss\w*\"? not implemented for '\w+'"),
        ),
    ),
    Cause(
        "labels_shape",
        "logits and labels have another number of rows or columns",
        "flatten both in the same way, or squeeze the last axis of logits with one column",
        "the shapes of logits and labels at the loss",
        kinds=("labels",),
        harm=WRONG,
        phrases=(
            Phrase(r"Expected input batch_size \(\d+\) to match target batch_size \(\d+\)"),
            Phrase(r"Target size .{0,40}must be the same as input size.{0,40}"),
            Phrase(
                r"Using a target size .{0,40} that is different to the input size.{0,40}", LATER
            ),
        ),
    ),
    Cause(
        "no_loss_returned",
        "the model returned no loss, because no labels reached it",
        "a column called labels (or label) in the rows, or label_names; keep it out of "
        "remove_columns; or a compute_loss of one's own",
        "the keys of one batch",
        kinds=("labels",),
        harm=ENDED,
        phrases=(
            Phrase(r"model did not return a loss from the inputs.{0,120}"),
            Phrase(r"'NoneType' object has no attribute 'backward'"),
            Phrase(r"No columns in the dataset match the model's forward method"),
        ),
    ),
    Cause(
        "inputs_not_given",
        "the model got none of the inputs that it needs",
        "give input_ids; for an encoder-decoder labels or decoder_input_ids as well",
        "the keys of one batch beside the arguments of the model's forward",
        harm=ENDED,
        phrases=(
            Phrase(r"[Yy]ou (have|need) to specify (either )?(decoder_)?input_ids.{0,40}"),
            Phrase(r"`?decoder_input_ids`? or `?decoder_inputs_embeds`? have to be specified"),
            Phrase(r"specify exactly one of input_ids or inputs_embeds"),
        ),
    ),
    Cause(
        "column_missing",
        "a column or key that the code reads is not in the rows",
        "rename the column, or set the argument that names it",
        "the column names of the data set, and the keys of one batch",
        harm=ENDED,
        phrases=(
            Phrase(
                r"KeyError: '?\"?(labels?|input_ids|prompt|chosen|rejected|completion|text|"
                r"messages|attention_mask|answer|images?|conversations|instruction|output)'?\"?",
                LATER,
            ),
            Phrase(r"Column '?\w+'? (not in the dataset|doesn't exist).{0,60}"),
            Phrase(r"formatting_func.{0,60}(expected|should return).{0,40}"),
        ),
    ),
    Cause(
        "template_refuses",
        "the chat template refuses these messages: it raises for the order of roles, or for one",
        "let user and assistant take turns, and put the system text into the first user message",
        "the roles of the row that raised",
        kinds=("template",),
        harm=ENDED,
        phrases=(
            Phrase(r"[Cc]onversation roles must alternate.{0,60}"),
            Phrase(r"System role not supported"),
            Phrase(r"TemplateError: .{0,100}", LATER),
        ),
    ),
    Cause(
        "half_on_cpu",
        "this torch has no such operation in half precision on a processor",
        "load the model in float32 or bfloat16, or put it on the GPU",
        "the device and dtype of the weights",
        harm=ENDED,
        phrases=(Phrase(r"\"\w+\" not implemented for 'Half'"),),
    ),
    Cause(
        "format_not_there",
        "this GPU, or a run without one, cannot compute in the number format that was asked for",
        "fp16 on older GPUs, bf16 from Ampere on, neither without a GPU",
        "the GPU's name and compute capability, and torch.cuda.is_available()",
        harm=ENDED,
        phrases=(
            Phrase(r"setup doesn't support bf16.{0,60}"),
            Phrase(r"[Hh]alf precision .{0,60}can only be used on CUDA"),
            Phrase(r"Bfloat16 is only supported on GPUs with compute capability.{0,40}"),
            Phrase(r"cutlassF: no kernel found to launch"),
        ),
    ),
    Cause(
        "architecture_unknown",
        "the installed Transformers does not know this kind of model, or not under this class",
        "update transformers; or the Auto class that the model's page names",
        "model_type in config.json, and the installed version",
        harm=ENDED,
        phrases=(
            Phrase(r"does not recognize this architecture"),
            Phrase(r"Unrecognized (configuration class|model in) .{0,80}"),
            Phrase(r"Tokenizer class \w+ does not exist or is not currently imported"),
        ),
    ),
    Cause(
        "file_broken",
        "a file of weights is cut, or is a Git LFS pointer in place of the weights",
        "download it again (git lfs pull), and compare its size",
        "the size of the file and its first line",
        harm=ENDED,
        phrases=(
            Phrase(r"HeaderTooLarge|InvalidHeaderDeserialization|MetadataIncompleteBuffer"),
            Phrase(r"invalid load key, '.{1,4}'"),
            Phrase(r"PytorchStreamReader failed.{0,60}|unexpected EOF, expected \d+ more bytes"),
        ),
    ),
    Cause(
        "not_reachable",
        "a model or tokenizer was not found: neither at this path nor at the hub from here",
        "the right path or name; with no network, download it before and set HF_HUB_OFFLINE=1",
        "whether the folder holds config.json and the tokenizer's files",
        harm=ENDED,
        phrases=(
            Phrase(r"Can't load (tokenizer|the model|config\w*|feature extractor) for .{0,80}"),
            Phrase(r"couldn't connect to '?https?://huggingface.{0,60}"),
            Phrase(r"is not a local folder and is not a valid model identifier"),
            Phrase(r"does not appear to have a file named .{0,60}"),
        ),
    ),
    Cause(
        "settings_disagree",
        "two settings of the run do not fit each other",
        "what the message names: 'auto' in the DeepSpeed file, a batch that the group size divides",
        "batch size, accumulation, number of processes and group size, multiplied",
        harm=ENDED,
        phrases=(
            Phrase(r"DeepSpeed config values that mismatch TrainingArguments"),
            Phrase(r"train_batch_size is not equal to micro_batch_per_gpu.{0,60}"),
            Phrase(r"must be (evenly )?divisible by the number of generations.{0,40}"),
            Phrase(r"real_train_batch_size \(\d+\) must be divisible by.{0,50}"),
            Phrase(r"Zero-3 is not compatible with .{0,80}"),
            Phrase(
                r"`?save_steps`? .{0,40}multiple of .{0,40}|load_best_model_at_end requires.{0,60}"
            ),
        ),
    ),
    Cause(
        "ranks_not_joined",
        "the processes did not come together before training: an address, a port, or one of them",
        "another --master_port, the address of the first node, and as many processes as announced",
        "which ranks printed anything, and whether the port is free",
        kinds=("hang",),
        harm=ENDED,
        phrases=(
            Phrase(r"Timed out initializing process group.{0,60}"),
            Phrase(r"[Aa]ddress already in use"),
            Phrase(r"Default process group has not been initialized"),
            Phrase(r"Connection refused.{0,40}TCPStore|TCPStore.{0,60}(timed out|Connection)"),
        ),
    ),
)
