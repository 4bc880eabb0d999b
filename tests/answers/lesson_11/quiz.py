"""Right and wrong answers of exercise 11.3."""

from course_utils.exercises.lesson_11 import quiz
from tests.answers.forms import quiz_answers

quiz_answers(quiz.QUIZ)
