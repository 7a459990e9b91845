//! Models and sequential rules against R on random data.
//!
//! R is handed scripts with the data written into them and prints its values; nothing is stored that could age. Random
//! intercept models are held against lmerTest (Debian r-cran-lmertest), whose optimiser is told to be exact.

use pagewise_core::stats::contrast::Contrast;
use pagewise_core::stats::mixed_model::{self, Design};
use pagewise_core::stats::spending::{self, Progress, Rule, Spending};
use pagewise_testkit::oracles::split_plot;
use pagewise_testkit::requires;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::fmt::Write as _;
use std::process::Command;

/// Runs a script and returns the numbers it prints.
fn numbers_from_r(script: &str) -> Vec<f64> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("models.R");
    std::fs::write(&file, script).unwrap();
    let output = Command::new("Rscript").arg("--vanilla").arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    printed.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

struct Draw(ChaCha20Rng);

impl Draw {
    fn new(seed: u64) -> Draw {
        Draw(ChaCha20Rng::seed_from_u64(seed))
    }
    fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }
    fn normal(&mut self) -> f64 {
        pagewise_core::stats::normal::quantile(self.unit())
    }
}

fn r_vector(values: &[f64]) -> String {
    let listed: Vec<String> = values.iter().map(|value| format!("{value:e}")).collect();
    format!("c({})", listed.join(","))
}

/// A split-plot trial with values lost at random: blocks × whole-plot level × sub-plot level.
struct Trial {
    runs: Vec<Run>,
    blocks: usize,
    whole: usize,
    sub: usize,
}

struct Run {
    block: usize,
    whole: usize,
    sub: usize,
    value: f64,
}

impl Trial {
    fn draw(draw: &mut Draw, (blocks, whole, sub): (usize, usize, usize), plot_sd: f64, lost: f64) -> Trial {
        let mut runs = Vec::new();
        for block in 0..blocks {
            let block_effect = draw.normal();
            for i in 0..whole {
                let plot = plot_sd * draw.normal();
                for j in 0..sub {
                    let value = 5.0 + block_effect + plot + 0.5 * i as f64 - 0.3 * (i * j) as f64 + draw.normal();
                    // The corners stay, so that every level is seen.
                    if draw.unit() >= lost || block < 2 {
                        runs.push(Run { block, whole: i, sub: j, value });
                    }
                }
            }
        }
        Trial { runs, blocks, whole, sub }
    }

    fn response(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.value).collect()
    }

    fn groups(&self) -> Vec<usize> {
        self.runs.iter().map(|run| run.block * self.whole + run.whole).collect()
    }

    /// A column per block but the first, and one per cell.
    fn columns(&self) -> Vec<Vec<f64>> {
        let indicator = |holds: &dyn Fn(&Run) -> bool| -> Vec<f64> {
            self.runs.iter().map(|run| f64::from(u8::from(holds(run)))).collect()
        };
        let mut columns: Vec<Vec<f64>> = (1..self.blocks).map(|block| indicator(&|run| run.block == block)).collect();
        for i in 0..self.whole {
            columns.extend((0..self.sub).map(|j| indicator(&|run| run.whole == i && run.sub == j)));
        }
        columns
    }

    /// Differences of cells: a whole-plot level at one sub-plot level and on average, a sub-plot level, the
    /// interaction.
    fn cell_contrasts(&self) -> Vec<Vec<Vec<f64>>> {
        let zero = || vec![vec![0.0; self.sub]; self.whole];
        let mut at_one = zero();
        (at_one[0][0], at_one[1][0]) = (-1.0, 1.0);
        let mut average = zero();
        average[0] = vec![-1.0 / self.sub as f64; self.sub];
        average[1] = vec![1.0 / self.sub as f64; self.sub];
        let mut within = zero();
        (within[0][0], within[0][1]) = (-1.0, 1.0);
        let mut interaction = zero();
        (interaction[0][0], interaction[0][1], interaction[1][0], interaction[1][1]) = (1.0, -1.0, -1.0, 1.0);
        vec![at_one, average, within, interaction]
    }

    fn weights(&self, cells: &[Vec<f64>]) -> Vec<f64> {
        let mut weights = vec![0.0; self.blocks - 1];
        weights.extend(cells.iter().flatten());
        weights
    }

    fn fit(&self) -> mixed_model::Fit {
        let (response, columns, groups) = (self.response(), self.columns(), self.groups());
        mixed_model::fit(&Design { response: &response, columns: &columns, groups: &groups }).unwrap()
    }
}

fn shapes(draw: &mut Draw, trial: usize) -> Trial {
    let shape = [(4, 2, 2), (6, 2, 3), (3, 3, 2), (10, 2, 4), (5, 4, 3)][trial % 5];
    let plot_sd = [0.0, 0.5, 1.0, 3.0][trial % 4];
    let lost = if trial.is_multiple_of(3) { 0.0 } else { 0.2 };
    Trial::draw(draw, shape, plot_sd, lost)
}

#[track_caller]
fn assert_close(what: &str, ours: f64, theirs: f64, tolerance: f64) {
    assert!((ours - theirs).abs() <= tolerance * theirs.abs().max(1e-12), "{what}: ours {ours}, R {theirs}");
}

