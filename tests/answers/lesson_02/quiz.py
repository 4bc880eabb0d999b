"""Right and wrong answers of exercise 02.6."""

from course_utils.exercises.lesson_02 import quiz
from tests.answers.forms import quiz_answers

quiz_answers(quiz.QUIZ)
