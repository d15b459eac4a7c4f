//! The judges of many runs: how far they agree, how often they change their minds, how strict each
//! is. Only verdicts that a model gave count: what a rule or a person decided is the same for all.

use crate::bench::ids::{DomainId, InstanceId, RequirementId};
use crate::judge::opinion::{Opinion, Standing, opinions};
use crate::judge::{Judgement, Verdict, VerdictSource, VerdictState, edit};
use crate::run::record::RunRecord;
use crate::score::agreement::{Agreement, Ratings, on_item};
use crate::score::{self, Entry, spread};
use std::collections::{BTreeMap, BTreeSet};

/// What the judges of a set of runs show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    pub judges: Vec<JudgeLine>,
    /// All judges together, where there are several.
    pub all: Option<Agreement>,
    /// Every pair of judges, by their places in `judges`.
    pub pairs: Vec<(usize, usize, Agreement)>,
    /// What not all judges, or not all repeats, saw alike; the least agreed first.
    pub disputes: Vec<Dispute>,
    /// Requirements that any model judged.
    pub judged: u32,
}

/// One judge over all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeLine {
    pub judge: String,
    /// Hashes of the prompts it was asked with.
    pub prompts: BTreeSet<String>,
    /// Most repeats on one output.
    pub repeats: u32,
    /// Mean over instances in percent, and its spread over the repeats.
    pub score: Option<spread::Spread>,
    /// Requirements it judged, and how many of them it gave no verdict.
    pub judged: u32,
    pub unscored: u32,
    /// Requirements it judged twice or more, and those on which it changed its mind.
    pub repeated: u32,
    pub flipped: u32,
    /// Agreement of its repeats with each other.
    pub with_itself: Option<Agreement>,
}

/// A requirement that was not seen alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispute {
    pub run: String,
    pub instance: InstanceId,
    pub requirement: RequirementId,
    pub text: String,
    /// Each judge's words, by name.
    pub said: Vec<(String, String)>,
    /// Share of pairs of verdicts that agree, over all judges and repeats.
    pub agreement: f64,
}

/// The judges of these runs.
pub fn panel(records: &[&RunRecord]) -> Panel {
    let items = items(records);
    let mut names: Vec<String> = Vec::new();
    for opinion in items.iter().flat_map(|item| &item.opinions) {
        if !names.contains(&opinion.judge) {
            names.push(opinion.judge.clone());
        }
    }
    let ratings = between(&items, &names);
    let pairs = (0..names.len()).flat_map(|a| (a + 1..names.len()).map(move |b| (a, b)));
    let pairs = pairs.filter_map(|(a, b)| Some((a, b, ratings.pair(a, b).agreement()?)));
    let mut disputes: Vec<Dispute> = items.iter().filter_map(dispute).collect();
    disputes.sort_by(|a, b| a.agreement.total_cmp(&b.agreement));
    Panel {
        pairs: pairs.collect(),
        all: (names.len() > 1).then(|| ratings.agreement()).flatten(),
        judges: names
            .iter()
            .map(|name| line(records, &items, name))
            .collect(),
        disputes,
        judged: items.len() as u32,
    }
}

/// One requirement of one run with the models' own verdicts on it.
struct Item<'a> {
    record: &'a RunRecord,
    requirement: RequirementId,
    opinions: Vec<Opinion>,
}

fn items<'a>(records: &[&'a RunRecord]) -> Vec<Item<'a>> {
    let mut out = Vec::new();
    for record in records {
        let own: Vec<Judgement> = record.judgements.iter().map(by_model).collect();
        let ids: BTreeSet<&RequirementId> = own
            .iter()
            .flat_map(|judgement| &judgement.verdicts)
            .map(|v| &v.requirement)
            .collect();
        out.extend(ids.into_iter().map(|id| Item {
            record,
            requirement: id.clone(),
            opinions: opinions(&own, id),
        }));
    }
    out
}

/// The judgement before people changed it, without what rules decided. A judge that failed on a
/// requirement keeps its place there.
fn by_model(judgement: &Judgement) -> Judgement {
    let asked = |v: &Verdict| match v.source {
        VerdictSource::Model => true,
        VerdictSource::None => judgement.prompt.is_some(),
        _ => false,
    };
    Judgement {
        verdicts: edit::original(judgement)
            .into_iter()
            .filter(asked)
            .collect(),
        ..judgement.clone()
    }
}

