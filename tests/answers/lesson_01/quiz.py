"""Right and wrong answers of exercise 01.7."""

from course_utils.exercises.lesson_01.quiz import QUIZ
from tests.answers.forms import quiz

quiz(QUIZ)
