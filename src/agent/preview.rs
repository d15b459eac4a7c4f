//! What other parameters would do to the local stages of a run that is over: filter and cut are
//! made anew from what the run recorded, at once and without a model.

use super::redundancy;
use super::select::{self, Selection};
use super::trace::{Dropped, ScoredPassage, StageId, StageOutcome, StageRecord};
use crate::embed::{Passage, PassageId};
use crate::run::record::Params;

/// The local stages under other parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// Left by the filter.
    pub kept: Vec<PassageId>,
    pub repeats: Vec<Dropped>,
    /// The cut; passages that the run did not score rank last.
    pub cut: Selection,
    /// Passages the filter would keep that have no score yet; a run would have them scored.
    pub unscored: usize,
    /// What would go on now and did not, and the other way round.
    pub gained: Vec<PassageId>,
    pub lost: Vec<PassageId>,
    /// Stages of the run that read what the cut leaves.
    behind: Vec<StageId>,
}

impl Preview {
    /// The stages that a run with these parameters would not share with the recorded one.
    pub fn stale(&self) -> Vec<StageId> {
        let mut stale = Vec::new();
        if self.unscored > 0 {
            stale.push(StageId::SalienceReranking);
        }
        if !self.gained.is_empty() || !self.lost.is_empty() {
            stale.extend(&self.behind);
        }
        stale
    }
}

/// `None` where the run has no filter and cut to remake, or several of them: a model that picked
/// its tools would have picked others.
pub fn local(stages: &[StageRecord], params: &Params) -> Option<Preview> {
    let times = |stage: StageId| stages.iter().filter(|record| record.stage == stage).count();
    let local = [
        StageId::SimilarityRetrieval,
        StageId::RedundancyFiltering,
        StageId::SalienceReranking,
    ];
    if local.into_iter().any(|stage| times(stage) != 1) {
        return None;
    }
    let behind = [
        StageId::CompactEvidence,
        StageId::PreferenceExtraction,
        StageId::TaskPreferenceAlignment,
    ];
    let lists = find(stages, |outcome| match outcome {
        StageOutcome::Retrieved { lists } => Some(lists),
        _ => None,
    })?;
    let (scored, before) = find(stages, |outcome| match outcome {
        StageOutcome::Ranked { scored, kept, .. } => Some((scored, kept)),
        _ => None,
    })?;
    let (kept, repeats) = redundancy::filter(redundancy::distinct(lists), params.near_duplicate);
    let score = |passage: &Passage| {
        let known = scored.iter().find(|s| s.passage == passage.id).cloned();
        known.unwrap_or_else(|| ScoredPassage {
            passage: passage.id.clone(),
            salience: None,
            signals: Vec::new(),
        })
    };
    let unscored = kept
        .iter()
        .filter(|passage| scored.iter().all(|s| s.passage != passage.id))
        .count();
    let rescored: Vec<ScoredPassage> = kept.iter().map(score).collect();
    let cut = select::select(&rescored, params.min_salience, params.max_passages as usize);
    let without = |these: &[PassageId], those: &[PassageId]| {
        let gone = these.iter().filter(|id| !those.contains(id));
        gone.cloned().collect::<Vec<_>>()
    };
    Some(Preview {
        gained: without(&cut.kept, before),
        lost: without(before, &cut.kept),
        kept: kept.into_iter().map(|passage| passage.id).collect(),
        repeats,
        unscored,
        cut,
        behind: behind
            .into_iter()
            .filter(|stage| times(*stage) > 0)
            .collect(),
    })
}

fn find<'a, T>(
    stages: &'a [StageRecord],
    read: impl Fn(&'a StageOutcome) -> Option<T>,
) -> Option<T> {
    stages.iter().rev().find_map(|stage| read(&stage.outcome))
}
