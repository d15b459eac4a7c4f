//! Lists: queries, compacted passages, preferences, plans.

use super::body::Body;
use super::entries::{self, Given};
use super::fields::{self, as_text, snake};
use super::ids::Ids;
use super::{CompactText, FacetQuery, PlanEntry, PreferenceItem, Read, ReadError};
use crate::llm::Finish;
use serde_json::{Map, Value};

const QUERY_LISTS: [&str; 6] = [
    "queries",
    "search_queries",
    "expanded_queries",
    "facets",
    "query_list",
    "results",
];
const QUERY_NAMES: [&str; 6] = ["query", "text", "q", "search_query", "question", "content"];
const FACET_NAMES: [&str; 5] = ["facet", "type", "aspect", "kind", "category"];
const PREFERENCE_LISTS: [&str; 5] = [
    "preferences",
    "user_preferences",
    "extracted_preferences",
    "items",
    "results",
];
const PREFERENCE_NAMES: [&str; 7] = [
    "text",
    "preference",
    "statement",
    "description",
    "content",
    "summary",
    "value",
];
const KIND_NAMES: [&str; 4] = ["kind", "type", "category", "signal"];
const PASSAGE_NAMES: [&str; 8] = [
    "passages",
    "passage_ids",
    "passage",
    "evidence",
    "sources",
    "source",
    "ids",
    "support",
];
const PLAN_LISTS: [&str; 6] = [
    "plan",
    "alignment_plan",
    "items",
    "steps",
    "instructions",
    "results",
];
const PLAN_NAMES: [&str; 8] = [
    "text",
    "instruction",
    "guideline",
    "item",
    "description",
    "action",
    "content",
    "value",
];
const ASPECT_NAMES: [&str; 4] = ["aspect", "type", "kind", "category"];
const SLOT_NAMES: [&str; 3] = ["slot", "parameter", "param"];
const TEXT_NAMES: [&str; 6] = ["text", "summary", "content", "compact", "note", "evidence"];

/// Search queries, at most `max`. Shape: `{"queries": ["…"]}`; also plain lines.
pub fn queries(text: &str, finish: &Finish, max: usize) -> Result<Read<Vec<String>>, ReadError> {
    let read = facet_queries(text, finish, &[], max)?;
    Ok(Read {
        value: read.value.into_iter().map(|query| query.text).collect(),
        truncated: read.truncated,
        problems: read.problems,
    })
}

/// Search queries by facet, at most `max`. Shape: `{"style": "…", "habit": "…"}` or
/// `{"queries": [{"facet": "style", "query": "…"}]}`; plain lists come without facets.
pub fn facet_queries(
    text: &str,
    finish: &Finish,
    facets: &[&str],
    max: usize,
) -> Result<Read<Vec<FacetQuery>>, ReadError> {
    let body = Body::new(text, finish, "queries")?;
    let in_json = body.first(|value| query_list(value, facets).filter(|all| !all.is_empty()));
    let (found, truncated) = match in_json {
        Some(found) => found,
        None => {
            let lines = body.lines(true).ok_or_else(|| body.unreadable())?;
            let plain = |text| FacetQuery { facet: None, text };
            (lines.into_iter().map(plain).collect(), body.cut)
        }
    };
    let mut value: Vec<FacetQuery> = Vec::new();
    for query in found {
        let same = |other: &FacetQuery| other.text.eq_ignore_ascii_case(&query.text);
        if !value.iter().any(same) {
            value.push(query);
        }
    }
    let surplus = value.len().saturating_sub(max);
    value.truncate(max);
    let problems = (surplus > 0).then(|| format!("{surplus} queries beyond {max} were left out"));
    Ok(Read {
        value,
        truncated,
        problems: problems.into_iter().collect(),
    })
}

fn query_list(value: &Value, facets: &[&str]) -> Option<Vec<FacetQuery>> {
    match value {
        Value::Array(items) => {
            let queries: Vec<FacetQuery> = items
                .iter()
                .filter_map(|item| query(item, facets))
                .collect();
            // Holes and stray values may be left out; a list of something else is no list of ours.
            (queries.len() * 2 > items.len()).then_some(queries)
        }
        Value::Object(object) => match fields::field(object, &QUERY_LISTS) {
            Some(inner) => query_list(inner, facets),
            None => query_map(object, facets),
        },
        _ => None,
    }
}

fn query(item: &Value, facets: &[&str]) -> Option<FacetQuery> {
    match item {
        Value::String(_) => Some(FacetQuery {
            facet: None,
            text: as_text(item)?,
        }),
        Value::Object(object) => Some(FacetQuery {
            facet: fields::text(object, &FACET_NAMES).and_then(|name| facet(&name, facets)),
            text: fields::text(object, &QUERY_NAMES)?,
        }),
        _ => None,
    }
}

