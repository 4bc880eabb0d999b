"""Right and wrong answers of exercise 09.10."""

from course_utils.exercises.lesson_09.quiz import QUIZ
from tests.answers.forms import quiz

quiz(QUIZ)
