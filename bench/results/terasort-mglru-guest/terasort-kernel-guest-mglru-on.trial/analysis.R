# terasort-kernel-guest-mglru-on: every number of its report again, from its points.
# Rscript FILE prints each number with the stored one, and stops where they differ.
# Not in here: kernel counters and stall times, whose data the report does not carry.

alpha <- 0.05
counted <- 5 # blocks that count
planned <- 5 # blocks of the order
sequential <- FALSE # alpha was spent over analyses

points <- data.frame(
  `block` = c(1, 1, 2, 2, 3, 3, 4, 4,
    5, 5),
  `order` = c(1, 2, 3, 4, 5, 6, 7, 8,
    9, 10),
  `boot` = c(NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA),
  `cell` = c("6.12", "6.1", "6.1", "6.12", "6.1", "6.12", "6.12", "6.1",
    "6.1", "6.12"),
  `kernel` = c("6.12", "6.1", "6.1", "6.12", "6.1", "6.12", "6.12", "6.1",
    "6.1", "6.12"),
  `attempt` = c(1, 1, 1, 1, 1, 1, 1, 1,
    1, 1),
  `outcome` = c("ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok"),
  `job_wall_mean` = c(55.764773892, 58.558604766, 50.137106856, 52.154951844, 51.588397468, 50.812760529, 57.192150119, 59.361525691,
    55.058756253, 52.512248254),
  `major_faults` = c(6512, 7294, 7849, 6513, 7463, 6516, 6521, 7560,
    7308, 6512),
  `refaults_file` = c(4502, 10912, 14420, 4587, 14930, 3231, 4676, 16148,
    15470, 3142),
  `pages_scanned` = c(62654, 84749, 86799, 57089, 87993, 57880, 61560, 91727,
    90115, 56639),
  `pages_swapped_out` = c(319, 13113, 16763, 322, 11096, 327, 323, 13179,
    14596, 322),
  check.names = FALSE, stringsAsFactors = FALSE)

cells <- list(
  list(cell = "6.1", values = list(
    list(metric = "job_wall_mean", stored = c(5, 54.94087820680001, 4.091433464119655, 55.058756253)),
    list(metric = "major_faults", stored = c(5, 7494.8, 226.90019832516674, 7463)),
    list(metric = "refaults_file", stored = c(5, 14376, 2039.9122530148202, 14930)),
    list(metric = "pages_scanned", stored = c(5, 88276.6, 2738.2780720737624, 87993)),
    list(metric = "pages_swapped_out", stored = c(5, 13749.4, 2095.7939545670993, 13179)))),
  list(cell = "6.12", values = list(
    list(metric = "job_wall_mean", stored = c(5, 53.6873769276, 2.673559740604174, 52.512248254)),
    list(metric = "major_faults", stored = c(5, 6514.8, 3.8340579025361627, 6513)),
    list(metric = "refaults_file", stored = c(5, 4027.6, 770.9191267571457, 4502)),
    list(metric = "pages_scanned", stored = c(5, 59164.4, 2750.0373270193986, 57880)),
    list(metric = "pages_swapped_out", stored = c(5, 322.6, 2.8809720581775866, 322)))),
  NULL)

