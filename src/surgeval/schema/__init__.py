"""Vocabulary and files: what a question, an answer and a score are, and how they are read and written."""
