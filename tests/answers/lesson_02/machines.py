"""Right and wrong answers of exercise 02.5."""

from course_utils.exercises.lesson_02 import machines
from course_utils.exercises.lesson_02.machines import PIP_INSTALL, RIGHT
from tests.answers import answers_of

right, wrong = answers_of(machines.MACHINES)


right({letter: need.upper() for letter, need in RIGHT.items()})
right({letter.lower(): f" {need} " for letter, need in RIGHT.items()})
wrong({}, caught_by=machines.has_a_word_for_each_machine)
wrong({"A": "wheel", "B": "nothing"}, caught_by=machines.has_a_word_for_each_machine)
wrong(RIGHT | {"G": "nothing"}, caught_by=machines.has_a_word_for_each_machine)
wrong(RIGHT | {"A": PIP_INSTALL}, caught_by=machines.has_a_word_for_each_machine)
wrong(RIGHT | {"E": "affected"}, caught_by=machines.has_a_word_for_each_machine)
wrong(dict.fromkeys(RIGHT, "wheel"), caught_by=machines.the_wheel_decides)
wrong(RIGHT | {"A": "nothing"}, caught_by=machines.the_wheel_decides)
wrong(RIGHT | {"B": "wheel"}, caught_by=machines.the_wheel_decides)
wrong(RIGHT | {"C": "path"}, caught_by=machines.torchs_own_folders_go_first)
wrong(RIGHT | {"C": "wheel"}, caught_by=machines.torchs_own_folders_go_first)
wrong(RIGHT | {"D": "nothing"}, caught_by=machines.torchs_own_folders_go_first)
wrong(RIGHT | {"D": "path"}, caught_by=machines.torchs_own_folders_go_first)
wrong(RIGHT | {"E": "wheel"}, caught_by=machines.only_what_is_known)
wrong(RIGHT | {"E": "nothing"}, caught_by=machines.only_what_is_known)
wrong(
    {k: need for k, need in RIGHT.items() if k != "F"},
    caught_by=machines.has_a_word_for_each_machine,
)
wrong(RIGHT | {"F": "unknown"}, caught_by=machines.another_major_is_not_loaded)
wrong(RIGHT | {"F": "path"}, caught_by=machines.another_major_is_not_loaded)
wrong(RIGHT | {"F": "wheel"}, caught_by=machines.another_major_is_not_loaded)
