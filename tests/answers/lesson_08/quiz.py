"""Right and wrong answers of exercise 08.9."""

from course_utils.exercises.lesson_08.quiz import QUIZ
from tests.answers.forms import quiz

quiz(QUIZ)
