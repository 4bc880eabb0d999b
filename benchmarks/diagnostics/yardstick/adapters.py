"""Each tool, used as its own README says, behind the protocol: `python adapters.py TOOL FOLDER`.

It runs in the tool's own environment. The tables say which of our names a tool's word means; a
word that names no cause maps to nothing, and still counts as an alarm.
"""

import contextlib
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

LIMIT_S = 500


def main() -> None:
    tool, folder = sys.argv[1], Path(sys.argv[2])
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
        answer = TOOLS[tool](folder)
    print(json.dumps(answer))


def said(found: list[tuple[str, str]], names: dict[str, str]) -> dict:
    """The answer of a tool that found these (its word, its sentence)."""
    causes = [{"text": text, "names": names.get(word, "").split()} for word, text in found]
    return {"alarm": bool(causes), "causes": causes}


def skipped(why: str) -> dict:
    return {"skipped": why}


def run_in(folder: Path):
    """The run of the case, not started."""
    spec = importlib.util.spec_from_file_location("run", folder / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make()


def command_of(main: str) -> list[str]:
    """The words that start a command of the tool, given as MODULE:FUNCTION of its entry point."""
    module, _, function = main.partition(":")
    return [sys.executable, "-c", f"import sys, {module} as m; sys.exit(m.{function}())"]


def output_of(main: str, *arguments: str | Path) -> str:
    """What a command of the tool prints; its exit code is about what it found."""
    words = [*command_of(main), *arguments]
    return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S).stdout


def entries_in(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "entries.jsonl").read_text().splitlines()]


# --- ours -------------------------------------------------------------------------------------


def explain(folder: Path) -> dict:
    ran = [sys.executable, "-m", "course_utils.explain", "--json", folder / "log.txt"]
    answer = json.loads(subprocess.run(ran, capture_output=True, text=True).stdout)
    found = [(one["key"], one["says"]) for one in answer["findings"] if not one["healthy"]]
    return said(found, {key: key for key, _ in found})


def diagnose(folder: Path) -> dict:
    if not (folder / "run.py").exists():
        return skipped("needs a run; a log alone is for `course explain`")
    from benchmarks.diagnostics.tools import by_diagnose
    from course_utils.causes import CAUSES

    found = [(key, CAUSES[key].says) for key in by_diagnose(run_in(folder)).keys]
    return said(found, {key: key for key, _ in found})


# --- tools that read logs ---------------------------------------------------------------------

RUNMEDIC = {
    "non_finite": "nan_loss nan_gradient nan_weights",
    "divergence": "diverged rate",
    "no_learning": "no_grad nothing_moves rate_zero",
    "overfitting": "overfits",
    "grad_spikes": "rate",
    "cuda_oom": "cuda_oom cuda_memory",
    "amp_overflow": "fp16_overflow",
    "anomaly_nan": "nan_loss nan_gradient",
    "nccl_timeout": "nccl hang",
    "device_mismatch": "device_mismatch",
    "backward_twice": "graph_used_twice",
    "inplace_grad": "changed_in_place",
    "unused_params": "unused_parameters",
    "memory_growth": "memory",
}


def runmedic(folder: Path) -> dict:
    reports = json.loads(
        output_of("runmedic.cli:main", "diagnose", folder / "log.txt", "--json") or "[]"
    )
    found = [one for report in reports for one in report["findings"]]
    loud = [one for one in found if one["severity"] != "info"]
    return said([(one["check"].removeprefix("log:"), one["title"]) for one in loud], RUNMEDIC)


LOSSLINT = {
    "nan_inf": "nan_loss nan_gradient nan_weights",
    "divergence": "diverged rate",
    "loss_spike": "rate",
}


def losslint(folder: Path) -> dict:
    if not entries_in(folder):
        return skipped("reads trainer_state.json, CSV and JSONL, no pasted text")
    ran = output_of("losslint.cli:main", "check", folder / "trainer_state.json", "--format", "json")
    found = [one for one in json.loads(ran)["findings"] if one["severity"] != "info"]
    return said([(one["check"], one["message"]) for one in found], LOSSLINT)


RLDOCTOR = {
    "advantage_collapse": "no_signal tiny_std",
    "entropy_collapse": "collapse",
    "reward_hacking": "reward_hacking proxy_rises_alone",
    "length_pathology": "length_bias length_into_limit replies_cut",
    "clip_saturation": "collapse rate logp_mismatch",
    "kl_drift": "collapse kl_runs kl_place",
    "gradient_pathology": "nan_gradient rate no_gradient",
    "reward_composition": "parts_apart reward_hacking",
    "plateau": "no_signal",
}


