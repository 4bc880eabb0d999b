"""Private names of libraries stand in `libraries/` alone; where one is missing, a look says so."""

import ast
import re
import sys
from dataclasses import make_dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from diagnosed_runs import dpo, grpo, reward, sft
from transformers import GenerationConfig

from course_utils import diagnostics
from course_utils.diagnostics import audit_policy, diagnose, inspect_batch, watch
from course_utils.diagnostics.diagnosis.judges.steps import judge_steps
from course_utils.diagnostics.diagnosis.looks import batch as look
from course_utils.diagnostics.diagnosis.report.report import Diagnosis
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import of_trainer
from course_utils.diagnostics.diagnosis.watches.steps import StepNumbers, Steps
from course_utils.diagnostics.libraries import arguments, pytorch, trainer, trl, versions
from course_utils.diagnostics.libraries.pairs import as_rows
from course_utils.errors import Unreadable

HOME = Path(diagnostics.__file__).parent
PRIVATE = re.compile(r"_[A-Za-z]\w*")
# Documented names of the standard library that begin with an underscore.
DOCUMENTED = {"_exit", "_getframe", "_fields"}
OWN = {"self", "cls"}
PARTS_OF_NAMES = {"startswith", "endswith", "removeprefix", "removesuffix"}


def foreign_private_names(source: str) -> list[str]:
    """Private names that code takes from another object, by import, by attribute or as text."""
    tree = ast.parse(source)
    parts = {
        id(leaf)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") in PARTS_OF_NAMES
        for leaf in ast.walk(call)
    }
    return [name for node in ast.walk(tree) if id(node) not in parts for name in _private(node)]


