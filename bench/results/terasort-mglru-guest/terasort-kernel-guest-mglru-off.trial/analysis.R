# terasort-kernel-guest-mglru-off: every number of its report again, from its points.
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
  `cell` = c("6.1", "6.12", "6.1", "6.12", "6.12", "6.1", "6.12", "6.1",
    "6.1", "6.12"),
  `kernel` = c("6.1", "6.12", "6.1", "6.12", "6.12", "6.1", "6.12", "6.1",
    "6.1", "6.12"),
  `attempt` = c(1, 1, 1, 1, 1, 1, 1, 1,
    1, 1),
  `outcome` = c("ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok"),
  `job_wall_mean` = c(55.594183303, 56.353700607, 50.678436366, 49.410651099, 52.026944737, 61.164411554, 54.86158915, 55.307718411,
    52.919083367, 43.841385504),
  `major_faults` = c(7153, 6814, 7240, 6716, 6516, 7396, 6965, 8095,
    8118, 6524),
  `refaults_file` = c(1565, 3783, 311, 198, 37, 490, 831, 1630,
    1629, 59),
  `pages_scanned` = c(229781, 186805, 222004, 181114, 178677, 229606, 181997, 224591,
    231491, 180094),
  `pages_swapped_out` = c(53448, 1891, 43345, 1365, 258, 47504, 1169, 54606,
    60179, 257),
  check.names = FALSE, stringsAsFactors = FALSE)

cells <- list(
  list(cell = "6.1", values = list(
    list(metric = "job_wall_mean", stored = c(5, 55.1327666002, 3.9168132981636057, 55.307718411)),
    list(metric = "major_faults", stored = c(5, 7600.4, 470.2055933312576, 7396)),
    list(metric = "refaults_file", stored = c(5, 1125, 664.9176640757862, 1565)),
    list(metric = "pages_scanned", stored = c(5, 227494.6, 4007.3192161343977, 229606)),
    list(metric = "pages_swapped_out", stored = c(5, 51816.4, 6533.346715122349, 53448)))),
  list(cell = "6.12", values = list(
    list(metric = "job_wall_mean", stored = c(5, 51.298854219400006, 4.9485810757940305, 52.026944737)),
    list(metric = "major_faults", stored = c(5, 6707, 192.3954261410598, 6716)),
    list(metric = "refaults_file", stored = c(5, 981.6, 1599.063100693653, 198)),
    list(metric = "pages_scanned", stored = c(5, 181737.4, 3090.445000319533, 181114)),
    list(metric = "pages_swapped_out", stored = c(5, 988, 717.2098716554311, 1169)))),
  NULL)

# A comparison: groups of cells with their sign, and what the report says.
comparisons <- list(
  list(name = "kernel: 6.1 \u2192 6.12", metric = "job_wall_mean",
    primary = TRUE, method = "pairs", margin = 0.05, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("6.12")), list(sign = -1, cells = c("6.1"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.013569331217180292, -0.02533449165380297, -0.16180375742191844, -0.008099019763226245, -0.1881857721994007),
    a = c(5, 55.1327666002, 3.9168132981636057, 55.307718411), b = c(5, 51.298854219400006, 4.9485810757940305, 52.026944737),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = 0.22037882190949695, conclusion = "inconclusive",
    effect = list(log_ratio = -0.0758008497356234, standard_error = 0.049107046792932325, df = 3, p = 0.22037882190949695,
      ratio = 0.9270008006323162, interval = c(0.7928815885513387, 1.083806834186961), equivalence = c(0.825828975750096, 1.040567126616537), alone = c(0.7928815885513387, 1.083806834186961),
      randomisation_p = 0.3, smallest = 0.1, exact = TRUE)),
  list(name = "kernel: 6.1 \u2192 6.12", metric = "major_faults",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("6.12")), list(sign = -1, cells = c("6.1"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.048552529887473383, -0.07512846718233135, -0.1266786227850787, -0.1503489798978297, -0.21859613365793784),
    a = c(5, 7600.4, 470.2055933312576, 7396), b = c(5, 6707, 192.3954261410598, 6716),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -0.12630308912535085, standard_error = 0.034374202906270385, df = 3, p = 0.034894013361560866,
      ratio = 0.8813476794004176, interval = c(0.7900198998447043, 0.9832331212633925), equivalence = c(0.8128586219102991, 0.955607421815869), alone = c(0.7900198998447043, 0.9832331212633925),
      randomisation_p = 0.1, smallest = 0.1, exact = TRUE)),
  list(name = "kernel: 6.1 \u2192 6.12", metric = "refaults_file",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("6.12")), list(sign = -1, cells = c("6.1"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.8826315216587766, -0.45152588148469874, -2.5834874784604476, -0.6737054989453597, -3.3181841646963255),
    a = c(5, 1125, 664.9176640757862, 1565), b = c(5, 981.6, 1599.063100693653, 198),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = -1.2954779984384932, standard_error = 0.8755350075191632, df = 3, p = 0.23552784048617528,
      ratio = 0.2737669728654389, interval = c(0.016876702671453744, 4.440935939380982), equivalence = c(0.034876917055325654, 2.1489386608631293), alone = c(0.016876702671453744, 4.440935939380982),
      randomisation_p = 0.3, smallest = 0.1, exact = TRUE)),
  list(name = "kernel: 6.1 \u2192 6.12", metric = "pages_scanned",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("6.12")), list(sign = -1, cells = c("6.1"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.2070613893727966, -0.20356873247035523, -0.25078508995698634, -0.21029076683925574, -0.25106205907885304),
    a = c(5, 227494.6, 4007.3192161343977, 229606), b = c(5, 181737.4, 3090.445000319533, 181114),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -0.22555099435272802, standard_error = 0.012419704108631921, df = 3, p = 0.0003642084448349083,
      ratio = 0.798076362022696, interval = c(0.7671476170708343, 0.8302520472543826), equivalence = c(0.77508771772446, 0.8217468359443227), alone = c(0.7671476170708343, 0.8302520472543826),
      randomisation_p = 0.1, smallest = 0.1, exact = TRUE)),
  list(name = "kernel: 6.1 \u2192 6.12", metric = "pages_swapped_out",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("6.12")), list(sign = -1, cells = c("6.1"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-3.341603428946856, -3.458036927683681, -5.215609612081924, -3.8439950843333435, -5.456002648334537),
    a = c(5, 51816.4, 6533.346715122349, 53448), b = c(5, 988, 717.2098716554311, 1169),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -4.307508341597996, standard_error = 0.5114000721188261, df = 3, p = 0.0035112775879947377,
      ratio = 0.013467063145783002, interval = c(0.0026451920393603225, 0.06856280643289886), equivalence = c(0.004041988230211318, 0.04486945024157704), alone = c(0.0026451920393603225, 0.06856280643289886),
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