def rldoctor(folder: Path) -> dict:
    if not entries_in(folder):
        return skipped("reads exported metrics, no pasted text")
    printed = output_of("rl_doctor.cli:main", "diagnose", folder / "entries.jsonl", "-f", "json")
    if not printed:
        return skipped("it could not read these entries")
    loud = ("CRITICAL", "WARNING")
    found = [one for one in json.loads(printed)["findings"] if one["severity"] in loud]
    found.sort(key=lambda one: loud.index(one["severity"]))
    return said([(one["detector"], f"{one['title']}: {one['summary']}") for one in found], RLDOCTOR)


RLWATCH = {
    "entropy_collapse": "collapse",
    "kl_explosion": "collapse kl_runs",
    "reward_hacking": "reward_hacking",
    "advantage_variance": "tiny_std no_signal",
    "loss_nan": "nan_loss nan_gradient nan_weights",
    "gradient_norm_spike": "rate",
    "reward_mean_drift": "collapse reward_hacking",
}
WATCHED = {  # as its own TRL callback reads the entries
    "entropy": ("entropy", "actor/entropy", "actor/entropy_loss"),
    "kl_divergence": ("kl", "actor/kl_loss", "critic/kl"),
    "reward_mean": ("reward", "critic/score/mean", "rewards/mean"),
    "reward_std": ("reward_std", "rewards/std"),
    "advantage_std": ("advantage_std",),
    "loss": ("loss", "actor/pg_loss"),
    "grad_norm": ("grad_norm", "actor/grad_norm"),
}


def rlwatch(folder: Path) -> dict:
    if not (entries := entries_in(folder)):
        return skipped("it is called in every step and reads no text")
    from rlwatch.config import RLWatchConfig
    from rlwatch.detectors import DetectorSuite

    suite, found = DetectorSuite(RLWatchConfig()), {}
    for number, row in enumerate(entries, 1):
        values = {
            name: next((row[field] for field in fields if row.get(field) is not None), None)
            for name, fields in WATCHED.items()
        }
        for alert in suite.check_step(row.get("step", number), **values):
            found.setdefault(alert.detector, alert.message)
    return said(list(found.items()), RLWATCH)


# --- tools that ride along with a run ---------------------------------------------------------


def riding(folder: Path, ride: Callable, *, kinds: tuple[str, ...] = ()) -> dict:
    """`ride(run)` with a run whose trainer is one of these kinds; none given: any run."""
    if not (folder / "run.py").exists():
        return skipped("needs a run; it reads no logs")
    run = run_in(folder)
    kind = type(run.trainer).__mro__ if run.trainer is not None else ()
    if kinds and not {cls.__name__ for cls in kind} & set(kinds):
        of = type(run.trainer).__name__ if run.trainer is not None else "a loop of its own"
        return skipped(f"is for {', '.join(kinds)}; this is {of}")
    return ride(run)


def to_the_end(run) -> str:
    """Start the run; the error that ended it, or nothing."""
    try:
        run.start()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


RLPROBE = {
    "KL_BLOWUP": "collapse kl_runs",
    "ENTROPY_COLLAPSE": "collapse",
    "REWARD_HACK_LENGTH": "reward_hacking length_bias",
    "FORMAT_GAMING": "reward_hacking parts_apart",
    "CLIP_SATURATION": "collapse rate",
    "DEGENERATE_GROUPS": "no_signal",
    "ADV_COLLAPSE": "no_signal tiny_std",
    "GRAD_PATHOLOGY": "nan_gradient rate",
    "TRUNCATION_STARVE": "replies_cut never_stops",
    "REPETITION_SPIRAL": "collapse",
    "REWARD_STD_DEATH": "no_signal",
    "REF_POLICY_DRIFT_ASYMMETRY": "kl_place",
}


def rlprobe(folder: Path) -> dict:
    def ride(run) -> dict:
        from rlprobe.doctor import diagnose as doctor
        from rlprobe.integrations.trl import attach

        with tempfile.TemporaryDirectory() as kept:
            attach(run.trainer, kept)
            to_the_end(run)
            found = [one for one in doctor(kept) if one.severity != "info"]
        return said([(one.signature_id, one.explanation) for one in found], RLPROBE)

    return riding(folder, ride, kinds=("GRPOTrainer", "RLOOTrainer"))


GUARDTOWER = {
    "LOSS-001": "no_grad",
    "INPUT-001": "no_grad",
    "GRAD-001": "no_grad sharding",
    "GRAD-004": "no_grad",
    "OPT-001": "no_grad optimizer_holds_others",
    "OPT-002": "optimizer_holds_others",
    "NAN-001": "bad_numbers half_precision",
    "NAN-002": "bad_numbers half_precision nan_gradient",
    "GRAD-002": "rate",
    "GRAD-003": "no_grad",
    "LORA-001": "adapter",
    "LORA-002": "adapter nothing_trainable",
    "LORA-003": "no_grad adapter optimizer_holds_others",
    "LORA-005": "adapter",
    "DDP-001": "sharding",
}

