"""What is kept on disk: progress, the course folder, files that are written whole or not at all."""
