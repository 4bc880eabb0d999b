"""Right and wrong answers of exercise 02.6."""

from course_utils.exercises.lesson_02.quiz import QUIZ
from tests.answers.forms import quiz

quiz(QUIZ)
