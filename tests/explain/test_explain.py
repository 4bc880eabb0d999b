"""`course explain` on what people paste: its first answer, its quotes, its limits."""

import json
import subprocess
import sys

import pytest
from course_command import ROOT
from crashes import CRASHES
from explain_shapes import HEALTHY, ODD, SHAPES
from pasted_logs import DUE, LOGS, MISSED, PASTED, Pasted

from course_utils.causes import CAUSES
from course_utils.explain import explain
from course_utils.explain.paste.lines import MAX_JOINED, TYPED
from course_utils.explain.paste.log import MAX_KEPT


@pytest.mark.parametrize("pasted", LOGS, ids=lambda pasted: pasted.thread)
def test_a_pasted_log_is_explained(pasted, request):
    if pasted.thread in MISSED:
        request.applymarker(pytest.mark.xfail(strict=True))
    answer = explain(pasted.text)
    first = answer.findings[0].key if answer.findings else None
    assert first == pasted.key, str(answer)
    assert answer.is_healthy is pasted.healthy, str(answer)


def test_every_pasted_log_has_its_due():
    assert {path.stem for path in PASTED.glob("*.txt")} == set(DUE)
    assert {key for key in DUE.values() if key} <= set(CAUSES)


def test_every_finding_quotes_a_line_and_a_number_of_the_log():
    for pasted in LOGS:
        for finding in explain(pasted.text).findings:
            number = int(finding.at.where.removeprefix("line "))
            lines = pasted.text.splitlines()[number - 1 :][:MAX_JOINED]  # a dict may span several
            line = " ".join(" ".join(lines).translate(TYPED).split())
            assert " ".join(finding.at.text.removesuffix("...").split()) in line, pasted.thread
            assert any(c.isdigit() for text in finding.for_it for c in text), pasted.thread


def test_an_answer_says_the_first_cause_and_on_request_the_others():
    several = [answer for one in LOGS if len((answer := explain(one.text)).causes) > 1]
    assert several
    for answer in several:
        first, *others = (f"{one.says[0].upper()}{one.says[1:]}" for one in answer.causes)
        said, whole = (" ".join(text.split()) for text in (str(answer), answer.in_full()))
        assert f"1. {first}." in said
        assert not any(one in said for one in others)
        assert all(f"{n}. {one}." in whole for n, one in enumerate(others, start=2))
        assert f"--all shows {len(others)} cause" in said and "--all" not in whole


def test_what_fits_the_words_alone_is_a_look_and_no_cause():
    answer = explain("It never stops, and repeats the same line until the limit.")
    assert len(answer.fits) > 3 and not answer.causes
    said = str(answer)
    assert said.count("look at") == 3 and "Mend this first" not in said and "1. " not in said


@pytest.mark.parametrize(("said", "key"), CRASHES.items())
def test_a_message_or_an_exit_code_is_explained(said, key):
    answer = explain(said)
    assert [finding.key for finding in answer.findings] == [key]


FORMS = ["trainer_state", "json lines", "dicts", "csv", "verl", "torchtune", "semicolons"]
FORMS += ["boxes", "wide boxes"]


@pytest.mark.parametrize("form", FORMS)
def test_a_shape_is_found_in_every_form_of_log(form):
    found = {key: explain(written(log, form)).findings[0].key for key, log in SHAPES.items()}
    assert found == {key: key for key in SHAPES}


