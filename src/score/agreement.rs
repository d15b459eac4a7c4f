//! Agreement between raters on met or not met: raw, kappa, and Gwet's AC1 (paper, appendix on
//! quality; `method.json`).
//!
//! A rater that was asked several times gives a share: every time of one rater is compared with
//! every time of another, so that raters who are split lower agreement by as much as they are split.
//! Ratings may be missing. Raw agreement is the mean over items of the share of rater pairs that
//! agree; chance agreement is taken over all ratings (Gwet 2014), so that two raters without gaps,
//! asked once, give exactly the paper's formulas.

/// Ratings of several raters on the same items; `None` where a rater gave none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ratings {
    pub raters: Vec<String>,
    /// One row for each item; for each rater the share of its labels that say "met", 0 to 1.
    pub items: Vec<Vec<Option<f64>>>,
}

/// Which kappa a number is: two raters have Cohen's, more have Fleiss'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kappa {
    Cohen,
    Fleiss,
}

/// Agreement on a set of items.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// Items that two raters or more rated.
    pub items: u32,
    /// Items of those on which all their raters agree.
    pub unanimous: u32,
    /// 0 to 1.
    pub raw: f64,
    /// -1 to 1; `None` where chance alone agrees always, so that nothing can be told.
    pub kappa: Option<f64>,
    pub kind: Kappa,
    /// -1 to 1.
    pub ac1: Option<f64>,
}

impl Ratings {
    /// Raters that were asked once about each item.
    pub fn of_labels(raters: Vec<String>, items: &[Vec<Option<bool>>]) -> Self {
        let share = |label: &Option<bool>| label.map(|met| if met { 1.0 } else { 0.0 });
        let items = items.iter().map(|row| row.iter().map(share).collect());
        Self {
            raters,
            items: items.collect(),
        }
    }

    /// Two of the raters alone.
    pub fn pair(&self, a: usize, b: usize) -> Ratings {
        Ratings {
            raters: [a, b].map(|i| self.raters[i].clone()).to_vec(),
            items: self.items.iter().map(|row| vec![row[a], row[b]]).collect(),
        }
    }

    /// Agreement of all raters; `None` where no item has two ratings.
    pub fn agreement(&self) -> Option<Agreement> {
        let shared: Vec<f64> = self.items.iter().filter_map(|row| between(row)).collect();
        let raw = super::mean(shared.iter().copied())?;
        let met = self.share_met()?;
        let cohen = self.raters.len() == 2;
        let by_chance = if cohen {
            self.cohen_chance()?
        } else {
            met * met + (1.0 - met) * (1.0 - met)
        };
        Some(Agreement {
            items: shared.len() as u32,
            unanimous: shared.iter().filter(|share| **share == 1.0).count() as u32,
            raw,
            kappa: beyond(raw, by_chance),
            kind: if cohen { Kappa::Cohen } else { Kappa::Fleiss },
            ac1: beyond(raw, 2.0 * met * (1.0 - met)),
        })
    }

    /// Mean over rated items of the share of "met".
    fn share_met(&self) -> Option<f64> {
        super::mean(
            self.items
                .iter()
                .filter_map(|row| super::mean(row.iter().flatten().copied())),
        )
    }

    /// Cohen's chance agreement: the product of both raters' own shares, on items both rated.
    fn cohen_chance(&self) -> Option<f64> {
        let both = self.items.iter().filter_map(|row| Some((row[0]?, row[1]?)));
        let both: Vec<(f64, f64)> = both.collect();
        let a = super::mean(both.iter().map(|pair| pair.0))?;
        let b = super::mean(both.iter().map(|pair| pair.1))?;
        Some(a * b + (1.0 - a) * (1.0 - b))
    }
}

/// Mean over pairs of raters of the share of their labels that agree on one item; `None` with fewer
/// than two raters.
fn between(shares: &[Option<f64>]) -> Option<f64> {
    let given: Vec<f64> = shares.iter().flatten().copied().collect();
    let n = given.len() as f64;
    // The sum over pairs of x*y is (square of sum - sum of squares) / 2.
    let pairs = |of: fn(f64) -> f64| {
        let sum: f64 = given.iter().copied().map(of).sum();
        let squares: f64 = given
            .iter()
            .copied()
            .map(|share| of(share) * of(share))
            .sum();
        (sum * sum - squares) / 2.0
    };
    let agreeing = || pairs(|met| met) + pairs(|met| 1.0 - met);
    (n >= 2.0).then(|| 2.0 * agreeing() / (n * (n - 1.0)))
}

/// Share of pairs of labels that agree on one item; `None` with fewer than two labels.
pub fn on_item(labels: &[Option<bool>]) -> Option<f64> {
    let n = labels.iter().flatten().count() as f64;
    let met = labels.iter().flatten().filter(|met| **met).count() as f64;
    let not = n - met;
    (n >= 2.0).then(|| (met * (met - 1.0) + not * (not - 1.0)) / (n * (n - 1.0)))
}

fn beyond(raw: f64, chance: f64) -> Option<f64> {
    (chance < 1.0).then(|| (raw - chance) / (1.0 - chance))
}

/// Whether one rater, asked again, changed its mind: both labels occur.
pub fn flips(labels: &[Option<bool>]) -> bool {
    let given = || labels.iter().flatten();
    given().any(|met| *met) && given().any(|met| !*met)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratings(items: &[&[u8]]) -> Ratings {
        let label = |n: &u8| match n {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        };
        let raters = (0..items[0].len()).map(|i| i.to_string()).collect();
        let rows: Vec<Vec<Option<bool>>> = items
            .iter()
            .map(|row| row.iter().map(label).collect())
            .collect();
        Ratings::of_labels(raters, &rows)
    }

    // By hand: agree on 3 of 4, raw 0.75; shares met 0.75 and 0.5, chance 0.5, kappa 0.5;
    // pi 0.625, chance of AC1 0.46875, AC1 (0.75 - 0.46875) / 0.53125.
    #[test]
    fn two_raters_by_hand() {
        let found = ratings(&[&[1, 1], &[1, 1], &[1, 0], &[0, 0]])
            .agreement()
            .expect("rated");
        assert_eq!((found.items, found.unanimous, found.raw), (4, 3, 0.75));
        assert_eq!((found.kappa, found.kind), (Some(0.5), Kappa::Cohen));
        assert!((found.ac1.expect("defined") - 0.28125 / 0.53125).abs() < 1e-12);
    }

    #[test]
    fn raters_who_always_say_the_same_leave_kappa_open_but_not_ac1() {
        let found = ratings(&[&[1, 1], &[1, 1]]).agreement().expect("rated");
        assert_eq!((found.raw, found.kappa, found.ac1), (1.0, None, Some(1.0)));
        assert_eq!(ratings(&[&[1, 9], &[9, 0]]).agreement(), None);
    }

    #[test]
    fn agreement_on_one_item_counts_pairs() {
        // Three raters, one against two: one pair of three agrees.
        assert_eq!(
            on_item(&[Some(true), Some(true), Some(false)]),
            Some(1.0 / 3.0)
        );
        assert_eq!(on_item(&[Some(true), None]), None);
        assert!(flips(&[Some(true), None, Some(false)]) && !flips(&[Some(true), None]));
    }
}
