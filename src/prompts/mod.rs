//! Prompt texts (`*.md` beside this file), one typed render function each, and a hash of each.
//!
//! Wording is our own, after the rules in the paper. No render function takes a hidden type;
//! [`judge`] and [`where_lost`], which no agent calls, get texts of requirements. A visitor's
//! [`Edits`] replace texts for a run; the hash that goes with every call is that of the text that
//! was sent.

mod edits;
pub mod quote;
mod shape;
mod template;

pub use edits::{Edits, editable_ids};
pub use shape::shape;

use crate::agent::facets::Facet;
use crate::agent::trace::{AlignmentPlan, CompactItem, ExtractedPreference, PromptRef};
use crate::bench::taxonomy::ApiTemplate;
use crate::bench::visible::Instance;
use crate::embed::Passage;
use crate::llm::Message;
use sha2::{Digest, Sha256};
use template::{Template, fill};

/// A prompt template as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptInfo {
    /// For example `salience`.
    pub id: &'static str,
    /// What it is for, in a few words.
    pub title: &'static str,
    /// Of the template, lower-case hex.
    pub sha256: String,
    pub text: &'static str,
}

/// A filled template, ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    pub messages: Vec<Message>,
    pub reference: PromptRef,
    /// Whether the template asks for a JSON object.
    pub json: bool,
}

/// What a trajectory knows of the user before its output head.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    pub plan: Option<&'a AlignmentPlan>,
    pub preferences: &'a [ExtractedPreference],
    pub evidence: &'a [CompactItem],
}

macro_rules! template {
    ($name:ident, $id:literal, $title:literal) => {
        const $name: Template = Template {
            id: $id,
            title: $title,
            text: include_str!(concat!($id, ".md")),
        };
    };
}

template!(
    QUERY_EXPANSION,
    "query_expansion",
    "Search queries by facet"
);
template!(SALIENCE, "salience", "Salience of passages");
template!(COMPACT_EVIDENCE, "compact_evidence", "Condensing passages");
template!(
    PREFERENCE_EXTRACTION,
    "preference_extraction",
    "Finding preferences"
);
template!(ALIGN_TEXT, "align_text", "Plan for a text");
template!(ALIGN_CALL, "align_call", "Plan for a call");
template!(WRITE_TEXT, "write_text", "Output head A: writing the text");
template!(FILL_SLOTS, "fill_slots", "Output head B: filling the slots");
template!(RAG_TEXT, "rag_text", "Standard RAG: writing the text");
template!(RAG_SLOTS, "rag_slots", "Standard RAG: filling the slots");
template!(
    PLAIN_TEXT,
    "plain_text",
    "Without history: writing the text"
);
template!(
    PLAIN_SLOTS,
    "plain_slots",
    "Without history: filling the slots"
);
template!(
    ANSWER_QUESTIONS,
    "answer_questions",
    "QA mode: answering questions about the user"
);
template!(
    CONTROLLER,
    "controller",
    "Function calling: choosing the tools"
);
template!(
    REPAIR,
    "repair",
    "Second try after an answer that could not be read"
);
template!(JUDGE, "judge", "Verdicts on requirements");
template!(
    WHERE_LOST,
    "where_lost",
    "Which notes carry a requirement that was not met"
);

const ALL: [Template; 17] = [
    CONTROLLER,
    QUERY_EXPANSION,
    SALIENCE,
    COMPACT_EVIDENCE,
    PREFERENCE_EXTRACTION,
    ALIGN_TEXT,
    ALIGN_CALL,
    WRITE_TEXT,
    FILL_SLOTS,
    RAG_TEXT,
    RAG_SLOTS,
    PLAIN_TEXT,
    PLAIN_SLOTS,
    ANSWER_QUESTIONS,
    REPAIR,
    JUDGE,
    WHERE_LOST,
];

/// Every template this program sends, in the order of use.
pub fn all() -> Vec<PromptInfo> {
    let info = |t: &Template| PromptInfo {
        id: t.id,
        title: t.title,
        sha256: sha256(t.text),
        text: t.text,
    };
    ALL.iter().map(info).collect()
}

