"""Causes that fill the memory of a GPU or of the machine."""

from course_utils.causes.cause import Cause, Phrase, keys
from course_utils.causes.harms import ENDED, EVALUATION

MEMORY = (
    Cause(
        "cuda_memory",
        "the GPU's memory is full",
        "a smaller micro-batch with more accumulation, shorter replies, gradient checkpointing",
        "the size it asked for: batch x length x vocabulary x 4 bytes is the usual one",
        kinds=("memory",),
        harm=ENDED,
        phrases=(
            Phrase(r"CUDA out of memory|(?<!ray\.exceptions\.)OutOfMemoryError|HIP out of memory"),
        ),
        beside="allocation",
    ),
    Cause(
        "memory_odd",
        "an allocation failed although more was free than it asked for: not the size of the batch",
        "look for a limit outside PyTorch: the host, WSL, a container, another process",
        "nvidia-smi while it runs",
        thread="ChatGLM-Finetuning#28",
        kinds=("memory",),
    ),
    Cause(
        "memory_survived",
        "the memory ran out once and the run went on",
        "none needed; a smaller batch makes it rarer",
        "how often it happens",
        healthy=True,
        neutral=True,
        explains=keys("cuda_memory"),
    ),
    Cause(
        "cache_memory",
        "vLLM finds no room for its cache beside the model",
        "raise gpu_memory_utilization, lower max_model_len, or give the trainer less",
        "what else holds memory on this GPU when the engine starts",
        phrases=(
            Phrase(r"No available memory for the cache blocks"),
            Phrase(r"larger than the maximum number of tokens that can be stored in KV"),
        ),
    ),
    Cause(
        "engine_wakes_without_room",
        "the engine wakes up, and finds no room: what it freed to sleep is held by the trainer's "
        "allocator, which keeps it reserved",
        "torch.cuda.empty_cache() in the trainer before the engine wakes; or give the engine less "
        "(gpu_memory_utilization)",
        "reserved and allocated memory of the trainer when the engine wakes",
        kinds=("memory",),
        harm=ENDED,
        phrases=(Phrase(r"out of memory at \S*cumem_allocator"),),
    ),
    Cause(
        "memory_by_logits",
        "the largest tensor of a step is batch x length x vocabulary, and it outgrows the rest",
        "a smaller micro-batch with more accumulation, shorter rows, a fused loss",
        "the peak of one step by its largest tensors",
        thread="trl#3678",
        kinds=("memory",),
        where=EVALUATION,
        harm=ENDED,
        would_show="the peak memory of one evaluation",
    ),
    Cause(
        "predictions_kept",
        "the GPU's memory fills in evaluation: the predictions of every batch are kept there and "
        "joined, so it grows with the evaluation set",
        "preprocess_logits_for_metrics that keeps only what the metric needs, or "
        "eval_accumulation_steps, or prediction_loss_only=True; not a smaller training batch",
        "rows x length x vocabulary of the evaluation set; whether it runs with "
        "compute_metrics=None",
        thread="transformers#17089",
        kinds=("memory",),
        where=EVALUATION,
        harm=ENDED,
    ),
    Cause(
        "host_memory",
        "the memory of the machine (not the GPU's) is full",
        "read the data in pieces or memory-mapped (streaming), fewer DataLoader workers, one "
        "process that loads the weights",
        "the size it asked for, and which line asks",
        kinds=("memory",),
        harm=ENDED,
        phrases=(
            Phrase(r"running low on memory.{0,80}|Memory on the node .{0,80}exceed.{0,40}"),
            Phrase(r"std::bad_alloc|DefaultCPUAllocator: can't allocate memory.{0,80}"),
            Phrase(r"^(numpy\.\S*)?_?(Array)?MemoryError\b.{0,120}"),
        ),
    ),
)
