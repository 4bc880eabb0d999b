"""Imported from the scripts' own folder, as a user's helpers are."""

from course_utils.reproductions.lesson_07 import never_stops

CHATS = never_stops.chats(24)
