# terasort-mglru-guest-6.1-1task: every number of its report again, from its points.
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
  `cell` = c("off", "on", "on", "off", "on", "off", "off", "on",
    "off", "on"),
  `mglru` = c("off", "on", "on", "off", "on", "off", "off", "on",
    "off", "on"),
  `attempt` = c(1, 1, 1, 1, 1, 1, 1, 1,
    1, 1),
  `outcome` = c("ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok"),
  `job_wall_mean` = c(48.952019581, 48.254288077, 52.376376055, 49.034449321, 52.41932972, 51.964515533, 48.110508355, 52.332067179,
    51.112580161, 48.373948208),
  `major_faults` = c(8177, 7325, 7172, 7291, 7519, 7957, 7919, 7376,
    8168, 7297),
  `refaults_file` = c(1863, 14970, 14987, 1432, 21682, 2024, 1917, 16048,
    2603, 15400),
  `pages_scanned` = c(222546, 84082, 89035, 219099, 94363, 217616, 225838, 87559,
    220863, 85640),
  `pages_swapped_out` = c(54105, 14650, 14705, 40852, 15220, 51023, 59210, 14705,
    52559, 13106),
  check.names = FALSE, stringsAsFactors = FALSE)

cells <- list(
  list(cell = "off", values = list(
    list(metric = "job_wall_mean", stored = c(5, 49.834814590200004, 1.6249195783826234, 49.034449321)),
    list(metric = "major_faults", stored = c(5, 7902.4, 361.59894911351716, 7957)),
    list(metric = "refaults_file", stored = c(5, 1967.8, 420.5005350769485, 1917)),
    list(metric = "pages_scanned", stored = c(5, 221192.4, 3189.6432872658347, 220863)),
    list(metric = "pages_swapped_out", stored = c(5, 51549.8, 6725.820373753673, 52559)))),
  list(cell = "on", values = list(
    list(metric = "job_wall_mean", stored = c(5, 50.751201847800004, 2.225358973508643, 52.332067179)),
    list(metric = "major_faults", stored = c(5, 7337.8, 126.10590787112235, 7325)),
    list(metric = "refaults_file", stored = c(5, 16617.4, 2864.8116517495528, 15400)),
    list(metric = "pages_scanned", stored = c(5, 88135.8, 3955.4263613420994, 87559)),
    list(metric = "pages_swapped_out", stored = c(5, 14477.2, 800.8724617565521, 14705)))),
  NULL)

# A comparison: groups of cells with their sign, and what the report says.
comparisons <- list(
  list(name = "mglru: off \u2192 on", metric = "job_wall_mean",
    primary = TRUE, method = "pairs", margin = 0.05, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on")), list(sign = -1, cells = c("off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.014355930265961714, 0.06593255256771569, 0.00871431904209663, 0.08410870018589556, -0.055069245371013764),
    a = c(5, 49.834814590200004, 1.6249195783826234, 49.034449321), b = c(5, 50.751201847800004, 2.225358973508643, 52.332067179),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = 0.5155942253787991, conclusion = "inconclusive",
    effect = list(log_ratio = 0.021108971993939758, standard_error = 0.028720495076749227, df = 3, p = 0.5155942253787991,
      ratio = 1.0213333423044237, interval = c(0.9321211705300179, 1.1190839014090739), equivalence = c(0.9545828970253258, 1.09275139891287), alone = c(0.9321211705300179, 1.1190839014090739),
      randomisation_p = 0.6, smallest = 0.1, exact = TRUE)),
  list(name = "mglru: off \u2192 on", metric = "major_faults",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on")), list(sign = -1, cells = c("off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.11003218027670947, -0.016456155081407076, -0.05661889399950759, -0.07103344897398323, -0.11276077607888091),
    a = c(5, 7902.4, 361.59894911351716, 7957), b = c(5, 7337.8, 126.10590787112235, 7325),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "equivalent",
    effect = list(log_ratio = -0.06723982982515761, standard_error = 0.011475703502297572, df = 3, p = 0.009912088700458158,
      ratio = 0.9349709405284419, interval = c(0.9014410404945294, 0.969748014970641), equivalence = c(0.9100585591420661, 0.960565285443544), alone = c(0.9014410404945294, 0.969748014970641),
      randomisation_p = 0.1, smallest = 0.1, exact = TRUE)),
  list(name = "mglru: off \u2192 on", metric = "refaults_file",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on")), list(sign = -1, cells = c("off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(2.083860106812085, 2.348111090124405, 2.3714066718138813, 2.124822767156073, 1.777702883407156),
    a = c(5, 1967.8, 420.5005350769485, 1917), b = c(5, 16617.4, 2864.8116517495528, 15400),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 2.177610400047124, standard_error = 0.07082784698829925, df = 3, p = 0.00007559460367548931,
      ratio = 8.82519236263149, interval = c(7.044199978152959, 11.056474898356159), equivalence = c(7.470237068950685, 10.425910117520441), alone = c(7.044199978152959, 11.056474898356159),
      randomisation_p = 0.1, smallest = 0.1, exact = TRUE)),
  list(name = "mglru: off \u2192 on", metric = "pages_scanned",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on")), list(sign = -1, cells = c("off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.9733413086557938, -0.9004941316117581, -0.8355829945236302, -0.9475050762295059, -0.947390136070668),
    a = c(5, 221192.4, 3189.6432872658347, 220863), b = c(5, 88135.8, 3955.4263613420994, 87559),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -0.9120587016931749, standard_error = 0.01331697873094135, df = 3, p = 0.000006859402351079953,
      ratio = 0.40169639914669975, interval = c(0.3850279802146146, 0.41908641807663605), equivalence = c(0.38930258179365274, 0.4144847854437106), alone = c(0.3850279802146146, 0.41908641807663605),
      randomisation_p = 0.1, smallest = 0.1, exact = TRUE)),
  list(name = "mglru: off \u2192 on", metric = "pages_swapped_out",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on")), list(sign = -1, cells = c("off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-1.306486267560535, -1.0217682077098953, -1.2096661590218503, -1.392902874537727, -1.3888662075028648),
    a = c(5, 51549.8, 6725.820373753673, 52559), b = c(5, 14477.2, 800.8724617565521, 14705),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -1.2392344832831244, standard_error = 0.03944905273587745, df = 3, p = 0.00007088232004732384,
      ratio = 0.28960583120899197, interval = c(0.2554371276358167, 0.3283451323091487), equivalence = c(0.26392971521454844, 0.3177798202906861), alone = c(0.2554371276358167, 0.3283451323091487),
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
