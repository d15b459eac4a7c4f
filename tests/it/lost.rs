//! Losses planted in real runs of the pipeline over a scripted model: each is named where it was
//! planted, by a judge model and by similarity, and the funnel counts them.

use crate::support::{instance, obliging, run_spec};
use futures::executor::block_on;
use iba_lab::agent::memo::StageMemo;
use iba_lab::agent::trace::System;
use iba_lab::bench::hidden::HiddenInstance;
use iba_lab::bench::visible::{History, Session};
use iba_lab::judge::{JudgeModel, Panel};
use iba_lab::llm::Chat;
use iba_lab::run::StepError;
use iba_lab::run::drive::{Case, RunSpec, run_instance};
use iba_lab::run::fake::{FakeEnv, message_text, session};
use iba_lab::run::lost::funnel::{By, Counts, End, Funnel, cases, path};
use iba_lab::run::lost::links::LinkedBy;
use iba_lab::run::lost::{GATES, Gate, Means};
use iba_lab::run::record::{ModelRef, Params, RunRecord, RunStatus};
use serde_json::{Value, json};

/// What the evidence shows, and what a run that understood it says.
const WISH: &str = "Number the points of a notice";
const OTHER: &str = "Greets people warmly";

/// Where a loss is planted; `None` plants none.
type Plant = Option<Gate>;

/// Five sessions; the evidence is the fourth. Where the filter shall drop it, it repeats the first;
/// where no query shall find it, it shares no word with any.
fn history(plant: Plant) -> Vec<Session> {
    let about = |n: usize| format!("A notice of the hall, style and habit of notices, number {n}.");
    let first = about(1);
    let evidence = match plant {
        Some(Gate::Retrieved) => "Porridge zigzags.".to_owned(),
        Some(Gate::Kept) => first.clone(),
        _ => "A notice of the hall: habit of style! Porridge of words, number notices.".to_owned(),
    };
    let texts = [first, about(2), about(3), evidence, about(4)];
    let named = ["s1", "s2", "s3", "s4", "s5"].into_iter().zip(&texts);
    named
        .map(|(id, text)| session(id, "2025-02-01T09:00:00", &[text, "Noted."]))
        .collect()
}

fn hidden(checked: bool) -> HiddenInstance {
    let check = json!({"kind": "count", "of": "numbered", "min": 2, "max": 9});
    serde_json::from_value(json!({
        "id": "notice-a",
        "preferences": [{"id": "q1", "dimension": "d", "value": "v", "text": WISH, "kind": "static"}],
        "evidence": [{"id": "e1", "session": "s4", "signal": "complaint", "reveals": ["q1"]}],
        "requirements": [{"id": "r1", "preference": "q1", "text": "Every point is numbered",
                          "check": checked.then_some(check)}],
    }))
    .unwrap()
}

/// Ids of the prompt's quotations that speak of porridge, and of the others.
fn marked(text: &str) -> (Vec<String>, Vec<String>) {
    let parts = text.split(" id=\"").skip(1);
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for (id, body) in parts.filter_map(|part| part.split_once('"')) {
        let body = body.split("</").next().unwrap_or(body);
        let list = if body.contains("Porridge") {
            &mut with
        } else {
            &mut without
        };
        list.push(id.to_owned());
    }
    (with, without)
}

