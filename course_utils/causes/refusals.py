"""Messages with one clear cause: what a library refuses at the start of a run, or as it goes on."""

from course_utils.causes.cause import CERTAIN, LATER, Cause, Phrase, keys
from course_utils.causes.harms import ENDED

SURER = CERTAIN + 0.5  # than the words of another cause in the same line

REFUSALS = (
    Cause(
        "flat_parameter_mixed",
        "FSDP joins the weights of a block into one flat tensor, and these differ: trained and "
        "frozen ones, or several number formats (an adapter in float32, 4-bit weights in uint8)",
        "for trained beside frozen weights fsdp_use_orig_params=true, or PEFT's "
        "fsdp_auto_wrap_policy, which wraps adapters apart; for formats load all in one "
        "torch_dtype, with 4 bits bnb_4bit_quant_storage equal to it (torch.bfloat16)",
        "the dtype and requires_grad of the weights of one block",
        kinds=("sharding", "adapter"),
        harm=ENDED,
        phrases=(Phrase(r"Must flatten tensors with uniform `?(dtype|requires_grad)`?.{0,80}"),),
    ),
    Cause(
        "other_number_of_ranks",
        "the optimizer's state in the checkpoint is cut for another number of processes, and this "
        "version of ZeRO does not cut it anew",
        "as many processes as before; or a universal checkpoint (ds_to_universal.py, "
        "load_universal); or the weights alone as a new run, with a fresh optimizer",
        "the world size of the run that saved it",
        kinds=("resume", "sharding"),
        harm=ENDED,
        phrases=(Phrase(r"DP world size of \d+ but the current world size is \d+"),),
    ),
    Cause(
        "no_checkpoint_there",
        "the run is to go on from a checkpoint, and its output folder has none",
        "leave the resume out of the first start, or pass the folder of a checkpoint-N by its "
        "path; see that output_dir is the one of the run before, and that it had saved by then",
        "ls of output_dir: folders named checkpoint-N",
        kinds=("resume",),
        harm=ENDED,
        phrases=(Phrase(r"No valid checkpoint found in output directory.{0,60}"),),
    ),
    Cause(
        "fp8_shape",
        "a matrix product in FP8 takes sides that 16 divides alone, and a batch or a weight has "
        "another one",
        "pad rows to a multiple of 16 (pad_to_multiple_of=16), also the last batch "
        "(drop_last=True), and the vocabulary; or leave that layer out of FP8",
        "the two shapes at the line that raised",
        harm=ENDED,
        phrases=(
            Phrase(r"FP8 execution requires .{0,30}divisible by.{0,60}"),
            Phrase(r"Expected (trailing dimension of )?mat\d .{0,40}divisible by 16.{0,40}"),
        ),
    ),
    Cause(
        "fp8_not_there",
        "this GPU cannot compute in FP8: that takes compute capability 8.9 or 9.0 (Ada, Hopper)",
        "bfloat16 instead of FP8 on this GPU, or an H100, L40S or RTX 4090",
        "torch.cuda.get_device_capability()",
        harm=ENDED,
        phrases=(
            Phrase(r"torch\._scaled_mm is only supported on .{0,90}"),
            Phrase(r"(FP8|float8) .{0,60}compute capability.{0,40}", LATER),
        ),
    ),
    Cause(
        "bitsandbytes_without_gpu",
        "bitsandbytes came without its CUDA library, or finds none: its 8-bit optimizers are not "
        "there",
        "python -m bitsandbytes names what is missing: install bitsandbytes for this CUDA, put "
        "the folder of libcudart on LD_LIBRARY_PATH; or optim=adamw_torch until then",
        "python -m bitsandbytes",
        harm=ENDED,
        phrases=(Phrase(r"name 'str2optimizer\w*' is not defined"),),
    ),
    Cause(
        "driver_too_old",
        "the NVIDIA driver of this machine is older than the CUDA that torch was built for",
        "a torch for an older CUDA (pip install torch --index-url .../whl/cu118), or a newer "
        "driver, which an administrator installs",
        "nvidia-smi (the CUDA version of its head) beside torch.version.cuda",
        harm=ENDED,
        phrases=(
            Phrase(r"NVIDIA driver on your system is too old.{0,40}"),
            Phrase(r"CUDA driver version is insufficient for CUDA runtime version"),
        ),
    ),
    Cause(
        "cuda_not_that_of_torch",
        "DeepSpeed compiles its operations with a CUDA that is not torch's: nvcc has another "
        "version than torch was built with",
        "install the CUDA toolkit of torch.version.cuda and set CUDA_HOME to it, or a torch for "
        "the installed CUDA; remove ~/.cache/torch_extensions before the next start "
        "(DS_SKIP_CUDA_CHECK=1 only for another minor version)",
        "nvcc --version beside torch.version.cuda",
        harm=ENDED,
        explains=keys("offload_not_compiled"),
        phrases=(
            Phrase(r"CUDAMismatchException.{0,110}|Installed CUDA version .{0,60}does not match"),
        ),
    ),
    Cause(
        "offload_not_compiled",
        "DeepSpeedCPUAdam could not be compiled: this line is raised as it is taken down, and the "
        "reason stands above it",
        "read the first error above (nvcc, CUDA_HOME, g++, a missing libcurand); ds_report shows "
        "whether cpu_adam is compatible; remove ~/.cache/torch_extensions and start again",
        "ds_report, and the first error of the log",
        harm=ENDED,
        phrases=(Phrase(r"'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'", LATER),),
    ),
    Cause(
        "adafactor_two_rates",
        "Adafactor is given a learning rate, and is to make its own as well",
        "with lr: relative_step=False, scale_parameter=False, warmup_init=False; or lr=None and "
        "relative_step=True",
        "the arguments of Adafactor",
        kinds=("rate",),
        harm=ENDED,
        phrases=(Phrase(r"Cannot combine manual `?lr`? and `?relative_step=True`?.{0,20}"),),
    ),
    Cause(
        "stream_without_length",
        "the rows are a stream, whose length nobody knows, so that epochs cannot be counted",
        "give max_steps: rows x epochs / (batch x accumulation x processes)",
        "whether the dataset is an IterableDataset (streaming=True)",
        kinds=("schedule",),
        harm=ENDED,
        phrases=(
            Phrase(r"max_steps must be set to a positive value if dataloader does not have.{0,30}"),
            Phrase(r"train_dataset does not implement __len__.{0,60}"),
        ),
    ),
    Cause(
        "not_picklable",
        "a worker gets the collator or the dataset by pickle, which takes no lambda and no "
        "function within a function",
        "move the function to the top of the module (functools.partial for its arguments), or "
        "dataloader_num_workers=0",
        "the name in the message",
        harm=ENDED,
        phrases=(Phrase(r"Can't (pickle|get) local object '?[^']{1,60}'?"),),
    ),
    Cause(
        "files_open",
        "the process has as many files open as it may: workers share each tensor through one",
        "ulimit -n 65535 before the start (or LimitNOFILE), "
        "torch.multiprocessing.set_sharing_strategy('file_system'), or fewer workers",
        "ulimit -n, and ls /proc/PID/fd | wc -l while it runs",
        harm=ENDED,
        phrases=(
            Phrase(r"received 0 items of ancdata"),
            Phrase(r"\[?Errno 24\]? ?Too many open files|Too many open files"),
        ),
    ),
    Cause(
        "weights_not_in_folder",
        "the folder holds no weights that from_pretrained knows: it is an adapter, a sharded FSDP "
        "or DeepSpeed checkpoint, or not the folder that was meant",
        "for an adapter load its base and then PeftModel.from_pretrained; for FSDP shards "
        "accelerate merge-weights (or FULL_STATE_DICT when saving), for ZeRO zero_to_fp32.py; "
        "else give the folder of the last checkpoint-N",
        "ls of the folder: adapter_model, pytorch_model_fsdp_0, global_step",
        kinds=("checkpoint", "sharding"),
        harm=ENDED,
        phrases=(Phrase(r"no file named pytorch_model\.bin.{0,110}"),),
    ),
    Cause(
        "block_class_unknown",
        "FSDP is to wrap blocks of a class that this model does not have",
        "fsdp_transformer_layer_cls_to_wrap: the class of this model's own blocks, as "
        "print(model) shows it (LlamaDecoderLayer, Qwen2DecoderLayer, ...), or leave it out",
        "type(model.model.layers[0])",
        kinds=("sharding",),
        harm=ENDED,
        phrases=(Phrase(r"Could not find the transformer layer class.{0,60}"),),
    ),
    Cause(
        "offload_other_optimizer",
        "ZeRO-Offload keeps the optimizer on the processor, and the script makes one for the GPU",
        "take the optimizer from the DeepSpeed file (or DeepSpeedCPUAdam in the script), or "
        "zero_force_ds_cpu_optimizer: false",
        "who makes the optimizer: the script or the DeepSpeed file",
        kinds=("memory",),
        harm=ENDED,
        phrases=(Phrase(r"ZeRO-Offload with a client provided optimizer.{0,60}"),),
    ),
    Cause(
        "auto_not_filled",
        "the DeepSpeed file has 'auto' in it, which only the Trainer or accelerate fill in",
        "numbers in place of 'auto' where deepspeed.initialize is called by a loop of your own, or "
        "pass the file to TrainingArguments(deepspeed=...)",
        "the fields with 'auto'",
        harm=ENDED,
        phrases=(
            Phrase(r"unable to parse string as an? (integer|number).{0,60}input_value='auto'"),
            Phrase(r"value is not a valid (integer|float)[^\n]{0,60}auto"),
        ),
    ),
    Cause(
        "engine_finds_gpu_taken",
        "vLLM is to take a share of the whole GPU, and other processes hold that much of it "
        "already",
        "end what else runs there (nvidia-smi names it; a worker that an earlier start left), or "
        "a gpu_memory_utilization below the free share",
        "nvidia-smi before the start",
        kinds=("memory",),
        harm=ENDED,
        phrases=(Phrase(r"Free memory on device .{0,60}on startup is less than desired.{0,60}"),),
    ),
    Cause(
        "nothing_to_evaluate",
        "an evaluation is asked for, and the Trainer is given no rows for it",
        "pass eval_dataset to the Trainer, or eval_strategy='no'",
        "the arguments of the Trainer",
        harm=ENDED,
        phrases=(Phrase(r"you didn't pass an `?eval_dataset`? to `?Trainer`?.{0,20}"),),
    ),
    Cause(
        "on_meta",
        "the weights are on the meta device: they have a shape and no numbers, since they were "
        "offloaded (device_map) or not loaded yet",
        "train without device_map='auto' or with enough memory for all of it, low_cpu_mem_usage="
        "False; make an empty module real with to_empty() and load its weights then",
        "model.hf_device_map, and which parameters have is_meta",
        kinds=("sharding",),
        harm=ENDED,
        phrases=(Phrase(r"Cannot copy out of meta tensor; no data.{0,40}"),),
    ),
    Cause(
        "quantized_not_moved",
        "a model in 4 or 8 bits stands on its device from the load on, and .to() is refused",
        "leave .to() and .cuda() out, and give device_map={'': 0} (or the local rank) at the load",
        "the line that calls .to",
        kinds=("adapter",),
        harm=ENDED,
        phrases=(Phrase(r"`?\.to`? is not supported for `?[48]-bit`?.{0,60}"),),
    ),
    Cause(
        "quantized_spills",
        "the quantized model does not fit into the free memory of the GPU, and a part of it would "
        "go to the processor, which bitsandbytes does not do",
        "free the GPU (nvidia-smi), 4 bits instead of 8, a smaller model or more GPUs; "
        "llm_int8_enable_fp32_cpu_offload=True with a device_map of its own, for inference",
        "the free memory before the load beside the size of the model",
        kinds=("memory",),
        harm=ENDED,
        phrases=(Phrase(r"Some modules are dispatched on the CPU or the disk.{0,80}"),),
    ),
    Cause(
        "cuda_in_a_fork",
        "CUDA was used before the process forked a worker, and a forked one cannot use it again",
        "nothing on the GPU in a Dataset, a collator or map(num_proc=...), and no CUDA call "
        "before the workers begin; or multiprocessing_context='spawn' "
        "(VLLM_WORKER_MULTIPROC_METHOD=spawn)",
        "the first CUDA call of the script",
        harm=ENDED,
        phrases=(Phrase(r"Cannot re-initialize CUDA in forked subprocess.{0,90}"),),
    ),
    Cause(
        "no_such_gpu",
        "a process asks for a GPU that it cannot see: there are more processes than GPUs, or "
        "CUDA_VISIBLE_DEVICES hides some, whose numbers begin at 0 again",
        "as many processes as visible GPUs (--nproc_per_node), the local rank and not the rank as "
        "the device, and cuda:0 for the first one that is visible",
        "torch.cuda.device_count() and CUDA_VISIBLE_DEVICES in that process",
        harm=ENDED,
        phrases=(Phrase(r"CUDA error: invalid device ordinal"),),
    ),
    Cause(
        "no_sync_under_zero",
        "gradients are cut over the processes at each backward (ZeRO-2 and 3), so that an "
        "accumulation without an exchange is refused",
        "leave no_sync() out under ZeRO, and let DeepSpeed accumulate "
        "(gradient_accumulation_steps of its file); accelerate and DeepSpeed of one time",
        "pip show accelerate deepspeed, and who calls no_sync",
        kinds=("sharding",),
        harm=ENDED,
        phrases=(Phrase(r"no_sync context manager is incompatible with.{0,70}"),),
    ),
    Cause(
        "dtensor_mixed",
        "an operation gets weights that are spread over the processes (DTensor) and plain ones",
        "shard all of the model (fully_shard on the root as well), tensors of your own by "
        "distribute_tensor; call the module and not its weight, and full_tensor() to read one",
        "which of its inputs is no DTensor",
        kinds=("sharding",),
        harm=ENDED,
        phrases=(Phrase(r"got mixed torch\.Tensor and DTensor.{0,60}"),),
    ),
    Cause(
        "optimizer_without_train",
        "accelerate calls train() of the optimizer, which only schedule-free ones have: "
        "Transformers and accelerate are of different times",
        "pip install -U accelerate transformers, together",
        "pip show transformers accelerate",
        harm=ENDED,
        phrases=(Phrase(r"'\w*(Adam\w*|SGD|Lion|Adafactor)' object has no attribute 'train'"),),
    ),
    Cause(
        "random_state_on_gpu",
        "the state of the random numbers was loaded onto the GPU: it must be bytes on the "
        "processor",
        "torch.load(path, map_location='cpu') for it, or rng_state.cpu().byte(); or leave that "
        "file out of the resume",
        "the map_location of the load",
        kinds=("resume",),
        harm=ENDED,
        phrases=(Phrase(r"RNG state must be a torch\.ByteTensor"),),
    ),
    Cause(
        "gpu_fell_out",
        "the GPU itself failed: its memory has an error that cannot be corrected, or it has left "
        "the bus; no setting of the training does that",
        "go on from the last checkpoint on another GPU, and have this one drained, reset and "
        "looked at (power, heat, slot)",
        "dmesg | grep Xid, nvidia-smi -q -d ECC",
        harm=ENDED,
        explains=keys("nccl_failed ranks_disagree aborted exception"),
        phrases=(
            Phrase(r"uncorrectable ECC error.{0,20}"),
            Phrase(r"Xid \(PCI:[^)]*\): (48|63|64|74|79|94|95)\b.{0,60}"),
            Phrase(r"GPU has fallen off the bus"),
        ),
    ),
    Cause(
        "scaler_on_bfloat16",
        "fp16=True scales gradients, and the trained weights are bfloat16, which its scaler does "
        "not take",
        "bf16=True in place of fp16=True; or where the GPU has no bfloat16 load the weights in "
        "float32 (an adapter's as well) and keep fp16=True",
        "the dtype of the trainable weights beside fp16 and bf16",
        kinds=("half_precision",),
        harm=ENDED,
        phrases=(Phrase(r"_amp_foreach_non_finite_check\w*\W+not implemented for '?BFloat16'?"),),
    ),
    Cause(
        "weights_only_load",
        "torch 2.6 loads tensors alone (weights_only=True), and this file of an older run holds "
        "other objects (rng_state.pth, training_args.bin, optimizer states)",
        "Transformers and DeepSpeed of the time of torch 2.6 or later, or the torch of before; "
        "for a file that you made yourself torch.load(..., weights_only=False) or "
        "torch.serialization.add_safe_globals([...])",
        "pip show torch transformers, and which file is loaded",
        kinds=("resume",),
        harm=ENDED,
        phrases=(Phrase(r"Weights only load failed.{0,60}", SURER),),
    ),
    Cause(
        "split_under_a_launcher",
        "device_map='auto' spreads one model over all GPUs, and the launcher starts a process for "
        "each of them: each would take all",
        "leave device_map out (or {'': local rank}) under torchrun or accelerate launch, with FSDP "
        "or ZeRO-3 where the model does not fit; or one process, python script.py",
        "device_map in from_pretrained, and how many processes are started",
        kinds=("sharding",),
        harm=ENDED,
        explains=keys("python_error"),
        phrases=(Phrase(r"loaded with `?device_map='auto'`? in any distributed mode.{0,60}"),),
    ),
    Cause(
        "terminal_closed",
        "the terminal was closed (SIGHUP): torchrun takes that signal and ends its workers, with "
        "nohup as well",
        "start it in tmux or screen, as a job of the scheduler, or with setsid; go on from the "
        "last checkpoint",
        "when the session or the connection ended",
        harm=ENDED,
        explains=keys("terminated python_error"),
        phrases=(
            Phrase(r"Received Signals\.SIGHUP.{0,40}|got signal: 1\b"),
            Phrase(r"closing signal SIGHUP", LATER),
        ),
    ),
    Cause(
        "time_limit",
        "the scheduler ended the job at its time limit",
        "a longer --time, or checkpoints often enough (save_steps) and a job that goes on from "
        "the last one; --signal=B:USR1@300 gives time to save",
        "sacct -j JOB: Elapsed beside Timelimit",
        harm=ENDED,
        explains=keys("terminated killed_for_memory killed_from_outside python_error"),
        phrases=(Phrase(r"(CANCELLED|Killed) AT \S+ DUE TO TIME LIMIT"),),
    ),
    Cause(
        "computes_in_float32",
        "the weights in 4 bits are computed with in float32, the default of "
        "bnb_4bit_compute_dtype, which is several times slower",
        "bnb_4bit_compute_dtype=torch.bfloat16 in BitsAndBytesConfig (float16 on GPUs without it)",
        "the time of a step before and after",
        phrases=(Phrase(r"bnb_4bit_compute_dtype=torch\.float32 \(default\).{0,70}", 2.5),),
    ),
    Cause(
        "compiled_again",
        "torch.compile compiles again for each new shape or number and has given up: from there "
        "on that function runs uncompiled",
        "rows padded to a few lengths, dynamic=True or mark_dynamic, and no Python number that "
        "changes with the step; TORCH_LOGS=recompiles names what changes",
        "TORCH_LOGS=recompiles",
        answered_by="the run",
        phrases=(Phrase(r"hit config\.(recompile_limit|cache_size_limit).{0,30}", 2.5),),
    ),
    Cause(
        "allocator_flushed",
        "the GPU's memory is so full that the allocator empties its cache within the steps, which "
        "makes them slow",
        "a smaller micro-batch with more accumulation, or gradient checkpointing; "
        "get_accelerator().empty_cache() on all ranks at the same place",
        "the peak memory of a step",
        kinds=("memory",),
        answered_by="the run",
        phrases=(Phrase(r"\d+ pytorch allocator cache flushes since last step.{0,40}", 2.5),),
    ),
)
