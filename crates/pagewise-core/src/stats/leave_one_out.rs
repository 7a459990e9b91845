//! Leaving one out: does a single pair carry the conclusion?

/// Everything but one item, for each item in turn.
pub fn each_left_out<T: Clone>(items: &[T]) -> impl Iterator<Item = (usize, Vec<T>)> {
    (0..items.len()).map(|left_out| {
        let others = items.iter().enumerate().filter(|(index, _)| *index != left_out);
        (left_out, others.map(|(_, item)| item.clone()).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_left_out_once() {
        let all: Vec<_> = each_left_out(&['x', 'y', 'z']).collect();
        assert_eq!(all, [(0, vec!['y', 'z']), (1, vec!['x', 'z']), (2, vec!['x', 'y'])]);
    }
}
