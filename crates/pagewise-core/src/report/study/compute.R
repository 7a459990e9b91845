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

