# The same work as `pagewise analyze points.csv --value seconds --compare kernel=baseline,patched --counters all`
# on the table that crates/pagewise/benches/analyze.rs writes: Rscript --vanilla THIS points.csv
file <- commandArgs(trailingOnly = TRUE)[1]
d <- read.csv(file, colClasses = c('character', rep('numeric', 202)), nrows = 100000)
a <- d$kernel == 'baseline'
b <- d$kernel == 'patched'
print(t.test(d$seconds[a], d$seconds[b]))
print(wilcox.test(d$seconds[a], d$seconds[b], exact = FALSE))
p <- sapply(d[4:ncol(d)], function(x) t.test(x[a], x[b])$p.value)
print(sort(p.adjust(p, 'BH'))[1:20])