/// Each judge's majority on each item; a judge that is split evenly gives no label.
fn between(items: &[Item<'_>], names: &[String]) -> Ratings {
    let label = |item: &Item<'_>, name: &String| {
        let opinion = item
            .opinions
            .iter()
            .find(|opinion| opinion.judge == *name)?;
        match opinion.standing() {
            Standing::Met => Some(true),
            Standing::NotMet => Some(false),
            Standing::Disputed | Standing::Unscored => None,
        }
    };
    Ratings {
        raters: names.to_vec(),
        items: items
            .iter()
            .map(|item| names.iter().map(|name| label(item, name)).collect())
            .collect(),
    }
}

fn labels(opinion: &Opinion) -> Vec<Option<bool>> {
    opinion
        .verdicts
        .iter()
        .map(|verdict| label(verdict.state))
        .collect()
}

fn label(state: VerdictState) -> Option<bool> {
    match state {
        VerdictState::Met => Some(true),
        VerdictState::NotMet => Some(false),
        VerdictState::Unscored => None,
    }
}

fn dispute(item: &Item<'_>) -> Option<Dispute> {
    let all: Vec<Option<bool>> = item.opinions.iter().flat_map(labels).collect();
    let agreement = on_item(&all).filter(|share| *share < 1.0)?;
    let note = item
        .record
        .requirements
        .iter()
        .find(|note| note.id == item.requirement);
    Some(Dispute {
        run: item.record.id.clone(),
        instance: item.record.instance.clone(),
        requirement: item.requirement.clone(),
        text: note.map(|note| note.text.clone()).unwrap_or_default(),
        said: item
            .opinions
            .iter()
            .map(|o| (o.judge.clone(), o.words()))
            .collect(),
        agreement,
    })
}

