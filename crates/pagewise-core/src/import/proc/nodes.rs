//! Size and free memory of single nodes, as `numactl`, `numastat` and a node's own file print them.

use super::super::words::decimal;

/// A node of memory, whether its size or what is free of it, and KiB.
type OfNode = (u32, &'static str, u64);

/// What is told of nodes: `node 0 size: 32733 MB` and `node 0 free: 95 MB` of `numactl -H`, `MemFree  95.11  20123.90  20219.01` of
/// `numastat -m` (the last is the sum; with `-c` without decimals), `Node 0 MemFree:  97123 kB` of a node's own file.
pub(super) fn of_nodes(words: &[&str]) -> Vec<OfNode> {
    const OWN: [(&str, &str); 2] = [("MemTotal", "node_total"), ("MemFree", "node_free")];
    let named = |name: &str| OWN.iter().find(|(own, _)| *own == name).map(|(_, series)| *series);
    match words {
        ["node", node, what @ ("size:" | "free:"), mib, "MB"] => {
            let series = if *what == "size:" { "node_total" } else { "node_free" };
            let mib = mib.parse::<u64>().ok().and_then(|mib| mib.checked_mul(1024));
            node.parse().ok().zip(mib).map(|(node, kib)| (node, series, kib)).into_iter().collect()
        }
        ["Node", node, name, kib, "kB"] => {
            let series = name.strip_suffix(':').and_then(named);
            let number = node.parse().ok().zip(kib.parse().ok());
            series.zip(number).map(|(series, (node, kib))| (node, series, kib)).into_iter().collect()
        }
        [name, mib @ .., sum] if !mib.is_empty() => {
            let Some(series) = named(name) else { return Vec::new() };
            // With -c they are whole.
            let number = |word: &&str| decimal(word);
            let Some(mib) = mib.iter().map(number).collect::<Option<Vec<f64>>>() else { return Vec::new() };
            // Two whole numbers beside each other may be anything.
            let is_table = mib.len() > 1 || sum.contains('.');
            let adds_up = is_table
                && number(sum)
                    .is_some_and(|sum| (mib.iter().sum::<f64>() - sum).abs() <= mib.len() as f64 + sum * 0.001);
            let kib = mib.iter().map(|mib| (mib * 1024.0) as u64);
            if adds_up { (0..).zip(kib).map(|(node, kib)| (node, series, kib)).collect() } else { Vec::new() }
        }
        _ => Vec::new(),
    }
}