/// lmerTest differentiates numerically, so its degrees of freedom carry about five digits; ours are exact.
const DF_DIGITS: f64 = 1e-4;

#[test]
fn the_mixed_model_is_lmertest_s_on_balanced_and_unbalanced_split_plots() {
    requires!(r_packages);
    let mut draw = Draw::new(11);
    let trials: Vec<Trial> = (0..60).map(|trial| shapes(&mut draw, trial)).collect();
    let mut script = String::from(
        "suppressMessages(library(lmerTest))\n\
         exact <- lmerControl(optimizer = 'bobyqa', optCtrl = list(rhoend = 1e-12, maxfun = 1e5),\n\
           check.conv.singular = 'ignore', check.conv.grad = 'ignore', check.conv.hess = 'ignore')\n\
         out <- function(x) { cat(sprintf('%.17g', x), sep = '\\n'); cat('\\n') }\n\
         one <- function(y, X, g, L) {\n\
           m <- suppressWarnings(suppressMessages(lmer(y ~ 0 + X + (1 | g), control = exact)))\n\
           v <- as.data.frame(VarCorr(m))$vcov\n\
           out(c(v, -2 * as.numeric(logLik(m))))\n\
           for (i in seq_len(nrow(L))) { k <- contest1D(m, L[i, ])\n\
             out(c(k$Estimate, k[['Std. Error']], k$df, k[['Pr(>|t|)']])) } }\n",
    );
    for trial in &trials {
        let columns: Vec<f64> = trial.columns().concat();
        let contrasts: Vec<f64> = trial.cell_contrasts().iter().flat_map(|cells| trial.weights(cells)).collect();
        let groups: Vec<f64> = trial.groups().iter().map(|group| *group as f64).collect();
        writeln!(
            script,
            "one({}, matrix({}, ncol = {}), factor({}), matrix({}, nrow = 4, byrow = TRUE))",
            r_vector(&trial.response()),
            r_vector(&columns),
            trial.columns().len(),
            r_vector(&groups),
            r_vector(&contrasts),
        )
        .unwrap();
    }
    let mut theirs = numbers_from_r(&script).into_iter();
    let mut next = || theirs.next().unwrap();
    let mut singular = 0;
    for (index, trial) in trials.iter().enumerate() {
        let fit = trial.fit();
        let (group_variance, error_variance, deviance) = (next(), next(), next());
        assert!((fit.group_variance - group_variance).abs() < 1e-5 * error_variance, "trial {index}");
        assert_close("error variance", fit.error_variance, error_variance, 1e-5);
        // The restricted likelihood depends on the scale of columns, which is the same here and there.
        assert_close("deviance", fit.deviance, deviance, 1e-8);
        singular += usize::from(fit.group_variance == 0.0);
        for cells in trial.cell_contrasts() {
            let found = fit.contrast(&trial.weights(&cells)).unwrap();
            let what = format!("trial {index}, {cells:?}");
            assert_close(&what, found.estimate, next(), 1e-5);
            assert_close(&what, found.standard_error, next(), 1e-5);
            assert_close(&what, found.df, next(), DF_DIGITS);
            assert_close(&what, found.p, next(), 1e-4);
        }
    }
    assert!((5..30).contains(&singular), "both kinds of fit occur: {singular} of 60 are singular");
}

#[test]
fn the_closed_form_is_r_s_analysis_of_variance_with_strata() {
    requires!(r);
    let mut draw = Draw::new(12);
    let trials: Vec<Trial> = [(4, 2, 2), (6, 2, 3), (3, 3, 2), (10, 2, 4), (5, 4, 3)]
        .into_iter()
        .map(|shape| Trial::draw(&mut draw, shape, 0.7, 0.0))
        .collect();
    let mut script = String::new();
    for trial in &trials {
        let factor = |of: &dyn Fn(&Run) -> usize| {
            format!("factor({})", r_vector(&trial.runs.iter().map(|run| of(run) as f64).collect::<Vec<_>>()))
        };
        writeln!(
            script,
            "d <- data.frame(y = {}, k = {}, w = {}, s = {})\n\
             m <- summary(aov(y ~ k + w * s + Error(k:w), d))\n\
             for (e in m) {{ r <- e[[1]]; i <- nrow(r); cat(sprintf('%.17g %.17g\\n', r[i, 'Mean Sq'], r[i, 'Df'])) }}",
            r_vector(&trial.response()),
            factor(&|run| run.block),
            factor(&|run| run.whole),
            factor(&|run| run.sub),
        )
        .unwrap();
    }
    let mut theirs = numbers_from_r(&script).into_iter();
    for trial in &trials {
        let found = split_plot::analyze(&table(trial)).unwrap();
        for stratum in [found.whole_plot, found.sub_plot] {
            assert_close("mean square", stratum.value, theirs.next().unwrap(), 1e-9);
            assert_eq!(Some(stratum.df), theirs.next());
        }
    }
}