/// A model that plays agent and judges, and loses the wish where it is told to.
fn model(plant: Plant) -> impl Fn(&Chat) -> Option<Result<String, StepError>> {
    let keeps = move |gate: Gate| plant.is_none_or(|lost| lost > gate);
    move |chat| {
        let text = message_text(chat.messages.last()?);
        let reply = if text.contains("{\"scores\"") {
            let (with, without) = marked(text);
            let score = |id: &String, n: u32| json!({"id": id, "score": n, "signals": []});
            let own = if keeps(Gate::RankedIn) { 8 } else { 1 };
            let scores: Vec<Value> = with
                .iter()
                .map(|id| score(id, own))
                .chain(without.iter().map(|id| score(id, 6)))
                .collect();
            json!({ "scores": scores })
        } else if text.contains("{\"items\"") {
            let (with, without) = marked(text);
            let own = if keeps(Gate::CompactedIn) {
                "Porridge: wants numbers."
            } else {
                ""
            };
            let item = |id: &String, text: &str| json!({"id": id, "text": text});
            let items: Vec<Value> = with
                .iter()
                .map(|id| item(id, own))
                .chain(without.iter().map(|id| item(id, "Speaks of the hall.")))
                .collect();
            json!({ "items": items })
        } else if text.contains("{\"preferences\"") {
            let said = if keeps(Gate::Extracted) { WISH } else { OTHER };
            json!({"preferences": [{"text": said, "kind": "corrected", "passages": ["P1"]}]})
        } else if text.contains("{\"plan\"") {
            let said = if keeps(Gate::Planned) { WISH } else { OTHER };
            json!({"plan": [{"aspect": "structure", "text": said}]})
        } else if text.contains("List E") {
            json!({ "verdicts": linked(text) })
        } else if text.contains("{\"verdicts\"") {
            let met = keeps(Gate::Output) && (keeps(Gate::Agreed) || chat.model == "kind");
            json!({"verdicts": [{"id": "R1", "quote": "", "rationale": "so", "verdict": u8::from(met)}]})
        } else if text.contains("{\"queries\"") {
            return obliging(chat);
        } else {
            let numbered = keeps(Gate::Output);
            let text = if numbered {
                "1. Shut.\n2. Keys with Dai."
            } else {
                "Shut; keys with Dai."
            };
            return Some(Ok(text.to_owned()));
        };
        Some(Ok(reply.to_string()))
    }
}

/// Reads both lists as a careful judge would: by the words of the wish.
fn linked(text: &str) -> Vec<Value> {
    let list = |letter: &str| {
        let (_, rest) = text.split_once(&format!("<note id=\"{letter}\">")).unwrap();
        rest.split_once("</note>").unwrap().0.contains(WISH)
    };
    let one = |letter: &str| {
        let id = format!("{letter}1");
        text.contains(&format!("- {id}:"))
            .then(|| json!({"id": id, "quote": "", "verdict": u8::from(list(letter))}))
    };
    ["E", "L"].into_iter().filter_map(one).collect()
}

fn panel(models: &[&str]) -> Panel {
    let judge = |model: &&str| JudgeModel {
        model: (*model).to_owned(),
        base_url: "https://judges.example".to_owned(),
        repeats: 1,
        temperature: None,
        seed: None,
        max_output_tokens: 1000,
        wording: None,
    };
    Panel {
        judges: models.iter().map(judge).collect(),
        shuffle_seed: 1,
    }
}

fn run(plant: Plant, judges: &[&str]) -> RunRecord {
    run_with(plant, judges, model(plant))
}

fn run_with(
    plant: Plant,
    judges: &[&str],
    model: impl Fn(&Chat) -> Option<Result<String, StepError>> + 'static,
) -> RunRecord {
    let env = FakeEnv::with_sessions(&history(plant)).answering(model);
    let agent = ModelRef::Endpoint {
        base_url: "https://m.example".to_owned(),
        model: "m".to_owned(),
    };
    let spec = RunSpec {
        id: format!("run-{plant:?}"),
        params: Params {
            top_k: if plant == Some(Gate::Retrieved) { 2 } else { 5 },
            ..Params::default()
        },
        panel: panel(judges),
        ..run_spec(System::IbaAgent, agent)
    };
    let hidden = hidden(judges.is_empty());
    let case = Case {
        instance: &instance(),
        hidden: &hidden,
        domain: &"work".into(),
        history: &History {
            persona: "p1".into(),
            sessions: history(plant),
        },
    };
    block_on(run_instance(&env, &spec, case, &StageMemo::new()))
}

#[test]
fn a_judge_model_names_every_planted_loss() {
    let runs: Vec<RunRecord> = GATES
        .map(|gate| run(Some(gate), &["kind", "strict"]))
        .to_vec();
    for (gate, record) in GATES.into_iter().zip(&runs) {
        assert_eq!(record.status, RunStatus::Done);
        let path = path(record, &record.requirements[0]).unwrap();
        assert_eq!(path.loss.end(), End::LostAt(gate), "{}", path.sentence());
        if gate > Gate::CompactedIn && gate != Gate::Agreed {
            assert_eq!(path.means(Gate::Extracted), Means::Model);
        }
    }
    let counts = Counts::of(&cases(&runs));
    assert_eq!((counts.scored, counts.met, counts.lost), (8, 0, [1; 8]));
    assert_eq!(counts.share_found(), Some(1.0));
}

