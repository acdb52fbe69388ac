"""Agreement with glmmTMB and lmer run side by side, where R and its packages are installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from examples.simulated_instruments import EFFECTS, Simulation

from surgvalid.stats.mixed.fit.fit import fit

SCRIPT = """
suppressPackageStartupMessages({library(lme4); library(glmmTMB)})
args <- commandArgs(trailingOnly = TRUE)
d <- read.csv(args[1], stringsAsFactors = TRUE)
d$cell <- interaction(d$algorithm, d$instance, drop = TRUE)
f <- as.formula(args[2])
if (args[3] == "gaussian") {
  m <- lmer(f, d, control = lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9)))
  b <- fixef(m); s <- sqrt(diag(as.matrix(vcov(m))))
} else {
  tight <- glmmTMBControl(optCtrl = list(rel.tol = 1e-15, x.tol = 1e-12, iter.max = 1e4, eval.max = 1e4))
  m <- glmmTMB(f, d, family = binomial, control = tight)
  b <- fixef(m)$cond; s <- sqrt(diag(vcov(m)$cond))
}
cat("loglik", format(as.numeric(logLik(m)), digits = 15), 0, "\\n")
for (n in names(b)) cat(n, format(b[[n]], digits = 15), format(s[[n]], digits = 15), "\\n")
"""
RANDOM = "(1 | algorithm) + (1 | patient) + (1 | image) + (1 | instance)"


def of_r(folder: Path, frame: object, formula: str, family: str) -> dict[str, tuple[float, float]]:
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed (Debian: r-cran-lme4, r-cran-glmmtmb)")
    frame.write_csv(folder / "table.csv")  # type: ignore[attr-defined]
    (folder / "fit.R").write_text(SCRIPT)
    command = ["Rscript", str(folder / "fit.R"), str(folder / "table.csv"), formula, family]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "there is no package" in done.stderr:
        pytest.skip("R is installed, but not lme4 and glmmTMB")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    return {row[0]: (float(row[1]), float(row[2])) for row in rows}


@pytest.mark.parametrize(
    ("outcome", "left", "extra", "family"),
    [
        ("pixels", "tp / reference", "", "binomial"),
        ("pixels", "tp / reference", "algorithm:instance", "binomial"),
        ("binary", "correct", "", "binomial"),
        ("score", "score", "", "gaussian"),
    ],
)
def test_simulated_data_of_the_papers_structure_agree(
    outcome: str, left: str, extra: str, family: str, tmp_path: Path
) -> None:
    frame = Simulation(images=150, instances=300, outcome=outcome).frame(5)
    terms = f"{' + '.join(EFFECTS)} + {RANDOM}"
    found = fit(frame, f"{left} ~ {terms}" + (f" + (1 | {extra})" if extra else ""), family=family)  # type: ignore[arg-type]
    theirs = left if "/" not in left else "cbind(tp, reference - tp)"
    peer = of_r(tmp_path, frame, f"{theirs} ~ {terms}" + (" + (1 | cell)" if extra else ""), family)
    assert found.log_likelihood == pytest.approx(peer["loglik"][0], abs=1e-4)
    beta, se = (np.array([peer[name][k] for name in found.names]) for k in (0, 1))
    np.testing.assert_allclose((found.beta - beta) / se, 0, atol=1e-3)
    np.testing.assert_allclose(found.standard_errors, se, rtol=1e-3)