fn table(trial: &Trial) -> Vec<Vec<Vec<f64>>> {
    let mut table = vec![vec![vec![f64::NAN; trial.sub]; trial.whole]; trial.blocks];
    for run in &trial.runs {
        table[run.block][run.whole][run.sub] = run.value;
    }
    table
}

#[test]
fn closed_form_and_likelihood_agree_on_balanced_data_unless_the_fit_is_singular() {
    let mut draw = Draw::new(13);
    let mut compared = 0;
    for _ in 0..40 {
        let trial = Trial::draw(&mut draw, (6, 3, 3), 0.8, 0.0);
        let (fit, strata) = (trial.fit(), split_plot::analyze(&table(&trial)).unwrap());
        let singular = strata.whole_plot.value <= strata.sub_plot.value;
        assert_eq!(fit.group_variance == 0.0, singular);
        if singular {
            continue;
        }
        for cells in trial.cell_contrasts() {
            let parts = |c: Contrast| [c.estimate, c.standard_error, c.df, c.p];
            let by_likelihood = parts(fit.contrast(&trial.weights(&cells)).unwrap());
            let by_strata = parts(strata.contrast(&cells).unwrap());
            for (ours, theirs) in by_likelihood.iter().zip(by_strata) {
                assert!((ours - theirs).abs() <= 1e-6 * theirs.abs(), "{by_likelihood:?} {by_strata:?}");
            }
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn boundaries_of_known_variance_are_what_r_integrates() {
    requires!(r);
    let rules = [Rule::ObrienFleming, Rule::Pocock, Rule::Power { exponent: 2.0 }];
    let fractions = [vec![0.4, 0.6, 0.8, 1.0], vec![0.15, 0.5, 0.55, 1.0], vec![0.3, 0.7]];
    // The recursion over scores in R, on a grid of its own: the chance that each analysis is the first to cross.
    let mut script = String::from(
        "cross <- function(t, z) { s <- NULL; f <- NULL; p <- numeric(0); t0 <- 0\n\
           for (k in seq_along(t)) { sd <- sqrt(t[k] - t0); c <- z[k] * sqrt(t[k])\n\
             g <- seq(-min(c, 9), min(c, 9), length.out = 4001)\n\
             if (is.null(s)) { p[k] <- 2 * pnorm(-z[k]); f <- dnorm(g, 0, sd) } else {\n\
               p[k] <- sum(w * (pnorm((-c - s) / sd) + pnorm((s - c) / sd)))\n\
               f <- vapply(g, function(x) sum(w * dnorm((x - s) / sd) / sd), 0) }\n\
             s <- g; h <- diff(g[1:2]); w <- f * h * c(1, rep(c(4, 2), 1999), 4, 1) / 3; t0 <- t[k] }\n\
           cat(sprintf('%.17g\\n', p)) }\n",
    );
    let mut due = Vec::new();
    for rule in rules {
        for fractions in &fractions {
            let at: Vec<Progress> =
                fractions.iter().map(|t| Progress { information: *t, fraction: *t, df: f64::INFINITY }).collect();
            let boundaries = Spending { rule, alpha: 0.05 }.boundaries(&at).unwrap();
            let z: Vec<f64> = boundaries.iter().map(|boundary| boundary.critical_z).collect();
            writeln!(script, "cross({}, {})", r_vector(fractions), r_vector(&z)).unwrap();
            due.extend(
                (0..boundaries.len()).map(|k| boundaries[k].spent - if k == 0 { 0.0 } else { boundaries[k - 1].spent }),
            );
        }
    }
    for (theirs, due) in numbers_from_r(&script).iter().zip(due) {
        assert!((theirs - due).abs() < 1e-7, "R {theirs}, due {due}");
    }
}

#[test]
fn paired_t_tests_at_these_boundaries_raise_false_alarms_as_often_as_r_sees() {
    requires!(r);
    let analyses = [4, 6, 8, 10];
    let at: Vec<Progress> = analyses.iter().map(|blocks| Progress::after_blocks(*blocks, 10)).collect();
    let boundaries = Spending { rule: Rule::Pocock, alpha: 0.05 }.boundaries(&at).unwrap();
    let p: Vec<f64> = boundaries.iter().map(|boundary| boundary.nominal_p).collect();
    let first = spending::first_crossings(&at, &p).unwrap();
    let script = format!(
        "set.seed(1); n <- 200000; x <- matrix(rnorm(10 * n), n); analyses <- c(4, 6, 8, 10); p <- {}; going <- rep(TRUE, n)\n\
         for (k in 1:4) {{ m <- analyses[k]; y <- x[, 1:m]; a <- rowMeans(y); s <- sqrt(rowSums((y - a)^2) / (m - 1))\n\
           hit <- going & 2 * pt(-abs(a / s * sqrt(m)), m - 1) <= p[k]; going <- going & !hit; cat(mean(hit), '\\n') }}",
        r_vector(&p)
    );
    for (theirs, ours) in numbers_from_r(&script).iter().zip(first) {
        let error = (ours * (1.0 - ours) / 200_000.0).sqrt();
        assert!((theirs - ours).abs() < 4.0 * error, "R {theirs}, ours {ours}");
    }
}
