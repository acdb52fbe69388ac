# Reference values for tests/reference/test_mixed_golden.py. Run in this folder: Rscript references.R
# Writes the simulated data (CSV), the values (JSON) and versions.txt. Seeds are inside.
suppressMessages({library(jsonlite); library(glmmTMB); library(lme4); library(lmerTest); library(emmeans)
                  library(clubSandwich); library(brglm2)})
emm_options(lmer.df = "satterthwaite")
store <- function(values, name) write(toJSON(values, digits = 14, auto_unbox = TRUE, na = "null", dataframe = "rows",
                                             pretty = TRUE), paste0(name, ".json"))
keep <- function(data, name) { write.csv(data, paste0(name, ".csv"), row.names = FALSE, quote = FALSE); data }
table_of <- function(object) as.data.frame(summary(object, infer = c(TRUE, TRUE)))

## Scores in [0, 1] with exact zeros and ones: ordered beta by full and restricted likelihood, and with a slope.
set.seed(11)
d <- do.call(rbind, lapply(1:10, function(v) data.frame(video = paste0("v", v), x = rbinom(24, 1, .4), w = v %% 2,
                                                        u = rnorm(1, 0, .6), s = rnorm(1, 0, .8))))
eta <- .8 + d$u - (.6 + d$s) * d$x + .3 * d$w
place <- runif(nrow(d)); inside <- rbeta(nrow(d), plogis(eta) * 7, (1 - plogis(eta)) * 7)
d$dice <- ifelse(place > plogis(eta + 2.2), 0, ifelse(place < plogis(eta - 2.4), 1, round(inside, 4)))
d <- keep(d[c("video", "x", "w", "dice")], "bounded")
ordered <- function(formula, reml) {
  m <- glmmTMB(formula, d, ordbeta(), REML = reml, start = list(psi = c(-2, 1)),
               control = glmmTMBControl(optCtrl = list(iter.max = 1e4, eval.max = 1e4, rel.tol = 1e-14)))
  par <- m$obj$env$last.par.best
  list(logLik = as.numeric(logLik(m)), beta = as.list(fixef(m)$cond), se = as.list(sqrt(diag(vcov(m)$cond))),
       sd = unname(exp(par[names(par) == "theta"])), phi = sigma(m), psi = unname(par[names(par) == "psi"]))
}
store(list(ml = ordered(dice ~ x + w + (1 | video), FALSE), reml = ordered(dice ~ x + w + (1 | video), TRUE),
           slope = ordered(dice ~ x + w + (1 | video) + (0 + x | video), FALSE),
           slope_reml = ordered(dice ~ x + w + (1 | video) + (0 + x | video), TRUE),
           betabinomial = NULL), "bounded")

## Overdispersed counts: beta-binomial by full and restricted likelihood.
set.seed(12)
d <- data.frame(video = rep(paste0("v", 1:9), each = 14), x = rbinom(126, 1, .4))
p <- plogis(.5 - .6 * d$x + rnorm(9, 0, .7)[as.integer(factor(d$video))])
d$total <- sample(10:40, 126, TRUE); d$hits <- rbinom(126, d$total, rbeta(126, p * 6, (1 - p) * 6))
d <- keep(d, "overdispersed")
counts <- function(reml) {
  m <- glmmTMB(cbind(hits, total - hits) ~ x + (1 | video), d, betabinomial(), REML = reml,
               control = glmmTMBControl(optCtrl = list(iter.max = 1e4, eval.max = 1e4, rel.tol = 1e-14)))
  list(logLik = as.numeric(logLik(m)), beta = as.list(fixef(m)$cond), se = as.list(sqrt(diag(vcov(m)$cond))),
       sd = as.numeric(attr(VarCorr(m)$cond$video, "stddev")), phi = sigma(m))
}
store(list(ml = counts(FALSE), reml = counts(TRUE)), "overdispersed")

## Separated outcomes: Firth's logistic regression (brglm2), for 0/1 and for successes of trials.
set.seed(13)
d <- data.frame(video = rep(paste0("v", 1:6), each = 15), x = rbinom(90, 1, .4), r = rbinom(90, 1, .12),
                size = round(rnorm(90), 3))
d$y <- rbinom(90, 1, plogis(.3 - .7 * d$x + .4 * d$size)); d$y[d$r == 1] <- 1
d$total <- sample(1:5, 90, TRUE); d$hits <- ifelse(d$r == 1, d$total, rbinom(90, d$total, plogis(.2 - .5 * d$x)))
d <- keep(d, "separated")
firth <- function(m) list(beta = as.list(coef(m)), se = as.list(sqrt(diag(vcov(m)))))
tight <- list(epsilon = 1e-12, maxit = 500)
store(list(binary = firth(glm(y ~ x + r + size, binomial, d, method = "brglmFit", type = "AS_mean", control = tight)),
           counts = firth(glm(cbind(hits, total - hits) ~ x + r + size, binomial, d, method = "brglmFit",
                              type = "AS_mean", control = tight)),
           with_videos = firth(glm(y ~ x + r + video, binomial, d, method = "brglmFit", type = "AS_mean",
                                   control = tight))), "separated")

