//! Facet queries from templates: the scenario's name and what one would say in such a talk; for a
//! call also what its open slots are about.

use super::facts;
use crate::agent::facets::FACETS;
use crate::agent::trace::Query;
use crate::bench::taxonomy::{ApiTemplate, Slot};
use crate::bench::visible::Instance;

/// What one would say, one phrase a facet.
const OF_TEXTS: [&str; 5] = [
    "",
    "shorter, as a list or in paragraphs, headings, numbered, a table",
    "what matters most goes first, what can be left out",
    "no, take that out, not like this, too much, write it again",
    "do it the same way as last time, as always",
];
const OF_CALLS: [&str; 5] = [
    "what kind, what sort, the look and feel of it",
    "how many, how long, which details",
    "cheaper or better, quicker or more comfortable, which one to take",
    "no, not that one, change it, take the other one instead",
    "the same as last time, as usual, like before",
];

/// One query a facet, in the paper's order. The first three of a call name its open slots, as far
/// as there are any.
pub fn queries(instance: &Instance) -> Vec<Query> {
    let scenario = instance.scenario_name.to_lowercase();
    let slots = instance.api.as_ref().map(open_slots).unwrap_or_default();
    let phrases = if instance.api.is_some() {
        OF_CALLS
    } else {
        OF_TEXTS
    };
    let query = |(i, phrase): (usize, &str)| {
        let phrase = slots
            .get(i)
            .filter(|_| i < 3)
            .map_or_else(|| phrase.to_owned(), |s| asked(s));
        let text = format!("{scenario}: {phrase}");
        Query {
            facet: FACETS[i].id.to_owned(),
            text: text.trim_end_matches([':', ' ']).to_owned(),
        }
    };
    phrases.into_iter().enumerate().map(query).collect()
}

fn open_slots(api: &ApiTemplate) -> Vec<&Slot> {
    api.slots
        .iter()
        .filter(|slot| slot.options.is_some() && !facts::is_fixed(slot))
        .collect()
}

/// A slot as a question: what it is about and between what one chooses.
fn asked(slot: &Slot) -> String {
    let options = slot
        .options
        .iter()
        .flatten()
        .filter_map(|option| option.as_str());
    let options: Vec<String> = options
        .filter(|option| *option != "any")
        .map(|option| option.replace('_', " "))
        .collect();
    format!("{}: {}", slot.description, options.join(", "))
}
