"""Right and wrong answers of exercise 04.9."""

from course_utils.exercises.lesson_04.quiz import QUIZ
from tests.answers.forms import quiz

quiz(QUIZ)
