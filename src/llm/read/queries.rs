//! Search queries.

use super::body::Body;
use super::fields::{self, as_text, snake};
use super::{FacetQuery, Read, ReadError};
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
            Some(one @ Value::String(_)) => query(one, facets).map(|query| vec![query]),
            Some(inner) => query_list(inner, facets),
            None => query_map(object, facets),
        },
        _ => None,
    }
}

fn query(item: &Value, facets: &[&str]) -> Option<FacetQuery> {
    let found = match item {
        Value::String(_) => FacetQuery {
            facet: None,
            text: as_text(item)?,
        },
        Value::Object(object) => FacetQuery {
            facet: fields::text(object, &FACET_NAMES).and_then(|name| facet(&name, facets)),
            text: fields::text(object, &QUERY_NAMES)?,
        },
        _ => return None,
    };
    // "..." in an example is no query.
    let dots = found.text.chars().all(|c| ".… ".contains(c));
    (!dots).then_some(found)
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
