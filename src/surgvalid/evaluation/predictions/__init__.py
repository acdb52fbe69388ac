"""What models write, found out from the content and said: boxes, masks, labels and scores of the common frameworks.

Each module knows one family of files and gives one plain form; `surgvalid.evaluation` compares it. A reading is
taken only where no other fits the file and the references: where two do, the error names the option that decides.
"""

__all__ = ["label_maps", "mask_files"]
