//! Numbers that look random and follow from a seed and a name.

use sha2::{Digest, Sha256};

/// A uniformly distributed number for this seed and these names.
pub fn draw(seed: u64, names: &[&str]) -> u64 {
    let mut hasher = Sha256::new();
    hasher.update(seed.to_le_bytes());
    for name in names {
        // The length keeps ("ab", "c") and ("a", "bc") apart.
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(name);
    }
    let digest = hasher.finalize();
    u64::from_le_bytes(
        digest[..8]
            .try_into()
            .expect("a SHA-256 digest has 32 bytes"),
    )
}

/// A number below `bound`, which is not zero.
pub fn below(bound: u64, seed: u64, names: &[&str]) -> u64 {
    // The bias of the remainder is under bound / 2^64: nothing for bounds like ours.
    draw(seed, names) % bound
}

/// Brings items into an order that follows from the seed and each item's name.
pub fn shuffle<T>(items: &mut [T], seed: u64, purpose: &str, name: impl Fn(&T) -> String) {
    items.sort_by_cached_key(|item| {
        let name = name(item);
        (draw(seed, &[purpose, &name]), name)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_apart_and_draws_repeat() {
        assert_ne!(draw(1, &["ab", "c"]), draw(1, &["a", "bc"]));
        assert_ne!(draw(1, &["a"]), draw(2, &["a"]));
        assert_eq!(draw(1, &["a"]), draw(1, &["a"]));
    }

    #[test]
    fn draws_spread_over_the_range() {
        let mut seen = [0_u32; 4];
        for number in 0..4000 {
            seen[below(4, 7, &[&number.to_string()]) as usize] += 1;
        }
        // Four standard deviations of a binomial with n = 4000, p = 1/4.
        assert!(
            seen.iter().all(|count| count.abs_diff(1000) < 110),
            "{seen:?}"
        );
    }
}
