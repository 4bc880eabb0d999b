"""What errors and warnings of the libraries mean that fit no lesson's failure by themselves."""

from course_utils.explain.causes.cause import Cause

LIBRARIES = (
    Cause(
        "checkpoint_without_gradient",
        "a checkpointed block got inputs that need no gradient; with reentrant checkpointing "
        "nothing inside it learns, which is harmless only if all of it is frozen",
        "gradient_checkpointing_kwargs={'use_reentrant': False}, or enable_input_require_grads()",
        "whether grad_norm is above 0 and the weights in that block change",
        "06_grad_fn",
        "audit_gradients",
        "trl#2671",
    ),
    Cause(
        "optimizer_waits",
        "DeepSpeed's optimizer has not stepped yet when the rate is logged: float16 skips steps "
        "while it looks for its scale, or accumulation is not through",
        "none needed if the rate rises later",
        "whether learning_rate leaves 0",
        thread="BELLE#134",
        healthy=True,
    ),
    Cause(
        "cache_memory",
        "vLLM finds no room for its cache beside the model",
        "raise gpu_memory_utilization, lower max_model_len, or give the trainer less",
        "what else holds memory on this GPU when the engine starts",
    ),
    Cause(
        "nccl_failed",
        "the network between the processes failed: the line names no operation of the model",
        "NCCL_DEBUG=INFO names the interface; set NCCL_SOCKET_IFNAME, check shared memory",
        "the first rank that reports it",
        instrument="run_in_child",
    ),
    Cause(
        "marked_ready_twice",
        "a weight got its gradient twice in one step: it is shared, or reentrant checkpointing "
        "runs its block again under DDP",
        "use_reentrant=False, or DDP's static_graph",
        "the weight that the message names",
        "06_grad_fn",
        "audit_gradients",
    ),
    Cause(
        "graph_used_twice",
        "the graph of a step is walked again: something kept from an earlier step is in this loss",
        "detach what is carried from step to step; one backward a forward",
        "what lives longer than a step",
        "06_grad_fn",
        "audit_gradients",
    ),
    Cause(
        "changed_in_place",
        "a tensor that backward needs was changed in place",
        "write x = x + y instead of x += y; clone before masking",
        "torch.autograd.set_detect_anomaly(True) names the forward line",
        "06_grad_fn",
        "watch",
    ),
    Cause(
        "rewards_missing",
        "no reward function gave a number for these replies: each returned None, so the rewards "
        "are nan or left out",
        "return a number, 0.0 for what cannot be judged, and parse the gold answers beforehand",
        "the reward function on one row of the dataset",
        lesson="10_reward_up",
        thread="trl#4638",
    ),
    Cause(
        "no_template",
        "the tokenizer has no chat template, so chats cannot be rendered as in training",
        "load the tokenizer that was saved with the fine-tuned model, or set chat_template",
        "one rendered prompt",
        "07_never_stops",
        "inspect_batch",
    ),
    Cause(
        "shapes_differ",
        "the checkpoint and the model have weights of other shapes: another vocabulary size, "
        "another rank, or weights that ZeRO-3 has sharded to nothing",
        "resize_token_embeddings to the checkpoint's rows before loading, or load its own base",
        "the two shapes in the message",
        "06_grad_fn",
        "compare_models",
        "LlamaFactory#8046",
    ),
    Cause(
        "head_is_new",
        "these weights are not in the checkpoint and were drawn at random: as it should be before "
        "a classifier or reward model is trained, wrong when a trained one is loaded",
        "for a trained one, modules_to_save=['score'] when training, and load the adapter after",
        "whether the same input gives the same score in two runs",
        "06_grad_fn",
        "compare_models",
        "peft#2367",
    ),
    Cause(
        "adapter_twice",
        "an adapter is put on a model that has one already: which of them trains, and which is "
        "saved, is not what it seems",
        "give the trainer either a PeftModel or a peft_config, or merge the first adapter before",
        "model.active_adapters, and the names in the saved file",
        "06_grad_fn",
        "audit_gradients",
        "trl#3926",
    ),
    Cause(
        "targets_missing",
        "the adapter names modules that this model does not have",
        "target_modules='all-linear', or the names that model.named_modules() prints",
        "the names of the linear layers",
        "06_grad_fn",
        "audit_gradients",
    ),
    Cause(
        "purely_quantized",
        "quantized weights cannot be trained by themselves: there is no adapter on them",
        "add one with peft_config or get_peft_model",
        "whether the trainer was given an adapter",
        "06_grad_fn",
        "audit_gradients",
    ),
    Cause(
        "formats_mixed",
        "one operation got numbers in two formats, or in one that its kernel does not take",
        "one dtype for all weights, or run under autocast",
        "the dtype of each weight, the head's and the norms' first",
        "05_gemma_fp16",
        "profile_ranges",
    ),
    Cause(
        "devices_mixed",
        "one operation got tensors of two devices",
        "one device_map for the whole model; move the batch to the first layer's device",
        "model.hf_device_map",
    ),
    Cause(
        "sharded_weight",
        "ZeRO-3 keeps only a shard of this weight here, and it is used as if it were whole",
        "deepspeed.zero.GatheredParameters around its use, or ZeRO-2",
        "the shape of the weight on this rank: 0 rows",
    ),
    Cause(
        "binary_mismatch",
        "a compiled extension does not fit the installed torch, CUDA or GPU",
        "reinstall it for this torch; another attention implementation until then",
        "torch.__version__, torch.version.cuda, the GPU's compute capability",
        lesson="02_grpo_sigfpe",
    ),
    Cause(
        "too_long",
        "rows are longer than the model takes: they are cut, refused, or leave its positions",
        "set max_length, or drop the rows; count how many are longer",
        "the lengths of the rows in tokens",
        "07_never_stops",
        "inspect_batch",
    ),
    Cause(
        "disk_full",
        "the disk is full: a checkpoint or a cache could not be written",
        "save_total_limit, and free the disk; the last checkpoint may be cut",
        "whether the last checkpoint loads",
    ),
    Cause(
        "api_changed",
        "the installed version of the library has no such argument or name: code and library are "
        "of different times",
        "look the name up in the installed version's changelog, or install the version of the code",
        "pip show trl transformers peft",
    ),
)
