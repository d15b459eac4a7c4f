//! The judges of many runs: how far they agree, how often they change their minds, how strict each
//! is. Only verdicts that a model gave count: what a rule or a person decided is the same for all.

use crate::bench::ids::{DomainId, InstanceId, RequirementId};
use crate::judge::opinion::{Opinion, Standing, opinions};
use crate::judge::{Judgement, Verdict, VerdictSource, VerdictState, counted, edit};
use crate::run::record::RunRecord;
use crate::run::setup::setups;
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

/// Each judge's share of "met" on each item over its repeats: a judge that is split counts as split.
fn between(items: &[Item<'_>], names: &[String]) -> Ratings {
    let share = |item: &Item<'_>, name: &String| {
        let mut own = item.opinions.iter();
        own.find(|opinion| opinion.judge == *name)?.share_met()
    };
    Ratings {
        raters: names.to_vec(),
        items: items
            .iter()
            .map(|item| names.iter().map(|name| share(item, name)).collect())
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
        score: score_of(records, judge),
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
    let raters = (1..=most).map(|n| format!("repeat {n}")).collect();
    let rows: Vec<Vec<Option<bool>>> = held.iter().map(row).collect();
    Ratings::of_labels(raters, &rows).agreement()
}

/// Overall in percent: repeats first, then runs; and its deviation over the repeats. What rules
/// decided counts in it, as it does in every score.
fn score_of(records: &[&RunRecord], judge: &str) -> Option<spread::Spread> {
    let entry = |(instance, record): (InstanceId, &RunRecord)| {
        let asked = counted::of_judge(&record.judgements, judge);
        (!asked.is_empty()).then(|| Entry {
            instance,
            domain: record.domain.clone(),
            score: score::of_repeats(&asked),
        })
    };
    let entries: Vec<Entry> = by_setup(records).into_iter().filter_map(entry).collect();
    let repeats = repeats(records, judge);
    let deviation = repeats.and_then(|repeats| overall_spread(&repeats.tables));
    Some(spread::Spread {
        mean: 100.0 * score::table(&entries).overall.mean?,
        sd: deviation.and_then(|spread| spread.sd),
        n: deviation.map_or(1, |spread| spread.n),
    })
}

/// Runs with a name for their instance under which runs of another set-up are not repeats of it.
fn by_setup<'a>(records: &[&'a RunRecord]) -> Vec<(InstanceId, &'a RunRecord)> {
    let groups = setups(records.iter().copied()).into_iter().enumerate();
    let name = |n: usize, record: &RunRecord| InstanceId(format!("{n}/{}", record.instance));
    let named = |(n, group): (usize, Vec<&'a RunRecord>)| {
        let of_group = group.into_iter();
        of_group.map(move |record| (name(n, record), record))
    };
    groups.flat_map(named).collect()
}

/// The repeats of a judge over the runs that have all of them: each repeat is about the same
/// outputs, so that tables differ by the judge alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeats {
    /// One score table for each repeat.
    pub tables: BTreeMap<u32, score::ScoreTable>,
    /// Runs that the judge was asked about that often, and all it was asked about.
    pub runs: usize,
    pub asked: usize,
}

impl Repeats {
    /// Which runs the deviation leaves out, in words.
    pub fn sentence(&self) -> Option<String> {
        let times = self.tables.len();
        (self.runs < self.asked).then(|| {
            format!(
                "deviation over the {} of {} runs judged {times} times",
                self.runs, self.asked
            )
        })
    }
}

/// `None` where no run was judged twice. Where runs have different numbers of repeats, as many are
/// taken as use most judgements.
pub fn repeats(records: &[&RunRecord], judge: &str) -> Option<Repeats> {
    let own = |record: &&&RunRecord| record.judgements.iter().any(|j| j.judge == judge);
    let scored = |record: &RunRecord, repeat: u32| {
        let judgement = counted::of_repeat(&record.judgements, judge, repeat)?;
        let score = score::of_verdicts(&judgement.verdicts);
        score.mean.map(|_| score)
    };
    let has = |record: &RunRecord, times: u32| (1..=times).all(|n| scored(record, n).is_some());
    let asked: Vec<&RunRecord> = records.iter().filter(own).copied().collect();
    let judgements = asked.iter().flat_map(|record| &record.judgements);
    let most = judgements
        .filter(|j| j.judge == judge)
        .map(|j| j.repeat)
        .max()?;
    let of_times = |times: u32| asked.iter().filter(|record| has(record, times)).count();
    let counts = (2..=most).map(|times| (times, of_times(times)));
    let (times, runs) = counts
        .filter(|(_, runs)| *runs > 0)
        .max_by_key(|(times, runs)| (*times as usize * runs, *runs))?;
    let whole: Vec<(InstanceId, &RunRecord)> = by_setup(records)
        .into_iter()
        .filter(|(_, record)| has(record, times))
        .collect();
    let table = |repeat: u32| {
        let entry = |(instance, record): &(InstanceId, &RunRecord)| {
            Some(Entry {
                instance: instance.clone(),
                domain: record.domain.clone(),
                score: scored(record, repeat)?,
            })
        };
        score::table(&whole.iter().filter_map(entry).collect::<Vec<_>>())
    };
    Some(Repeats {
        tables: (1..=times).map(|repeat| (repeat, table(repeat))).collect(),
        runs,
        asked: asked.len(),
    })
}

