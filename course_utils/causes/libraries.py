"""Versions, devices and disks: what fails beside the training."""

from course_utils.causes.cause import LATER, WARNED, Cause, Phrase, keys

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
            Phrase(r"Triton Error \[CUDA\]: .{0,60}|Internal Triton PTX codegen error"),
            Phrase(
                r"lib(cudart|cublas|cudnn|nccl(?!-net)|nvrtc)\S*: cannot open shared object file"
            ),
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
            Phrase(r"arguments are not used by the HfArgumentParser.{0,60}"),
            Phrase(r"`model_kwargs` are not used by the model: .{0,60}", LATER),
            Phrase(
                r"AttributeError: '\w*(Trainer|Config|Model|Tokenizer\w*)' object has no .{0,60}",
                WARNED,
            ),
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
        "package_missing",
        "a package is not installed in the Python that ran this",
        "install it with that Python: python -m pip install NAME, and not a pip of another one",
        "which Python runs the job: sys.executable at the top of the script",
        phrases=(
            Phrase(r"No module named '[\w.]+'", LATER),
            Phrase(r"ImportError: .{0,60} requires .{0,80}", LATER),
            Phrase(r"the package \S+ seems to be not installed"),
            Phrase(r"ImportError: .{0,60}(pip install|not installed).{0,60}", WARNED),
        ),
    ),
    Cause(
        "file_missing",
        "a file or folder is not where the run looked for it",
        "give an absolute path; a relative one counts from the folder in which the job was started",
        "os.getcwd() in the job, and whether each node sees that disk",
        phrases=(Phrase(r"FileNotFoundError: .{0,160}", WARNED),),
    ),
    Cause(
        "no_permission",
        "the run may not read or write there",
        "write below a folder of your own (output_dir, HF_HOME, TMPDIR), or ask who owns it",
        "ls -ld of the path in the message, and the user that the job runs as",
        phrases=(Phrase(r"PermissionError: .{0,160}|\[Errno 13\].{0,160}", WARNED),),
    ),
    Cause(
        "disk_full",
        "the disk is full: a checkpoint or a cache could not be written",
        "save_total_limit, and free the disk; the last checkpoint may be cut",
        "whether the last checkpoint loads",
        phrases=(Phrase(r"No space left on device"),),
    ),
    Cause(
        "shard_and_whole",
        "the same weight in two forms: the file has the whole matrix, and the model one process's "
        "flat part of it, as FSDP keeps it; the file is not broken",
        "load with the kind of state dict that it was saved with (FULL_STATE_DICT, "
        "SHARDED_STATE_DICT), and set it before both",
        "the numbers of elements in the message: the one is the other times the processes",
        thread="RLinf#655",
        kinds=("resume",),
        explains=keys("shapes_differ"),
        phrases=(
            Phrase(
                r"[Ss]ize mismatch between saved torch\.Size\(\[\d+, \d+\]\) and current: "
                r"torch\.Size\(\[\d+\]\)"
            ),
        ),
    ),
)
