"""Right and wrong answers of exercise 10.9."""

from course_utils.exercises.lesson_10 import quiz
from tests.answers.forms import quiz_answers

quiz_answers(quiz.QUIZ)
