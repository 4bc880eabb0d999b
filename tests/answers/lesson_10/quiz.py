"""Right and wrong answers of exercise 10.9."""

from course_utils.exercises.lesson_10.quiz import QUIZ
from tests.answers.forms import quiz

quiz(QUIZ)
