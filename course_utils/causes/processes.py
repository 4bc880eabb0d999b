"""Causes that end a process or make it hang, and weights that lie spread over processes."""

from course_utils.causes.cause import LATER, WARNED, WEAK, Cause, Phrase, keys
from course_utils.causes.harms import ENDED

PROCESSES = (
    Cause(
        "ray_worker_died",
        "a worker process died, and Ray does not know why: it lists possible causes",
        "read the log of that worker and the kernel's (dmesg); then one of the causes is left",
        "exit codes and the last lines of each worker",
        lesson="02_grpo_sigfpe",
        met="run_in_child",
        instrument="run_in_child",
        thread="verl-agent#52",
        kinds=("hang",),
        phrases=(Phrase(r"(The actor is dead because|Worker exit detail:).{0,600}"),),
    ),
    Cause(
        "sigfpe",
        "an integer was divided by 0 in native code; floating point numbers cannot do that",
        "another version of the library that the native stack names",
        "the native stack, then bisect the settings that differ from a run that lives",
        lesson="02_grpo_sigfpe",
        met="sigfpe",
        instrument="run_in_child",
        thread="trl#2906",
        phrases=(Phrase(r"Floating[- ]point exception|SIGFPE"),),
        signal=8,
    ),
    Cause(
        "shared_memory_full",
        "the DataLoader's workers hand their batches over in shared memory (/dev/shm), and it is "
        "full",
        "more of it (docker run --shm-size or --ipc=host), or fewer workers, or num_workers=0",
        "df -h /dev/shm while it runs",
        thread="mmf#441",
        kinds=("memory",),
        harm=ENDED,
        explains=keys("mapped_file_shrank"),
        phrases=(Phrase(r"insufficient shared memory|workers are out of shared memory"),),
    ),
    Cause(
        "mapped_file_shrank",
        "a file that is mapped into memory became shorter, or its disk is full",
        "write a new file instead of truncating the one that is mapped",
        "who writes the file",
        lesson="02_grpo_sigfpe",
        met="sigbus",
        instrument="run_in_child",
        phrases=(Phrase(r"\bBus error|SIGBUS"),),
        signal=7,
    ),
    Cause(
        "killed_for_memory",
        "the process was killed from outside (SIGKILL), most often for memory",
        "free memory of the machine: fewer processes and DataLoader workers, less offload, or a "
        "higher limit of the container or job (cgroup, --mem), which the machine's own percentage "
        "does not show; on a CPU also smaller batches and shorter replies",
        "the kernel's log (dmesg), the container's limit, and peak memory",
        lesson="02_grpo_sigfpe",
        met="sigkill",
        instrument="run_in_child",
        kinds=("memory",),
        harm=ENDED,
        phrases=(
            Phrase(
                r"SIGKILL(?!_handler)|oom[-_ ]?kill|^Killed$|^\S+ line \d+:\s+\d+ Killed|(exceed|"
                r"reach|hit)\w* (its |the )?(pod |container )?memory limit"
            ),
        ),
        signal=9,
        leaves_open="who sent the signal: the system or the container for memory, a scheduler at "
        "the limit of a job, a preemption or a person; dmesg, the job's record and peak memory "
        "would tell",
        beside="killed",
    ),
    Cause(
        "killed_from_outside",
        "the process was killed from outside (SIGKILL) in the midst of a run, and no line here "
        "says by whom",
        "find out who sent the signal before a setting is changed, and go on from the last "
        "checkpoint with the memory of the machine written down over time (free, the cgroup's "
        "memory.peak): loss, rate and batch say nothing of it here",
        "the kernel's log (dmesg) and the scheduler's record of that minute, by whoever may read "
        "them",
        instrument="run_in_child",
        harm=ENDED,
        leaves_open="who sent the signal: the system or the container for the machine's memory, a "
        "scheduler at the limit of a job, a preemption or a person",
    ),
    Cause(
        "bad_memory_access",
        "native code read memory that is not its own",
        "match the versions of driver, CUDA and extensions",
        "the native stack",
        lesson="02_grpo_sigfpe",
        met="sigsegv",
        instrument="run_in_child",
        phrases=(Phrase(r"Segmentation fault|SIGSEGV"),),
        signal=11,
    ),
    Cause(
        "illegal_gpu_access",
        "a GPU kernel read or wrote memory that is not its own; the line that Python shows is a "
        "later one",
        "run it once more with CUDA_LAUNCH_BLOCKING=1: then the line is the right one; the usual "
        "reasons are an index outside a table and an extension for another torch or GPU",
        "the same batch on the CPU, where an index outside a table has a clear message",
        instrument="run_in_child",
        harm=ENDED,
        phrases=(Phrase(r"an illegal memory access was encountered|CUDA_ERROR_ILLEGAL_ADDRESS"),),
    ),
    Cause(
        "aborted",
        "the process aborted itself, after a failed check in native code",
        "the line above the abort names the check",
        "the last lines of stderr",
        lesson="02_grpo_sigfpe",
        met="sigabrt",
        instrument="run_in_child",
        phrases=(Phrase(r"\bAborted\b|SIGABRT|Fatal Python error: .{0,80}"),),
        signal=6,
        is_last_word=True,
    ),
    Cause(
        "terminated",
        "the process was asked to end (SIGTERM): a scheduler, a time limit, a launcher "
        "whose other process died, or a person",
        "look at what sent it; the log of the launcher or the scheduler names it",
        "the other processes: which of them ended first",
        lesson="02_grpo_sigfpe",
        met="signal",
        instrument="run_in_child",
        kinds=("hang",),
        phrases=(Phrase(r"terminated by SIGTERM"),),
        signal=15,
        is_last_word=True,
    ),
    Cause(
        "interrupted",
        "it was stopped by hand (Ctrl-C, SIGINT)",
        "none, if you did it",
        "whether it hung before",
        phrases=(Phrase(r"^\^?C?KeyboardInterrupt\b"),),
        signal=2,
        is_last_word=True,
    ),
    Cause(
        "timed_out",
        "124 is what `timeout` returns when it ended the command",
        "allow more time, or find out where it hangs",
        "where it stands (py-spy dump)",
        kinds=("hang",),
        exit_code=124,
    ),
    Cause(
        "python_error",
        "1 is what Python returns after an exception that nothing caught: the cause is "
        "in its last lines",
        "paste the last lines of the error",
        "the last line of the traceback",
        harm=ENDED,
        phrases=(
            Phrase(r"failed \(exitcode: 1\) local_rank: \d+", WEAK),
            Phrase(r"^\s*exitcode\s*: 1 \(pid: \d+\)", 10.5),  # not the SIGTERM that follows it
        ),
        exit_code=1,
    ),
    Cause(
        "exception",
        "Python ended the run with this exception, of which this command knows no more",
        "read the line that raised it, with the values it had (python -m pdb)",
        "the last lines of the traceback; of several processes, the one that failed first",
        harm=ENDED,
    ),
    Cause(
        "code_255",
        "255 is -1 as a byte: a launcher, ssh or exit(-1), not a signal",
        "look at the launcher's own messages",
        "which process returned it first",
        exit_code=255,
    ),
    Cause(
        "code_0",
        "0 is success: the process ended by itself",
        "none needed",
        "the log",
        healthy=True,
        exit_code=0,
    ),
    Cause(
        "ranks_disagree",
        "the processes wait for each other: one has died, or they run different collectives",
        "find the rank that stopped first; its own error is the one that counts",
        "the last line of each rank",
        instrument="run_in_child",
        thread="trl#2923",
        kinds=("hang",),
        harm=ENDED,
        explains=keys("python_error"),
        inferred=True,
        beside="experts",
        one_fix="find the rank that stopped first, and fix its own error",
        phrases=(
            Phrase(r"Watchdog caught collective operati(on timeout)?", LATER),
            Phrase(r"timed out in blocking wait", LATER),
            Phrase(r"Timed out waiting \d+ ?ms for (send|recv) operation", LATER),
            Phrase(r"watchdog got stuck for \d+ ?(?:s|ms)\w*", LATER),
            Phrase(r"Some NCCL operations have failed or timed out", LATER),
            Phrase(r"No available shared memory broadcast block found in \d+ ?s\w*", WARNED),
            Phrase(r"wait ?timeout after \d+ ?ms", LATER),
            Phrase(r"connection (closed|reset) by (remote )?peer", LATER),
        ),
    ),
    Cause(
        "layers_take_turns",
        "one process spreads the layers over the GPUs (device_map='auto'): a batch goes through "
        "them one after the other, so that one GPU computes while the others wait, and more of "
        "them make room and no speed",
        "one process for each GPU (accelerate launch or torchrun) with the whole model on each, "
        "device_map={'': local rank}, and less accumulation for the same batch; FSDP or ZeRO-3 "
        "where the model does not fit on one",
        "nvidia-smi every second: which GPUs are busy at once; the total batch size that the run "
        "prints, which is that of one process",
    ),
    Cause(
        "stands_still",
        "the run stands still without an error, and no rule tells where",
        "take the stack while it stands (py-spy dump --pid PID), of its DataLoader's workers too; "
        "the numbers before it are no cause",
        "the stack of every process while it stands (py-spy dump --pid PID), the idle one first, "
        "and of its DataLoader's workers; the last line of each, and what it would do next",
        instrument="run_in_child",
        kinds=("hang",),
        harm=ENDED,
        inferred=True,
    ),
    Cause(
        "nccl_failed",
        "the network between the processes failed: the line names no operation of the model",
        "NCCL_DEBUG=INFO names the interface; set NCCL_SOCKET_IFNAME, check shared memory",
        "the first rank that reports it",
        instrument="run_in_child",
        phrases=(
            Phrase(r"nccl(System|Internal|Remote|UnhandledCuda)Error", LATER),
            Phrase(r"NCCL error in: ?\S+", LATER),
        ),
    ),
    Cause(
        "gpu_shared",
        "two ranks of one communicator are on the same GPU, and NCCL takes one rank a GPU: it "
        "cannot be made",
        "one GPU for each rank: CUDA_VISIBLE_DEVICES of each program, torch.cuda.set_device(local "
        "rank) before the first collective, no more processes than GPUs",
        "nvidia-smi: which processes are on which GPU",
        harm=ENDED,
        explains=keys("nccl_failed python_error exception ranks_disagree"),
        phrases=(
            Phrase(r"Duplicate GPU detected.{0,80}"),
            Phrase(r"[Aa]ttempting to use the same CUDA device for multiple distinct roles.{0,60}"),
            Phrase(r"[Mm]ultiple ranks? (?:are )?(?:using|on) the same (?:GPU|device).{0,60}"),
        ),
    ),
    Cause(
        "saved_partitioned",
        "the checkpoint holds empty tensors: it was saved while ZeRO-3 (or FSDP) had the weights "
        "spread over the processes, and they were not gathered",
        "run zero_to_fp32.py on the checkpoint's shards where there are any, and save again (an "
        "adapter of empty tensors alone is lost, and is trained again); next time save through "
        "the Trainer or under GatheredParameters",
        "the shapes in the file, and whether the shards of the processes lie beside it",
        instrument="compare_models",
        thread="peft#1710",
        kinds=("adapter",),
        explains=keys("shapes_differ"),
        beside="partitioned",
        phrases=(
            Phrase(r"copying a param with shape torch\.Size\(\[0\]\) from checkpoint.{0,80}"),
            Phrase(r"torch\.Size\(\[1\]\) from checkpoint, .{0,40}is torch\.Size\(\[\d{2,}.{0,20}"),
        ),
    ),
    Cause(
        "loaded_partitioned",
        "the model's weights have no elements here: ZeRO-3 has spread them over the processes, and "
        "a plain load_state_dict sees only what one process holds",
        "load through from_pretrained, or under deepspeed.zero.GatheredParameters",
        "the shapes in the message: those of the model are 0",
        instrument="compare_models",
        thread="open-instruct#583",
        kinds=("adapter",),
        explains=keys("shapes_differ"),
        phrases=(Phrase(r"from checkpoint, the shape in current model is torch\.Size\(\[0\]\)"),),
    ),
)
