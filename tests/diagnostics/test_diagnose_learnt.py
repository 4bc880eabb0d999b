"""Looks that were added after a blind round, each with a broken run and its healthy twin."""

import copy

import pytest
import torch
from datasets import Dataset
from diagnosed_runs import ON_CPU, sft
from peft import LoraConfig, get_peft_model
from torch.utils.data import IterableDataset, get_worker_info
from transformers import (
    EarlyStoppingCallback,
    RobertaConfig,
    RobertaForSequenceClassification,
    Trainer,
    TrainingArguments,
)
from transformers.trainer_utils import SaveStrategy
from trl import RewardConfig, RewardTrainer

from course_utils import zoo
from course_utils.causes.harms import LESS, SOUND, TRAINING
from course_utils.diagnostics import diagnose
from course_utils.diagnostics.diagnosis.looks.after import look_at_outcome
from course_utils.diagnostics.diagnosis.looks.grounds import has_grounds
from course_utils.diagnostics.diagnosis.looks.trends import look_at_trends
from course_utils.diagnostics.diagnosis.measures.comparing import compare_models
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import of_parts, of_trainer
from course_utils.diagnostics.diagnosis.verdicts import Verdict
from course_utils.zoo import training


def keys(source, **parts) -> list[str]:
    return [one.key for one in diagnose(source, **parts).causes]


@pytest.mark.parametrize(
    ("metric", "greater", "is_wrong"),
    [
        ("error_rate", True, True),
        ("error_rate", False, False),
        ("eval_accuracy", False, True),
        ("eval_loss", False, False),
        ("my_number", True, False),
    ],
)
def test_the_best_checkpoint_is_chosen_as_the_name_of_its_metric_says(metric, greater, is_wrong):
    trainer = sft(metric_for_best_model=metric, greater_is_better=greater)
    assert ("worst_is_kept" in keys(trainer)) == is_wrong


def test_a_best_metric_in_the_wrong_direction_stops_a_run_early():
    settings = dict(metric_for_best_model="mae", greater_is_better=True, eval_strategy="no")
    trainer = sft(**settings)
    [one] = diagnose(trainer).causes
    assert trainer.args.save_strategy == "no" and "checkpoint" not in one.says
    trainer.args.save_strategy = SaveStrategy.STEPS
    [kept] = diagnose(trainer).causes
    assert "keeps its checkpoint" in kept.says and kept.verdict.harm == SOUND
    trainer.add_callback(EarlyStoppingCallback())
    [stops] = diagnose(trainer).causes
    assert "stops when no evaluation" in stops.says and "checkpoint" not in stops.says
    assert stops.verdict == Verdict(TRAINING, LESS)


# --- rows ---------------------------------------------------------------------------------------


def classifier(folder, data, **settings) -> Trainer:
    torch.manual_seed(0)
    sizes = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2)
    model = RobertaForSequenceClassification(
        RobertaConfig(vocab_size=32, max_position_embeddings=12, pad_token_id=1, **sizes)
    )
    args = TrainingArguments(folder, use_cpu=True, report_to=[], max_steps=2, **settings)
    return Trainer(model=model, args=args, train_dataset=data)


def rows(length: int) -> list[dict]:
    return [
        {"input_ids": [4 + n] * length, "attention_mask": [1] * length, "labels": n % 2}
        for n in range(16)
    ]


@pytest.mark.parametrize(("length", "is_wrong"), [(10, False), (11, True)])
def test_a_row_is_held_against_the_positions_that_are_not_set_aside(tmp_path, length, is_wrong):
    report = diagnose(classifier(tmp_path, Dataset.from_list(rows(length))))
    assert ("index_outside" in [one.key for one in report.causes]) == is_wrong
    assert not is_wrong or "room for 10" in str(report)


class Stream(IterableDataset):
    def __init__(self, shards: bool):
        self.shards = shards

    def __iter__(self):
        worker = get_worker_info()
        if worker is None or not self.shards:
            return iter(rows(6))
        return iter(rows(6)[worker.id :: worker.num_workers])


@pytest.mark.parametrize("shards", [True, False])
def test_workers_that_read_the_whole_stream_repeat_its_rows(tmp_path, shards):
    trainer = classifier(tmp_path, Stream(shards), dataloader_num_workers=2)
    assert ("each_worker_reads_all" in keys(trainer)) != shards
    assert get_worker_info() is None


