//! Facet queries from templates: the scenario's name and what one would say in such a talk.

use crate::agent::trace::Query;
use crate::bench::visible::Instance;

/// One query a facet, in the paper's order.
pub fn queries(instance: &Instance) -> Vec<Query> {
    let scenario = instance.scenario_name.to_lowercase();
    let task = instance.task.instruction.trim_end_matches(['.', '!', '?']);
    let call = instance.api.is_some();
    let phrases: [(&str, &str); 5] = if call {
        [
            ("style", "what kind, what sort, the look and feel of it"),
            ("structure", "how many, how long, which details"),
            (
                "decision",
                "cheaper or better, quicker or more comfortable, which one to take",
            ),
            (
                "correction",
                "no, not that one, change it, take the other one instead",
            ),
            ("habit", "the same as last time, as usual, like before"),
        ]
    } else {
        [
            (
                "style",
                "change the tone and the wording, say it more plainly",
            ),
            (
                "structure",
                "shorter, as a list or in paragraphs, headings, numbered, a table",
            ),
            (
                "decision",
                "what matters most goes first, what can be left out",
            ),
            (
                "correction",
                "no, take that out, not like this, too much, write it again",
            ),
            ("habit", "do it the same way as last time, as always"),
        ]
    };
    let query = |(facet, phrase): &(&str, &str)| Query {
        facet: (*facet).to_owned(),
        text: format!("{task}. {scenario}: {phrase}"),
    };
    phrases.iter().map(query).collect()
}
