"""The tickets as a task of inspect_ai, for any model, agent or solver that its harness runs.

    pip install --editable '.[bench]'
    inspect eval benchmarks/oncall/inspect_task.py@tickets --model MODEL -T num=8

It drives what `course oncall bench` drives: tickets from a secret seed, read back from its own
sandbox and judged here, outside of it. A sample holds no answer. It does not make the sandbox
safe: in inspect_ai's `local` sandbox a model can read the course, answers included.
"""

import asyncio
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.agent import react
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageTool
from inspect_ai.scorer import Metric, SampleScore, Score, Target, metric, scorer
from inspect_ai.solver import TaskState
from inspect_ai.tool import bash
from inspect_ai.util import sandbox as current_sandbox

from course_utils.oncall import folder, report
from course_utils.oncall.bench import drawing, score
from course_utils.oncall.bench.running import PRIVATE
from course_utils.oncall.binaries import as_text
from course_utils.oncall.check import judged
from course_utils.oncall.declare import Files
from course_utils.oncall.proving import Judge
from course_utils.oncall.training import Trainers

ASKED = """\
You are on call. The current folder holds a colleague's training run. Read ticket.md: it says what \
people see and what is asked. Fix the run's files, where something is wrong, and fill in \
report.yaml. `python train.py` runs it on a CPU. When you are done, submit the word "done".
"""
LOOK_LIMIT_S = 120  # of one command
TOLD = ("fixed", "places", "classes", "faults", "solved")


@task
def tickets(
    num: int = 5,
    levels: str = "1,2,3",
    healthy: float = drawing.HEALTHY,
    seed_file: str = "oncall.seed",
    kept: str = "oncall-tickets",
    sandbox: str = "docker",
    message_limit: int = 60,
) -> Task:
    """`num` tickets per level, drawn from the secret seed in `seed_file`, which is made if missing.

    Args:
        levels: such as "1" or "1,2,3".
        healthy: the share of the tickets whose run is healthy.
        kept: where the tickets' folders are written once; each trains its run for that.
        sandbox: inspect_ai's type of sandbox, or "docker:compose.yaml"; its image needs torch,
            transformers, trl and peft, and must not hold this course.

    Raises:
        BadRequest: `seed_file` holds something that is no seed.
    """
    seed = drawing.secret_seed(Path(seed_file))
    wanted = tuple(int(level) for level in str(levels).split(","))
    written = Path(kept).absolute() / f"{drawing.seed_mark(seed)}-{healthy:g}"
    drawn = dict(drawing.tickets(seed, wanted, num, healthy))
    write(drawn, written, may_be_healthy=healthy > 0)
    kind, _, config = sandbox.partition(":")
    return Task(
        dataset=MemoryDataset([sample(name, written / name) for name in drawn], name="tickets"),
        solver=react(tools=[bash(timeout=LOOK_LIMIT_S)]),
        scorer=healthy_again(str(written)),
        sandbox=(kind, config) if config else kind,
        message_limit=message_limit,
    )


def write(drawn: dict[str, folder.Ticket], written: Path, *, may_be_healthy: bool) -> None:
    """Write the tickets' folders that are missing."""
    with Trainers() as trainers:
        for name, ticket in drawn.items():
            place = written / name
            if not (place / folder.KEPT).exists():
                drawing.write(place, ticket, trainers, may_be_healthy=may_be_healthy)


def sample(name: str, place: Path) -> Sample:
    """One ticket, with the files that a reader would get."""
    files = {
        str(path.relative_to(place)): str(path)
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.name not in PRIVATE
    }
    return Sample(id=name, input=ASKED, files=files)


@metric
def rates() -> Metric:
    """Each share with its 95 % interval, as in the table of `course oncall bench`; mean looks."""

    def measured(scores: list[SampleScore]) -> dict[str, float]:
        found = [_as_score(one) for one in scores]
        told = {}
        for name, rate in score.rates(found).items():
            if rate.of:
                low, high = rate.interval
                told |= {name: rate.num / rate.of, f"{name}_low": low, f"{name}_high": high}
        return told | {"looks": sum(one.looks for one in found) / len(found)}

    return measured


def _as_score(one: SampleScore) -> score.Score:
    name, told = str(one.sample_id), one.score.value
    ended = {"seconds": 0.0, "ended": "", "problem": ""}
    return score.Score(name=name, level=int(name.partition(".")[0]), **told, **ended)


@scorer(metrics=[rates()])
def healthy_again(written: str):
    """Trains the files that are in the sandbox at the end, and judges the models and the report.

    It reads a ticket where `written` says, because a log holds a scorer's arguments, and a ticket's
    seed tells its answer.

    `fixed` and `solved` are 0 or 1, `places` and `classes` are counts of the `faults`, of which a
    healthy run has none; `looks` is the number of commands that the model ran. Tokens are counted
    by inspect_ai.
    """
    one_at_a_time = asyncio.Lock()

    async def judge(state: TaskState, target: Target) -> Score:
        ticket = folder.read(Path(written) / str(state.sample_id))
        handed = folder.handed_out(ticket)[1]
        names = [*handed, *await _added(handed), report.NAME]
        texts = {name: text for name in names if (text := await _read(name)) is not None}
        filled = texts.pop(report.NAME, None)
        async with one_at_a_time:
            told = await asyncio.to_thread(_judged, ticket, texts, filled)
        looks = sum(isinstance(message, ChatMessageTool) for message in state.messages)
        return Score(
            value={key: int(told[key]) for key in TOLD} | {"looks": looks},
            explanation="; ".join(told["problems"]) or "healthy",
        )

    return judge


async def _added(handed: Files) -> list[str]:
    """Modules that the sandbox holds beside the ticket's own."""
    listed = await current_sandbox().exec(["sh", "-c", "ls *.py"])
    return sorted(set(listed.stdout.split()) - handed.keys())


async def _read(name: str) -> str | None:
    """A file of the sandbox, as text; None where there is none, or one that is no ticket's."""
    try:
        data = await current_sandbox().read_file(name, text=False)
    except (OSError, RuntimeError):  # inspect_ai raises its own kinds of both
        return None
    return as_text(name, data) if len(data) <= folder.max_bytes(name) else None


def _judged(ticket: folder.Ticket, fixed: Files, filled: str | None) -> dict:
    with Trainers() as trainers:
        judge = Judge(trainers)
        return judged(ticket, fixed, filled, lambda: judge, report_alone=True).to_dict()