/// Mean and spread over repeats of a judge, in percent, over all instances.
pub fn overall_spread(tables: &BTreeMap<u32, score::ScoreTable>) -> Option<spread::Spread> {
    let means = tables
        .values()
        .filter_map(|table| Some(100.0 * table.overall.mean?));
    spread::of(&means.collect::<Vec<f64>>())
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

    // By hand: on r1 one of the three pairs of a repeat of a and of b agrees, on r2 all: (1/3 + 1) / 2.
    // Shares met of a (2/3 + 1) / 2 and of b 1/2; chance 5/12 + 1/12; kappa (2/3 - 1/2) / (1/2).
    #[test]
    fn judges_are_compared_repeat_by_repeat() {
        let record = some();
        let panel = panel(&[&record]);
        assert_eq!(
            panel.judged, 2,
            "the check's requirement says nothing about judges"
        );
        let (a, b, found) = &panel.pairs[0];
        assert_eq!((*a, *b, found.items, found.unanimous), (0, 1, 2, 1));
        assert!((found.raw - 2.0 / 3.0).abs() < 1e-12);
        assert!((found.kappa.expect("defined") - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(panel.disputes.len(), 1);
        // met, not, met, not: 2 of 6 pairs agree.
        assert!((panel.disputes[0].agreement - 2.0 / 6.0).abs() < 1e-12);
        let said = [("a", "2 of 3 met"), ("b", "not met")];
        assert_eq!(
            panel.disputes[0].said,
            said.map(|(j, w)| (j.to_owned(), w.to_owned()))
        );
    }

    // A judge split evenly is the hardest case and used to vanish: half of its pairs agree.
    #[test]
    fn an_even_split_lowers_agreement_instead_of_vanishing() {
        let record = record(vec![
            judgement("a", 1, [Met, Met]),
            judgement("a", 2, [NotMet, Met]),
            judgement("b", 1, [Met, Met]),
        ]);
        let panel = panel(&[&record]);
        let found = &panel.pairs[0].2;
        assert_eq!((found.items, found.raw), (2, 0.75));
    }

    // By hand: of the two outputs only the first was judged twice, 3/3 and 2/3: deviation
    // 100/3 / sqrt(2). With the second in the first repeat, that repeat would be (1 + 1/3) / 2.
    #[test]
    fn deviations_are_over_outputs_that_have_every_repeat() {
        let twice = record(vec![
            judgement("a", 1, [Met, Met]),
            judgement("a", 2, [NotMet, Met]),
        ]);
        let once = RunRecord {
            id: "y".to_owned(),
            instance: "i2".into(),
            ..record(vec![judgement("a", 1, [NotMet, NotMet])])
        };
        let found = repeats(&[&twice, &once], "a").expect("repeated");
        assert_eq!((found.runs, found.asked, found.tables.len()), (1, 2, 2));
        assert_eq!(
            found.sentence().as_deref(),
            Some("deviation over the 1 of 2 runs judged 2 times")
        );
        let sd = overall_spread(&found.tables).and_then(|spread| spread.sd);
        assert!((sd.expect("two") - 100.0 / 3.0 / 2f64.sqrt()).abs() < 1e-9);
        assert!(repeats(&[&once], "a").is_none());
        // The score itself has both: 5/6 and 1/3.
        let line = &panel(&[&twice, &once]).judges[0];
        assert!(
            (line.score.expect("scored").mean - 100.0 * (5.0 / 6.0 + 1.0 / 3.0) / 2.0).abs() < 1e-9
        );
    }

    // The same instance by another system is no repeat of it: (1 + 1/3) / 2, each counted once,
    // although the first has two runs.
    #[test]
    fn runs_of_other_set_ups_are_not_repeats() {
        let first = record(vec![judgement("a", 1, [Met, Met])]);
        let other = RunRecord {
            system: crate::agent::trace::System::NoHistory,
            ..record(vec![judgement("a", 1, [NotMet, NotMet])])
        };
        let line = &panel(&[&first, &first, &other]).judges[0];
        assert!((line.score.expect("scored").mean - 200.0 / 3.0).abs() < 1e-9);
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
