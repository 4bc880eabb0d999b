"""Right and wrong answers of exercise 09.10."""

from course_utils.exercises.lesson_09 import quiz
from tests.answers.forms import quiz_answers

quiz_answers(quiz.QUIZ)