fn line(records: &[&RunRecord], items: &[Item<'_>], judge: &str) -> JudgeLine {
    let of_it = |item: &&Item<'_>| item.opinions.iter().any(|opinion| opinion.judge == judge);
    let held: Vec<&Opinion> = items
        .iter()
        .filter(of_it)
        .flat_map(|item| {
            item.opinions
                .iter()
                .filter(|opinion| opinion.judge == judge)
        })
        .collect();
    let repeated = held
        .iter()
        .filter(|opinion| labels(opinion).iter().flatten().count() > 1);
    let all = records.iter().flat_map(|record| &record.judgements);
    let own: Vec<&Judgement> = all.filter(|judgement| judgement.judge == judge).collect();
    JudgeLine {
        judge: judge.to_owned(),
        prompts: own
            .iter()
            .filter_map(|j| Some(j.prompt.as_ref()?.sha256.clone()))
            .collect(),
        repeats: own
            .iter()
            .map(|judgement| judgement.repeat)
            .max()
            .unwrap_or(1),
        score: by_repeat(records, judge),
        judged: held.len() as u32,
        unscored: held
            .iter()
            .filter(|o| o.standing() == Standing::Unscored)
            .count() as u32,
        repeated: repeated.count() as u32,
        flipped: held.iter().filter(|opinion| opinion.flips()).count() as u32,
        with_itself: within(&held),
    }
}

/// Repeats as raters.
fn within(held: &[&Opinion]) -> Option<Agreement> {
    let most = held
        .iter()
        .map(|opinion| opinion.verdicts.len())
        .max()
        .unwrap_or(0);
    let row = |opinion: &&Opinion| {
        let mut row = labels(opinion);
        row.resize(most, None);
        row
    };
    let ratings = Ratings {
        raters: (1..=most).map(|n| format!("repeat {n}")).collect(),
        items: held.iter().map(row).collect(),
    };
    ratings.agreement()
}

/// Overall of each repeat in percent, as one spread: the mean and deviation of Table 9. What rules
/// decided counts in it, as it does in every score.
fn by_repeat(records: &[&RunRecord], judge: &str) -> Option<spread::Spread> {
    let tables = tables_by_repeat(records, judge);
    let overall = tables
        .values()
        .filter_map(|table| Some(100.0 * table.overall.mean?));
    spread::of(&overall.collect::<Vec<f64>>())
}

/// One score table for each repeat of a judge.
pub fn tables_by_repeat(records: &[&RunRecord], judge: &str) -> BTreeMap<u32, score::ScoreTable> {
    let mut entries: BTreeMap<u32, Vec<Entry>> = BTreeMap::new();
    for record in records {
        for judgement in record.judgements.iter().filter(|j| j.judge == judge) {
            entries.entry(judgement.repeat).or_default().push(Entry {
                instance: record.instance.clone(),
                domain: record.domain.clone(),
                score: score::of_verdicts(&judgement.verdicts),
            });
        }
    }
    entries
        .into_iter()
        .map(|(repeat, entries)| (repeat, score::table(&entries)))
        .collect()
}

/// Mean and spread over repeats of a judge, in percent, for one domain.
pub fn domain_spread(
    tables: &BTreeMap<u32, score::ScoreTable>,
    domain: &DomainId,
) -> Option<spread::Spread> {
    let means = tables
        .values()
        .filter_map(|table| Some(100.0 * table.domains.get(domain)?.mean?));
    spread::of(&means.collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::trace::PromptRef;
    use crate::judge::edit::Note;
    use VerdictState::{Met, NotMet, Unscored};

    /// Two requirements that models judge and a third that a check decides as met.
    fn judgement(judge: &str, repeat: u32, states: [VerdictState; 2]) -> Judgement {
        let verdict = |(id, state, source): (&str, VerdictState, VerdictSource)| Verdict {
            state,
            source,
            ..Verdict::unscored(&id.into(), "so")
        };
        let by = |state| match state {
            Unscored => VerdictSource::None,
            _ => VerdictSource::Model,
        };
        Judgement {
            judge: judge.to_owned(),
            repeat,
            prompt: Some(PromptRef {
                id: "judge".to_owned(),
                sha256: "abc".to_owned(),
            }),
            verdicts: vec![
                verdict(("r1", states[0], by(states[0]))),
                verdict(("r2", states[1], by(states[1]))),
                verdict(("r3", Met, VerdictSource::Check)),
            ],
            ..Judgement::default()
        }
    }

    fn record(judgements: Vec<Judgement>) -> RunRecord {
        serde_json::from_value(serde_json::json!({
            "id": "x", "instance": "i", "persona": "p", "scenario": "s", "domain": "d",
            "action": "generate_text", "task": "t", "system": "standard_rag", "epoch": 1,
            "params": {}, "agent": {"kind": "embedded"},
            "dataset": {"name": "n", "sha256": ""},
            "retriever": {"model": "m", "model_sha256": "", "method": "exact"},
            "stages": [], "output": null, "requirements": [], "judgements": judgements,
            "status": {"state": "done"}, "started_ms": 0.0, "ended_ms": null, "app_version": "0",
        }))
        .expect("a record")
    }

    fn some() -> RunRecord {
        record(vec![
            judgement("a", 1, [Met, Met]),
            judgement("a", 2, [NotMet, Met]),
            judgement("a", 3, [Met, Met]),
            judgement("b", 1, [NotMet, Met]),
        ])
    }

    // By hand: on r1 a says met by two of three, b not met; on r2 both met.
    #[test]
    fn judges_are_compared_by_their_majorities() {
        let record = some();
        let panel = panel(&[&record]);
        assert_eq!(
            panel.judged, 2,
            "the check's requirement says nothing about judges"
        );
        let (a, b, found) = &panel.pairs[0];
        assert_eq!((*a, *b, found.raw, found.items), (0, 1, 0.5, 2));
        assert_eq!(panel.disputes.len(), 1);
        // met, not, met, not: 2 of 6 pairs agree.
        assert!((panel.disputes[0].agreement - 2.0 / 6.0).abs() < 1e-12);
        let said = [("a", "2 of 3 met"), ("b", "not met")];
        assert_eq!(
            panel.disputes[0].said,
            said.map(|(j, w)| (j.to_owned(), w.to_owned()))
        );
    }

    // By hand: the repeats of a score 3/3, 2/3, 3/3 with the check's: mean 800/9, deviation
    // 100/3 / sqrt(3).
    #[test]
    fn a_judge_has_its_spread_and_its_changes_of_mind() {
        let record = some();
        let panel = panel(&[&record]);
        let a = &panel.judges[0];
        assert_eq!((a.repeats, a.repeated, a.flipped, a.judged), (3, 2, 1, 2));
        let score = a.score.expect("scored");
        assert!((score.mean - 800.0 / 9.0).abs() < 1e-9);
        assert!((score.sd.expect("several") - 100.0 / 3.0 / 3f64.sqrt()).abs() < 1e-9);
        assert_eq!(panel.judges[1].score.expect("scored").sd, None);
        assert_eq!(
            a.prompts.iter().map(String::as_str).collect::<Vec<_>>(),
            ["abc"]
        );
    }

    #[test]
    fn what_a_person_changed_is_not_the_judges_opinion() {
        let mut record = some();
        let note = Note {
            author: "Ada".to_owned(),
            at_ms: 0.0,
            reason: "x".to_owned(),
        };
        edit::overrule(&mut record.judgements, &"r1".into(), Met, &note);
        assert_eq!(panel(&[&record]).pairs, panel(&[&some()]).pairs);
    }

    #[test]
    fn a_judge_that_failed_is_counted_as_such() {
        let record = record(vec![judgement("a", 1, [Unscored, Met])]);
        let panel = panel(&[&record]);
        assert_eq!((panel.judges[0].judged, panel.judges[0].unscored), (2, 1));
        assert_eq!((panel.all, panel.pairs.len()), (None, 0));
    }
}
