//! Prompt texts a visitor changed for a run. They go into the run's record word for word, so that
//! the result can be reproduced and shows that it was not made with the shipped wording.

use super::template::{self, Template};
use super::{ALL, JUDGE, REPAIR, WHERE_LOST};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Template id to the text that is sent in its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Edits(BTreeMap<String, String>);

impl Edits {
    /// Every template as shipped.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Whether every template is as shipped.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Ids of the changed templates.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The changed text of a template.
    pub fn get(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(String::as_str)
    }

    /// Takes a text for a template; the shipped text takes the edit back. The error says in a
    /// sentence why the text cannot be sent, and the edits stay as they were.
    pub fn set(&mut self, id: &str, text: &str) -> Result<(), String> {
        let template = editable(id).ok_or_else(|| format!("No prompt “{id}” can be edited."))?;
        if text.trim() == template.text.trim() {
            self.reset(id);
            return Ok(());
        }
        check(&template, text)?;
        self.0.insert(id.to_owned(), text.to_owned());
        Ok(())
    }

    /// The edits of the agents' prompts: what a run is made with.
    pub fn of_agents(&self) -> Self {
        let mut edits = self.clone();
        edits.reset(JUDGE.id);
        edits
    }

    /// The judge's changed text, which goes with the judge and not with the run.
    pub fn of_judges(&self) -> Option<String> {
        self.get(JUDGE.id).map(str::to_owned)
    }

    /// One text in place of a template's, unchecked: it was checked when it was set.
    pub(super) fn one(template: &Template, text: Option<&str>) -> Self {
        let edit = text.map(|text| (template.id.to_owned(), text.to_owned()));
        Self(edit.into_iter().collect())
    }

    /// Back to the shipped text.
    pub fn reset(&mut self, id: &str) {
        self.0.remove(id);
    }

    /// The text that is sent for a template.
    pub(super) fn text<'a>(&'a self, template: &Template) -> &'a str {
        self.0
            .get(template.id)
            .map_or(template.text, String::as_str)
    }
}

/// The repair is no prompt of its own, and what finds losses must be the same for all runs.
fn editable(id: &str) -> Option<Template> {
    let open = |template: &&Template| ![WHERE_LOST.id, REPAIR.id].contains(&template.id);
    ALL.iter().filter(open).find(|t| t.id == id).copied()
}

/// Ids of the prompts that can be edited, in the order of use.
pub fn editable_ids() -> Vec<&'static str> {
    ALL.iter()
        .filter_map(|template| editable(template.id).map(|t| t.id))
        .collect()
}

fn check(template: &Template, text: &str) -> Result<(), String> {
    if template::parts(text).1.is_empty() {
        return Err(
            "The part below the line --- is what the model is asked; it must not be empty."
                .to_owned(),
        );
    }
    let known = template.names();
    let listed = || {
        let names: Vec<String> = known.iter().map(|name| format!("{{{{{name}}}}}")).collect();
        names.join(", ")
    };
    let used = template::names(text);
    if let Some(stranger) = used.iter().find(|name| !known.contains(name)) {
        return Err(format!(
            "Nothing stands for {{{{{stranger}}}}} in this prompt; it knows {}.",
            listed()
        ));
    }
    match known.iter().find(|name| !used.contains(name)) {
        Some(missing) => Err(format!(
            "{{{{{missing}}}}} is missing, so the model would never see it; this prompt needs {}.",
            listed()
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompts::{all, hash_of};

    fn shipped(id: &str) -> &'static str {
        all().into_iter().find(|p| p.id == id).expect("known").text
    }

    #[test]
    fn an_edit_changes_the_hash_and_the_shipped_text_takes_it_back() {
        let mut edits = Edits::default();
        let before = hash_of("salience", &edits);
        let changed = shipped("salience").replace("whole number", "number");
        edits.set("salience", &changed).expect("fits");
        assert_ne!(hash_of("salience", &edits), before);
        assert_eq!(
            hash_of("compact_evidence", &edits),
            hash_of("compact_evidence", &Edits::default())
        );
        assert_eq!(edits.ids().collect::<Vec<_>>(), ["salience"]);
        edits.set("salience", shipped("salience")).expect("fits");
        assert!(edits.is_empty());
        assert_eq!(hash_of("salience", &edits), before);
    }

    #[test]
    fn the_judges_text_goes_with_the_judge() {
        let mut edits = Edits::default();
        let strict = shipped("judge").replace("in one sentence", "in at most ten words");
        edits.set("judge", &strict).expect("fits");
        edits
            .set(
                "salience",
                &format!("{} ", shipped("salience").replace("score", "points")),
            )
            .expect("fits");
        assert_eq!(edits.of_agents().ids().collect::<Vec<_>>(), ["salience"]);
        assert_eq!(edits.of_judges(), Some(strict));
    }

    #[test]
    fn texts_that_cannot_be_sent_are_refused_in_a_sentence() {
        let mut edits = Edits::default();
        let table = [
            ("salience", "You score.\n---\n", "must not be empty"),
            (
                "salience",
                "You score.\n---\n{{passages}} {{task}}",
                "{{scenario}} is missing",
            ),
            (
                "salience",
                "S\n---\n{{scenario}}{{task}}{{passages}}{{plan}}",
                "{{plan}}",
            ),
            (
                "judge",
                "Judge.\n---\n{{task}}{{output}}",
                "{{requirements}} is missing",
            ),
            ("where_lost", "anything", "can be edited"),
            ("moon", "anything", "can be edited"),
        ];
        for (id, text, says) in table {
            let error = edits.set(id, text).expect_err(text);
            assert!(error.contains(says), "{error}");
        }
        assert!(edits.is_empty());
    }
}