def written(log: list[dict], form: str) -> str:
    if form == "trainer_state":
        return json.dumps({"best_metric": None, "log_history": log}, indent=2)
    if form == "json lines":
        return "\n".join(map(json.dumps, log))
    if form == "dicts":
        return "\n".join(f"  0%|   | 1/9 [00:01<00:09, 1.0s/it]{row}" for row in log)
    if form == "csv":
        body = [",".join(str(value) for value in row.values()) for row in log]
        return "\n".join([",".join(log[0]), *body])
    if form == "torchtune":
        return "\n".join("  ".join(f"{name}: {v}" for name, v in row.items()) for row in log)
    if form == "semicolons":
        body = [";".join(str(v).replace(".", ",") for v in row.values()) for row in log]
        return "\n".join([";".join(log[0]), *body])
    if form == "wide boxes":
        return "\n".join(map(_wide_box, log))
    if form == "boxes":
        rule = "-" * 30
        boxes = ["\n".join(f"| {name:20} | {v} |" for name, v in row.items()) for row in log]
        return f"\n{rule}\n".join(boxes)
    return "\n".join(" - ".join(f"{name}:{value}" for name, value in row.items()) for row in log)


def _wide_box(row: dict) -> str:
    """Two names with their numbers to a line, the last one beside a time that no rule reads."""
    cells = [f"{name:20} \u2502 {value}" for name, value in row.items()]
    cells += ["timeperf/step        \u2502 1.5"] * (len(cells) % 2)
    lines = [f"\u2502 {a} \u2502 {b} \u2502" for a, b in zip(cells[::2], cells[1::2], strict=True)]
    rule = "\n\u251c" + "\u2500" * 40 + "\u2524\n"
    return "\n".join(["\u2552" + "\u2550" * 40, rule.join(lines), "\u2558" + "\u2550" * 40])


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_log_accuses_nothing(name):
    answer = explain("\n".join(map(str, HEALTHY[name])))
    assert not answer.causes, str(answer)


def test_no_broken_log_is_called_healthy():
    for key, log in SHAPES.items():
        answer = explain(written(log, "dicts"))
        assert not answer.is_healthy and "is healthy" not in str(answer), key


@pytest.mark.parametrize("name", ODD)
def test_numbers_that_go_astray_forbid_healthy(name):
    answer = explain("\n".join(map(str, ODD[name])))
    assert not answer.is_healthy and (answer.worries or answer.causes), str(answer)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("name", ["grad_norm", "entropy", "rewards/form", "eval_loss"])
def test_one_number_that_is_not_finite_forbids_healthy(name, value):
    lines = [str(row) for row in HEALTHY["grpo"]]
    assert explain("\n".join(lines)).is_healthy
    lines.insert(5, f"{{'loss': 0.0, 'reward': 0.45, '{name}': {value}}}")
    answer = explain("\n".join(lines))
    assert not answer.is_healthy and answer.not_finite


def test_the_last_of_two_runs_is_explained_unless_only_the_first_is_odd():
    first = [{"loss": 2 - n / 10, "epoch": n / 10} for n in range(11)]
    second = [{"loss": 2.0 - n / 12, "epoch": n / 10} for n in range(8)]
    summary = {"train_runtime": 9.0, "train_loss": 1}
    answer = explain("\n".join(map(str, [*first, summary, *second])))
    assert not answer.is_odd and "epoch falls from 1 to 0" in str(answer)
    dead = [{"loss": float("nan"), "grad_norm": float("nan"), "epoch": n / 10} for n in range(8)]
    assert explain("\n".join(map(str, dead + second))).causes[0].at.where == "line 1"
    assert explain("\n".join(map(str, dead + dead))).causes[0].at.where == "line 9"


def test_a_number_cut_off_is_none():
    lines = [str(row) for row in HEALTHY["falls"]]
    assert not explain("\n".join([*lines, "{'loss': 0"])).is_odd


def test_memory_that_ran_out_and_was_survived_is_no_fault():
    message = "torch.cuda.OutOfMemoryError: CUDA out of memory. Retrying with batch size 4"
    lines = [str(row) for row in HEALTHY["falls"]]
    assert not explain("\n".join([*lines[:2], message, *lines[2:]])).is_odd
    assert explain("\n".join([*lines, message])).findings[0].key == "cuda_memory"


