# terasort-mglru-guest-6.1-2tasks: every number of its report again, from its points.
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
  `cell` = c("on", "off", "off", "on", "on", "off", "off", "on",
    "on", "off"),
  `mglru` = c("on", "off", "off", "on", "on", "off", "off", "on",
    "on", "off"),
  `attempt` = c(1, 1, 1, 1, 1, 1, 1, 1,
    1, 1),
  `outcome` = c("ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok"),
  `job_wall_mean` = c(49.991401622, 57.441891817, 57.228600823, 49.322147047, 54.574884441, 53.531790293, 57.803728327, 55.218678727,
    51.760914913, 53.427423232),
  `major_faults` = c(7394, 8502, 8200, 7347, 7448, 7618, 8583, 7506,
    7348, 7577),
  `refaults_file` = c(13840, 1672, 1629, 13152, 14261, 811, 1627, 14886,
    17787, 1557),
  `pages_scanned` = c(88054, 232373, 235560, 84979, 88280, 221077, 234749, 89190,
    92015, 223548),
  `pages_swapped_out` = c(14199, 58355, 65887, 11625, 11644, 43345, 64864, 12651,
    11645, 47398),
  check.names = FALSE, stringsAsFactors = FALSE)

cells <- list(
  list(cell = "off", values = list(
    list(metric = "job_wall_mean", stored = c(5, 55.8866868984, 2.207258421766771, 57.228600823)),
    list(metric = "major_faults", stored = c(5, 8096, 477.144108210507, 8200)),
    list(metric = "refaults_file", stored = c(5, 1459.2, 364.69192478035484, 1627)),
    list(metric = "pages_scanned", stored = c(5, 229461.4, 6687.591367600146, 232373)),
    list(metric = "pages_swapped_out", stored = c(5, 55969.8, 10198.13903121545, 58355)))),
  list(cell = "on", values = list(
    list(metric = "job_wall_mean", stored = c(5, 52.17360535, 2.6505543809373138, 51.760914913)),
    list(metric = "major_faults", stored = c(5, 7408.6, 68.4090637269653, 7394)),
    list(metric = "refaults_file", stored = c(5, 14785.2, 1792.7977298066842, 14261)),
    list(metric = "pages_scanned", stored = c(5, 88503.6, 2523.688629763981, 88280)),
    list(metric = "pages_swapped_out", stored = c(5, 12352.8, 1121.433100991762, 11645)))),
  NULL)

# A comparison: groups of cells with their sign, and what the report says.
comparisons <- list(
  list(name = "mglru: off \u2192 on", metric = "job_wall_mean",
    primary = TRUE, method = "pairs", margin = 0.05, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on")), list(sign = -1, cells = c("off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.13892283665030636, -0.14868057747106844, 0.019298096486471294, -0.045751998745347855, -0.031688831719116184),
    a = c(5, 55.8866868984, 2.207258421766771, 57.228600823), b = c(5, 52.17360535, 2.6505543809373138, 51.760914913),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = 0.13041414402528612, conclusion = "inconclusive",
    effect = list(log_ratio = -0.07382707270126261, standard_error = 0.03568901844465106, df = 3, p = 0.13041414402528612,
      ratio = 0.9288323004149472, interval = c(0.8291075002966467, 1.040551969419462), equivalence = c(0.8540066453932889, 1.0102139684133453), alone = c(0.8291075002966467, 1.040551969419462),
      randomisation_p = 0.2, smallest = 0.1, exact = TRUE)),
  list(name = "mglru: off \u2192 on", metric = "major_faults",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on")), list(sign = -1, cells = c("off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.13963256942215807, -0.10984208763206738, -0.022568328081646882, -0.134080802023254, -0.030689175596357643),
    a = c(5, 8096, 477.144108210507, 8200), b = c(5, 7408.6, 68.4090637269653, 7394),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -0.09312906793052411, standard_error = 0.024776744218732032, df = 3, p = 0.03291869519615234,
      ratio = 0.9110759020259962, interval = c(0.8419962436050813, 0.985823043222272), equivalence = c(0.859471381147078, 0.9657788699661635), alone = c(0.8419962436050813, 0.985823043222272),
      randomisation_p = 0.1, smallest = 0.1, exact = TRUE)),
  list(name = "mglru: off \u2192 on", metric = "refaults_file",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on")), list(sign = -1, cells = c("off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(2.1135424355270143, 2.088607508693915, 2.867015763621353, 2.2136833457008187, 2.435706960541479),
    a = c(5, 1459.2, 364.69192478035484, 1627), b = c(5, 14785.2, 1792.7977298066842, 14261),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 2.3116169068803245, standard_error = 0.14280630403902825, df = 3, p = 0.0005128972289202723,
      ratio = 10.090727237881019, interval = c(6.405413628216578, 15.896362373972693), equivalence = c(7.210525061403154, 14.12140937341106), alone = c(6.405413628216578, 15.896362373972693),
      randomisation_p = 0.1, smallest = 0.1, exact = TRUE)),
  list(name = "mglru: off \u2192 on", metric = "pages_scanned",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on")), list(sign = -1, cells = c("off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.9703935765826959, -1.0195614909336417, -0.9179974757359499, -0.967747932550278, -0.8876745488584135),
    a = c(5, 229461.4, 6687.591367600146, 232373), b = c(5, 88503.6, 2523.688629763981, 88280),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -0.9595049560671565, standard_error = 0.018342318552283493, df = 3, p = 0.000015385822603789792,
      ratio = 0.3830824817004777, interval = c(0.3613607905342534, 0.4061098813981209), equivalence = c(0.3668981103830256, 0.3999807675013479), alone = c(0.3613607905342534, 0.4061098813981209),
      randomisation_p = 0.1, smallest = 0.1, exact = TRUE)),
  list(name = "mglru: off \u2192 on", metric = "pages_swapped_out",
    primary = FALSE, method = "pairs", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on")), list(sign = -1, cells = c("off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-1.413373505272098, -1.7347832019862643, -1.314400330437227, -1.6345565068370558, -1.4037031303817038),
    a = c(5, 55969.8, 10198.13903121545, 58355), b = c(5, 12352.8, 1121.433100991762, 11645),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -1.5309144215543347, standard_error = 0.027610167040143786, df = 3, p = 0.000012921615142272502,
      ratio = 0.21633775293690893, interval = c(0.19813982797448015, 0.236207045419556), equivalence = c(0.20272778121473303, 0.23086141951219538), alone = c(0.19813982797448015, 0.236207045419556),
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