# A comparison: groups of cells with their sign, and what the report says.
comparisons <- list(
  list(name = "kernel: 6.1 \u2192 6.12", metric = "job_wall_mean",
    primary = TRUE, method = "pairs", margin = 0.05, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("6.12")), list(sign = -1, cells = c("6.1"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.04888566587166565, 0.03945774105375488, -0.015149277375584802, -0.037229647584213765, -0.04735446805645038),
    a = c(5, 54.94087820680001, 4.091433464119655, 55.058756253), b = c(5, 53.6873769276, 2.673559740604174, 52.512248254),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = 0.2217286687630976, conclusion = "inconclusive",
    effect = list(log_ratio = -0.025369829093683238, standard_error = 0.01649863529892481, df = 3, p = 0.2217286687630976,
      ratio = 0.974949280737589, interval = c(0.9250792679659804, 1.0275077314192904), equivalence = c(0.9378201237124433, 1.0135484150713265), alone = c(0.9250792679659804, 1.0275077314192904),
      randomisation_p = 0.3, smallest = 0.1, exact = TRUE)),
  list(name = "kernel: 6.1 \u2192 6.12", metric = "major_faults",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("6.12")), list(sign = -1, cells = c("6.1"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.11340546368624871, -0.18658595558041213, -0.1356967874094508, -0.1478434517803766, -0.1153230098155209),
    a = c(5, 7494.8, 226.90019832516674, 7463), b = c(5, 6514.8, 3.8340579025361627, 6513),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -0.13824652100088697, standard_error = 0.015109299492324313, df = 3, p = 0.0027597781941426703,
      ratio = 0.8708839740917307, interval = c(0.8299987739629477, 0.9137831526045894), equivalence = c(0.8404614489829974, 0.9024077157227822), alone = c(0.8299987739629477, 0.9137831526045894),
      randomisation_p = 0.1, smallest = 0.1, exact = TRUE)),
  list(name = "kernel: 6.1 \u2192 6.12", metric = "refaults_file",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("6.12")), list(sign = -1, cells = c("6.1"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.8853413586165662, -1.1453899162417684, -1.5305809247087385, -1.2393531593808724, -1.5940431247515452),
    a = c(5, 14376, 2039.9122530148202, 14930), b = c(5, 4027.6, 770.9191267571457, 4502),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -1.242842623783035, standard_error = 0.11197674588750518, df = 3, p = 0.0015669598963668735,
      ratio = 0.28856277555766635, interval = c(0.20205757347039918, 0.4121027190784447), equivalence = c(0.22171453496374152, 0.3755661551515401), alone = c(0.20205757347039918, 0.4121027190784447),
      randomisation_p = 0.1, smallest = 0.1, exact = TRUE)),
  list(name = "kernel: 6.1 \u2192 6.12", metric = "pages_scanned",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("6.12")), list(sign = -1, cells = c("6.1"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.30206642070920076, -0.41898364724234405, -0.4188853640964698, -0.3988044653393068, -0.4643888385823942),
    a = c(5, 88276.6, 2738.2780720737624, 87993), b = c(5, 59164.4, 2750.0373270193986, 57880),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -0.39226069649899487, standard_error = 0.020508343587055024, df = 3, p = 0.0003120907555896564,
      ratio = 0.6755279832230909, interval = c(0.6328464895708974, 0.7210880737078551), equivalence = c(0.6436988526176451, 0.7089309764367715), alone = c(0.6328464895708974, 0.7210880737078551),
      randomisation_p = 0.1, smallest = 0.1, exact = TRUE)),
  list(name = "kernel: 6.1 \u2192 6.12", metric = "pages_swapped_out",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("6.12")), list(sign = -1, cells = c("6.1"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-3.7161682807465803, -3.952377810086869, -3.524379791097414, -3.7087276094212323, -3.813951252011929),
    a = c(5, 13749.4, 2095.7939545670993, 13179), b = c(5, 322.6, 2.8809720581775866, 322),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -3.7380087814079883, standard_error = 0.08140532057302612, df = 3, p = 0.00002273878014560378,
      ratio = 0.023801449866302157, interval = c(0.018369256703465002, 0.03084006200595118), equivalence = c(0.019651824674144783, 0.028827298489154093), alone = c(0.018369256703465002, 0.03084006200595118),
      randomisation_p = 0.1, smallest = 0.1, exact = TRUE)),
  NULL)

# ---- What follows is the same for every study ----

cells <- Filter(Negate(is.null), cells)
comparisons <- Filter(Negate(is.null), comparisons)

same <- function(what, ours, stored) {
  shown <- function(x) paste(format(x, digits = 10, trim = TRUE), collapse = " ")
  cat(sprintf("  %-34s %s | stored %s\n", what, shown(ours), shown(stored)))
  stopifnot(all.equal(as.numeric(stored), as.numeric(ours), tolerance = 1e-9))
}

# A result is the last attempt at a cell in a block that is not invalid; a good run is a result that ended well.
results <- points[points$outcome != "invalid" & points$block <= counted, ]
results <- results[order(results$order, results$attempt), ]
results <- results[!duplicated(results[c("block", "cell")], fromLast = TRUE), ]
good <- results[results$outcome == "ok", ]

