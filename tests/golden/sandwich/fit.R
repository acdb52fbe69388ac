library(sandwich); library(jsonlite)
d <- read.csv("logit.csv")
m <- glm(correct ~ smoke + window, family = binomial, data = d, control = glm.control(epsilon = 1e-14, maxit = 100))
out <- list(
  made_by = paste("R", getRversion(), "sandwich", packageVersion("sandwich")),
  coefficients = unname(coef(m)), log_likelihood = as.numeric(logLik(m)),
  HC0_video = vcovCL(m, cluster = ~ video, type = "HC0"),
  HC0_video_no_cadjust = vcovCL(m, cluster = ~ video, type = "HC0", cadjust = FALSE),
  HC1_video = vcovCL(m, cluster = ~ video, type = "HC1"),
  HC1_both = vcovCL(m, cluster = ~ video + template, type = "HC1"),
  HC0_both_no_cadjust = vcovCL(m, cluster = ~ video + template, type = "HC0", cadjust = FALSE))
writeLines(toJSON(out, digits = 17, auto_unbox = TRUE, pretty = TRUE), "logit_sandwich.json")