NO_LOSS = ("must be Tensor, not list", "could not find a 'loss'")  # of a batch, by GRPO or DPO


def guardtower(folder: Path) -> dict:
    def ride(run) -> dict:
        import guardtower as tower

        reports, bad = [], []
        if run.trainer is not None:
            from guardtower.integrations.huggingface import GuardtowerCallback

            callback = GuardtowerCallback(verbose=False)
            run.trainer.add_callback(callback)
        elif {"optimizer", "batch", "loss"} <= run.parts.keys():
            parts = run.parts
            step = lambda: parts["loss"](run.model, parts["batch"])  # noqa: E731
            reports = [tower.audit(run.model, step, optimizer=parts["optimizer"])]
        ended = ""
        try:
            with tower.monitor(run.model, on_nonfinite="raise"):
                ended = to_the_end(run)
        except Exception as error:
            ended = f"{type(error).__name__}: {error}"
        if run.trainer is not None:
            reports = [callback.report] if callback.report else []
        if "guardtower" in ended.lower() or "non-finite" in ended.lower():
            bad = [("NAN-001", ended)]
        if not reports and not bad:
            return skipped(f"its audit could not run here: {ended[:150] or 'no batch with a loss'}")
        loud = [one for report in reports for one in (*report.errors, *report.warnings)]
        if unfit := [one.message for one in loud if any(w in one.message for w in NO_LOSS)]:
            return skipped(f"its audit could not run here: {unfit[0][:150]}")
        return said([(one.catalog_id, one.message) for one in loud] + bad, GUARDTOWER)

    return riding(folder, ride)


PEFT_DOCTOR = {
    "log.cuda_oom": "cuda_oom cuda_memory",
    "log.overflow": "fp16_overflow",
    "log.disk_full": "disk_full",
    "log.cuda_illegal_memory": "cuda_runtime",
    "log.device_mismatch": "device_mismatch",
    "log.shape_mismatch": "shapes_differ",
    "log.sequence_too_long": "too_long",
    "grad_norm.invalid": "nan_gradient",
    "grad_norm.spike": "rate",
    "loss.nan": "nan_loss nan_gradient nan_weights",
    "loss.inf": "nan_loss nan_gradient nan_weights",
    "loss.jump": "rate",
    "dataset.labels_all_ignored": "labels",
    "dataset.response_template_missing": "labels",
    "dataset.completion_loss_without_template": "labels",
    "dataset.assistant_loss_without_chat": "labels",
    "dataset.pad_token_in_labels": "labels",
    "dataset.chat_template_missing": "template",
    "dataset.packing_without_eos": "never_stops",
    "model.embedding_resize_needed": "embeddings",
    "model.modules_to_save_missing_for_tokens": "embeddings",
    "model.moe_target_parameters_missing": "adapter",
    "model.no_trainable_params": "adapter nothing_trainable",
    "peft.inference_mode_enabled": "adapter nothing_trainable",
    "precision.fp16_nan_risk": "half_precision",
    "training.fp16_without_bf16": "half_precision",
    "tokenizer.chat_template_no_generation_block": "labels",
    "tokenizer.eos_token_missing": "never_stops",
    "tokenizer.pad_equals_eos_loss_masking": "never_stops pad_is_eos",
    "tokenizer.left_padding_training": "padding_side",
    "training.completion_loss_template_missing": "labels",
    "training.full_finetune_lr": "rate",
    "training.lr_extreme": "rate",
    "training.lr_high": "rate",
}


def peft_doctor(folder: Path) -> dict:
    """Its checks before a run that can be seen, and its reader of logs after it."""
    from peft_doctor import diagnose_peft
    from peft_doctor.logs import scan_training_log

    issues = list(scan_training_log(folder / "log.txt"))
    if (folder / "run.py").exists():
        run = run_in(folder)
        trainer, parts = run.trainer, run.parts
        configs = list(getattr(run.model, "peft_config", {}).values())
        issues += diagnose_peft(
            model=run.model,
            tokenizer=parts.get("tokenizer") or getattr(trainer, "processing_class", None),
            peft_config=configs[0] if configs else None,
            training_args=getattr(trainer, "args", None),
            train_dataset=getattr(trainer, "train_dataset", None),
        ).sorted_issues()
    loud = [one for one in issues if one.severity == "error"]
    return said([(one.code, one.message) for one in loud], PEFT_DOCTOR)


