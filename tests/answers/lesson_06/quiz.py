"""Right and wrong answers of exercise 06.11."""

from course_utils.exercises.lesson_06.quiz import QUIZ
from tests.answers.forms import quiz

quiz(QUIZ)
