"""Versions, devices and disks: what fails beside the training."""

from course_utils.causes.cause import Cause, Phrase

LIBRARIES = (
    Cause(
        "binary_mismatch",
        "a compiled extension does not fit the installed torch, CUDA or GPU",
        "reinstall it for this torch; another attention implementation until then",
        "torch.__version__, torch.version.cuda, the GPU's compute capability",
        lesson="02_grpo_sigfpe",
        met="native",
        phrases=(
            Phrase(r"undefined symbol: \w+|no kernel image is available"),
            Phrase(r"FlashAttention only supports Ampere GPUs"),
            Phrase(r"compiled without GPU support|CUDA Setup failed"),
            Phrase(r"lib(cudart|cublas|cudnn|nccl|nvrtc)\S*: cannot open shared object file"),
        ),
    ),
    Cause(
        "api_changed",
        "the installed version of the library has no such argument or name: code and "
        "library are of different times",
        "look the name up in the installed version's changelog, or install the version of the code",
        "pip show trl transformers peft",
        phrases=(
            Phrase(r"got an unexpected keyword argument '\w+'"),
            Phrase(r"cannot import name '\w+' from '[\w.]+'"),
        ),
    ),
    Cause(
        "devices_mixed",
        "one operation got tensors of two devices",
        "one device_map for the whole model; move the batch to the first layer's device",
        "model.hf_device_map",
        phrases=(Phrase(r"Expected all tensors to be on the same device.{0,80}"),),
    ),
    Cause(
        "disk_full",
        "the disk is full: a checkpoint or a cache could not be written",
        "save_total_limit, and free the disk; the last checkpoint may be cut",
        "whether the last checkpoint loads",
        phrases=(Phrase(r"No space left on device"),),
    ),
)