TOOLKIT = {
    "reward_variance_spike": "reward_hacking",
    "kl_instability": "collapse kl_runs kl_place",
    "kl_above_target": "collapse kl_runs kl_place",
    "policy_drift_alert": "collapse",
    "length_collapse": "length_bias",
    "reward_hacking_suspected": "reward_hacking",
    "mode_collapse_entropy": "collapse",
    "gradient_explosion": "rate",
    "gradient_vanishing": "no_grad",
    "dpo_loss_random": "preference",
    "dpo_loss_plateau": "preference",
    "margin_collapse": "preference",
    "entropy_collapse": "collapse",
    "grpo_reward_collapse": "no_signal",
    "grpo_advantage_explosion": "tiny_std",
    "grpo_entropy_collapse": "collapse",
    "grpo_kl_divergence": "collapse kl_runs",
    "grpo_length_drift": "length_bias",
    "grpo_reward_length_correlation": "reward_hacking length_bias",
    "grpo_clip_ratio_high": "collapse rate",
    "grpo_loss_divergence": "diverged rate",
    "grpo_diversity_collapse": "collapse",
}


def post_training_toolkit(folder: Path) -> dict:
    def ride(run) -> dict:
        from post_training_toolkit import DiagnosticsCallback
        from post_training_toolkit.models.engine import compute_derived_metrics, load_jsonl
        from post_training_toolkit.models.heuristics import run_heuristics

        with tempfile.TemporaryDirectory() as kept:
            quiet = dict(enable_snapshots=False, auto_diagnostics=False)
            run.trainer.add_callback(DiagnosticsCallback(run_dir=kept, **quiet))
            to_the_end(run)
            table, kind = load_jsonl(Path(kept))
            insights = run_heuristics(compute_derived_metrics(table, kind), kind)
        loud = [one for one in insights if one.severity != "low"]
        return said([(one.type, one.message) for one in loud], TOOLKIT)

    trainers = ("SFTTrainer", "DPOTrainer", "GRPOTrainer", "KTOTrainer", "ORPOTrainer")
    return riding(folder, ride, kinds=trainers)


DRIVER = """
import importlib.util, sys
sys.path[:0] = {path!r}
spec = importlib.util.spec_from_file_location("{name}", "{folder}/{name}.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
run = module.make()
model = run.model
run.start()
"""


def traincheck(folder: Path) -> dict:
    """Invariants of the healthy reference, checked on the run: its four steps.

    It starts the script with the first `python3` on the path, and with a PYTHONPATH of its own.
    """
    if not (folder / "run.py").exists():
        return skipped("needs a run and a healthy one to learn from; it reads no logs")
    with tempfile.TemporaryDirectory() as where:
        for name in ("reference", "run"):
            Path(where, f"{name}.py").write_text(
                DRIVER.format(name=name, folder=folder, path=sys.path[1:])
            )
        collect = ["collect_trace", "--models-to-track", "model", "--output-dir"]
        steps = [
            [*collect, "healthy", "--pyscript", "reference.py"],
            ["infer_engine", "-f", "healthy", "-o", "invariants.json"],
            [*collect, "target", "--pyscript", "run.py", "--invariants", "invariants.json"],
            ["checker", "-f", "target", "-i", "invariants.json", "-o", "checked"],
        ]
        env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        for number, (program, *arguments) in enumerate(steps, 1):
            words = [*command_of(f"traincheck.{program}:main"), *arguments]
            try:
                ran = subprocess.run(
                    words, cwd=where, env=env, capture_output=True, text=True, timeout=LIMIT_S / 4
                )
            except subprocess.TimeoutExpired:
                return skipped(f"step {number} of 4 ({program}) took over {LIMIT_S / 4:.0f} s")
            printed = ran.stdout
            if ran.returncode and number != 3:  # the run itself may end with its own error
                last = (ran.stderr.strip() or ran.stdout.strip()).splitlines()[-1:]
                return skipped(f"step {number} of 4 ({program}) failed: {''.join(last)[:150]}")
    counted = re.search(r"Total failed invariants: (\d+)/(\d+)", printed)
    num_violated, num_checked = map(int, counted.groups()) if counted else (0, 0)
    if not num_checked:
        return skipped("no invariant that it inferred could be checked on this run")
    found = [("", f"{num_violated} of {num_checked} invariants of the healthy run are violated")]
    return said(found if num_violated else [], {})


TOOLS = {
    "diagnose": diagnose,
    "explain": explain,
    "runmedic": runmedic,
    "losslint": losslint,
    "rldoctor": rldoctor,
    "rlwatch": rlwatch,
    "rlprobe": rlprobe,
    "guardtower": guardtower,
    "peft-doctor": peft_doctor,
    "post-training-toolkit": post_training_toolkit,
    "traincheck": traincheck,
}

if __name__ == "__main__":
    main()