def _private(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
        return [p for name in names for p in name.split(".") if PRIVATE.fullmatch(p)]
    if isinstance(node, ast.Attribute):
        is_super = isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()"
        names = [] if is_super or ast.unparse(node.value) in OWN else [node.attr]
    else:
        names = [getattr(node, "value", "")] if isinstance(node, ast.Constant) else []
    parts = [part for n in names if isinstance(n, str) and " " not in n for part in n.split(".")]
    return [part for part in parts if PRIVATE.fullmatch(part) and part not in DOCUMENTED]


@pytest.mark.kept
def test_no_instrument_uses_a_private_name_of_a_library_itself():
    found = {
        str(path.relative_to(HOME)): names
        for path in HOME.rglob("*.py")
        if "libraries" not in path.parts
        and (names := foreign_private_names(path.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "from torch.utils._pytree import tree_leaves",
        "import torch._dynamo",
        "trainer._prepare_inputs(batch)",
        "getattr(trainer, '_logs', {})",
        "'torch._dynamo' in sys.modules",
        "MAKES = '_generate_and_score_completions'",
        "self.trainer._metrics",
    ],
)
def test_the_rule_sees_each_way_to_take_a_private_name(source):
    assert foreign_private_names(source)


@pytest.mark.parametrize(
    "source", ["self._own = 1", "super()._advice()", "sys._getframe(1)", "name.endswith('_as')"]
)
def test_the_rule_leaves_alone_what_is_ones_own_or_documented(source):
    assert foreign_private_names(source) == []


# --- torch


def test_without_the_private_parts_of_torch_the_numbers_are_the_same(monkeypatch):
    rows = [torch.tensor([3.0, 4.0]), torch.tensor([6e4, 6e4], dtype=torch.float16)]
    norms = [pytorch.norms_of([row], torch.float32)[0] for row in rows]
    sparse = torch.eye(3).to_sparse()
    devices = pytorch.device_types()
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)  # as after torch.compile
    monkeypatch.delattr(torch, "_foreach_norm")
    monkeypatch.delattr(torch, "accelerator")
    monkeypatch.delattr(torch.compiler, "set_stance")
    assert [pytorch.norms_of([row], torch.float32)[0] for row in rows] == norms
    assert pytorch.device_types() == devices
    assert torch.equal(pytorch.values_of(sparse), torch.ones(3))
    with pytorch.run_eagerly():
        assert torch.ones(1).sum() == 1


def test_a_watch_still_names_the_operation_without_what_came_with_torch_2_6(monkeypatch):
    monkeypatch.delattr(torch, "accelerator")
    monkeypatch.delattr(torch.compiler, "set_stance")
    model = torch.nn.Linear(2, 1)
    with torch.no_grad():
        model.weight[0, 0] = torch.nan
    with watch(model, then=lambda report: None) as run:
        model(torch.ones(1, 2)).sum().backward()
    assert run.report.found, str(run.report)


def test_where_torch_hides_its_clipping_nothing_is_heard_and_the_reason_is_known(monkeypatch):
    heard = []
    weight = torch.ones(2, requires_grad=True)
    weight.sum().backward()
    with pytorch.hearing_clips(lambda *call: heard.append(call)):
        torch.nn.utils.clip_grad_norm_([weight], 1.0)
    assert len(heard) == 1 and not pytorch.why_no_clips()
    monkeypatch.delattr(torch.nn.utils.clip_grad, pytorch.CLIPS)
    with pytorch.hearing_clips(heard.append):
        pass
    assert pytorch.why_no_clips().startswith("torch 2.")


def test_a_missing_function_of_torch_says_what_is_not_known_without_it():
    absent = pytorch._or_unreadable(torch, "_no_such_function", "no operation can be placed")
    with pytest.raises(Unreadable, match=r"torch 2\.\d+: no operation can be placed"):
        absent()
    with pytest.raises(Unreadable, match="under FSDP2"):
        pytorch.look_at_reduce_scatter(torch.nn.Linear(1, 1), lambda inner: inner)


# --- Trainer


class Hiding:
    """An object without some of its names, as in another version."""

    def __init__(self, of, *names):
        self.__dict__.update(of=of, names=names)

    def __getattr__(self, name):
        if name in self.names:
            raise AttributeError(name)
        return getattr(self.of, name)


def first_batch(of):
    return of.data_collator([dict(of.train_dataset[i]) for i in range(4)])


def test_labels_are_counted_in_get_batch_samples_where_nothing_else_counts_them():
    own = sft()
    batch = first_batch(own)
    device = own.args.device
    expected = own._get_num_items_in_batch([batch], device)

    def of_4_46(batches, count):
        return [next(batches) for _ in range(count)], expected

    def of_4_51(batches, count, device):
        return *of_4_46(batches, count), device

    assert trainer.num_items_of(own, [batch]) == expected > 0
    old = SimpleNamespace(args=own.args, get_batch_samples=of_4_46)
    assert trainer.num_items_of(old, [batch]) == expected
    old.get_batch_samples = lambda batches, count, device: of_4_51(batches, count, device)[:2]
    assert trainer.num_items_of(old, [batch]) == expected


def test_batch_and_columns_are_as_the_trainer_makes_them_also_without_its_private_methods():
    own = sft()
    batch = first_batch(own)
    hidden = Hiding(own, "_prepare_inputs")
    assert trainer.prepared(hidden, batch).keys() == trainer.prepared(own, batch).keys()
    rows = [{"input_ids": [1], "foreign": 1, "labels": [1]}]
    own.args.remove_unused_columns = True
    none = Hiding(own, "_set_signature_columns_if_needed", "_signature_columns")
    assert trainer.of_columns(none, rows) == [{"input_ids": [1], "labels": [1]}]
    assert trainer.of_columns(none, [([1], 0)]) == [([1], 0)]  # a data set of one's own


@pytest.mark.parametrize("kind", ["activation", "gradient"])
def test_checkpointing_is_switched_on_under_either_name(kind):
    model = torch.nn.Linear(1, 1)
    asked = []
    setattr(model, f"{kind}_checkpointing_enable", lambda *args, **own: asked.append((args, own)))
    kwargs = {"use_reentrant": False, "offload": True}
    names = {f"{kind}_checkpointing": True, f"{kind}_checkpointing_kwargs": kwargs}
    trainer.switch_checkpointing_on(SimpleNamespace(model=model, args=SimpleNamespace(**names)))
    own = {"offload": True} if kind == "activation" else {}
    rest = {k: v for k, v in kwargs.items() if k not in own}
    assert asked == [((rest,), own)]


class OfFour(GenerationConfig):
    """As in transformers 4: the class itself says top_k=50."""

    def __init__(self, **own):
        super().__init__(**{"top_k": 50} | own)


@pytest.mark.parametrize(
    ("of_model", "own", "vocabulary", "used"),
    [
        (OfFour(), None, 1000, None),
        (OfFour(top_k=20), None, 1000, 20),
        (OfFour(), 50, 1000, 50),
        (OfFour(), 50, 40, None),
    ],
    ids=["nobody set it", "the model's own", "the trainer's", "wider than the vocabulary"],
)
def test_top_k_counts_where_generate_takes_it(of_model, own, vocabulary, used):
    config = SimpleNamespace(vocab_size=vocabulary)
    model = SimpleNamespace(generation_config=of_model, config=config)
    settings = GenerationConfig(top_k=own)
    found = trainer.generation_settings(SimpleNamespace(model=model, generation_config=settings))
    assert found["top_k"] == used


def test_who_clips_to_an_infinite_norm_is_asked_of_the_installed_version(monkeypatch):
    assert trainer.norm_by_clipping() == versions.installed("transformers")
    monkeypatch.setattr(trainer, "version_of", lambda package: (4, 57))
    assert trainer.norm_by_clipping() == ""


# --- TRL


def test_replies_are_scored_by_the_function_of_each_version():
    ids = torch.ones(2, 3, dtype=torch.long)
    logps, entropies = torch.zeros(2, 1), torch.ones(2, 1)
    model = object()

    def scored(**functions):
        return trl.score(SimpleNamespace(model=model, **functions), ids, ids, 1)

    for both in (
        (logps, entropies, None),
        (logps, entropies),
        dict(logps=logps, entropies=entropies),
    ):
        found = scored(_get_per_token_logps_and_entropies=lambda *_args, r=both, **_more: r)
        assert found[0] is logps and found[1] is entropies
    assert scored(_get_per_token_logps=lambda *_args: logps) == (logps, None)
    with pytest.raises(Unreadable, match="the log-probs of replies are not at hand"):
        scored()


def test_the_maker_of_replies_has_an_older_name_and_no_other_trainer_has_it():
    older = SimpleNamespace(reward_funcs=[], _prepare_inputs=print)
    assert trl.maker_of(older) == "_prepare_inputs"
    assert not trl.samples_replies(SimpleNamespace(_prepare_inputs=print))
    with pytest.raises(Unreadable, match="its replies are not seen"):
        trl.maker_of(SimpleNamespace(reward_funcs=[]))
    with pytest.raises(Unreadable, match="its replies are not seen"):
        trl.require_replies([{"prompt": "1+1="}])


def test_a_spread_is_a_word_in_every_version():
    args = SimpleNamespace(scale_rewards=False)
    known = [SimpleNamespace(scale_rewards=scale) for scale in ("group", "none", "batch", True)]
    known += [SimpleNamespace(args=args), SimpleNamespace(args=SimpleNamespace())]
    assert [*map(trl.scale_of, known)] == ["group", "none", "batch", "group", "none", "group"]


def test_an_older_reward_function_is_given_what_it_takes():
    extras = {"completion_ids": [[1]], "trainer_state": None}
    assert trl.accepted(lambda prompts, completions: [], extras) == {}
    assert trl.accepted(lambda completions, completion_ids: [], extras) == {"completion_ids": [[1]]}
    assert trl.accepted(lambda **columns: [], extras) == extras


def test_prompts_are_read_where_the_trainer_does_not_show_its_own_tokens(monkeypatch):
    subject = of_trainer(grpo())
    monkeypatch.setattr(look, "prompt_ids", lambda *_args: None)
    sheet = Sheet()
    look.look_at_batch(subject, sheet)
    assert "tokens" in sheet.cleared and not sheet.unseen


def in_old_columns(batch, form, sides=("chosen", "rejected")):
    """A batch of pairs in the columns of TRL 0.12 to 0.24 (DPO) or 0.12 to 0.17 (rewards)."""
    half = len(batch["input_ids"]) // 2
    old = {}
    for at, side in enumerate(sides):
        part = {name: column[at * half : (at + 1) * half] for name, column in batch.items()}
        for name in ("input_ids", "attention_mask"):
            old[form.format(side=side, name=name)] = part[name]
    return old


def dpo_of_old(*, alike):
    trainer_ = dpo()
    new = trainer_.data_collator

    def collate(rows):
        batch = new(rows)
        ids, reply = batch["input_ids"], batch["completion_mask"].bool()
        half = len(ids) // 2
        asked = [row[: int(mask.int().argmax())] for row, mask in zip(ids, reply, strict=True)]
        said = [row[mask] for row, mask in zip(ids, reply, strict=True)]
        said[half:] = said[:half] if alike else said[half:]
        left = dict(batch_first=True, padding_side="left")
        pad = torch.nn.utils.rnn.pad_sequence
        parts = {"prompt": asked[:half], "chosen": said[:half], "rejected": said[half:]}
        old = {}
        for name, rows_ in parts.items():
            side = left if name == "prompt" else dict(batch_first=True)
            old[f"{name}_input_ids"] = pad(rows_, padding_value=0, **side)
            ones = [torch.ones_like(row) for row in rows_]
            old[f"{name}_attention_mask"] = pad(ones, padding_value=0, **side)
        return old

    trainer_.data_collator = collate
    return trainer_, new


def test_pairs_in_old_columns_are_the_rows_that_the_new_collator_makes():
    old, new = dpo_of_old(alike=False)
    rows = [dict(old.train_dataset[i]) for i in range(4)]
    expected, found = new(rows), as_rows(old.data_collator(rows), old, 0)
    keep = expected["attention_mask"].bool()
    assert torch.equal(found["attention_mask"].bool(), keep)
    assert torch.equal(found["input_ids"][keep], expected["input_ids"][keep])
    assert torch.equal(found["completion_mask"][keep], expected["completion_mask"][keep])


@pytest.mark.parametrize("alike", [False, True])
def test_pairs_that_are_alike_are_found_in_old_columns_and_no_others(alike):
    old, _ = dpo_of_old(alike=alike)
    report = diagnose(old)
    assert ("pairs_alike" in [one.key for one in report.causes]) == alike, str(report)
    assert "the tokens" not in report.unseen and "rows alone" not in report.unseen
    assert inspect_batch(old).is_healthy


def test_rewards_in_old_columns_are_read_as_pairs():
    own = reward()
    new = own.data_collator
    own.data_collator = lambda rows: in_old_columns(new(rows), "{name}_{side}")
    assert inspect_batch(own).is_healthy
    rows = of_trainer(own).rows
    assert torch.equal(rows["attention_mask"], of_trainer(reward()).rows["attention_mask"])


def test_a_fix_notes_an_argument_that_the_installed_trl_lacks(monkeypatch):
    fix = "give prompt and completion, or assistant_only_loss=True"
    assert arguments.as_installed(fix) == fix
    monkeypatch.setitem(sys.modules, "trl", SimpleNamespace(SFTConfig=make_dataclass("A", ["x"])))
    assert arguments.as_installed(fix).endswith("has no assistant_only_loss in SFTConfig)")
    monkeypatch.setattr(arguments, "version_of", lambda package: (0, 17))
    assert arguments.as_installed("loss_type='dapo'").startswith("loss_type='dr_grpo'")


# --- What a report says


def test_a_report_says_first_which_library_its_looks_cannot_read():
    sheet = Sheet()
    sheet.clear("weights", "all finite")
    for what in ("the replies", "the prompts' tokens"):
        with sheet.trying(what):
            raise versions.unreadable("trl", "its replies are not seen", "it hides them")
    report = Diagnosis.of("GRPOTrainer", sheet)
    name = versions.installed("trl")
    assert str(report).splitlines()[0] == f'{name}: 2 looks cannot read it, see "not seen"'
    assert report.headline.startswith(name) and report.to_dict()["unreadable"]
    assert (
        report.unseen["the replies"] == f"{name}: its replies are not seen, because it hides them"
    )


def test_a_name_that_moved_is_the_librarys_fault_and_an_error_of_the_user_is_not():
    sheet, own = Sheet(), sft()
    with sheet.trying("ours"):
        raise KeyError("an instrument's own mistake")
    with sheet.trying("the user's"):
        raise AttributeError("no such column")
    assert not sheet.unreadable
    source = "def ask(of): return of.moved_away"
    asked = compile(source, str(HOME / "diagnosis" / "looks" / "here.py"), "exec")
    names = {}
    exec(asked, names)
    with sheet.trying("the look"):
        names["ask"](own)
    assert sheet.unreadable == {"the look": versions.installed("trl")}


def test_a_constant_reward_is_named_from_one_batch_and_chance_is_not():
    def flat(completions, **_columns):
        return [1.0] * len(completions)

    assert audit_policy(grpo(flat)).causes[0].key == "no_signal"

    def of_a_form(completions, **_columns):
        return [float("boxed" in said[0]["content"]) for said in completions]

    chance = audit_policy(grpo(of_a_form))
    assert chance.numbers["share_no_signal"] == 1 and chance.causes == ()


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_no_gradient_claims_a_signal_only_where_one_was_seen(spread):
    subject = of_trainer(grpo())
    subject.log = [{"reward_std": spread}]
    steps = Steps(subject.model)
    steps.numbers = [StepNumbers(1, 1e-3, 0.0, 0, 5, 5, 0.0, 0.0)]
    sheet = Sheet()
    judge_steps(subject, steps, sheet)
    [found] = [one for one in sheet.found if one.key == "no_gradient"]
    assert (found.says == found.cause.says) == (spread > 0)
    assert bool(found.rivals) == (spread == 0)


def test_every_library_has_a_version_that_can_be_said():
    assert re.fullmatch(r"TRL \d+\.\d+", versions.installed("trl"))
    assert versions.version_of("torch") >= (2, 6)
