"""Right and wrong answers of exercise 05.7."""

from course_utils.exercises.lesson_05 import quiz
from tests.answers.forms import quiz_answers

quiz_answers(quiz.QUIZ)
