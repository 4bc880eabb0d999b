"""Right and wrong answers of exercise 03.7."""

from course_utils.exercises.lesson_03 import quiz
from tests.answers.forms import quiz_answers

quiz_answers(quiz.QUIZ)
