//! Run records with everything in them that a result file has to carry.

use iba_lab::agent::trace::*;
use iba_lab::bench::taxonomy::Action;
use iba_lab::embed::{Hit, Passage, PassageId};
use iba_lab::judge::{Judgement, Verdict, VerdictSource, VerdictState};
use iba_lab::llm::{Chat, Finish, JsonMode, Message, Reply, Tool, ToolCall, ToolChoice, Usage};
use iba_lab::run::record::*;
use serde_json::json;

pub const START: f64 = 1_795_970_754_123.0;

/// A run on `instance` with verdicts of two judges: `states` of the first, all unscored of the
/// second.
pub fn record(instance: &str, epoch: u32, domain: &str, states: &[VerdictState]) -> RunRecord {
    RunRecord {
        id: format!("run-{instance}-{epoch}"),
        instance: instance.into(),
        persona: "p01".into(),
        scenario: "food_ordering".into(),
        domain: domain.into(),
        action: Action::GenerateText,
        task: "Order dinner for me.\n\n\"Tonight\", for 2 \u{1F35C} NaN".to_owned(),
        system: System::IbaAgent,
        epoch,
        params: Params {
            temperature: Some(0.7),
            ..Params::default()
        },
        agent: ModelRef::Endpoint {
            base_url: "https://llm.example".to_owned(),
            model: "some-model".to_owned(),
        },
        dataset: DatasetRef {
            name: "iba-mini".to_owned(),
            sha256: "ab".repeat(32),
        },
        retriever: RetrieverRef {
            model: "all-minilm-l6-v2".to_owned(),
            model_sha256: "cd".repeat(32),
            method: "exact".to_owned(),
            ..RetrieverRef::default()
        },
        stages: stages(),
        output: Some(Output::GenerateText {
            text: "Noodles, not spicy.".to_owned(),
        }),
        requirements: states.iter().enumerate().map(|(n, _)| note(n)).collect(),
        set_aside: Vec::new(),
        judgements: vec![
            judgement("programmatic", states, false),
            judgement(
                "judge-model",
                &vec![VerdictState::Unscored; states.len()],
                true,
            ),
        ],
        links: None,
        status: RunStatus::Done,
        started_ms: START,
        ended_ms: Some(START + 9_500.25),
        embedding_calls: Vec::new(),
        app_version: "0.1.0".to_owned(),
        variant: Variant::default(),
    }
}

/// The embedded baseline filling a call, stopped by an error.
pub fn failed_call(instance: &str) -> RunRecord {
    let slots = json!({ "dish": "noodles", "count": 2, "spicy": false, "note": null });
    RunRecord {
        system: System::StandardRag,
        action: Action::CallApi,
        agent: ModelRef::Embedded,
        output: Some(Output::CallApi {
            slots: slots.as_object().unwrap().clone(),
            description: "Orders noodles.".to_owned(),
        }),
        status: RunStatus::Failed {
            message: "The judge gave no answer.".to_owned(),
        },
        ended_ms: None,
        judgements: Vec::new(),
        embedding_calls: vec![embedding_call()],
        ..record(instance, 1, "daily_consumption", &[VerdictState::Met])
    }
}

/// Passages embedded by an endpoint before the first stage.
fn embedding_call() -> CallRecord {
    CallRecord {
        role: "embedding".to_owned(),
        base_url: "https://embed.example/v1".to_owned(),
        request: Chat {
            model: "bge-m3".to_owned(),
            ..Chat::default()
        },
        reply: Reply {
            text: "12 vectors of 1024 numbers".to_owned(),
            usage: Some(Usage {
                input: Some(40),
                output: None,
                cached: None,
                reasoning: None,
            }),
            ..Reply::default()
        },
        prompt: PromptRef::default(),
        started_ms: START,
        duration_ms: 250.0,
        from_journal: false,
        retries: 1,
        sent: serde_json::Map::from_iter([("texts".to_owned(), json!(12))]),
    }
}

fn note(n: usize) -> RequirementNote {
    RequirementNote {
        id: format!("r{}", n + 1).as_str().into(),
        text: format!("Requirement {}", n + 1),
        evidence_sessions: vec!["s0042".to_owned()],
        signals: vec!["complaint".to_owned()],
        dynamic: n == 1,
        slot: (n == 0).then(|| "spiciness".to_owned()),
        accept: Vec::new(),
        gold: None,
    }
}

fn judgement(judge: &str, states: &[VerdictState], asked: bool) -> Judgement {
    let verdict = |(n, state): (usize, &VerdictState)| Verdict {
        requirement: note(n).id,
        state: *state,
        source: if asked {
            VerdictSource::Model
        } else {
            VerdictSource::Check
        },
        rationale: format!("Because of \"{n}\"."),
        quote: (n == 0).then(|| "not spicy".to_owned()),
    };
    Judgement {
        judge: judge.to_owned(),
        prompt: asked.then(|| prompt("judge")),
        verdicts: states.iter().enumerate().map(verdict).collect(),
        calls: if asked {
            vec![call("grader", "judge", 8_000.0)]
        } else {
            Vec::new()
        },
        ..Judgement::default()
    }
}

fn prompt(id: &str) -> PromptRef {
    PromptRef {
        id: id.to_owned(),
        sha256: "ef".repeat(32),
    }
}

