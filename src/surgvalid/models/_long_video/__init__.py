"""Long videos on one GPU: Qwen2.5-VL's tower with windows as a batch, and one prefix that all questions share.

Files here import torch and each other (by relative names), nothing of surgvalid, so that a machine which has no more
than torch and transformers can load the folder by its path; `bench/gpu_long_video.py` does.
"""
