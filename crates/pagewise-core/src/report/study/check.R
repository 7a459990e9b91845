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
