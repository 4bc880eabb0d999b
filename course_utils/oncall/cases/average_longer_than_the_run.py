"""The exported model is an average over many more steps than the run has."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="average_longer_than_the_run",
    level=2,
    template="own_loop",
    ticket="The curve went down like a stone, better than I have ever seen it, and I promised "
    "the result to the whole floor. What sits in the folder afterwards cannot add to "
    "save its life. The code review found the export function unchanged.",
    faults=(
        Fault(
            title="weight average longer than the run",
            kind="stale_weights",
            plant=(
                Edit(
                    "train.py",
                    "from data import IGNORED, Batches, collate, encode, read_jsonl\n",
                    "from data import IGNORED, Batches, collate, encode, read_jsonl\n"
                    "from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn\n",
                ),
                Edit(
                    "train.py",
                    "def save_checkpoint(model, optimizer, schedule, step, log):",
                    "def save_checkpoint(model, average, optimizer, schedule, step, log):",
                ),
                Edit(
                    "train.py",
                    '        "model": model.state_dict(),\n',
                    '        "model": model.state_dict(),\n'
                    '        "average": average.state_dict(),\n',
                ),
                Edit(
                    "train.py",
                    "def load_checkpoint(model, optimizer, schedule):",
                    "def load_checkpoint(model, average, optimizer, schedule):",
                ),
                Edit(
                    "train.py",
                    '    model.load_state_dict(state["model"])\n',
                    '    model.load_state_dict(state["model"])\n'
                    '    average.load_state_dict(state["average"])\n',
                ),
                Edit(
                    "train.py",
                    "    step, log = load_checkpoint(model, optimizer, schedule)\n",
                    "    average = AveragedModel(model, "
                    'multi_avg_fn=get_ema_multi_avg_fn(cfg["ema_decay"]))\n'
                    "    average.update_parameters(model)\n"
                    "    step, log = load_checkpoint(model, average, optimizer, schedule)\n",
                ),
                Edit(
                    "train.py",
                    "        step += 1\n        log.append",
                    "        average.update_parameters(model)\n"
                    "        step += 1\n"
                    "        log.append",
                ),
                Edit(
                    "train.py",
                    "    save_checkpoint(model, optimizer, schedule, step, log)\n"
                    "    return model, log",
                    "    save_checkpoint(model, average, optimizer, schedule, step, log)\n"
                    "    return average.module, log",
                ),
                Edit(
                    "config.yaml",
                    "beta2: 0.98 ",
                    "ema_decay: 0.9999       # smoother, and what most papers use\nbeta2: 0.98 ",
                ),
            ),
            cause="An average over ten thousand steps is exported, but the run has 48: nearly all "
            "that it holds are the base's weights.",
            fix="Export the last weights, or average over far fewer steps.",
            threads=("yolov5#4389", "pytorch-image-models#1182"),
            also_kinds=("resume",),
            also_places=("train.py export",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 2.0e-3"),),
        "no warm-up": (Edit("config.yaml", "warmup_steps: 6", "warmup_steps: 1"),),
    },
)
