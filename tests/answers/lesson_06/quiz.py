"""Right and wrong answers of exercise 06.11."""

from course_utils.exercises.lesson_06 import quiz
from tests.answers.forms import quiz_answers

quiz_answers(quiz.QUIZ)
