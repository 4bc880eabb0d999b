"""Messages with one clear cause, alone, within a paste, and in the mouth of somebody whose run
goes on."""

import pytest

from tests.helpers.explained import first, key, keys

LOG = [
    f"{{'loss': {2 - n / 20:.3f}, 'grad_norm': 0.9, 'learning_rate': 2e-05, 'epoch': 0.{n}}}"
    for n in range(1, 9)
]
SAID = {
    "Must flatten tensors with uniform requires_grad when use_orig_params=False": "flat_parameter_",
    "ValueError: Must flatten tensors with uniform dtype but got torch.float16 and torch.float32": (
        "flat_parameter_mixed"
    ),
    "The checkpoint being loaded used a DP world size of 16 but the current world size is 8.": (
        "other_number_of_ranks"
    ),
    "ValueError: No valid checkpoint found in output directory (/data/out)": "no_checkpoint_there",
    "AssertionError: FP8 execution requires 2D input matrices with height divisible by 8": (
        "fp8_shape"
    ),
    "RuntimeError: torch._scaled_mm is only supported on CUDA devices with compute capability": (
        "fp8_not_there"
    ),
    "NameError: name 'str2optimizer32bit' is not defined": "bitsandbytes_without_gpu",
    "RuntimeError: The NVIDIA driver on your system is too old (found version 11080).": (
        "driver_too_old"
    ),
    "CUDAMismatchException: >- DeepSpeed Op Builder: Installed CUDA version 12.4 does not match": (
        "cuda_not_that_of_torch"
    ),
    "AttributeError: 'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'": (
        "offload_not_compiled"
    ),
    "ValueError: Cannot combine manual `lr` and `relative_step=True` options": (
        "adafactor_two_rates"
    ),
    "ValueError: args.max_steps must be set to a positive value if dataloader does not have a": (
        "stream_without_length"
    ),
    "AttributeError: Can't pickle local object 'make.<locals>.<lambda>'": "not_picklable",
    "OSError: [Errno 24] Too many open files: '/tmp/pymp-x'": "files_open",
    "RuntimeError: received 0 items of ancdata": "files_open",
    "OSError: Error no file named pytorch_model.bin, model.safetensors found in directory out.": (
        "weights_not_in_folder"
    ),
    "Exception: Could not find the transformer layer class to wrap in the model.": (
        "block_class_unknown"
    ),
    "You are using ZeRO-Offload with a client provided optimizer (<class 'torch.optim.AdamW'>)": (
        "offload_other_optimizer"
    ),
    "Input should be a valid integer, unable to parse string as an integer "
    "[type=int_parsing, input_value='auto', input_type=str]": "auto_not_filled",
    "AssertionError: real_train_batch_size (90) must be divisible by minimal possible batch": (
        "settings_disagree"
    ),
    "ValueError: Free memory on device (9.1/79.1 GiB) on startup is less than desired GPU memory": (
        "engine_finds_gpu_taken"
    ),
    "ValueError: You have set `args.eval_strategy` to steps but you didn't pass an `eval_dataset` "
    "to `Trainer`.": "nothing_to_evaluate",
    "NotImplementedError: Cannot copy out of meta tensor; no data!": "on_meta",
    "ValueError: `.to` is not supported for `8-bit` bitsandbytes models.": "quantized_not_moved",
    "ValueError: Some modules are dispatched on the CPU or the disk.": "quantized_spills",
    "RuntimeError: Cannot re-initialize CUDA in forked subprocess.": "cuda_in_a_fork",
    "RuntimeError: CUDA error: invalid device ordinal": "no_such_gpu",
    "AssertionError: no_sync context manager is incompatible with gradient partitioning logic": (
        "no_sync_under_zero"
    ),
    "RuntimeError: aten.embedding.default: got mixed torch.Tensor and DTensor, need to": (
        "dtensor_mixed"
    ),
    "AttributeError: 'AdamW8bit' object has no attribute 'train'": "optimizer_without_train",
    "TypeError: RNG state must be a torch.ByteTensor": "random_state_on_gpu",
    "RuntimeError: CUDA error: uncorrectable ECC error encountered": "gpu_fell_out",
    "NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.": "gpu_fell_out",
    "\"_amp_foreach_non_finite_check_and_unscale_cuda\" not implemented for 'BFloat16'": (
        "scaler_on_bfloat16"
    ),
    "_pickle.UnpicklingError: Weights only load failed. In PyTorch 2.6": "weights_only_load",
    "ValueError: You can't train a model that has been loaded with `device_map='auto'` in any "
    "distributed mode.": "split_under_a_launcher",
    "SignalException: Process 811 got signal: 1": "terminal_closed",
    "slurmstepd: error: *** JOB 9 ON n4 CANCELLED AT 2025-04-01T02:00:11 DUE TO TIME LIMIT ***": (
        "time_limit"
    ),
    "UserWarning: Input type is bfloat16, but bnb_4bit_compute_dtype=torch.float32 (default).": (
        "computes_in_float32"
    ),
    "torch._dynamo hit config.cache_size_limit (8)": "compiled_again",
    "[WARNING] [stage3.py] 2 pytorch allocator cache flushes since last step.": (
        "allocator_flushed"
    ),
}


@pytest.mark.parametrize("said", SAID)
def test_a_message_with_one_cause_names_it(said):
    one = first("[rank1]: Traceback (most recent call last):", said)
    assert one.key.startswith(SAID[said]) and one.fix


@pytest.mark.parametrize("said", ["terminal_closed", "time_limit", "split_under_a_launcher"])
def test_what_a_launcher_says_behind_it_is_no_other_cause(said):
    message = next(text for text, name in SAID.items() if name == said)
    behind = "torch/distributed/elastic] failed (exitcode: 1) local_rank: 0 (pid: 7712)"
    assert key(*LOG, message, behind) == said


@pytest.mark.parametrize(
    "said",
    [
        "torch._dynamo hit config.recompile_limit (8)",
        "[WARNING] [stage3.py] 2 pytorch allocator cache flushes since last step.",
        "node1 NCCL INFO NET/Plugin: libnccl-net.so: cannot open shared object file",
        "SignalException: Process 811 got signal: 15",
        "NVRM: Xid (PCI:0000:9b:00): 13, Graphics Exception",
        "AttributeError: 'MyModel' object has no attribute 'train'",
        "ValueError: You can use device_map='auto' for inference",
    ],
)
def test_a_warning_of_a_run_that_goes_on_and_other_messages_are_not(said):
    names = {*SAID.values(), "binary_mismatch"}
    assert not names & set(keys(said, *LOG))
