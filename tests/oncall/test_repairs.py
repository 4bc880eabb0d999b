"""A fault may stand in a checkpoint or a tokenizer: it is planted, mended, and no way in."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from benchmarks.oncall import where
from course_utils.oncall import cases, folder, planting, repairs, report, templates
from course_utils.oncall import check as checks
from course_utils.oncall.binaries import TENSORS, as_bytes, as_text
from course_utils.oncall.declare import DoesNotFit, EditJson, EditTensors
from course_utils.oncall.descent import check as check_descent
from course_utils.oncall.judging import refused
from course_utils.oncall.proving import Judge
from course_utils.oncall.result import NothingMade, Result
from course_utils.oncall.tensors import as_tensors, text_of
from course_utils.oncall.training import Trainers

OF_TENSORS, OF_A_TOKENIZER = "norms_centred_at_zero", "digits_exchanged_in_the_vocabulary"
SHARD = "teacher/model-00002-of-00002.safetensors"
READS = "tokenizer/tokenizer.json"
LEAST = 0.5  # of the faults: issue Y, point 4


class Opened:
    """A ticket's folder in which somebody works."""

    def __init__(self, path, name, version=folder.VARIED):
        case = cases.load(name)
        self.path = path
        self.ticket = folder.ticket_of(5, case.level, case, version=version)
        self.template = templates.load(case.template)
        self.healthy, self.handed = folder.handed_out(self.ticket)
        base = self.template.base(folder.data_seed(self.ticket))
        files = {f"base/{name}": as_text(name, data) for name, data in base.items()}
        folder.write_files(path, self.handed | files)

    def mended(self):
        """The files as the judge takes them."""
        now = folder.run_files(self.path, self.handed)
        return repairs.settled(self.healthy, self.handed, now)

    @property
    def problems(self):
        return refused(self.template, self.healthy, self.handed, self.mended())


@pytest.fixture
def teacher(tmp_path):
    return Opened(tmp_path, OF_TENSORS)


@pytest.fixture
def tokenizer(tmp_path):
    return Opened(tmp_path, OF_A_TOKENIZER)


def changed(path, change):
    """Tensors of a file, changed by somebody with three lines of Python."""
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


# --- planted ------------------------------------------------------------------------------------


def test_an_edit_of_tensors_changes_those_that_it_returns_and_takes_out_none():
    files = {
        "a.safetensors": text_of({"x": torch.zeros(2), "y": torch.ones(2), "z": torch.ones(1)})
    }
    edit = EditTensors("a.safetensors", lambda of: {"x": of["y"] + 1, "z": None})
    made = as_tensors(edit.apply(files)["a.safetensors"])
    assert {name: tensor.tolist() for name, tensor in made.items()} == {"x": [2, 2], "y": [1, 1]}


@pytest.mark.parametrize(
    "edit",
    [
        EditTensors("a.safetensors", lambda of: {"x": of["x"] * 1}),
        EditJson("a.json", lambda data: data.update(a=1)),
    ],
)
def test_an_edit_that_changes_nothing_does_not_fit(edit):
    files = {"a.safetensors": text_of({"x": torch.ones(2)}), "a.json": '{\n  "a": 1\n}\n'}
    with pytest.raises(DoesNotFit):
        edit.apply(files)


def test_a_ticket_is_written_and_read_again_bit_by_bit(teacher):
    assert folder.run_files(teacher.path, teacher.handed) == teacher.handed
    assert as_text("a.safetensors", as_bytes("a.safetensors", "YWI=")) == "YWI="


def test_every_checkpoint_that_is_handed_over_stands_in_the_layout_of_its_edits():
    for template in map(templates.load, templates.names()):
        for name, text in templates.healthy_files(template, 0).items():
            if name.endswith(TENSORS):
                assert text_of(as_tensors(text)) == text, name
            elif name.endswith(".json"):
                assert repairs.settled({}, {}, {name: text}) == {name: text}, name


def test_a_place_may_be_named_by_the_file_or_its_folder(teacher):
    [[place, *_]] = folder.drawn(teacher.ticket).places
    said = "model.layers.2.input_layernorm.weight"
    assert planting.is_at(place, SHARD, said) and planting.is_at(place, "teacher/", said)
    assert not planting.is_at(place, "", said) and not planting.is_at(place, "data", said)


def test_at_least_half_of_the_faults_stand_in_no_line_of_code():
    assert where.share_outside_code([cases.load(name) for name in cases.proved()]) >= LEAST


# --- mended -------------------------------------------------------------------------------------


def test_a_checkpoint_is_mended_by_a_line_of_arithmetic_in_any_dtype(teacher):
    def add_one(tensors):
        for name in [name for name in tensors if "norm" in name]:
            tensors[name] = tensors[name].float() + 1

    changed(teacher.path / SHARD, add_one)
    assert teacher.mended() == teacher.healthy and teacher.problems == []


def test_a_checkpoint_is_mended_by_what_another_file_has(teacher):
    base = load_file(teacher.path / "base" / "model.safetensors")
    norms = {name: tensor for name, tensor in base.items() if "norm" in name}
    changed(teacher.path / SHARD, lambda of: of.update({n: norms[n] for n in of if n in norms}))
    assert teacher.mended() == teacher.healthy and teacher.problems == []


def test_half_a_mend_is_taken_and_is_none(teacher):
    def add_one(tensors):
        tensors["model.norm.weight"] += 1

    changed(teacher.path / SHARD, add_one)
    assert teacher.mended() not in (teacher.healthy, teacher.handed) and teacher.problems == []