value <- function(block, cell, metric) {
  found <- good[[metric]][good$block == block & good$cell == cell]
  if (length(found) == 1 && is.finite(found)) found else NA
}

# n, mean, SD and median of the good runs of some cells.
summarised <- function(cells, metric) {
  x <- good[[metric]][good$cell %in% cells]
  x <- x[is.finite(x)]
  if (length(x) == 0) return(c(0, NA, NA, NA))
  # In a unit of the largest value: squares overflow above 1e154.
  unit <- if (is.finite(sd(x)) || length(x) < 2) 1 else max(abs(x))
  c(length(x), mean(x), if (length(x) > 1) sd(x / unit) * unit else NA, median(x))
}

group_of <- function(one, sign) Filter(function(group) group$sign == sign, one$groups)[[1]]$cells

# ln(b / a) inside every block: the signed sum of the groups' mean logarithms.
differences <- function(one) {
  sapply(seq_len(counted), function(block) {
    sum(sapply(one$groups, function(group) {
      group$sign * mean(suppressWarnings(log(sapply(group$cells, value, block = block, metric = one$metric))))
    }))
  })
}

# Whether the base ran first in a pair.
a_first <- function(one, block) {
  place <- function(cell) results$order[results$block == block & results$cell == cell]
  place(group_of(one, 1)) > place(group_of(one, -1))
}

estimate <- function(one, difference) {
  in_blocks <- which(!is.na(difference))
  d <- difference[in_blocks]
  if (one$method == "pairs") {
    # Crossover (Hills and Armitage 1979): half the sum of the two orders' means.
    first <- sapply(in_blocks, a_first, one = one)
    ab <- d[first]
    ba <- d[!first]
    df <- length(d) - 2
    s <- sqrt((sum((ab - mean(ab))^2) + sum((ba - mean(ba))^2)) / df)
    list(effect = (mean(ab) + mean(ba)) / 2, se = s / 2 * sqrt(1 / length(ab) + 1 / length(ba)), df = df)
  } else {
    list(effect = mean(d), se = sd(d) / sqrt(length(d)), df = length(d) - 1)
  }
}

p_of <- function(e) if (e$se > 0) 2 * pt(-abs(e$effect / e$se), e$df) else if (e$effect == 0) 1 else 0

ends <- function(e, level) e$effect + c(-1, 1) * qt(1 - level / 2, e$df) * e$se

# alpha / m for every claim, except those that Holm makes in a later step: they get the alpha of their step.
shared <- function(p, alpha) {
  m <- length(p)
  level <- rep(alpha / m, m)
  claimed <- 0
  for (i in order(p)) {
    step <- alpha / (m - claimed)
    if (!(p[i] < step)) break
    if (p[i] >= alpha / m) level[i] <- step
    claimed <- claimed + 1
  }
  level
}

# How often the same runs would look this different, had the order been drawn otherwise. NULL: too many to try here.
randomisation <- function(one, difference) {
  d <- difference[!is.na(difference)]
  if (one$method == "pairs") {
    second_minus_first <- difference
    for (block in which(!is.na(difference))) if (!a_first(one, block)) second_minus_first[block] <- -difference[block]
    w <- c(second_minus_first, rep(NA, planned - counted))
    effects <- unlist(lapply(unique(c(planned %/% 2, (planned + 1) %/% 2)), function(n) {
      apply(combn(planned, n), 2, function(ab) {
        is_ab <- seq_len(planned) %in% ab
        abs(mean(w[is_ab], na.rm = TRUE) - mean(w[!is_ab], na.rm = TRUE)) / 2
      })
    }))
    effects <- effects[is.finite(effects)]
    observed <- abs(estimate(one, difference)$effect)
    max(mean(effects >= observed - 1e-10 * max(abs(w), na.rm = TRUE)), one$effect$smallest)
  } else {
    signs <- as.matrix(expand.grid(c(list(1), rep(list(c(1, -1)), length(d) - 1))))
    mean(abs(signs %*% d) >= abs(sum(d)) - 1e-12 * sum(abs(d)))
  }
}

