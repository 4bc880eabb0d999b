"""Labels all masked, then a rate times the rows, then an average that is far too long."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="three_under_the_hood",
    level=3,
    template="own_loop",
    ticket="We adopted this from a student who has since graduated. His thesis has splendid "
    "curves in it; his folder produces a file full of holes. Everything that looked "
    "clever to me I have left in, since I do not know what it is for.",
    faults=(
        Fault(
            kind="labels",
            plant=(
                Edit(
                    "data.py",
                    "    labels = [IGNORED] * len(prompt_ids) + reply_ids\n",
                    "    marker = tokenizer(REPLY_STARTS, "
                    'add_special_tokens=False)["input_ids"]\n'
                    "    found = [at + len(marker) for at in range(len(ids)) if ids[at : "
                    "at + len(marker)] == marker]\n"
                    "    start = found[-1] if found else len(ids)\n"
                    "    labels = [IGNORED] * start + ids[start:]\n",
                ),
                Edit(
                    "data.py",
                    "IGNORED = -100\n",
                    'IGNORED = -100\nREPLY_STARTS = "<|im_start|>assistant\\n\\n"\n',
                ),
            ),
            cause="The marker behind which a reply is said to start has two line breaks, "
            "the template writes one: it is found nowhere, and every label is masked.",
            fix="A marker as the template writes it, or the length of the prompt.",
            threads=("trl#598", "trl#1183", "trl#1053"),
            also_kinds=("bad_numbers", "template"),
        ),
        Fault(
            kind="rate",
            plant=(
                Edit(
                    "train.py",
                    'rate = float(cfg["learning_rate"])\n',
                    'rate = float(cfg["learning_rate"]) * cfg["micro_batch_size"] * '
                    'cfg["accumulation_steps"]\n',
                ),
            ),
            cause="The rate is multiplied by the number of rows of a step, sixteen here, "
            "though it was found for this very batch.",
            fix="The rate as config.yaml gives it.",
            threads=("LLaVA#1375", "LLaVA#1301"),
            also_kinds=("schedule",),
        ),
        Fault(
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
                    "ema_decay: 0.999        # smoother, and what most papers use\nbeta2: 0.98 ",
                ),
            ),
            cause="An average over a thousand steps is exported, and the run has 48: it "
            "holds the weights of the first steps.",
            fix="Export the last weights, or average over far fewer steps.",
            threads=("yolov5#4389", "pytorch-image-models#1182"),
            also_kinds=("resume",),
            also_places=("train.py export",),
        ),
    ),
)
