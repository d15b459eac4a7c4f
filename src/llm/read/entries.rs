//! Lists of items that belong to expected ids: by id, else by place, never by guess.

use super::body::Body;
use super::fields;
use super::ids::Ids;
use serde_json::{Map, Value};

/// Names under which models put a list.
const CONTAINERS: [&str; 18] = [
    "scores",
    "verdicts",
    "items",
    "results",
    "passages",
    "ratings",
    "evaluations",
    "judgements",
    "judgments",
    "requirements",
    "evidence",
    "compact",
    "data",
    "output",
    "answers",
    "salience",
    "list",
    "response",
];

/// Names of an item's id.
const ID_NAMES: [&str; 10] = [
    "id",
    "passage",
    "passage_id",
    "requirement",
    "requirement_id",
    "index",
    "no",
    "number",
    "key",
    "编号",
];

/// One item of an answer.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    id: Option<String>,
    value: Value,
}

/// What an answer holds for one expected id.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    Missing,
    One(Value),
    /// Given more than once, and not the same.
    Conflict,
}

/// For each expected id what the answer gives, in their order.
pub struct Entries {
    pub given: Vec<Given>,
    pub truncated: bool,
    pub problems: Vec<String>,
}

/// Finds the list in an answer. `carries` says whether an item holds what the reader is after.
pub fn read(body: &Body, ids: &[String], carries: impl Fn(&Value) -> bool) -> Option<Entries> {
    let fits = |entries: &Vec<Entry>| entries.iter().any(|entry| carries(&entry.value));
    let listed = body.first(|value| list(value, ids).filter(fits));
    let (entries, truncated) = listed.or_else(|| loose(body, ids).filter(|(all, _)| fits(all)))?;
    Some(assign(entries, truncated, ids))
}

/// An array, a map from id to item, or either inside an object.
fn list(value: &Value, ids: &[String]) -> Option<Vec<Entry>> {
    match value {
        Value::Array(items) => Some(items.iter().map(entry).collect()),
        Value::Object(object) => {
            let inner = fields::field(object, &CONTAINERS).filter(|inner| is_list(inner));
            let only = || {
                object
                    .values()
                    .next()
                    .filter(|v| object.len() == 1 && is_list(v))
            };
            match inner {
                Some(inner) => list(inner, ids),
                None => map(object, ids).or_else(|| list(only()?, ids)),
            }
        }
        _ => None,
    }
}

fn is_list(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

/// `{"p1": 7, "p2": {"score": 3}}`.
fn map(object: &Map<String, Value>, ids: &[String]) -> Option<Vec<Entry>> {
    let keys: Vec<String> = object.keys().cloned().collect();
    let places = Ids::new(ids, &keys);
    let known = keys.iter().any(|key| places.place(key).is_some());
    let entries = object.iter().map(|(key, value)| Entry {
        id: Some(key.clone()),
        value: value.clone(),
    });
    known.then(|| entries.collect())
}

/// Objects one after another, or the one object that was asked for.
fn loose(body: &Body, ids: &[String]) -> Option<(Vec<Entry>, bool)> {
    let objects = body
        .candidates()
        .iter()
        .filter(|found| found.value.is_object());
    let entries: Vec<Entry> = objects.clone().map(|found| entry(&found.value)).collect();
    let truncated = objects.clone().any(|found| found.truncated);
    let named = entries.iter().all(|entry| entry.id.is_some());
    let single = ids.len() == 1;
    match (entries.is_empty(), named || single) {
        (false, true) if single && !named => Some((entries[..1].to_vec(), truncated)),
        (false, true) => Some((entries, truncated)),
        _ => None,
    }
}

fn entry(value: &Value) -> Entry {
    let id = value
        .as_object()
        .and_then(|object| fields::text(object, &ID_NAMES));
    Entry {
        id,
        value: value.clone(),
    }
}

fn assign(entries: Vec<Entry>, truncated: bool, ids: &[String]) -> Entries {
    let mut out = Entries {
        given: vec![Given::Missing; ids.len()],
        truncated,
        problems: Vec::new(),
    };
    if entries.iter().all(|entry| entry.id.is_none()) {
        out.by_place(entries);
    } else {
        out.by_id(entries, ids);
    }
    let missing = out
        .given
        .iter()
        .filter(|given| **given == Given::Missing)
        .count();
    if missing > 0 {
        out.problems
            .push(format!("{missing} of {} items are missing", ids.len()));
    }
    out
}

impl Entries {
    /// Without ids only a list of the right length can be matched, or the beginning of a cut one.
    fn by_place(&mut self, entries: Vec<Entry>) {
        let (have, want) = (entries.len(), self.given.len());
        if have != want && !(self.truncated && have < want) {
            let problem = format!("{have} items without ids cannot be matched with {want}");
            self.problems.push(problem);
            return;
        }
        for (given, entry) in self.given.iter_mut().zip(entries) {
            *given = Given::One(entry.value);
        }
    }

    fn by_id(&mut self, entries: Vec<Entry>, ids: &[String]) {
        let named: Vec<String> = entries
            .iter()
            .filter_map(|entry| entry.id.clone())
            .collect();
        let places = Ids::new(ids, &named);
        for entry in entries {
            let Some(id) = entry.id else {
                self.problems
                    .push("an item without an id was left out".to_owned());
                continue;
            };
            let Some(at) = places.place(&id) else {
                self.problems
                    .push(format!("an item with the unknown id {id:?} was left out"));
                continue;
            };
            self.given[at] = match &self.given[at] {
                Given::Missing => Given::One(entry.value),
                Given::One(held) if *held == entry.value => continue,
                _ => Given::Conflict,
            };
            if self.given[at] == Given::Conflict {
                self.problems
                    .push(format!("{id:?} was given more than once, and differently"));
            }
        }
    }
}
