"""Right and wrong answers of exercise 07.9."""

from course_utils.exercises.lesson_07 import quiz
from tests.answers.forms import quiz_answers

quiz_answers(quiz.QUIZ)
