//! In which order a judge is shown criteria and answers. Judges lean towards what stands first, so
//! both orders are shuffled under a seed and written down.

use crate::bench::ids::{InstanceId, RequirementId};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The orders of one question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub seed: u64,
    /// Criteria as they were shown.
    pub requirements: Vec<RequirementId>,
    /// "0, not met" stood before "1, met".
    pub not_met_first: bool,
}

impl Order {
    /// The same for every judge, so that judges answer the same question; another one for each
    /// repeat. The order of the answers alternates from repeat to repeat, so that a leaning cancels
    /// out over an even number of them.
    pub fn new(seed: u64, instance: &InstanceId, repeat: u32, ids: &[&RequirementId]) -> Self {
        let key = |what: &str| Sha256::digest(format!("{seed}/{instance}/{repeat}/{what}"));
        let mut requirements: Vec<RequirementId> = ids.iter().map(|id| (*id).clone()).collect();
        requirements.sort_by_cached_key(|id| key(&format!("requirement {id}")));
        let start = Sha256::digest(format!("{seed}/{instance}/answers"))[0] % 2 == 1;
        Self {
            seed,
            requirements,
            not_met_first: start ^ repeat.is_multiple_of(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn order(seed: u64, instance: &str, repeat: u32) -> Order {
        let ids: Vec<RequirementId> = ["r1", "r2", "r3", "r4"].map(RequirementId::from).to_vec();
        let ids: Vec<&RequirementId> = ids.iter().collect();
        Order::new(seed, &instance.into(), repeat, &ids)
    }

    #[test]
    fn one_seed_gives_one_order_and_repeats_differ() {
        assert_eq!(order(42, "x", 1), order(42, "x", 1));
        let orders: BTreeSet<_> = (1..=12).map(|n| order(42, "x", n).requirements).collect();
        assert!(orders.len() > 6, "{orders:?}");
        for mut order in orders {
            order.sort();
            assert_eq!(order.len(), 4);
            order.dedup();
            assert_eq!(order.len(), 4);
        }
    }

    #[test]
    fn every_criterion_comes_first_about_equally_often() {
        let mut first = std::collections::BTreeMap::new();
        for n in 0..400 {
            *first
                .entry(order(7, &format!("i{n}"), 1).requirements[0].clone())
                .or_insert(0) += 1;
        }
        // 100 each expected, standard deviation 8.7.
        assert!(first.values().all(|n| (65..=135).contains(n)), "{first:?}");
    }

    #[test]
    fn answers_change_places_from_repeat_to_repeat() {
        let firsts: Vec<bool> = (1..=4).map(|n| order(42, "x", n).not_met_first).collect();
        assert_eq!(firsts[0], firsts[2]);
        assert_ne!(firsts[0], firsts[1]);
        let leaning = (0..400)
            .filter(|n| order(42, &format!("i{n}"), 1).not_met_first)
            .count();
        assert!((150..=250).contains(&leaning), "{leaning}");
    }
}
