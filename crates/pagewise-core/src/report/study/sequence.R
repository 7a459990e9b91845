# ---- An open-ended trial: intervals are those of a confidence sequence, not Student's ----

# Residual variance over the squared standard error: the number of blocks, of pairs a little less where one order has more.
fixed_estimate <- estimate
estimate <- function(one, difference) {
  e <- fixed_estimate(one, difference)
  in_blocks <- which(!is.na(difference))
  first <- if (one$method == "pairs") sapply(in_blocks, a_first, one = one) else NULL
  e$information <- if (is.null(first)) length(in_blocks) else 4 / (1 / sum(first) + 1 / sum(!first))
  e
}

# How many times likelier the t statistics so far have become if there is an effect.
evidence <- function(e) {
  spread <- 1 + e$information * effect_variance
  square <- if (e$se > 0) (e$effect / e$se)^2 else if (e$effect == 0) 0 else Inf
  ratio <- if (is.infinite(square)) log(spread) else log1p(square / e$df) - log1p(square / (e$df * spread))
  exp((e$df + 1) / 2 * ratio - log(spread) / 2)
}

# A p that holds after every block: as small as alpha exactly when the interval excludes no change.
p_of <- function(e) min(1, 1 / evidence(e))

# The values whose evidence is less than 1 / level.
ends <- function(e, level) {
  spread <- 1 + e$information * effect_variance
  bracket <- expm1(2 / (e$df + 1) * (log(spread) / 2 - log(level)))
  room <- 1 - (bracket + 1) / spread
  critical <- if (room > 0) sqrt(e$df * bracket / room) else Inf
  e$effect + c(-1, 1) * critical * e$se
}

# Failures are compared after every block, too: after n blocks at level / (n (n + 1)).
fixed_conclusion <- conclusion
conclusion <- function(one, e, level) {
  one$outcomes_p <- if (one$outcomes_p <= level / (counted * (counted + 1))) 0 else 1
  fixed_conclusion(one, e, level)
}

fixed_same <- same
same <- function(what, ours, stored) {
  what <- sub("^interval", "sequence: interval", sub("^p \\(t test\\)$", "p (holds after every block)", what))
  fixed_same(what, ours, stored)
}