/// `{"q_style": "…", "habit": ["…"]}`, or `{"q1": "…"}`.
fn query_map(object: &Map<String, Value>, facets: &[&str]) -> Option<Vec<FacetQuery>> {
    let numbered = |name: &str| name.trim_start_matches(['q', 'Q']).parse::<u32>().is_ok();
    let counts = |name: &&String| {
        facet(name, facets).is_some() || numbered(name) || snake(name).starts_with("query")
    };
    if !object.keys().any(|name| counts(&name)) {
        return None;
    }
    let mut queries = Vec::new();
    for (name, value) in object.iter().filter(|(name, _)| counts(name)) {
        let items = match value {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let own = facet(name, facets);
        queries.extend(
            items
                .iter()
                .filter_map(|item| query(item, facets))
                .map(|query| FacetQuery {
                    facet: own.clone().or(query.facet),
                    text: query.text,
                }),
        );
    }
    Some(queries)
}

fn facet(name: &str, facets: &[&str]) -> Option<String> {
    let name = snake(name);
    let name = name.strip_prefix("q_").unwrap_or(&name);
    facets
        .iter()
        .find(|facet| **facet == name)
        .map(|facet| (*facet).to_owned())
}

/// One item for each of `ids`, in their order. Shape: `{"items": [{"id": "p1", "text": "…"}]}`.
pub fn compact(
    text: &str,
    finish: &Finish,
    ids: &[String],
) -> Result<Read<Vec<CompactText>>, ReadError> {
    let body = Body::new(text, finish, "compacted passages")?;
    let carries = |value: &Value| compact_text(value).is_some();
    let found = entries::read(&body, ids, carries).ok_or_else(|| body.unreadable())?;
    let item = |(id, given): (&String, &Given)| CompactText {
        id: id.clone(),
        text: match given {
            Given::One(value) => compact_text(value),
            _ => None,
        },
    };
    Ok(Read {
        value: ids.iter().zip(&found.given).map(item).collect(),
        truncated: found.truncated,
        problems: found.problems,
    })
}

fn compact_text(value: &Value) -> Option<String> {
    match value {
        Value::Object(object) => fields::text(object, &TEXT_NAMES),
        Value::String(_) => as_text(value),
        _ => None,
    }
}

/// Preferences found; an empty list is an answer. Shape:
/// `{"preferences": [{"text": "…", "kind": "corrected", "passages": ["p1"]}]}`.
pub fn preferences(
    text: &str,
    finish: &Finish,
    ids: &[String],
) -> Result<Read<Vec<PreferenceItem>>, ReadError> {
    let body = Body::new(text, finish, "preferences")?;
    let found = body.first(preference_list);
    let (found, truncated) = match found {
        Some(found) => found,
        None => {
            let lines = body.lines(false).ok_or_else(|| body.unreadable())?;
            let plain = |text| RawPreference {
                text,
                ..RawPreference::default()
            };
            (lines.into_iter().map(plain).collect(), body.cut)
        }
    };
    let mut problems = Vec::new();
    let value = found
        .into_iter()
        .map(|raw| raw.checked(ids, &mut problems))
        .collect();
    Ok(Read {
        value,
        truncated,
        problems,
    })
}

#[derive(Default)]
struct RawPreference {
    text: String,
    kind: Option<String>,
    passages: Vec<String>,
}

impl RawPreference {
    /// Passages that were not offered are left out and said.
    fn checked(self, ids: &[String], problems: &mut Vec<String>) -> PreferenceItem {
        let places = Ids::new(ids, &self.passages);
        let mut passages: Vec<String> = Vec::new();
        for passage in &self.passages {
            match places.place(passage) {
                Some(at) if !passages.contains(&ids[at]) => passages.push(ids[at].clone()),
                Some(_) => {}
                None => problems.push(format!("the unknown passage {passage:?} was left out")),
            }
        }
        PreferenceItem {
            text: self.text,
            kind: self.kind,
            passages,
        }
    }
}

fn preference_list(value: &Value) -> Option<Vec<RawPreference>> {
    match value {
        Value::Array(items) => {
            let all: Vec<RawPreference> = items.iter().filter_map(preference).collect();
            (all.len() * 2 > items.len() || items.is_empty()).then_some(all)
        }
        Value::Object(object) => match fields::field(object, &PREFERENCE_LISTS) {
            Some(inner @ (Value::Array(_) | Value::Object(_))) => preference_list(inner),
            _ => preferences_by_kind(object).or_else(|| preference(value).map(|one| vec![one])),
        },
        _ => None,
    }
}

fn preference(item: &Value) -> Option<RawPreference> {
    match item {
        Value::Object(object) => Some(RawPreference {
            text: fields::text(object, &PREFERENCE_NAMES)?,
            kind: fields::text(object, &KIND_NAMES).and_then(|kind| preference_kind(&kind)),
            passages: fields::texts(object, &PASSAGE_NAMES),
        }),
        Value::String(_) => Some(RawPreference {
            text: as_text(item)?,
            ..RawPreference::default()
        }),
        _ => None,
    }
}

/// `{"asked": ["…"], "rejected": ["…"]}`.
fn preferences_by_kind(object: &Map<String, Value>) -> Option<Vec<RawPreference>> {
    let kinds = object
        .iter()
        .filter(|(name, value)| value.is_array() && preference_kind(name).is_some());
    let mut all = Vec::new();
    let mut any = false;
    for (name, items) in kinds {
        any = true;
        for mut one in items
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(preference)
        {
            one.kind = preference_kind(name);
            all.push(one);
        }
    }
    any.then_some(all)
}

/// The five things extraction looks for (`method.json`), by the words models use for them.
fn preference_kind(word: &str) -> Option<String> {
    let word = snake(word);
    let has = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
    let kind = match () {
        () if has(&["correct", "revis", "complain"]) => "corrected",
        () if has(&["reject", "dislike", "avoid"]) => "rejected",
        () if has(&["repeat", "habit", "pattern", "chosen", "chose", "implicit"]) => "repeated",
        () if has(&["updat", "recent", "changed", "latest"]) => "updated",
        () if has(&["ask", "request", "stated", "direct", "explicit"]) => "asked",
        () => return None,
    };
    Some(kind.to_owned())
}

/// The alignment plan. Shape: `{"plan": [{"aspect": "style", "text": "…", "slot": "…"}]}`, or lists
/// under the aspects' names.
pub fn plan(text: &str, finish: &Finish) -> Result<Read<Vec<PlanEntry>>, ReadError> {
    let body = Body::new(text, finish, "a plan")?;
    let found = body.first(|value| plan_list(value, ""));
    let (value, truncated) = match found {
        Some(found) => found,
        None => {
            let lines = body.lines(false).ok_or_else(|| body.unreadable())?;
            let plain = |text| PlanEntry {
                aspect: String::new(),
                text,
                slot: None,
            };
            (lines.into_iter().map(plain).collect(), body.cut)
        }
    };
    Ok(Read {
        value,
        truncated,
        problems: Vec::new(),
    })
}

fn plan_list(value: &Value, aspect: &str) -> Option<Vec<PlanEntry>> {
    match value {
        Value::Array(items) => {
            let all: Vec<PlanEntry> = items
                .iter()
                .filter_map(|item| plan_entry(item, aspect))
                .collect();
            (all.len() * 2 > items.len() || items.is_empty()).then_some(all)
        }
        Value::Object(object) => {
            let inner = fields::field(object, &PLAN_LISTS);
            match inner.filter(|inner| inner.is_array() || inner.is_object()) {
                Some(inner) => plan_list(inner, aspect),
                None => plan_by_aspect(object)
                    .or_else(|| plan_entry(value, aspect).map(|entry| vec![entry])),
            }
        }
        _ => None,
    }
}

fn plan_entry(item: &Value, aspect: &str) -> Option<PlanEntry> {
    match item {
        Value::Object(object) => {
            let own = fields::text(object, &ASPECT_NAMES).map(|own| aspect_name(&own));
            Some(PlanEntry {
                aspect: own.unwrap_or_else(|| aspect.to_owned()),
                text: fields::text(object, &PLAN_NAMES)?,
                slot: fields::text(object, &SLOT_NAMES),
            })
        }
        _ => Some(PlanEntry {
            aspect: aspect.to_owned(),
            text: item.as_str().and(as_text(item))?,
            slot: None,
        }),
    }
}

/// `{"style": ["…"], "constraints": [{"slot": "…", "text": "…"}]}`.
fn plan_by_aspect(object: &Map<String, Value>) -> Option<Vec<PlanEntry>> {
    let known = |name: &str| {
        [
            "style",
            "structure",
            "constraint",
            "priority",
            "content",
            "tone",
            "format",
        ]
        .contains(&aspect_name(name).as_str())
    };
    if !object
        .iter()
        .any(|(name, value)| known(name) && !value.is_null())
    {
        return None;
    }
    // A single entry has an aspect field and a text; it is no map of aspects.
    if fields::field(object, &ASPECT_NAMES).is_some_and(Value::is_string) {
        return None;
    }
    let mut all = Vec::new();
    for (name, value) in object {
        let items = match value {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let aspect = aspect_name(name);
        all.extend(items.iter().filter_map(|item| plan_entry(item, &aspect)));
    }
    Some(all)
}

fn aspect_name(word: &str) -> String {
    match snake(word).as_str() {
        "constraints" | "constraint" => "constraint".to_owned(),
        "priorities" | "priority" => "priority".to_owned(),
        "styles" | "style" => "style".to_owned(),
        "structures" | "structure" => "structure".to_owned(),
        other => other.to_owned(),
    }
}
