"""Right and wrong answers of exercise 03.7."""

from course_utils.exercises.lesson_03.quiz import QUIZ
from tests.answers.forms import quiz

quiz(QUIZ)
