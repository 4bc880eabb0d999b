"""The tickets as a task of inspect_ai, for any model, agent or solver that its harness runs.

    pip install --requirement benchmarks/oncall/locks/inspect-ai.txt
    inspect eval benchmarks/oncall/inspect_task.py@tickets --model MODEL -T num=5

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
from inspect_ai.scorer import Score, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.tool import bash
from inspect_ai.util import sandbox as current_sandbox

from course_utils.oncall import bench, folder, report
from course_utils.oncall.binaries import as_text
from course_utils.oncall.check import judged
from course_utils.oncall.declare import Files
from course_utils.oncall.proving import Judge
from course_utils.oncall.training import Trainers

ASKED = """\
You are on call. The current folder holds a colleague's broken training run. Read ticket.md: it \
says what people see and what is asked. Fix the run's files and fill in report.yaml. \
`python train.py` runs it on a CPU. When you are done, submit the word "done".
"""
LOOK_LIMIT_S = 120  # of one command
MARKS = ("fixed", "places", "classes", "solved", "looks")


@task
def tickets(
    num: int = 5,
    levels: str = "1,2,3",
    seed_file: str = "oncall.seed",
    kept: str = "oncall-tickets",
    sandbox: str = "docker",
    message_limit: int = 60,
) -> Task:
    """`num` tickets per level, drawn from the secret seed in `seed_file`, which is made if missing.

    Args:
        levels: such as "1" or "1,2,3".
        kept: where the tickets' folders are written once; each trains its broken run for that.
        sandbox: inspect_ai's type of sandbox, or "docker:compose.yaml"; its image needs torch,
            transformers, trl and peft, and must not hold this course.

    Raises:
        BadRequest: `seed_file` holds something that is no seed.
    """
    seed = bench.secret_seed(Path(seed_file))
    wanted = tuple(int(level) for level in str(levels).split(","))
    drawn = dict(bench.tickets(seed, wanted, num))
    written = Path(kept) / bench.seed_mark(seed)
    kind, _, config = sandbox.partition(":")
    return Task(
        dataset=MemoryDataset(samples(drawn, written), name="tickets"),
        solver=react(tools=[bash(timeout=LOOK_LIMIT_S)]),
        scorer=healthy_again(drawn),
        sandbox=(kind, config) if config else kind,
        message_limit=message_limit,
    )


def samples(drawn: dict[str, folder.Ticket], written: Path) -> list[Sample]:
    """One sample per ticket, with the files that a reader would get; writes what is missing."""
    found = []
    with Trainers() as trainers:
        for name, ticket in drawn.items():
            place = written / name
            if not (place / folder.KEPT).exists():
                folder.write(place, ticket, trainers)
            files = {
                str(path.relative_to(place)): str(path.absolute())
                for path in sorted(place.rglob("*"))
                if path.is_file() and path.name not in bench.PRIVATE
            }
            found.append(Sample(id=name, input=ASKED, files=files))
    return found


@scorer(metrics={mark: [mean(), stderr()] for mark in MARKS})
def healthy_again(drawn: dict[str, folder.Ticket]):
    """Trains the files that are in the sandbox at the end, and judges the models and the report.

    `fixed` and `solved` are 0 or 1, `places` and `classes` shares of the faults, `looks` the number
    of commands that the model ran. Tokens are counted by inspect_ai.
    """
    one_at_a_time = asyncio.Lock()

    async def score(state: TaskState, target: Target) -> Score:
        ticket = drawn[str(state.sample_id)]
        handed = folder.handed_out(ticket)[1]
        names = [*handed, *await _added(handed), report.NAME]
        texts = {name: text for name in names if (text := await _read(name)) is not None}
        filled = texts.pop(report.NAME, None)
        async with one_at_a_time:
            told = await asyncio.to_thread(_judged, ticket, texts, filled)
        looks = sum(isinstance(message, ChatMessageTool) for message in state.messages)
        shares = {key: told[key] / told["faults"] for key in ("places", "classes")}
        value = {"fixed": float(told["fixed"]), **shares, "solved": float(told["solved"])}
        return Score(
            value=value | {"looks": float(looks)},
            explanation="; ".join(told["problems"]) or "fixed",
        )

    return score


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