#[test]
fn without_a_key_similarity_names_them_and_says_so() {
    // Without models nobody can disagree, so the last gate has no loss to plant.
    for gate in &GATES[..7] {
        let record = run(Some(*gate), &[]);
        let path = path(&record, &record.requirements[0]).unwrap();
        assert_eq!(path.loss.end(), End::LostAt(*gate), "{}", path.sentence());
        let links = record.links.as_ref().unwrap();
        assert!(matches!(links.by, LinkedBy::Similarity { .. }) && links.calls.is_empty());
        if *gate == Gate::Planned {
            assert_eq!(path.means(Gate::Planned), Means::Similarity);
            let link = path.steps[Gate::Planned as usize].link.as_ref().unwrap();
            assert_eq!((link.found, link.entry.as_str()), (false, OTHER));
        }
    }
}

#[test]
fn what_was_met_is_no_loss_and_costs_no_further_call() {
    let record = run(None, &["kind", "strict"]);
    assert_eq!(record.links, None);
    assert_eq!(cases([&record])[0].end, End::Met);
    assert_eq!(path(&record, &record.requirements[0]), None);
}

#[test]
fn a_judge_that_cannot_compare_leaves_the_work_to_similarity() {
    for garbage in ["", "I cannot say.", "{\"verdicts\": [{\"id\": \"E1\""] {
        let plain = model(Some(Gate::Planned));
        let record = run_with(Some(Gate::Planned), &["strict"], move |chat| {
            let asks = message_text(&chat.messages[1]).contains("List E");
            if asks {
                Some(Ok(garbage.to_owned()))
            } else {
                plain(chat)
            }
        });
        assert_eq!(record.status, RunStatus::Done);
        let links = record.links.as_ref().unwrap();
        assert!(matches!(links.by, LinkedBy::Similarity { .. }), "{garbage}");
        assert_eq!(links.calls.len(), 2, "what was paid for is kept");
        assert_eq!(cases([&record])[0].end, End::LostAt(Gate::Planned));
    }
}

#[test]
fn a_verdict_left_out_is_neither_a_link_nor_the_lack_of_one() {
    let plain = model(Some(Gate::Planned));
    let record = run_with(Some(Gate::Planned), &["strict"], move |chat| {
        let asks = message_text(chat.messages.last().unwrap()).contains("List E");
        let half = json!({"verdicts": [{"id": "E1", "quote": "x", "verdict": 1}]});
        if asks {
            Some(Ok(half.to_string()))
        } else {
            plain(chat)
        }
    });
    assert_eq!(cases([&record])[0].end, End::Untold(Some(Gate::Extracted)));
}

#[test]
fn the_funnel_groups_runs_and_survives_the_result_file() {
    let mut runs: Vec<RunRecord> = GATES
        .map(|gate| run(Some(gate), &["kind", "strict"]))
        .to_vec();
    runs.push(run(None, &["kind", "strict"]));
    for record in &mut runs {
        record.instance = format!("i-{}", record.id).as_str().into();
    }
    runs[0].domain = "planning".into();
    let meta = iba_lab::results::inspect::FileMeta {
        id: "x".to_owned(),
        created_ms: 0.0,
    };
    let logs = iba_lab::results::inspect::group(&runs, &meta);
    let mut read = Vec::new();
    for log in &logs {
        let (file, _) = iba_lab::results::inspect::read(log.json().as_bytes(), "x.json").unwrap();
        read.extend(
            file.rows
                .into_iter()
                .map(|row| RunRecord::clone(&row.record.unwrap())),
        );
    }
    let funnel = Funnel::new(&cases(&read), By::Domain);
    assert_eq!(funnel.total.scored, 9);
    assert_eq!(funnel.groups["planning"].lost, [1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(funnel.groups["work"].lost, [0, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(funnel.groups["work"].met, 1);
    let by_signal = Funnel::new(&cases(&read), By::Signal);
    assert_eq!(by_signal.groups["complaint"].scored, 9);
}
