"""`read_config` in several ways; the settings are those of config.yaml, sections or not."""

import libcst as cst

from course_utils.oncall.varying import trees
from course_utils.oncall.varying.choices import Choices

NAME = "read_config"
FLAT = (
    """\
    with open(path, encoding="utf-8") as file:
        settings = yaml.safe_load(file)
""",
    """\
    settings = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
""",
    """\
    file = open(path, encoding="utf-8")
    settings = yaml.safe_load(file)
    file.close()
""",
    """\
    with open(path, "rb") as file:
        text = file.read()
    settings = yaml.load(text, Loader=yaml.SafeLoader)
""",
)
NESTED = (
    """\
    flat = {}
    for name, part in settings.items():
        if isinstance(part, dict):
            flat.update(part)
        else:
            flat[name] = part
    settings = flat
""",
    """\
    parts = [part for part in settings.values() if isinstance(part, dict)]
    settings = {name: v for name, v in settings.items() if not isinstance(v, dict)}
    for part in parts:
        settings |= part
""",
    """\
    for name in [name for name, part in settings.items() if isinstance(part, dict)]:
        settings.update(settings.pop(name))
""",
    """\
    flat = dict()
    for name in settings:
        part = settings[name]
        flat.update(part if isinstance(part, dict) else {name: part})
    settings = flat
""",
)
SAYS = (
    "",
    "Settings by name.",
    "config.yaml as one flat thing; sections are for the eye.",
    "Read the settings. No defaults: what is missing should crash.",
    "Reads the YAML next to this file.",
)


def rewritten(
    modules: trees.Modules, choices: Choices, *, is_nested: bool, is_object: bool
) -> trees.Modules:
    """The modules with another `read_config`."""
    said = choices.pick(SAYS, "read_config says")
    body = f'    """{said}"""\n' * bool(said) + choices.pick(FLAT, "read_config")
    if is_nested:
        body += choices.pick(NESTED, "read_config nested")
    body += f"    return {'SimpleNamespace(**settings)' if is_object else 'settings'}\n"
    path = choices.pick(
        ('path="config.yaml"', 'path="./config.yaml"', 'path="config.yaml"'), "path"
    )
    function = trees.statement(f"def {NAME}({path}):\n{body}")
    return {
        name: module.with_changes(body=[function if _is_it(node) else node for node in module.body])
        for name, module in modules.items()
    }


def _is_it(node: cst.BaseStatement) -> bool:
    return isinstance(node, cst.FunctionDef) and node.name.value == NAME