fn call(role: &str, prompt_id: &str, after_ms: f64) -> CallRecord {
    let state = serde_json::Map::from_iter([("signature".to_owned(), json!("x"))]);
    let tool_call = ToolCall {
        id: "call-1".to_owned(),
        name: "search".to_owned(),
        arguments: json!({ "query": "noodles" }),
        extra: state.clone(),
    };
    let said = Message::Assistant {
        text: String::new(),
        reasoning: Some("I look it up.".to_owned()),
        tool_calls: vec![tool_call.clone()],
        extra: state.clone(),
    };
    CallRecord {
        role: role.to_owned(),
        base_url: "https://llm.example".to_owned(),
        request: Chat {
            model: format!("{role}-model"),
            messages: vec![
                Message::System {
                    text: "Be brief.".to_owned(),
                },
                Message::User {
                    text: "What now?".to_owned(),
                },
                said,
                Message::Tool {
                    call_id: "call-1".to_owned(),
                    name: "search".to_owned(),
                    text: "nothing found".to_owned(),
                    is_error: true,
                },
            ],
            tools: vec![Tool {
                name: "search".to_owned(),
                description: "Searches the history.".to_owned(),
                parameters: json!({
                    "type": "object",
                    "properties": { "query": { "type": "string", "description": "words" } },
                    "required": ["query"],
                }),
            }],
            tool_choice: Some(ToolChoice::Named("search".to_owned())),
            temperature: Some(0.7),
            max_tokens: Some(3000),
            seed: Some(42),
            json: Some(JsonMode::Object),
        },
        reply: Reply {
            text: "Noodles.".to_owned(),
            reasoning: Some("They like noodles.".to_owned()),
            tool_calls: vec![tool_call],
            finish: Finish::Other("insufficient_system_resource".to_owned()),
            usage: Some(Usage {
                input: Some(100),
                output: Some(7),
                cached: Some(40),
                reasoning: Some(3),
            }),
            model: Some("some-model-2026".to_owned()),
            request_id: Some("req-1".to_owned()),
            warnings: vec!["the server cut the prompt".to_owned()],
            extra: state,
        },
        prompt: prompt(prompt_id),
        started_ms: START + after_ms,
        duration_ms: 350.7,
        from_journal: role == "grader",
        retries: 1,
        sent: serde_json::Map::new(),
    }
}

fn stages() -> Vec<StageRecord> {
    let passage = Passage {
        id: PassageId("s0042#1".to_owned()),
        session: "s0042".into(),
        date: "2025-03-02T19:04:00".to_owned(),
        text: "User: never spicy again".to_owned(),
        start: None,
    };
    let id = passage.id.clone();
    let query = Query {
        facet: "habit".to_owned(),
        text: "dinner".to_owned(),
    };
    let hit = Hit {
        passage: passage.clone(),
        score: 0.123_456_79,
    };
    let dropped = vec![Dropped {
        passage: id.clone(),
        reason: "salience 3 is below 5".to_owned(),
    }];
    let plan = PlanItem {
        aspect: "constraint".to_owned(),
        text: "not spicy".to_owned(),
        slot: None,
    };
    let outcomes = [
        (
            StageId::QueryExpansion,
            StageOutcome::Queries {
                queries: vec![query.clone()],
            },
        ),
        (
            StageId::SimilarityRetrieval,
            StageOutcome::Retrieved {
                lists: vec![QueryHits {
                    query,
                    hits: vec![hit],
                }],
            },
        ),
        (
            StageId::RedundancyFiltering,
            StageOutcome::Filtered {
                kept: vec![passage],
                dropped: dropped.clone(),
            },
        ),
        (
            StageId::SalienceReranking,
            StageOutcome::Ranked {
                scored: vec![ScoredPassage {
                    passage: id.clone(),
                    salience: None,
                    signals: vec!["complaint".to_owned()],
                }],
                kept: vec![id.clone()],
                dropped: dropped.clone(),
            },
        ),
        (
            StageId::CompactEvidence,
            StageOutcome::Compacted {
                items: vec![CompactItem {
                    passage: id.clone(),
                    date: "2025-03-02".to_owned(),
                    text: "no spice".to_owned(),
                }],
                dropped,
            },
        ),
        (
            StageId::PreferenceExtraction,
            StageOutcome::Preferences {
                items: vec![ExtractedPreference {
                    text: "not spicy".to_owned(),
                    kind: "asked".to_owned(),
                    passages: vec![id],
                }],
            },
        ),
        (
            StageId::TaskPreferenceAlignment,
            StageOutcome::Plan {
                plan: AlignmentPlan { items: vec![plan] },
            },
        ),
        (
            StageId::TextGeneration,
            StageOutcome::Output {
                output: Output::GenerateText {
                    text: "Noodles, not spicy.".to_owned(),
                },
            },
        ),
    ];
    let stage = |(n, (stage, outcome)): (usize, (StageId, StageOutcome))| StageRecord {
        stage,
        started_ms: START + 1000.0 * n as f64,
        duration_ms: 900.125,
        outcome,
        calls: if n == 0 {
            vec![call("agent", "query_expansion", 10.0)]
        } else {
            Vec::new()
        },
        notes: Vec::new(),
        key: String::new(),
        shared_from: None,
    };
    outcomes.into_iter().enumerate().map(stage).collect()
}
