"""Files on disk: the reader's progress, the course's folder, and atomic writing."""
