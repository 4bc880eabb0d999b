"""Right and wrong answers of exercise 02.7."""

from course_utils.exercises.lesson_02 import hang
from course_utils.exercises.lesson_02.hang import BEST
from tests.answers import answers_of

right, wrong = answers_of(hang.HANG)


right(BEST | {"waits_for": "(b)"})
right({"line": "scores.get()", "waits_for": "B", "fix": "D"})
right({"line": "    return scores.get()", "waits_for": "b)", "fix": "d)"})
wrong({"line": "scores.get()"}, caught_by=hang.has_a_line_and_two_letters)
wrong(BEST | {"line": 16}, caught_by=hang.has_a_line_and_two_letters)
wrong(BEST | {"fix": "restart the job"}, caught_by=hang.has_a_line_and_two_letters)
wrong(BEST | {"line": "res = self._reader.recv_bytes()"}, caught_by=hang.names_the_line)
wrong(BEST | {"line": "worker.start()"}, caught_by=hang.names_the_line)
wrong(BEST | {"line": "os.kill(os.getpid(), signal.SIGKILL)"}, caught_by=hang.names_the_line)
wrong(BEST | {"line": "worker.join()"}, caught_by=hang.names_the_line)
wrong(BEST | {"line": "16"}, caught_by=hang.names_the_line)
wrong(BEST | {"waits_for": "bd"}, caught_by=hang.has_a_line_and_two_letters)
wrong(BEST | {"line": "rewards_of"}, caught_by=hang.names_the_line)
wrong(BEST | {"line": "scores.put(lengths)"}, caught_by=hang.names_the_line)
for x in "acd":
    wrong(BEST | {"waits_for": x}, caught_by=hang.names_what_it_waits_for)
for x in "abc":
    wrong(BEST | {"fix": x}, caught_by=hang.turns_silence_into_an_error)