fn sha256(text: &str) -> String {
    Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Hash of the text that is sent for a template under these edits; empty for an unknown id.
pub fn hash_of(id: &str, edits: &Edits) -> String {
    let template = ALL.iter().find(|template| template.id == id);
    template.map_or_else(String::new, |template| sha256(edits.text(template)))
}

fn render(template: &Template, edits: &Edits, values: &[(&str, &str)]) -> Rendered {
    let text = edits.text(template);
    let (system, user) = template::parts(text);
    let mut messages = Vec::new();
    if !system.is_empty() {
        messages.push(Message::System {
            text: fill(system, values),
        });
    }
    messages.push(Message::User {
        text: fill(user, values),
    });
    Rendered {
        messages,
        reference: PromptRef {
            id: template.id.to_owned(),
            sha256: sha256(text),
        },
        json: user.contains("JSON"),
    }
}

fn task(instance: &Instance) -> String {
    quote::disarm(&instance.task.text())
}

/// Search queries for each facet.
pub fn query_expansion(edits: &Edits, instance: &Instance, facets: &[Facet], max: u32) -> Rendered {
    let line = |f: &Facet| format!("- `{}`: {}", f.id, f.asks_about.join(", "));
    let facets: Vec<String> = facets.iter().map(line).collect();
    render(
        &QUERY_EXPANSION,
        edits,
        &[
            ("scenario", &instance.scenario_name),
            ("task", &task(instance)),
            ("max", &max.to_string()),
            ("facets", &facets.join("\n")),
        ],
    )
}

/// Scores for passages.
pub fn salience(edits: &Edits, instance: &Instance, passages: &[Passage]) -> Rendered {
    of_passages(&SALIENCE, edits, instance, passages)
}

/// Notes on passages.
pub fn compact_evidence(edits: &Edits, instance: &Instance, passages: &[Passage]) -> Rendered {
    of_passages(&COMPACT_EVIDENCE, edits, instance, passages)
}

fn of_passages(
    template: &Template,
    edits: &Edits,
    instance: &Instance,
    passages: &[Passage],
) -> Rendered {
    render(
        template,
        edits,
        &[
            ("scenario", &instance.scenario_name),
            ("task", &task(instance)),
            ("passages", &quote::passages(passages)),
        ],
    )
}

/// Preferences in notes.
pub fn preference_extraction(
    edits: &Edits,
    instance: &Instance,
    evidence: &[CompactItem],
) -> Rendered {
    render(
        &PREFERENCE_EXTRACTION,
        edits,
        &[
            ("scenario", &instance.scenario_name),
            ("task", &task(instance)),
            ("evidence", &quote::evidence(evidence)),
        ],
    )
}

/// The plan for a text, or for a call when the instance has an API template.
pub fn alignment(
    edits: &Edits,
    instance: &Instance,
    preferences: &[ExtractedPreference],
) -> Rendered {
    let template = if instance.api.is_some() {
        &ALIGN_CALL
    } else {
        &ALIGN_TEXT
    };
    render(
        template,
        edits,
        &[
            ("scenario", &instance.scenario_name),
            ("task", &task(instance)),
            (
                "api",
                &instance.api.as_ref().map(quote::api).unwrap_or_default(),
            ),
            ("preferences", &quote::preferences(preferences)),
        ],
    )
}

/// What stands for a plan where none was made.
const NO_PLAN: &str = "(No plan was made. Follow what the notes show of this user.)";

/// Output head A or B of IBA-Agent; B when there is an API template.
pub fn synthesis(
    edits: &Edits,
    instance: &Instance,
    api: Option<&ApiTemplate>,
    known: Known<'_>,
) -> Rendered {
    let plan = known.plan.map_or(NO_PLAN.to_owned(), quote::plan);
    render(
        if api.is_some() {
            &FILL_SLOTS
        } else {
            &WRITE_TEXT
        },
        edits,
        &[
            ("scenario", &instance.scenario_name),
            ("task", &task(instance)),
            ("api", &api.map(quote::api).unwrap_or_default()),
            ("plan", &plan),
            ("preferences", &quote::preferences(known.preferences)),
            ("evidence", &quote::evidence(known.evidence)),
        ],
    )
}

/// Output head A or B of standard RAG; B when there is an API template. `context` is joined with
/// the request as it is, see [`quote`].
pub fn rag(
    edits: &Edits,
    instance: &Instance,
    api: Option<&ApiTemplate>,
    context: &str,
) -> Rendered {
    render(
        if api.is_some() { &RAG_SLOTS } else { &RAG_TEXT },
        edits,
        &[
            ("task", &task(instance)),
            ("api", &api.map(quote::api).unwrap_or_default()),
            ("passages", context),
        ],
    )
}

/// The request without any history; as a call when there is an API template.
pub fn plain(edits: &Edits, instance: &Instance, api: Option<&ApiTemplate>) -> Rendered {
    render(
        if api.is_some() {
            &PLAIN_SLOTS
        } else {
            &PLAIN_TEXT
        },
        edits,
        &[
            ("task", &task(instance)),
            ("api", &api.map(quote::api).unwrap_or_default()),
        ],
    )
}

/// Questions about the user, under `Q1`, `Q2`, …; `context` as for [`rag`].
pub fn answer_questions(
    edits: &Edits,
    instance: &Instance,
    questions: &[String],
    context: &str,
) -> Rendered {
    let line = |(n, q): (usize, &String)| format!("Q{}: {}", n + 1, quote::disarm(q));
    let questions: Vec<String> = questions.iter().enumerate().map(line).collect();
    render(
        &ANSWER_QUESTIONS,
        edits,
        &[
            ("scenario", &instance.scenario_name),
            ("material", context),
            ("questions", &questions.join("\n")),
        ],
    )
}

/// What the controller is told before its first turn; `head` is the tool that ends the work.
pub fn controller(edits: &Edits, instance: &Instance, head: &str) -> Rendered {
    let api = instance.api.as_ref();
    let api = api.map(|api| format!("\nThe call and its slots:\n{}", quote::api(api)));
    render(
        &CONTROLLER,
        edits,
        &[
            ("scenario", &instance.scenario_name),
            ("task", &task(instance)),
            ("api", &api.unwrap_or_default()),
            ("head", head),
        ],
    )
}

/// The message that asks for the same answer again, with the problem named.
pub fn repair(problem: &str) -> String {
    fill(REPAIR.parts().1, &[("problem", problem)])
}

/// Hash of the judge's prompt, as shipped or in other words.
pub fn judge_hash(wording: Option<&str>) -> String {
    sha256(wording.unwrap_or(JUDGE.text))
}

/// The judge's question about one output, as shipped or in other words. `requirements` are id and text in the order to show
/// them; `not_met_first` puts the verdict 0 before 1.
pub fn judge(
    wording: Option<&str>,
    instance: &Instance,
    output: &str,
    requirements: &[(String, &str)],
    not_met_first: bool,
) -> Rendered {
    let mut verdicts = [
        "- 1: the output plainly does what the criterion says",
        "- 0: it does not, only does so in part, or merely announces it",
    ];
    if not_met_first {
        verdicts.reverse();
    }
    let lines: Vec<String> = requirements
        .iter()
        .map(|(id, text)| format!("{id}: {text}"))
        .collect();
    render(
        &JUDGE,
        &Edits::one(&JUDGE, wording),
        &[
            ("task", &task(instance)),
            ("output", &quote::disarm(output)),
            ("requirements", &lines.join("\n")),
            ("verdicts", &verdicts.join("\n")),
            ("example", if not_met_first { "0" } else { "1" }),
        ],
    )
}

/// Asks which of an agent's notes carry what the user wanted. `wishes` are texts of a preference and
/// its requirement; `asked` are the ids to answer for: `E1` is the first wish in the first list.
pub fn where_lost(
    extracted: &[String],
    plan: &[String],
    wishes: &[(&str, &str)],
    asked: &[String],
) -> Rendered {
    let list = |lines: Vec<String>| match lines.is_empty() {
        true => "(none)".to_owned(),
        false => lines.join("\n"),
    };
    let notes = |items: &[String]| {
        list(
            items
                .iter()
                .map(|text| format!("- {}", quote::disarm(text)))
                .collect(),
        )
    };
    let wish = |(n, (preference, requirement)): (usize, &(&str, &str))| {
        format!("{}. {preference} (criterion: {requirement})", n + 1)
    };
    let about = |id: &String| {
        let (letter, number) = id.split_at(1);
        format!("- {id}: is wish {number} in list {letter}?")
    };
    render(
        &WHERE_LOST,
        &Edits::default(),
        &[
            ("extracted", &notes(extracted)),
            ("plan", &notes(plan)),
            (
                "wishes",
                &list(wishes.iter().enumerate().map(wish).collect()),
            ),
            ("asked", &list(asked.iter().map(about).collect())),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::facets::FACETS;

    #[test]
    fn every_template_is_filled_completely() {
        let instance = Instance {
            id: "x-a".into(),
            persona: "p".into(),
            scenario: "x".into(),
            scenario_name: "Letters".to_owned(),
            action: crate::bench::taxonomy::Action::GenerateText,
            task: Default::default(),
            api: None,
        };
        let api = ApiTemplate {
            name: "f".to_owned(),
            method: "GET".to_owned(),
            endpoint: String::new(),
            description: String::new(),
            slots: Vec::new(),
        };
        let with_api = Instance {
            api: Some(api.clone()),
            ..instance.clone()
        };
        let (e, known) = (&Edits::default(), Known::default());
        let rendered = [
            controller(e, &instance, "text_generation"),
            query_expansion(e, &instance, &FACETS, 5),
            salience(e, &instance, &[]),
            compact_evidence(e, &instance, &[]),
            preference_extraction(e, &instance, &[]),
            alignment(e, &instance, &[]),
            alignment(e, &with_api, &[]),
            synthesis(e, &instance, None, known),
            synthesis(e, &with_api, Some(&api), known),
            rag(e, &instance, None, ""),
            rag(e, &with_api, Some(&api), ""),
            plain(e, &instance, None),
            plain(e, &with_api, Some(&api)),
            answer_questions(e, &instance, &[], ""),
            judge(None, &instance, "", &[], true),
            where_lost(&[], &[], &[("a", "b")], &["E1".to_owned()]),
        ];
        let mut used: Vec<&str> = rendered.iter().map(|r| r.reference.id.as_str()).collect();
        used.push(REPAIR.id);
        let mut known: Vec<&str> = ALL.iter().map(|t| t.id).collect();
        used.sort_unstable();
        known.sort_unstable();
        assert_eq!(used, known);
        for r in &rendered {
            for message in &r.messages {
                let (Message::System { text } | Message::User { text }) = message else {
                    continue;
                };
                assert!(!text.contains("{{"), "{}: {text}", r.reference.id);
            }
        }
        assert!(!repair("x").contains("{{"));
    }

    #[test]
    fn asks_for_json_where_it_reads_json() {
        let texts = [
            "controller",
            "write_text",
            "rag_text",
            "plain_text",
            "repair",
        ];
        for t in ALL {
            let asks = t.parts().1.contains("JSON");
            assert_eq!(asks, !texts.contains(&t.id), "{}", t.id);
        }
    }

    #[test]
    fn a_request_cannot_name_a_placeholder() {
        let filled = fill(JUDGE.parts().1, &[("task", "{{output}}"), ("output", "o")]);
        assert!(filled.contains("<request>\n{{output}}\n</request>"));
        let names = ["task", "output", "requirements", "verdicts", "example"];
        assert_eq!(JUDGE.names(), names);
    }
}
