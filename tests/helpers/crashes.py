"""Error texts that people paste, and the key of the cause that each names."""

CRASHES = {
    "Floating point exception (core dumped)": "sigfpe",
    "-8": "sigfpe",
    "136": "sigfpe",
    "-9": "killed_for_memory",
    "143": "terminated",
    "124": "timed_out",
    "1": "python_error",
    "255": "code_255",
    "0": "code_0",
    "exit code 137": "killed_for_memory",
    "Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)": "bad_memory_access",
    "Bus error (core dumped)": "mapped_file_shrank",
    "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn": (
        "no_grad_fn"
    ),
    "ValueError: Attempting to unscale FP16 gradients.": "unscale_half",
    "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0": (
        "sampling_from_nan"
    ),
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB": "cuda_memory",
    "RuntimeError: Expected to have finished reduction in the prior iteration": (
        "unused_parameters"
    ),
    "[rank1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4)": "ranks_disagree",
    "RuntimeError: Function 'ExpBackward0' returned nan values in its 0th output.": "anomaly",
    "ValueError: num_samples should be a positive integer value, but got num_samples=0": (
        "no_samples"
    ),
    "RuntimeError: [unbound_buffer.cc:81] Timed out waiting 3000ms for recv operation": (
        "ranks_disagree"
    ),
    "IndexError: index out of range in self": "index_outside",
    "IndexError: Target 7 is out of bounds.": "label_outside",
    "Loss.cu:257: nll_loss: Assertion `t >= 0 && t < n_classes` failed.": "label_outside",
    "OverflowError: number too small to fit in target type": "ignored_is_decoded",
    "[rank0]: KeyError: 'eval_loss'": "metric_not_there",
    "ValueError: Size mismatch between saved torch.Size([257152, 2048]) and current: "
    "torch.Size([131661824]) for embed_tokens.weight": "shard_and_whole",
    "ValueError: loaded state dict contains a parameter group that doesn't match the size of "
    "optimizer's group": "optimizer_of_other_weights",
    "ValueError: Unable to create tensor. Perhaps your features (`labels` in this case) have "
    "excessive nesting (inputs type `list` where type `int` is expected).": "labels_not_padded",
    "AssertionError: No inf checks were recorded for this optimizer.": "weight_without_gradient",
    "ValueError: optimizer got an empty parameter list": "nothing_trainable",
    "trainable params: 0 || all params: 6,738,415,616 || trainable%: 0.0": "nothing_trainable",
    "UserWarning: None of the inputs have requires_grad=True. Gradients will be None": (
        "checkpoint_without_gradient"
    ),
    "ValueError: No available memory for the cache blocks. Try increasing it": "cache_memory",
    "ncclInternalError: Internal check failed.": "nccl_failed",
    "RuntimeError: Expected to mark a variable ready only once.": "marked_ready_twice",
    "RuntimeError: Trying to backward through the graph a second time": "graph_used_twice",
    "has been modified by an inplace operation: [torch.FloatTensor [8]]": "changed_in_place",
    "UserWarning: All reward functions returned None for the following kwargs": "rewards_missing",
    "UserWarning: Could not find response key `### Answer:` in this instance": "labels_masked",
    "Mismatch between tokenized prompt and the start of tokenized prompt+chosen": (
        "pair_prompts_differ"
    ),
    "A decoder-only architecture is being used, but right-padding was detected!": "padding_side",
    "ValueError: Image features and image tokens do not match, tokens: 12, features: 16": (
        "image_tokens_cut"
    ),
    "Merge lora module to 4-bit linear may get different generations due to rounding": (
        "merged_not_equal"
    ),
    "Model with `tie_word_embeddings=True` and the tied_target_modules=['lm_head'] are part of": (
        "tied_head_merged"
    ),
    "ValueError: `causal_conv1d_fn` can't keep packed sequences apart without `causal-conv1d`.": (
        "packed_state_leak"
    ),
    "packing may lead to cross-contamination between samples": "packing_leak",
    "ValueError: Cannot use chat template: tokenizer.chat_template is not set": "no_template",
    "size mismatch for lm_head.weight: copying a param with shape torch.Size([32001, 8])": (
        "shapes_differ"
    ),
    "UserWarning: Found missing adapter keys while loading the checkpoint: ['lora_A']": (
        "adapter_not_loaded"
    ),
    "The chat template does not include the assistant turn's end-of-turn token in the loss mask": (
        "end_masked"
    ),
    "Cloning chat template added new tokens to the tokenizer, but 'lm_head' is not in it": (
        "new_tokens_untrained"
    ),
    "Input and output embeddings are no longer tied after merging. 1 weight": "tie_broken",
    "`model` and `ref_model` cannot be the same object.": "reference_moves",
    "Already found a `peft_config` attribute in the model.": "adapter_twice",
    "ValueError: Target modules {'q_proj'} not found in the base model.": "targets_missing",
    "ValueError: You cannot perform fine-tuning on purely quantized models.": "purely_quantized",
    "RuntimeError: mat1 and mat2 must have the same dtype, but got Half and Float": (
        "formats_mixed"
    ),
    "RuntimeError: Expected all tensors to be on the same device, but found cuda:0 and cpu": (
        "devices_mixed"
    ),
    "RuntimeError: 'weight' must be 2-D": "sharded_weight",
    "ImportError: flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi": (
        "binary_mismatch"
    ),
    "ValueError: The prompt (length 9000) is longer than the maximum model length of 8192": (
        "too_long"
    ),
    "OSError: [Errno 28] No space left on device": "disk_full",
    "TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'tokenizer'": (
        "api_changed"
    ),
    "RuntimeError: CUDA error: an illegal memory access was encountered": "illegal_gpu_access",
    "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 40.0 GiB": "host_memory",
    "MemoryError": "host_memory",
    "terminate called after throwing an instance of 'std::bad_alloc'": "host_memory",
    "OSError: libcudart.so.12: cannot open shared object file: No such file or directory": (
        "binary_mismatch"
    ),
    "RuntimeError: Error(s) in loading state_dict for LlamaForCausalLM:": "shapes_differ",
    "ModuleNotFoundError: No module named 'deepspeed'": "package_missing",
    "FileNotFoundError: [Errno 2] No such file or directory: 'configs/base.yaml'": "file_missing",
    "PermissionError: [Errno 13] Permission denied: '/mnt/shared/outputs'": "no_permission",
    "KeyError: 'tabby_cat'": "exception",
    "torch.distributed.elastic: failed (exitcode: -9) local_rank: 0": "killed_for_memory",
}