def test_loss_scales_tell_a_search_from_an_overflow():
    def skips(scales):
        said = "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {}, reducing to {}"
        return "\n".join(said.format(scale, scale / 2) for scale in scales)

    assert explain(skips([2**32, 2**31, 2**16])).findings[0].key == "scaler_search"
    assert explain(skips([8, 4, 2, 1])).findings[0].key == "fp16_overflow"


@pytest.mark.parametrize(
    "text",
    [
        "My loss is 0 after 100 steps and the grad_norm was nan, but it was 2.3 before that.",
        "I set the learning rate = 0.5 and then the reward = 0 with kl = nan.",
        "accelerate launch train.py --nan_filter true --learning_rate 2e-5",
    ],
)
def test_prose_with_numbers_gives_no_finding(text):
    assert not explain(text + "\nThank you for the help with this.").findings


def test_what_is_no_log_gets_one_sentence():
    for text in ("", "hello\nworld", "{}", "[1, 2", "\x00\xff", "{'a': {'b': 'c'}}"):
        said = str(explain(text))
        assert said.startswith("No log entry") and "\n" not in said


LONG = MAX_KEPT + 2_000  # entries


def test_a_long_log_is_read_in_bounded_memory():
    def lines():
        for n in range(LONG):
            loss = "nan" if n >= MAX_KEPT else f"{2 + (n % 7) / 10}"
            yield f"{{'loss': {loss}, 'grad_norm': 1.0}}\n"

    answer = explain(lines())
    assert answer.num_entries == answer.num_lines == LONG
    assert answer.findings[0].at.where == f"line {MAX_KEPT + 1}"


def test_every_cause_names_a_lesson_and_an_instrument_that_exist():
    from course_utils import diagnostics, numerics

    for cause in CAUSES.values():
        assert cause.healthy or (cause.fix and cause.look)
        name = cause.instrument
        assert not name or hasattr(diagnostics, name) or hasattr(numerics, name), name
        assert not cause.lesson or (ROOT / "notebooks" / f"{cause.lesson}.ipynb").exists()


def course_explain(*arguments: str, paste: str = "") -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", "from course_utils.commands import main; main()", "explain"]
    return subprocess.run(
        [*command, *arguments], input=paste, text=True, capture_output=True, cwd=ROOT
    )


def test_the_command_reads_a_paste_a_file_and_a_code(tmp_path):
    pasted = course_explain(paste=Pasted("trl-3452", None).text)
    assert pasted.returncode == 0 and "Not a fault" in pasted.stdout
    file = tmp_path / "log.txt"
    file.write_text(Pasted("ms-swift-5571", None).text)
    found = json.loads(course_explain(str(file), "--json").stdout)
    assert found["findings"][0]["key"] == "no_gradient"
    assert "signal 8" in course_explain("136").stdout
    assert "signal 9" in course_explain("-9").stdout


def test_the_command_says_what_to_give_it(tmp_path):
    missing = course_explain(str(tmp_path / "nothing.log"))
    assert missing.returncode == 2 and "there is no file" in missing.stderr
    empty = course_explain(str(tmp_path))
    assert empty.returncode == 2 and "Traceback" not in empty.stderr
    unread = course_explain(paste="hello\nworld\n")
    assert unread.returncode == 1 and "No log entry" in unread.stdout


def test_it_imports_neither_torch_nor_numpy():
    code = (
        "import sys; from course_utils.explain import explain; explain('136'); "
        "sys.exit(any(name in sys.modules for name in ('torch', 'numpy', 'click')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_every_finding_of_a_shape_quotes_what_the_log_says():
    for key, shape in SHAPES.items():
        log = written(shape, "json lines")
        answer = explain(log)
        for one in answer.findings:
            number = int(one.at.where.removeprefix("line "))
            assert one.at.text.removesuffix("...") in log.splitlines()[number - 1], key
            assert any(c.isdigit() or "nan" in c for text in one.for_it for c in text), key
        if answer.causes:
            assert "improves" not in {one.key for one in answer.findings}, key
