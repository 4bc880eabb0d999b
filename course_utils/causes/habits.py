"""Messages about how tensors, wrapped models, schedules are used; and some that mean nothing."""

from course_utils.causes.cause import WARNED, Cause, Phrase
from course_utils.causes.harms import ENDED, EVALUATION, LESS, WRONG

HABITS = (
    Cause(
        "loss_not_scalar",
        "backward was called on more than one number",
        "take the mean (or the sum) of the loss over rows, and of processes under DataParallel",
        "the shape of the loss",
        harm=ENDED,
        phrases=(Phrase(r"grad can be implicitly created only for scalar outputs"),),
    ),
    Cause(
        "tensor_not_taken_off",
        "a tensor is made a numpy array while it is on the GPU or holds a graph",
        "tensor.detach().cpu().numpy(), .float() before it for bfloat16",
        "the line that Python names, mostly in a metric",
        harm=ENDED,
        phrases=(
            Phrase(r"can't convert cuda:\d+ device type tensor to numpy"),
            Phrase(r"Can't call numpy\(\) on Tensor that requires grad"),
            Phrase(r"Got unsupported ScalarType BFloat16"),
        ),
    ),
    Cause(
        "model_is_wrapped",
        "the model stands inside a wrapper that has no such name",
        "model.module, or accelerator.unwrap_model(model)",
        "type(model)",
        harm=ENDED,
        phrases=(
            Phrase(r"'(DataParallel|DistributedDataParallel|\w*FSDP\w*)' object has no .{0,40}"),
        ),
    ),
    Cause(
        "quantized_elsewhere",
        "a model in 8 or 4 bits was loaded onto another device than the one of this process",
        "device_map={'': PartialState().process_index}, so that each process has its own copy",
        "model.hf_device_map and the local rank",
        kinds=("adapter",),
        harm=ENDED,
        phrases=(Phrase(r"loaded in 8-bit or 4-bit precision on a different device"),),
    ),
    Cause(
        "merge_of_quantized",
        "an adapter cannot be merged into weights of 8 or 4 bits",
        "load the base in 16 bits, put the adapter on it, and merge there",
        "the type of the base's layers",
        kinds=("adapter",),
        harm=ENDED,
        phrases=(Phrase(r"Cannot merge LORA layers when the model is loaded in.{0,40}"),),
    ),
    Cause(
        "saved_shared",
        "two tensors share memory, and safetensors saves no tensor twice",
        "model.save_pretrained, which knows the tie, or safe_serialization=False",
        "whether head and embedding are one tensor",
        kinds=("embeddings",),
        harm=ENDED,
        phrases=(Phrase(r"Some tensors share memory, this will lead to duplicate memory.{0,40}"),),
    ),
    Cause(
        "generation_limit",
        "the prompt is longer than max_length, which counts the prompt too: nothing can be written",
        "max_new_tokens, which counts the reply alone",
        "the length of the prompts in tokens, beside max_length",
        where=EVALUATION,
        kinds=("never_stops",),
        harm=WRONG,
        phrases=(Phrase(r"Input length of input_ids is \d+, but `?max_length`? is set to \d+"),),
    ),
    Cause(
        "sampling_rate_differs",
        "the sound has another sampling rate than the model was trained with",
        "cast_column('audio', Audio(sampling_rate=16000)), before the feature extractor",
        "the sampling rate of one row",
        harm=WRONG,
        phrases=(
            Phrase(r"was trained using a sampling rate of \d+.{0,120}"),
            Phrase(r"without (passing )?the `?sampling_rate`? argument.{0,40}", WARNED),
        ),
    ),
    Cause(
        "cublas_not_made",
        "the GPU's matrix library could not start: the memory is full, or an index outside a table "
        "came before, whose error is shown late",
        "CUDA_LAUNCH_BLOCKING=1, or the same batch on the CPU, which names the line; and leave "
        "some memory free",
        "nvidia-smi before the run, and the largest id beside the vocabulary",
        harm=ENDED,
        phrases=(Phrase(r"CUBLAS_STATUS_(NOT_INITIALIZED|ALLOC_FAILED)"),),
    ),
    Cause(
        "worker_died",
        "a worker of the DataLoader died: its memory, the shared memory, or an error in a row",
        "num_workers=0 shows the error itself; else a larger /dev/shm, or fewer workers",
        "the same rows with num_workers=0",
        kinds=("memory",),
        harm=ENDED,
        phrases=(
            Phrase(
                r"DataLoader worker \(pid\S* \d+\) (exited unexpectedly|is killed by signal).{0,40}"
            ),
        ),
    ),
    Cause(
        "schedule_before_optimizer",
        "the schedule is stepped before the optimizer: its first rate is left out; a float16 "
        "scaler that skips its first step gives the same warning",
        "optimizer.step() before schedule.step()",
        "the learning rate of the first three steps",
        kinds=("schedule",),
        harm=LESS,
        answered_by="the run",
        phrases=(
            Phrase(r"call of `?lr_scheduler\.step\(\)`? before `?optimizer\.step\(\)`?", 1.5),
        ),
    ),
    Cause(
        "only_gathers",
        "DataParallel gathers one loss per GPU and says so",
        "none needed",
        "nothing: it is no error",
        healthy=True,
        neutral=True,
        phrases=(
            Phrase(r"asked to gather along dimension 0, but all input tensors were scalars", 2.0),
        ),
    ),
    Cause(
        "cache_switched_off",
        "with gradient checkpointing no cache of keys is kept in training; generation has its own",
        "none needed",
        "nothing: it is no error",
        healthy=True,
        neutral=True,
        phrases=(Phrase(r"use_cache=True`? is incompatible with gradient checkpointing", 2.0),),
    ),
)