def test_zeros_in_place_of_a_row_are_taken(teacher):
    def zero(tensors):
        tensors["model.norm.weight"] *= 0

    changed(teacher.path / SHARD, zero)
    assert teacher.problems == []
    assert not as_tensors(teacher.mended()[SHARD])["model.norm.weight"].any()


def test_a_checkpoint_that_is_only_saved_again_is_unchanged(teacher):
    changed(teacher.path / SHARD, lambda of: of.update({n: t.float() for n, t in of.items()}))
    [verdict] = checks.verdicts_on(teacher.ticket, teacher.mended(), lambda: None)
    assert verdict.problems == (checks.UNCHANGED,)


def test_a_tokenizer_is_mended_by_that_of_base_however_it_is_laid_out(tokenizer):
    own, base = tokenizer.path / READS, tokenizer.path / "base" / "tokenizer.json"
    data = json.loads(own.read_text())
    data["model"]["vocab"] = json.loads(base.read_text())["model"]["vocab"]
    own.write_text(json.dumps(data, indent=8))
    assert tokenizer.mended() == tokenizer.healthy and tokenizer.problems == []
    own.write_text(base.read_text())
    assert tokenizer.mended() != tokenizer.healthy and tokenizer.problems == []


def test_a_run_may_do_without_what_was_handed_over_and_is_then_trained(tmp_path):
    plain = Opened(tmp_path, OF_A_TOKENIZER, folder.AS_THEY_ARE)
    for path in (tmp_path / "tokenizer").iterdir():
        path.unlink()
    settings = tmp_path / "config.yaml"
    settings.write_text(settings.read_text().replace("tokenizer: tokenizer ", "tokenizer: base "))
    mended, case = plain.mended(), folder.case_of(plain.ticket)
    with Trainers() as trainers:
        judge = Judge(trainers)
        verdict = judge.verdict(case, mended, seed=1, healthy=plain.healthy, handed=plain.handed)
    assert READS not in mended and verdict.is_healthy, verdict.problems


def test_a_mend_of_a_checkpoint_is_at_its_place_and_one_in_code_at_its_own(teacher):
    def places(fixed, file, said):
        entry = {"file": file, "where": said, "class": "checkpoint"}
        text = json.dumps({"faults": [entry]})
        return checks.reported_on(teacher.ticket, fixed, text, lambda: True).places

    [code] = [name for name, text in teacher.handed.items() if "def load_models" in text]
    fixed = teacher.handed | {code: teacher.handed[code] + "\n# norms put right here\n"}
    last = str(len(teacher.handed[code].splitlines()))
    assert places(teacher.healthy, SHARD, "norms") == 1
    assert places(fixed, code, last) == 1 and places(teacher.healthy, code, last) == 0


# --- no way in ----------------------------------------------------------------------------------


def trained_elsewhere(tensors):
    """Every matrix a little further, as training would have it."""
    for name, tensor in tensors.items():
        tensors[name] = tensor + 0.05 * tensor.float().std().to(tensor.dtype)


def another_layer(tensors):
    tensors["model.layers.2.mlp.up_proj.weight"] = torch.randn(512, 128)


def one_more_tensor(tensors):
    tensors["answers"] = torch.arange(10_000)


def another_shape(tensors):
    tensors["model.norm.weight"] = torch.ones(12_800)


@pytest.mark.parametrize(
    "attack", [trained_elsewhere, another_layer, one_more_tensor, another_shape]
)
def test_a_mended_checkpoint_brings_nothing_in_that_was_never_there(teacher, attack):
    changed(teacher.path / SHARD, attack)
    [problem] = teacher.problems
    assert SHARD in problem


def test_what_is_hidden_in_the_last_bits_of_a_checkpoint_does_not_reach_the_run(teacher):
    def hide(tensors):
        for name, tensor in tensors.items():
            tensors[name] = tensor.float() * (1 + 1e-3 * torch.rand(tensor.shape))

    changed(teacher.path / SHARD, hide)
    assert teacher.mended() == teacher.handed


def test_a_file_that_is_no_checkpoint_is_refused(teacher):
    (teacher.path / SHARD).write_text("import os\n")
    assert teacher.problems == [f"{SHARD} cannot be read as a file of tensors"]


def test_a_file_beside_the_checkpoint_is_not_read(teacher):
    save_file({"answers": torch.ones(3)}, teacher.path / "teacher" / "more.safetensors")
    assert teacher.mended() == teacher.handed


def test_a_tokenizer_that_carries_more_than_a_fix_needs_is_refused(tokenizer):
    own = tokenizer.path / READS
    data = json.loads(own.read_text())
    drawn = torch.Generator().manual_seed(0)
    data["decoder"]["answers"] = torch.randint(10, (4000,), generator=drawn).tolist()
    own.write_text(json.dumps(data))
    assert any("when it is compressed" in problem for problem in tokenizer.problems)
    own.write_text("{")
    assert tokenizer.problems == [f"{READS} cannot be read as JSON"]


def test_the_teacher_itself_exported_as_the_student_is_no_training(teacher):
    base = teacher.template.base(1)
    shards = [text for name, text in teacher.healthy.items() if name.endswith(TENSORS)]
    whole = {name: t.float() for text in shards for name, t in as_tensors(text).items()}
    made = {"run/model/model.safetensors": as_bytes(SHARD, text_of(whole))}
    with pytest.raises(NothingMade, match="do not descend from base"):
        check_descent(teacher.template.name, Result(made, base))


def test_a_letter_says_what_may_be_mended(teacher):
    assert "`teacher/` was left by an earlier job" in folder._handed_over(teacher.handed)
    assert folder._handed_over({"train.py": ""}) == "" and "a tensor" in report.ENTRY
