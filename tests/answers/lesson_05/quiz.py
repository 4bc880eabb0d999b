"""Right and wrong answers of exercise 05.7."""

from course_utils.exercises.lesson_05.quiz import QUIZ
from tests.answers.forms import quiz

quiz(QUIZ)
