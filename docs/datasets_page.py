"""The page of data sets, from the adapters' own facts."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parent / "reference" / "datasets.md"

_HEAD = """# Data sets

Made by `make docs` from the adapters' own facts; a test keeps it true. None of the data comes with
surgvalid: you download it under its own licence and name the folder.

```python
from surgvalid.datasets import DATA_SETS, open_data_set

cholect50 = open_data_set("cholect50")
parts = cholect50.splits()  # scheme, split, video
report = cholect50.check("data/CholecT50")  # never raises: whatever is wrong is a finding
print(list(DATA_SETS), report.ok, report.missing)
```

```console
$ surgvalid tools list datasets --json
```

- `check(root, tasks=None)`, or `surgvalid data check cholect50 FOLDER`, says what is there, what is missing, which
counts
  differ from the published ones, and where the publications contradict themselves. Its last line says for which tasks
  the folder can be used: a part that is not there is a warning, and what is there is read (JIGSAWS with one of its
  three tasks, one centre of MultiBypass140, the test part of Endoscapes alone).
- `references(root, task=...)` returns a table with `case`, `video`, `frame`, strata and the reference, its clock (what
  `frame` counts) and its rate. Unusable files raise one error that lists every problem. Pickles are never opened.
- `cases(root, task=...)` is the same without the reference; `splits(root)` adds the splits that the files state.
- `joined(a, b)` joins two tasks of a data set and refuses different clocks, and different rates unless
  `on_slower=True`. `sampled(references, rate_hz=1)` thins each video by its own frame rate and refuses a step in
  frames where rates differ.
- `question_rows(references, capability=...)` turns the references of a question set (Cholec80-VQA, EndoVis18-VQA,
  PitVQA, SSG-VQA) into the rows of the request and reference files that `surgvalid score` reads.
- The last column of the tables says which kind of `surgvalid evaluate` compares predictions with the folder itself, as
  in `surgvalid evaluate phases --data-set cholec80 --references FOLDER --predictions FILE`
  ([how to](../how-to/evaluate-predictions.md#straight-from-the-folder-of-a-data-set)). Where it is empty, references
  are intervals or ratings that no kind compares.

## Findings

| code | meaning |
|---|---|
| `missing` | a file or folder is not there, and nothing can be read without it |
| `absent` | a part of the data set is not there; what is there can be used |
| `link-as-file` | a link that unpacking turned into a small file with a path |
| `doubtful-video` | a video whose annotations its makers question; it counts only where it is asked for by name |
| `unreadable` | a file is not of the format it claims |
| `malformed` | a row, key or cell cannot be used |
| `no-references` | a task has nothing to read |
| `unknown-label`, `unknown-video` | a label or video that the data set does not have |
| `repeated-case` | a case occurs twice |
| `split-overlap`, `split-differs` | a video in two parts of a split; a split other than the published one |
| `split-unknown` | a split of which only sizes are known here, or a data set without any that is |
| `frame-base`, `frame-step`, `frame-rate` | frames count from or by something else than stated |
| `forward-filled` | a label carried over from an earlier frame |
| `overlap`, `gap`, `reversed-interval` | intervals that overlap, leave a hole or end before they start |
| `raters-differ`, `total-differs` | a stored mean or total that does not follow from its parts |
| `image-id` | an image id that does not follow the known rule |
| `one-sided` | a case that one of two files lacks |
| `left-out` | rows that name nothing to compare, such as the camera among tools |
| `unexpected-file` | a name outside the layout; not read |
| `pickle` | pickles, counted and left shut |
| `rows-differ` | a video with another number of rows than published |
| `count-differs` | a count other than the published one |
| `published-disagreement` | the publications contradict themselves or each other |
"""


def page() -> str:
    """The page as the adapters describe themselves now."""
    from surgvalid.datasets import DATA_SETS, leakage_table, open_data_set

    parts = [_HEAD, _overview([open_data_set(name) for name in DATA_SETS])]
    for name in DATA_SETS:
        parts.append(_section(open_data_set(name)))
    parts.append("## Videos that data sets share\n\nA pair that is not listed is unknown, not free of overlap.\n")
    parts.append("| data set | data set | shared videos | known from |\n|---|---|---|---|")
    columns = ("data_set_a", "data_set_b", "shared_videos", "source")
    rows = leakage_table().select(columns).iter_rows()
    parts.append("\n".join(f"| {a} | {b} | {shared} | {source} |" for a, b, shared, source in rows) + "\n")
    return "\n".join(parts)


def _overview(data_sets) -> str:  # type: ignore[no-untyped-def]
    """One row per task: kind of evaluation with its metrics, splits, and what the adapter was checked against."""
    from surgvalid.cli.tools import measured_by

    lines = [
        "## What can be measured with what\n",
        "Splits without a mark are those of the data set's makers or of the paper that introduced them; `*` marks "
        "those that a widely used loader made up. The independent unit is the video unless another is named.\n",
        "| data set | task | `surgvalid evaluate`: metrics | unit | splits | checked against |",
        "|---|---|---|---|---|---|",
    ]
    for one in data_sets:
        schemes = one.splits()["scheme"].unique(maintain_order=True).to_list()
        splits = ", ".join(f"{scheme}*" if scheme in one.unofficial else scheme for scheme in schemes)
        for name, task in one.tasks.items():
            unit = task.compared.cluster if task.compared else ""
            cells = (one.name, name, measured_by(task), unit, splits or "in the files or none", one.checked_against)
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _section(data_set) -> str:  # type: ignore[no-untyped-def]
    note = f" ({data_set.licence_note})" if data_set.licence_note else ""
    lines = [f"## {data_set.name}\n", f"{data_set.title}. {data_set.citation}.", ""]
    lines += [f"Licence: {data_set.licence or 'not confirmed'}{note}. Where to get it: {data_set.source}.", ""]
    lines += [
        "| task | reference | `frame` counts | rate | published | `surgvalid evaluate` |",
        "|---|---|---|---|---|---|",
    ]
    for name, task in data_set.tasks.items():
        rate = "" if task.rate_hz is None else f"{task.rate_hz:g} Hz"
        published = ", ".join(f"{number:,} {what}" for what, number in task.published.items())
        kind = f"`{task.compared.kind}`" if task.compared else ""
        lines.append(f"| `{name}` | {task.summary} | {task.clock} | {rate} | {published} | {kind} |")
    schemes = sorted(set(data_set.splits()["scheme"]))
    if schemes:
        shown = [f"{name} (not official)" if name in data_set.unofficial else name for name in schemes]
        lines += ["", f"Splits known here: {', '.join(shown)}."]
    for scheme, sizes in data_set.split_sizes.items():
        shown = ", ".join(f"{part} {size}" for part, size in sizes.items())
        lines += ["", f"Split `{scheme}`, sizes only: {shown}."]
    for title, texts in (("Contradictions", data_set.disagreements), ("Notes", data_set.notes)):
        if texts:
            lines += ["", f"{title}:", "", *(f"- {text}" for text in texts)]
    return "\n".join(lines) + "\n"
