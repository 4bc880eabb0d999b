"""config.yaml as text: sections, order, remarks, and the ways in which a value can be written."""

from dataclasses import dataclass

import yaml

from course_utils.oncall.varying.choices import Choices
from course_utils.oncall.varying.setting_words import GENERAL, HEADS, REMARKS, SECTIONS


@dataclass(frozen=True)
class Setting:
    key: str
    value: object
    remark: str = ""


def written(entries: dict[str, list[Setting]], choices: Choices, *, is_nested: bool) -> str:
    """config.yaml as text; `seed` stands at the left, for whoever runs it."""
    top = [line for one in entries.pop("", []) for line in _lines(one, choices)]
    parts = [choices.pick(HEADS, "head"), "\n".join(top)]
    for title in choices.ordered([title for title in entries if entries[title]], "sections"):
        lines = [
            line
            for key in choices.ordered([one.key for one in entries[title]], "keys")
            for one in entries[title]
            if one.key == key
            for line in _lines(one, choices)
        ]
        name = choices.pick(SECTIONS.get(title, (title.replace(" ", "_"),)), "section", title)
        if is_nested:
            parts.append("\n".join([f"{name}:", *(f"  {line}" for line in lines)]))
        else:
            is_named = choices.chance(0.7, "named", title)
            parts.append("\n".join([f"# {name}"] * is_named + lines))
    gap = choices.pick(("\n", "\n\n"), "gap")
    return gap.join(part for part in parts if part) + "\n"


def _lines(one: Setting, choices: Choices) -> list[str]:
    remark = _remark(one, choices)
    text = f"{one.key}: {_value(one.value, choices.of('value', one.key).randrange(12))}"
    return [f"{text:<{choices.pick((0, 24, 30), 'column')}}  # {remark}" if remark else text]


def _remark(one: Setting, choices: Choices) -> str:
    if one.remark and choices.chance(0.4, "remark", one.key):
        return one.remark
    if not choices.chance(0.3, "other remark", one.key):
        return ""
    return choices.pick((*REMARKS.get(one.key, ()), *GENERAL), "which remark", one.key)


def _value(value: object, number: int) -> str:
    """A value as YAML, in one of the ways in which it reads as the same value."""
    plain = yaml.safe_dump(value, default_flow_style=True, width=500).split("\n...")[0].strip()
    ways = [plain]
    if isinstance(value, bool):
        ways = ["true", "True", "yes"] if value else ["false", "False", "no"]
    elif isinstance(value, float):
        mantissa, _, power = f"{value:e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
        short = mantissa if "." in mantissa else f"{mantissa}.0"
        ways += [
            f"{short}e{power[0]}{int(power[1:])}",
            f"{short}e{power}",
            f"{value:f}",
            f"{value:.1f}",
        ]
    elif isinstance(value, int):
        ways.append(f"{value:_}")
    elif isinstance(value, str):
        ways += [f'"{value}"', f"'{value}'"]
    ways = [way for way in ways if yaml.safe_load(way) == value and _like(way, value)]
    return ways[number % len(ways)]


def _like(way: str, value: object) -> bool:
    return type(yaml.safe_load(way)) is type(value)
