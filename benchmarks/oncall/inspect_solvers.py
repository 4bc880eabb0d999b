"""Scripted solvers and a scripted model for the inspect_ai task: they prove the harness."""

from pathlib import Path

import yaml
from inspect_ai.model import ChatMessageTool, Model, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import solver
from inspect_ai.util import sandbox

from course_utils.oncall import folder, report
from course_utils.oncall.planting import Place


def right_report(case, planted: tuple[tuple[Place, ...], ...]) -> str:
    """The right report on a case."""
    entries = []
    for fault, (place, *_) in zip(case.faults, planted, strict=True):
        where = str(min(place.lines)) if place.lines else "rows"
        entries.append({"file": place.file, "where": where, "class": fault.kind})
    return yaml.safe_dump({"faults": entries or report.NONE})


@solver
def knows_the_answer(written: str):
    """Fixes each broken run, with a module more than before, and leaves a healthy one alone."""

    async def solve(state, generate):
        ticket = folder.read(Path(written) / str(state.sample_id))
        healthy, handed = folder.handed_out(ticket)
        texts = {name: text for name, text in healthy.items() if text != handed[name]}
        if texts:
            texts["added_part.py"] = "X = 1\n"
            texts["train.py"] = f"import added_part\n{healthy['train.py']}"
        texts[report.NAME] = right_report(folder.case_of(ticket), folder.drawn(ticket).places)
        return await _written(texts, state)

    return solve


@solver
def always_fixes(written: str):
    """Fixes each broken run, and changes a line of each healthy one as well."""

    async def solve(state, generate):
        state = await knows_the_answer(written)(state, generate)
        ticket = folder.read(Path(written) / str(state.sample_id))
        if folder.case_of(ticket).faults:
            return state
        train = folder.handed_out(ticket)[1]["train.py"]
        return await _written({"train.py": f"import os\n{train}"}, state)

    return solve


CALLS = (
    ("bash", {"command": "head -n 3 ticket.md"}),
    ("bash", {"command": f"printf 'faults: {report.NONE}' > {report.NAME}"}),
    ("submit", {"answer": "done"}),
)


def mock_model() -> Model:
    """inspect_ai's mock model: it reads each ticket, calls each run healthy, and ends."""
    return get_model("mockllm/model", custom_outputs=_next_call)


def _next_call(messages, tools, tool_choice, config) -> ModelOutput:
    name, given = CALLS[sum(isinstance(message, ChatMessageTool) for message in messages)]
    output = ModelOutput.for_tool_call("mockllm", name, given)
    output.usage = ModelUsage()  # else it fetches a tokenizer, to count
    return output


async def _written(texts: dict[str, str], state):
    for name, text in texts.items():
        await sandbox().write_file(name, text)
    return state