conclusion <- function(one, e, level) {
  o <- one$outcomes
  share <- function(bad, total) if (total == 0) 0 else bad / total
  a <- share(o[1], o[2])
  b <- share(o[3], o[4])
  if (one$outcomes_p <= (if (is.na(one$level_of_failures)) level else one$level_of_failures)) return(if (b > a) "worse" else "better")
  if (is.null(e)) return("inconclusive")
  margin <- log1p(one$margin)
  difference <- ends(e, level)
  equivalence <- ends(e, 2 * level)
  word <- if (-margin < equivalence[1] && equivalence[2] < margin) "equivalent"
    else if (difference[1] <= 0 && difference[2] >= 0) "inconclusive"
    else if ((difference[2] < 0) == one$lower_is_better) "better" else "worse"
  b_more <- o[3] > o[1] || b > a
  a_more <- o[1] > o[3] || a > b
  held_back <- switch(word, better = b_more, worse = a_more, equivalent = a_more || b_more, FALSE)
  if (held_back) "inconclusive" else word
}

for (cell in cells) for (of in cell$values) {
  cat(sprintf("%s, %s\n", cell$cell, of$metric))
  same("n, mean, SD, median", summarised(cell$cell, of$metric), of$stored)
}

found <- lapply(comparisons, function(one) {
  if (length(one$groups) == 0 || !one$method %in% c("pairs", "blocks")) return(NULL)
  difference <- differences(one)
  list(difference = difference, e = if (is.null(one$effect)) NULL else estimate(one, difference))
})

# A claim without an estimate keeps its place in the family: it was declared. One whose method base R does not have takes it by
# the p that the report says.
is_primary <- sapply(comparisons, function(one) one$primary)
p <- mapply(function(f, one) {
  if (is.null(f)) (if (is.null(one$effect)) 1 else one$effect$p) else if (is.null(f$e)) 1 else p_of(f$e)
}, found, comparisons)
level <- rep(alpha, length(comparisons))
level[is_primary] <- if (sequential) sapply(comparisons[is_primary], function(one) one$level) else shared(p[is_primary], alpha)
holm <- rep(NA, length(comparisons))
if (!sequential) holm[is_primary] <- p.adjust(p[is_primary], "holm")

for (i in seq_along(comparisons)) {
  one <- comparisons[[i]]
  f <- found[[i]]
  cat(sprintf("%s, %s\n", one$name, one$metric))
  if (is.null(f)) {
    cat("  estimated by a method that base R does not have\n")
    next
  }
  same("n, mean, SD, median of a", summarised(group_of(one, -1), one$metric), one$a)
  same("n, mean, SD, median of b", summarised(group_of(one, 1), one$metric), one$b)
  o <- one$outcomes
  same("p of failures (Fisher)", fisher.test(matrix(c(o[1], o[2] - o[1], o[3], o[4] - o[3]), 2))$p.value, one$outcomes_p)
  same("level", level[i], one$level)
  if (is.null(f$e)) {
    cat("  no estimate\n")
  } else {
    same("blocks", which(!is.na(f$difference)), one$blocks)
    same("ln(b / a) in each block", f$difference[!is.na(f$difference)], one$differences)
    stored <- one$effect
    same("ln(b / a)", f$e$effect, stored$log_ratio)
    same("standard error", f$e$se, stored$standard_error)
    same("degrees of freedom", f$e$df, stored$df)
    same("p (t test)", p[i], stored$p)
    same("ratio", exp(f$e$effect), stored$ratio)
    same("interval at its level", exp(ends(f$e, level[i])), stored$interval)
    same("interval for equivalence", exp(ends(f$e, 2 * level[i])), stored$equivalence)
    same("interval as if alone", exp(ends(f$e, alpha)), stored$alone)
    if (stored$exact) same("p (randomisation)", randomisation(one, f$difference), stored$randomisation_p)
  }
  if (one$primary && !sequential) same("p (Holm)", holm[i], one$holm_p)
  said <- conclusion(one, f$e, level[i])
  cat(sprintf("  %-34s %s | stored %s\n", "verdict", said, one$conclusion))
  stopifnot(said == one$conclusion)
}
cat("all numbers agree\n")
