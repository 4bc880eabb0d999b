"""Writes a folder in another of the ways in which the same run can be written, drawn by a seed.

Every rewriting leaves what is trained and exported as it is, to the last bit. Which rewriting is
made where is decided once for all versions of a folder: healthy, broken and partly mended.
"""

from collections.abc import Sequence

from course_utils.oncall.declare import Files
from course_utils.oncall.varying import (
    grouping,
    linking,
    naming,
    oddities,
    phrases,
    reading,
    remarks,
    settings,
    statements,
    trees,
)
from course_utils.oncall.varying.choices import Choices


class Variation:
    """The way in which one ticket is written."""

    def __init__(self, versions: Sequence[Files], seed: int, sizes: Sequence[str] = ()) -> None:
        self.choices = Choices(seed)
        plain = [trees.parsed(files) for files in versions]
        self.oddities = oddities.Plan(plain, settings.shared_keys(versions), self.choices)
        odd = [
            self.oddities.of(files[settings.CONFIG], modules)
            for files, modules in zip(versions, plain, strict=True)
        ]
        configs, projects = [one[0] for one in odd], [one[1] for one in odd]
        self.layout = settings.plan(configs, projects, sizes, self.choices)
        self.around = statements.Around(projects)
        self._kept: dict[tuple, tuple[str, trees.Modules]] = {}
        made = [self._in_place(files)[1] for files in versions]
        self.files, self.homes = linking.plan(made, self.choices)
        made = [self._linked(modules) for modules in made]
        self.names = naming.plan(made, self.choices)
        self.constants = {
            name: file for file, one in made[0].items() for name in trees.constants(one)
        }

    def of(self, files: Files) -> Files:
        """One of the versions, written this way."""
        config, modules = self._in_place(files)
        modules = naming.renamed(self._linked(modules), self.names)
        modules = remarks.reworded(modules, self.choices)
        rest = {name: text for name, text in files.items() if not name.endswith(".py")}
        return rest | {settings.CONFIG: config} | {n: one.code for n, one in modules.items()}

    def place(self, file: str, word: str) -> tuple[str, str]:
        """File and name of what was called `word` in `file`."""
        if file == settings.CONFIG:
            name = self.layout.now(word)
            return self.constants.get(name, file), name
        home = self.homes.get(word, file) if file == linking.MAIN else file
        return self.files.get(home, home), self.names.get(word, word)

    def _in_place(self, files: Files) -> tuple[str, trees.Modules]:
        """Settings and modules, each function where it was."""
        key = tuple(text for name, text in files.items() if not name.endswith(".jsonl"))
        if key not in self._kept:
            self._kept[key] = self._rewritten(files)
        return self._kept[key]

    def _rewritten(self, files: Files) -> tuple[str, trees.Modules]:
        config, modules = self.oddities.of(files[settings.CONFIG], trees.parsed(files))
        config, modules = settings.applied(self.layout, config, modules, self.choices)
        modules = reading.rewritten(
            modules,
            self.choices,
            is_nested=self.layout.is_nested,
            is_object=self.layout.is_object,
        )
        modules = grouping.grouped(modules, self.choices, self.around)
        modules = statements.rewritten(modules, self.choices, self.around)
        return config, phrases.rephrased(modules, self.choices)

    def _linked(self, modules: trees.Modules) -> trees.Modules:
        return linking.linked(modules, self.files, self.homes, self.choices)


def varied(files: Files, seed: int, sizes: Sequence[str] = ()) -> Files:
    """A folder that has one version only, written another way; `sizes` stay in config.yaml."""
    return Variation([files], seed, sizes).of(files)
