"""Tools that ride along with a run, or look at it before its first step."""

import tempfile
from pathlib import Path

from benchmarks.diagnostics.yardstick.adapters.answers import said, skipped
from benchmarks.diagnostics.yardstick.adapters.runs import riding, run_in, to_the_end

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