## Cluster-robust logistic regression: CR0 and CR2 of clubSandwich.
set.seed(14)
d <- do.call(rbind, lapply(1:11, function(v) data.frame(video = paste0("v", v), smoke = rbinom(4 + 3 * v, 1, .4),
                                                        size = round(rnorm(4 + 3 * v), 3), u = rnorm(1, 0, .8))))
d$correct <- rbinom(nrow(d), 1, plogis(.4 - .7 * d$smoke + .3 * d$size + d$u))
d <- keep(d[c("video", "smoke", "size", "correct")], "clustered")
m <- glm(correct ~ smoke + size, binomial, d, control = glm.control(epsilon = 1e-14, maxit = 100))
store(list(beta = as.list(coef(m)), CR0 = unclass(vcovCR(m, d$video, type = "CR0"))[, ],
           CR2 = unclass(vcovCR(m, d$video, type = "CR2"))[, ]), "clustered")

## Linear mixed model: degrees of freedom of lmerTest, marginal means, pairs and joint tests of emmeans.
set.seed(15)
d <- expand.grid(row = 1:9, video = paste0("v", 1:8)); n <- nrow(d)
d$phase <- factor(sample(c("a", "b", "c"), n, TRUE, c(.5, .3, .2))); d$smoke <- rbinom(n, 1, .4)
d$w <- as.integer(d$video %in% paste0("v", 1:4)); d$size <- round(runif(n, 0, 4), 3)
u <- rnorm(8, 0, .5)[as.integer(d$video)]
d$score <- round(1 + .5 * (d$phase == "b") - .4 * (d$phase == "c") * d$size / 2 - .3 * d$smoke + u + rnorm(n, 0, .6), 5)
d$correct <- rbinom(n, 1, plogis(.4 + .8 * (d$phase == "b") - .5 * d$smoke + u))
d <- keep(d[c("video", "phase", "smoke", "w", "size", "score", "correct")], "phases")
m <- lmer(score ~ phase * size + smoke + w + (1 | video), d, control = lmerControl(optCtrl = list(xtol_abs = 1e-12,
                                                                                                 ftol_abs = 1e-12)))
rows <- function(ddf) { s <- as.data.frame(coef(summary(m, ddf = ddf))); names(s) <- c("estimate", "se", "df", "t", "p"); s }
store(list(satterthwaite = rows("Satterthwaite"), kenward_roger = rows("Kenward-Roger"), terms = names(fixef(m)),
           means = table_of(emmeans(m, "phase")), pairs = table_of(pairs(emmeans(m, "phase"))),
           trends = table_of(emtrends(m, "phase", var = "size")), joint = as.data.frame(joint_tests(m))), "linear")
m <- glmmTMB(correct ~ phase * smoke + w + (1 | video), d, binomial)
z <- function(object) as.data.frame(summary(object, infer = c(TRUE, TRUE), df = Inf))
wald <- function(L) { b <- fixef(m)$cond; V <- vcov(m)$cond; e <- L %*% b
                      as.numeric(t(e) %*% solve(L %*% V %*% t(L)) %*% e) }
grid <- emmeans(m, ~ phase, cov.keep = 2); steps <- rbind(c(-1, 1, 0), c(0, -1, 1))
cells <- emmeans(m, ~ phase * smoke, cov.keep = 2)
store(list(means = z(emmeans(m, "phase", df = Inf)), proportional = z(emmeans(m, "phase", weights = "proportional",
                                                                              df = Inf)),
           cells = z(emmeans(m, ~ phase * smoke, df = Inf)), pairs = z(pairs(emmeans(m, "phase", df = Inf))),
           pairs_df6 = as.data.frame(summary(pairs(emmeans(m, "phase", df = 6)), infer = c(TRUE, TRUE))),
           joint_phase_chi2 = wald(steps %*% grid@linfct),
           joint_interaction_chi2 = wald((kronecker(t(c(-1, 1)), steps)) %*% cells@linfct)), "categories")

versions <- sapply(c("glmmTMB", "lme4", "lmerTest", "pbkrtest", "emmeans", "clubSandwich", "brglm2", "TMB", "Matrix"),
                   function(p) as.character(packageVersion(p)))
writeLines(c(R.version.string, paste(names(versions), versions)), "versions.txt")