TWO_ROLES = (
    "{% for m in messages %}{% if m.role in ('user', 'assistant') %}"
    "{{ m.role + ': ' + m.content + eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


@pytest.mark.parametrize(("role", "is_wrong"), [("developer", True), ("user", False)])
def test_a_role_that_the_template_does_not_know_is_named(role, is_wrong):
    tokenizer = copy.deepcopy(zoo.load_tokenizer("tiny"))
    tokenizer.chat_template = TWO_ROLES
    turns = [(role, "reply in digits"), ("user", "1 + 2 ="), ("assistant", "3")]
    chat = [{"role": name, "content": text} for name, text in turns]
    report = diagnose(sft(rows=Dataset.from_list([{"messages": chat}] * 8), tokenizer=tokenizer))
    found = [one for one in report.causes if one.key == "message_dropped"]
    assert bool(found) == is_wrong and all(repr(role) in one.place for one in found)


# --- a head, a merge ----------------------------------------------------------------------------


@pytest.mark.parametrize(("task", "is_wrong"), [(None, True), ("SEQ_CLS", False)])
def test_a_new_head_is_trained_and_saved_or_named(task, is_wrong):
    lora = LoraConfig(r=2, target_modules=["q_proj"], task_type=task)
    model = zoo.load_reward_model("tiny", device="cpu")
    model.config.architectures = ["GemmaForCausalLM"]  # as from_pretrained leaves it
    trainer = RewardTrainer(
        model=model,
        args=RewardConfig(**training.quiet_config(), **ON_CPU),
        processing_class=zoo.load_tokenizer("tiny"),
        train_dataset=zoo.arithmetic.preferences(16, 0),
        peft_config=lora,
    )
    assert ("head_is_new" in keys(trainer)) == is_wrong


def test_a_merge_that_only_rounds_is_the_trained_model():
    lora = LoraConfig(r=2, target_modules=["q_proj"], modules_to_save=["norm"])
    model = get_peft_model(zoo.load_policy("tiny", device="cpu"), lora)
    trainer = sft(model)
    with torch.no_grad():
        for name, p in trainer.model.named_parameters():
            p.add_(0.05 * torch.randn_like(p)) if "lora_B" in name else None
    trainer.model.to(torch.bfloat16)
    merged = copy.deepcopy(trainer.model).merge_and_unload()
    assert not [one for one in compare_models(trainer.model, merged).others]
    sheet = Sheet()
    look_at_outcome(of_trainer(trainer), sheet)
    assert not sheet.found and "merged model" in sheet.cleared


# --- what a log may say of a run -----------------------------------------------------------------


def logged(*losses: float, **last) -> list[dict]:
    log = [{"step": n, "loss": loss} for n, loss in enumerate(losses)]
    return [*log, {"train_runtime": 1.0, "train_loss": 99.0}, *([last] if last else [])]


def test_the_mean_of_the_run_is_the_loss_of_no_step():
    sheet = Sheet()
    look_at_trends(of_parts(torch.nn.Linear(2, 2), log=logged(3.0, 2.0, 1.0)), sheet)
    assert sheet.shown["loss"] == "3 in the first entry, 1 in the last"


def test_rows_are_known_by_heart_only_beside_held_out_rows():
    trainer = sft()
    subject = of_trainer(trainer)
    subject.log = logged(2.0, 0.001)
    assert not has_grounds("memorised", subject)
    subject.log = logged(2.0, 0.001, eval_loss=1.5)
    assert has_grounds("memorised", subject)


def test_a_loss_that_climbs_while_the_first_rows_keep_theirs_accuses_no_rate():
    subject = of_trainer(sft())
    subject.log = logged(*[3.0] * 4, *[2.0] * 4, *[500.0] * 4)  # the first rows have about ln V
    assert not has_grounds("rate_too_high", subject)
    subject.log = logged(*[0.03] * 4, *[0.02] * 4, *[0.9] * 4)
    assert has_grounds("rate_too_high", subject)


# --- after the second round ---------------------------------------------------------------------


class Distiller(Trainer):
    """Its loss takes no labels; `own` says what kl_div gets, and whether it reads a column."""

    own = "log_softmax"

    def compute_loss(self, model, inputs, return_outputs=False, **_):
        inputs.pop("weight", None)
        inputs.pop("labels", None)
        given = getattr(torch.nn.functional, self.own)(model(**inputs).logits, -1)
        return torch.nn.functional.kl_div(given, torch.full_like(given, 0.5), reduction="batchmean")


@pytest.mark.parametrize(("own", "is_wrong"), [("softmax", True), ("log_softmax", False)])
def test_a_divergence_of_probabilities_is_named_and_needs_no_labels(tmp_path, own, is_wrong):
    trainer = classifier(tmp_path, rows(8))
    trainer.__class__ = type("Own", (Distiller,), {"own": own})
    assert keys(trainer) == ["probabilities_as_logs"] * is_wrong


@pytest.mark.parametrize("keeps", [False, True])
def test_a_column_that_the_loss_reads_is_not_dropped(tmp_path, keeps):
    data = Dataset.from_list([row | {"weight": 1.0} for row in rows(8)])
    trainer = classifier(tmp_path, data, remove_unused_columns=not keeps)
    trainer.__class__ = Distiller
    assert keys(trainer) == ["column_dropped"] * (not keeps)


@pytest.mark.parametrize("trained", [["lm_head"], ["lm_head", "embed_tokens"]])
def test_a_tied_head_is_not_trained_as_a_copy_of_its_own(trained):
    model = zoo.load_policy("tiny", device="cpu")
    settings = dict(modules_to_save=trained, ensure_weight_tying=len(trained) == 2)
    adapted = get_peft_model(model, LoraConfig(target_modules=["q_proj"], **settings))
    assert ("tie_broken" in keys(adapted)) == (len(trained) == 1)


@pytest.mark.parametrize("rate", [0.0, 1e-3])
def test_a_rate_that_a_state_brought_back_is_told_from_a_schedule(rate):
    model, log = torch.nn.Linear(4, 4), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        loss = model(torch.ones(2, 4)).square().mean()
        loss.backward()
        optimizer.step()
        log.append({"loss": loss.item()})

    step()
    optimizer.param_groups[0]["lr"] = rate
    with diagnose.watching(model, optimizer=optimizer, log=log) as run:
        [step() for _ in range(6)]
    found = [one for one in run.report.causes if one.key == "rate_zero"]
    assert bool(found) == (rate == 0)
    assert not found or "load_state_dict" in found[0].says
