//! The cut after salience scoring: at least `min_salience`, at most `max_passages`.

use super::trace::{Dropped, ScoredPassage};
use crate::embed::PassageId;
use std::cmp::Ordering;

/// Passages kept when none reaches the threshold, so that the later steps have something to read.
pub const FALLBACK: usize = 3;

/// The cut and what is odd about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Most salient first.
    pub kept: Vec<PassageId>,
    pub dropped: Vec<Dropped>,
    pub notes: Vec<String>,
}

/// Keeps the most salient passages; equal ones in their given order. A passage without a score is
/// kept after all others, as long as there is room: no score is not a score of 0.
pub fn select(scored: &[ScoredPassage], min: f64, max: usize) -> Selection {
    let mut order: Vec<&ScoredPassage> = scored.iter().collect();
    order.sort_by(|a, b| by_salience(a.salience, b.salience));
    let reaches = |s: &&ScoredPassage| s.salience.is_none_or(|value| value >= min);
    let (mut first, below): (Vec<_>, Vec<_>) = order.into_iter().partition(reaches);
    let room = if first.is_empty() {
        FALLBACK
    } else {
        first.len()
    }
    .min(max);
    let none_reaches = first.is_empty();
    first.extend(below);
    let (kept, gone) = first.split_at(room.min(first.len()));
    let notes = notes(scored, none_reaches.then_some(kept.len()), min);
    let drop = |s: &&ScoredPassage| Dropped {
        passage: s.passage.clone(),
        reason: reason(s.salience, min, room),
    };
    Selection {
        kept: kept.iter().map(|s| s.passage.clone()).collect(),
        dropped: gone.iter().map(drop).collect(),
        notes,
    }
}

/// Scored passages in the order in which a reader compares them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    /// Those that reach the threshold, most salient first.
    pub reach: Vec<ScoredPassage>,
    pub below: Vec<ScoredPassage>,
    pub unscored: Vec<ScoredPassage>,
}

/// Sorts by salience, equal ones in their given order.
pub fn ranking(mut scored: Vec<ScoredPassage>, min: f64) -> Ranking {
    scored.sort_by(|a, b| by_salience(a.salience, b.salience));
    let mut ranking = Ranking::default();
    for score in scored {
        match score.salience {
            Some(value) if value >= min => ranking.reach.push(score),
            Some(_) => ranking.below.push(score),
            None => ranking.unscored.push(score),
        }
    }
    ranking
}

/// A score as people write it: there is no minus before a zero.
pub fn plain_number(value: f64) -> String {
    format!("{}", value + 0.0)
}

/// `all_the_same`: how many were kept although none reaches `min`.
fn notes(scored: &[ScoredPassage], all_the_same: Option<usize>, min: f64) -> Vec<String> {
    let mut notes = Vec::new();
    let kept = match all_the_same {
        Some(0) | None => None,
        Some(1) => Some("the best one was kept".to_owned()),
        Some(n) => Some(format!("the best {n} were kept")),
    };
    notes.extend(kept.map(|kept| format!("no passage reaches salience {min}; {kept}")));
    let missing = scored.iter().filter(|s| s.salience.is_none()).count();
    if missing > 0 {
        notes.push(format!(
            "{missing} of {} passages have no salience and rank last",
            scored.len()
        ));
    }
    notes
}

fn by_salience(a: Option<f64>, b: Option<f64>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

fn reason(salience: Option<f64>, min: f64, room: usize) -> String {
    match salience {
        Some(value) if value < min => {
            format!("salience {} is below {min}", plain_number(value))
        }
        Some(value) => {
            format!("salience {value} is enough, but it ranks below the {room} that are kept")
        }
        None => format!("it has no salience and ranks below the {room} that are kept"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_has_no_sign() {
        let cut = select(&scored(&[Some(-0.0), Some(7.0)]), 5.0, 10);
        assert_eq!(cut.dropped[0].reason, "salience 0 is below 5");
    }

    #[test]
    fn a_ranking_parts_at_the_threshold_and_keeps_what_has_no_score_apart() {
        let ranking = ranking(scored(&[Some(2.0), None, Some(5.0), Some(9.5)]), 5.0);
        let ids = |list: &[ScoredPassage]| -> Vec<String> {
            list.iter().map(|score| score.passage.0.clone()).collect()
        };
        assert_eq!(ids(&ranking.reach), ["p3", "p2"]);
        assert_eq!(ids(&ranking.below), ["p0"]);
        assert_eq!(ids(&ranking.unscored), ["p1"]);
    }

    fn scored(values: &[Option<f64>]) -> Vec<ScoredPassage> {
        let one = |(i, salience): (usize, &Option<f64>)| ScoredPassage {
            passage: PassageId(format!("p{i}")),
            salience: *salience,
            signals: Vec::new(),
        };
        values.iter().enumerate().map(one).collect()
    }

    #[test]
    fn keeps_by_salience_and_falls_back_to_the_best_three() {
        let s = Some;
        let cases: [(&[Option<f64>], usize, &[&str]); 6] = [
            (&[s(4.9), s(5.0), s(9.0)], 10, &["p2", "p1"]),
            (&[s(6.0), s(6.0), s(6.0)], 2, &["p0", "p1"]),
            (&[s(1.0), s(4.0), s(2.0), s(3.0)], 10, &["p1", "p3", "p2"]),
            (&[None, s(5.0), s(2.0)], 10, &["p1", "p0"]),
            (&[s(0.0)], 10, &["p0"]),
            (&[], 10, &[]),
        ];
        for (values, max, wanted) in cases {
            let selection = select(&scored(values), 5.0, max);
            let kept: Vec<&str> = selection.kept.iter().map(|p| p.0.as_str()).collect();
            assert_eq!(kept, wanted, "{values:?}");
            assert_eq!(selection.kept.len() + selection.dropped.len(), values.len());
        }
    }

    #[test]
    fn says_why_a_passage_went() {
        let reasons: Vec<String> = select(&scored(&[Some(7.0), Some(6.0), Some(3.0)]), 5.0, 1)
            .dropped
            .into_iter()
            .map(|d| d.reason)
            .collect();
        assert_eq!(
            reasons,
            [
                "salience 6 is enough, but it ranks below the 1 that are kept",
                "salience 3 is below 5"
            ]
        );
    }

    #[test]
    fn says_that_nothing_reached_the_threshold() {
        let notes = select(&scored(&[Some(2.0), None]), 5.0, 10).notes;
        assert_eq!(notes, ["1 of 2 passages have no salience and rank last"]);
        let notes = select(&scored(&[Some(2.0)]), 5.0, 10).notes;
        assert_eq!(
            notes,
            ["no passage reaches salience 5; the best one was kept"]
        );
        let four = [Some(2.0), Some(4.0), Some(1.0), Some(0.0)];
        let note = |max| select(&scored(&four), 5.0, max).notes.concat();
        assert!(note(10).ends_with("the best 3 were kept"));
        assert!(note(2).ends_with("the best 2 were kept"));
    }
}
