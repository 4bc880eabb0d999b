"""`course explain` on what people paste: its first answer, its quotes, its limits."""

import json
import subprocess
import sys

import pytest
from course_command import ROOT
from pasted_logs import LOGS

from course_utils.explain import explain
from course_utils.explain.causes import CAUSES


@pytest.mark.parametrize("pasted", LOGS, ids=lambda pasted: pasted.thread)
def test_a_pasted_log_is_explained(pasted):
    answer = explain(pasted.text)
    first = answer.findings[0].key if answer.findings else None
    assert first == pasted.key, str(answer)
    assert answer.is_healthy is pasted.healthy, str(answer)


@pytest.mark.parametrize("pasted", LOGS, ids=lambda pasted: pasted.thread)
def test_every_finding_quotes_a_line_and_a_number_of_the_log(pasted):
    for finding in explain(pasted.text).findings:
        number = int(finding.at.where.removeprefix("line "))
        line = " ".join(pasted.text.splitlines()[number - 1].split())
        assert finding.at.text.removesuffix("...") in line
        assert any(c.isdigit() for text in finding.for_it for c in text)


CRASHES = {
    "Floating point exception (core dumped)": "sigfpe",
    "-8": "sigfpe",
    "136": "sigfpe",
    "exit code 137": "killed_for_memory",
    "Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)": "bad_memory_access",
    "Bus error (core dumped)": "mapped_file_shrank",
    "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn": (
        "no_grad_fn"
    ),
    "ValueError: Attempting to unscale FP16 gradients.": "unscale_half",
    "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0": (
        "sampling_from_nan"
    ),
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB": "cuda_memory",
    "RuntimeError: Expected to have finished reduction in the prior iteration": (
        "unused_parameters"
    ),
    "[rank1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4)": "ranks_disagree",
    "RuntimeError: Function 'ExpBackward0' returned nan values in its 0th output.": "anomaly",
    "ValueError: num_samples should be a positive integer value, but got num_samples=0": (
        "no_samples"
    ),
    "IndexError: index out of range in self": "index_outside",
}


@pytest.mark.parametrize(("said", "key"), CRASHES.items())
def test_a_message_or_an_exit_code_is_explained(said, key):
    answer = explain(said)
    assert [finding.key for finding in answer.findings] == [key]


def rows(count: int, **fields) -> list[dict]:
    """A log of so many entries; a field is a number or a function of the entry's number."""
    return [
        {"step": n} | {name: f(n) if callable(f) else f for name, f in fields.items()}
        for n in range(count)
    ]


COLLAPSE = rows(
    14,
    loss=0.01,
    grad_norm=lambda n: 0.3 if n < 8 else 40.0,
    reward=lambda n: 0.5 + 0.05 * n if n < 8 else 0.05,
    kl=lambda n: 0.01 if n < 8 else 3.0,
)
SHAPES = {
    "collapse": COLLAPSE,
    "rate_too_high": rows(12, loss=lambda n: 2 - 0.1 * n if n < 4 else n, grad_norm=lambda n: n),
    "nothing_moves": rows(12, loss=2.3, grad_norm=0.8, learning_rate=1e-9),
    "labels_masked": rows(5, loss=0.0, grad_norm=0.0, learning_rate=1e-4),
    "loss_off_by_a_factor": rows(9, loss=lambda n: 8.2 - 0.02 * n, eval_loss=2.0, grad_norm=1.0),
    "proxy_rises_alone": rows(
        9, loss=0.02, reward=lambda n: 0.1 * n, **{"eval_accuracy": lambda n: 0.5 - 0.05 * n}
    ),
    "entropy_gone": rows(9, loss=0.02, reward=0.5, reward_std=0.1, entropy=lambda n: 2.0 / 4**n),
    "engines_disagree": rows(
        4, loss=0.02, reward=0.4, **{"sampling/importance_sampling_ratio/mean": 0.6}
    ),
    "tiny_std": rows(4, loss=0.02, reward=0.4, **{"critic/advantages/max": 7428.0}),
    "replies_cut": rows(4, loss=0.02, reward=0.4, **{"completions/clipped_ratio": 1.0}),
    "norm_never_finite": rows(5, loss=2.0, grad_norm=float("inf")),
    "nan_weights": rows(
        6,
        loss=lambda n: 1.0 if n < 3 else float("nan"),
        grad_norm=lambda n: 1.0 if n < 3 else float("nan"),
        reward=0.2,
    ),
}


@pytest.mark.parametrize("key", SHAPES)
@pytest.mark.parametrize("form", ["trainer_state", "json lines", "dicts", "csv", "verl"])
def test_a_shape_is_found_in_every_form_of_log(key, form):
    assert explain(written(SHAPES[key], form)).findings[0].key == key


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
    return "\n".join(" - ".join(f"{name}:{value}" for name, value in row.items()) for row in log)


@pytest.mark.parametrize(
    "log",
    [
        rows(12, loss=lambda n: 2 / (n + 1), grad_norm=1.0, learning_rate=1e-4),
        rows(12, loss=lambda n: 2 + 0.1 * (-1) ** n, grad_norm=1.0, learning_rate=1e-4),
        rows(12, loss=0.0, grad_norm=0.2, reward=lambda n: 0.1 * n, reward_std=0.3),
        rows(1, loss=0.6931, **{"rewards/chosen": 0.0, "rewards/rejected": 0.0}),
        rows(9, loss=0.4, **{"rewards/accuracies": lambda n: float(n % 3 > 0)}),
        rows(20, loss=lambda n: 2 - n / 50, grad_norm=lambda n: float("inf") if n == 3 else 1.0),
        rows(12, loss=lambda n: 2 - 0.1 * n, kl=0.0, clip_ratio=0.0, reward=0.3, reward_std=0.2),
    ],
    ids=["falls", "noisy", "grpo", "dpo start", "accuracies 0 and 1", "one overflow", "on-policy"],
)
def test_a_healthy_log_accuses_nothing(log):
    answer = explain("\n".join(map(str, log)))
    assert not answer.causes, str(answer)


def test_what_is_no_log_gets_one_sentence():
    for text in ("", "hello\nworld", "{}", "[1, 2", "\x00\xff", "{'a': {'b': 'c'}}"):
        said = str(explain(text))
        assert said.startswith("No log entry") and "\n" not in said


def test_a_long_log_is_read_in_bounded_memory():
    def lines():
        for n in range(60_000):
            loss = "nan" if n >= 55_000 else f"{2 + (n % 7) / 10}"
            yield f"{{'loss': {loss}, 'grad_norm': 1.0}}\n"

    answer = explain(lines())
    assert answer.num_entries == answer.num_lines == 60_000
    assert answer.findings[0].at.where == "line 55001"


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
    pasted = course_explain(paste=LOGS[0].text)
    assert pasted.returncode == 0 and "Not a fault" in pasted.stdout
    file = tmp_path / "log.txt"
    file.write_text(LOGS[4].text)
    found = json.loads(course_explain(str(file), "--json").stdout)
    assert found["findings"][0]["key"] == "no_gradient"
    assert "signal 8" in course_explain("136").stdout


def test_the_command_says_what_to_give_it(tmp_path):
    missing = course_explain(str(tmp_path / "nothing.log"))
    assert missing.returncode == 2 and "there is no file" in missing.stderr
    empty = course_explain(str(tmp_path))
    assert empty.returncode == 2 and "Traceback" not in empty.stderr


def test_it_imports_neither_torch_nor_numpy():
    code = (
        "import sys; from course_utils.explain import explain; explain('136'); "
        "sys.exit(any(name in sys.modules for name in ('torch', 'numpy', 'click')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
