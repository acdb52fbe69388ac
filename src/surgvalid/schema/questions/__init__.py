"""Questions, references and responses: their formats, their files, the taxonomy and the findings on them."""

__all__ = ["formats", "question_files", "question_rows", "questions", "taxonomy"]
