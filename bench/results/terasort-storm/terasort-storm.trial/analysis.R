# terasort-storm: every number of its report again, from its points.
# Rscript FILE prints each number with the stored one, and stops where they differ.
# Not in here: kernel counters and stall times, whose data the report does not carry.

alpha <- 0.05
counted <- 7 # blocks that count
planned <- 7 # blocks of the order
sequential <- FALSE # alpha was spent over analyses

points <- data.frame(
  `block` = c(1, 1, 1, 1, 2, 2, 2, 3,
    3, 3, 4, 4, 4, 5, 5, 5,
    6, 6, 6, 7, 7, 7),
  `order` = c(4, 4, 5, 6, 7, 8, 9, 10,
    11, 12, 13, 14, 15, 16, 17, 18,
    19, 20, 21, 22, 23, 24),
  `boot` = c(NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA, NA, NA, NA, NA),
  `cell` = c("always", "always", "never", "defer", "always", "never", "defer", "defer",
    "never", "always", "always", "never", "defer", "defer", "never", "always",
    "never", "always", "defer", "always", "defer", "never"),
  `defrag` = c("always", "always", "never", "defer", "always", "never", "defer", "defer",
    "never", "always", "always", "never", "defer", "defer", "never", "always",
    "never", "always", "defer", "always", "defer", "never"),
  `attempt` = c(1, 2, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1),
  `outcome` = c("invalid", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok", "ok", "ok", "ok", "ok"),
  `system_share_of_all` = c(NA, 0.1453626634958383, 0.1343410086170363, 0.13426883308714918, 0.1945819581958196, 0.2019136063036443, 0.14141843971631204, 0.16211767933068166,
    0.17347956131605186, 0.17024202420242024, 0.20225329170625764, 0.1445069588392064, 0.153337921541638, 0.1491554537646722, 0.1878624982317159, 0.17319148936170212,
    0.1740623349181194, 0.22240910855220597, 0.15218019058619697, 0.200374531835206, 0.14616355730116426, 0.18058173983301912),
  `wall` = c(NA, 33.63046241, 35.405596489, 33.845955522, 36.36572897, 35.551858334, 35.256318334, 36.472039473,
    35.114705808, 36.362465999, 36.851313969, 33.785376451, 36.329334298, 34.939797775, 35.357234667, 35.245772715,
    37.856887094, 38.670691576, 34.629052597, 37.382682025, 35.656170531, 37.143940572),
  `psi_memory_some` = c(NA, 4.637225999999998, 0.005703000000011116, 2.265845000000013, 5.53125799999998, 0.05992200000000025, 1.5821269999999856, 2.179994999999991,
    0.06554899999997588, 4.580923000000013, 6.140179999999987, 0.2936559999999986, 2.166058000000021, 2.611647999999974, 0.02402399999999716, 7.38828700000002,
    0.04928899999998748, 13.229446999999992, 1.952451999999994, 4.188259999999985, 1.868596000000025, 0.011843999999996411),
  check.names = FALSE, stringsAsFactors = FALSE)

cells <- list(
  list(cell = "always", values = list(
    list(metric = "system_share_of_all", stored = c(7, 0.18691643819277856, 0.025586310468177637, 0.1945819581958196)),
    list(metric = "wall", stored = c(7, 36.35844538057143, 1.597835169951772, 36.36572897)),
    list(metric = "psi_memory_some", stored = c(7, 6.5279401428571395, 3.152615395420836, 5.53125799999998)))),
  list(cell = "defer", values = list(
    list(metric = "system_share_of_all", stored = c(7, 0.14837743933254494, 0.00895217405626603, 0.1491554537646722)),
    list(metric = "wall", stored = c(7, 35.30409550428571, 0.9359500655135445, 35.256318334)),
    list(metric = "psi_memory_some", stored = c(7, 2.089531571428572, 0.3273109253166115, 2.166058000000021)))),
  list(cell = "never", values = list(
    list(metric = "system_share_of_all", stored = c(7, 0.17096395829411334, 0.023780540171680874, 0.1740623349181194)),
    list(metric = "wall", stored = c(7, 35.745085630714286, 1.3513793812637271, 35.405596489)),
    list(metric = "psi_memory_some", stored = c(7, 0.07285528571428099, 0.10012099169457264, 0.04928899999998748)))),
  NULL)

# A comparison: groups of cells with their sign, and what the report says.
comparisons <- list(
  list(name = "defrag: always \u2192 defer", metric = "system_share_of_all",
    primary = TRUE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.025, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("defer")), list(sign = -1, cells = c("always"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(-0.07938774011087535, -0.3191303000644996, -0.048898609227613354, -0.276876707773845, -0.14940878135785507, -0.3794532341370376, -0.31546202430602754),
    a = c(7, 0.18691643819277856, 0.025586310468177637, 0.1945819581958196), b = c(7, 0.14837743933254494, 0.00895217405626603, 0.1491554537646722),
    outcomes = c(0, 7, 0, 7), outcomes_p = 1,
    holm_p = 0.007717530858177439, conclusion = "better",
    effect = list(log_ratio = -0.2240881995682505, standard_error = 0.04916292842468768, df = 6, p = 0.0038587654290887195,
      ratio = 0.799244638228528, interval = c(0.6907084074937283, 0.9248359869469966), equivalence = c(0.708655651932621, 0.9014138107767281), alone = c(0.708655651932621, 0.9014138107767281),
      randomisation_p = 0.015625, smallest = 0.015625, exact = TRUE)),
  list(name = "defrag: always \u2192 defer", metric = "wall",
    primary = FALSE, method = "blocks", margin = 0.02, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("defer")), list(sign = -1, cells = c("always"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(0.006387234273019349, -0.030982062615056982, 0.0030088364286910974, -0.014265752920907815, -0.008719082178107573, -0.11038898933256958, -0.04728533141487157),
    a = c(7, 36.35844538057143, 1.597835169951772, 36.36572897), b = c(7, 35.30409550428571, 0.9359500655135445, 35.256318334),
    outcomes = c(0, 7, 0, 7), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = -0.02889216396568615, standard_error = 0.015327848702191187, df = 6, p = 0.10840911495093654,
      ratio = 0.9715212238141149, interval = c(0.9357583034986495, 1.008650935602024), equivalence = c(0.9430113717453356, 1.0008930078694398), alone = c(0.9357583034986495, 1.008650935602024),
      randomisation_p = 0.078125, smallest = 0.015625, exact = TRUE)),
  list(name = "defrag: always \u2192 defer", metric = "psi_memory_some",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("defer")), list(sign = -1, cells = c("always"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(-0.71616858483515, -1.2516451318484496, -0.7425779229858773, -1.0419451319999673, -1.0399144686621615, -1.9133591597487891, -0.8070980264863278),
    a = c(7, 6.5279401428571395, 3.152615395420836, 5.53125799999998), b = c(7, 2.089531571428572, 0.3273109253166115, 2.166058000000021),
    outcomes = c(0, 7, 0, 7), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -1.073244060938103, standard_error = 0.15791705991425334, df = 6, p = 0.0004968684715474346,
      ratio = 0.341897579834808, interval = c(0.23231683141039342, 0.5031661046134143), equivalence = c(0.25155204368209844, 0.4646909378507173), alone = c(0.23231683141039342, 0.5031661046134143),
      randomisation_p = 0.015625, smallest = 0.015625, exact = TRUE)),
  list(name = "defrag: always \u2192 never", metric = "system_share_of_all",
    primary = TRUE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.025, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("never")), list(sign = -1, cells = c("always"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(-0.07885033961083243, 0.03698646114680293, 0.018838693865367073, -0.3361931667891118, 0.08131244556103479, -0.2451050355427391, -0.10400474695705841),
    a = c(7, 0.18691643819277856, 0.025586310468177637, 0.1945819581958196), b = c(7, 0.17096395829411334, 0.023780540171680874, 0.1740623349181194),
    outcomes = c(0, 7, 0, 7), outcomes_p = 1,
    holm_p = 0.1747672119118486, conclusion = "inconclusive",
    effect = list(log_ratio = -0.08957366976093385, standard_error = 0.05820881940769713, df = 6, p = 0.1747672119118486,
      ratio = 0.9143209048406507, interval = c(0.7692206520900962, 1.0867918259307348), equivalence = c(0.7929417464061999, 1.0542801168150095), alone = c(0.7929417464061999, 1.0542801168150095),
      randomisation_p = 0.21875, smallest = 0.015625, exact = TRUE)),
  list(name = "defrag: always \u2192 never", metric = "wall",
    primary = FALSE, method = "blocks", margin = 0.02, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("never")), list(sign = -1, cells = c("always"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(0.05143762497065563, -0.022634390634310275, -0.03491707714641157, -0.08686321574113487, 0.003157430504265424, -0.021269068603227304, -0.006406898940058081),
    a = c(7, 36.35844538057143, 1.597835169951772, 36.36572897), b = c(7, 35.745085630714286, 1.3513793812637271, 35.405596489),
    outcomes = c(0, 7, 0, 7), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = -0.01678508508431729, standard_error = 0.015776551964258267, df = 6, p = 0.32829423652535805,
      ratio = 0.9833549995835508, interval = c(0.946117115308047, 1.022058516393209), equivalence = c(0.9536660037201232, 1.013968256636892), alone = c(0.946117115308047, 1.022058516393209),
      randomisation_p = 0.34375, smallest = 0.015625, exact = TRUE)),
  list(name = "defrag: always \u2192 never", metric = "psi_memory_some",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("never")), list(sign = -1, cells = c("always"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(-6.700879269435886, -4.525126838593817, -4.246857830625552, -3.0402003224249547, -5.728597856662265, -5.592499524873266, -5.868219241963812),
    a = c(7, 6.5279401428571395, 3.152615395420836, 5.53125799999998), b = c(7, 0.07285528571428099, 0.10012099169457264, 0.04928899999998748),
    outcomes = c(0, 7, 0, 7), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -5.100340126368508, standard_error = 0.4652641569515345, df = 6, p = 0.00003422376790869824,
      ratio = 0.006094673253860565, interval = c(0.0019521957662630204, 0.019027314121486918), equivalence = c(0.0024677900106435287, 0.015051946037190159), alone = c(0.0019521957662630204, 0.019027314121486918),
      randomisation_p = 0.015625, smallest = 0.015625, exact = TRUE)),
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
