"""Right and wrong answers of exercise 07.9."""

from course_utils.exercises.lesson_07.quiz import QUIZ
from tests.answers.forms import quiz

quiz(QUIZ)
