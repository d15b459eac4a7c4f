//! A source folder: what authors write by hand, one file a scenario, persona and instance.
//! Its format is described in `public/datasets/FORMAT.md`.

use super::casual::Exchange;
use super::clash::Clashes;
use crate::bench::error::Warning;
use crate::bench::hidden::{
    Dimension, Persona, Preference, QaItem, Requirement, Sample, Signal, SlotReference,
};
use crate::bench::ids::{DomainId, InstanceId, PersonaId, PreferenceId, ScenarioId};
use crate::bench::json::{self, Warnings};
use crate::bench::lines::{self, Lines};
use crate::bench::taxonomy::{Action, ApiTemplate, Domain, Scenario};
use crate::bench::visible::{Task, Turn};
use crate::lab::error::{Finding, LabError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;

/// A whole source, each list in the order of the files' names.
#[derive(Clone, Debug)]
pub struct Source {
    pub about: About,
    pub taxonomy: Taxonomy,
    pub scenarios: Vec<SourceScenario>,
    pub personas: Vec<SourcePersona>,
    pub instances: Vec<SourceInstance>,
    pub casual: Vec<Exchange>,
    pub clashes: Clashes,
}

/// `dataset.json`: what the manifest says about the whole.
#[derive(Clone, Debug, Deserialize)]
pub struct About {
    pub name: String,
    pub title: String,
    pub description: String,
    pub licence: String,
    #[serde(default)]
    pub licence_url: Option<String>,
    #[serde(default)]
    pub attribution: Option<String>,
}

/// `taxonomy.json`: domains, and what each scenario has to look like.
#[derive(Clone, Debug, Deserialize)]
pub struct Taxonomy {
    pub domains: Vec<Domain>,
    pub scenarios: Vec<Planned>,
}

/// What the taxonomy says of a scenario.
#[derive(Clone, Debug, Deserialize)]
pub struct Planned {
    pub id: ScenarioId,
    pub domain: DomainId,
    pub dynamic: bool,
    pub action: Action,
    /// Preference dimensions.
    #[serde(default, rename = "D")]
    pub dimensions: Option<usize>,
    /// Preference values, about.
    #[serde(default, rename = "P")]
    pub values: Option<usize>,
    /// Instances in the full benchmark.
    #[serde(default, rename = "I")]
    pub instances: Option<usize>,
}

/// `scenarios/ID.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct SourceScenario {
    pub id: ScenarioId,
    pub domain: DomainId,
    pub name: String,
    pub action: Action,
    pub dynamic: bool,
    pub dimensions: Vec<Dimension>,
    #[serde(default)]
    pub api: Option<ApiTemplate>,
}

impl SourceScenario {
    /// The part everybody may see.
    pub fn public(&self) -> Scenario {
        Scenario {
            id: self.id.clone(),
            domain: self.domain.clone(),
            name: self.name.clone(),
            action: self.action,
            dynamic: self.dynamic,
            api: self.api.clone(),
        }
    }
}

/// `personas/ID.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct SourcePersona {
    pub id: PersonaId,
    pub name: String,
    pub age: u32,
    pub gender: String,
    pub background: BTreeMap<String, String>,
    pub traits: Vec<String>,
    pub states: Vec<String>,
    pub roles: Vec<String>,
    pub summary: String,
    /// Fills the placeholders of casual exchanges.
    pub chat_slots: BTreeMap<String, String>,
}

impl SourcePersona {
    /// The part that goes into the dataset.
    pub fn persona(&self) -> Persona {
        Persona {
            id: self.id.clone(),
            name: self.name.clone(),
            age: self.age,
            gender: self.gender.clone(),
            background: self.background.clone(),
            traits: self.traits.clone(),
            states: self.states.clone(),
            roles: self.roles.clone(),
            summary: self.summary.clone(),
        }
    }
}

/// `instances/ID.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct SourceInstance {
    pub id: InstanceId,
    pub persona: PersonaId,
    pub scenario: ScenarioId,
    pub task: Task,
    pub preferences: Vec<Preference>,
    pub evidence: Vec<SourceEvidence>,
    pub requirements: Vec<Requirement>,
    #[serde(default)]
    pub api_reference: BTreeMap<String, SlotReference>,
    #[serde(default)]
    pub qa: Vec<QaItem>,
    #[serde(default)]
    pub sample: Option<Sample>,
}

/// A session that reveals preferences.
#[derive(Clone, Debug, Deserialize)]
pub struct SourceEvidence {
    pub id: String,
    pub date: String,
    pub signal: Signal,
    pub reveals: Vec<PreferenceId>,
    pub turns: Vec<Turn>,
}

/// Reads a source folder; every file that cannot be read is in the error, not only the first.
pub fn load(folder: &Path) -> Result<(Source, Vec<Warning>), LabError> {
    let mut reader = Reader {
        folder,
        findings: Vec::new(),
        warnings: Vec::new(),
    };
    let about = reader.file("dataset.json", true);
    // The taxonomy carries columns of the paper that mean nothing here; they are no mistake.
    let taxonomy = reader.file("taxonomy.json", false);
    let scenarios = reader.folder("scenarios", |scenario: &SourceScenario| {
        scenario.id.as_str()
    })?;
    let personas = reader.folder("personas", |persona: &SourcePersona| persona.id.as_str())?;
    let instances = reader.folder("instances", |instance: &SourceInstance| {
        instance.id.as_str()
    })?;
    let casual = reader.casual()?;
    let clashes = if folder.join("clashes.json").exists() {
        reader.file("clashes.json", true)
    } else {
        Some(Clashes::default())
    };
    match (about, taxonomy, clashes) {
        (Some(about), Some(taxonomy), Some(clashes)) if reader.findings.is_empty() => Ok((
            Source {
                about,
                taxonomy,
                scenarios,
                personas,
                instances,
                casual,
                clashes,
            },
            reader.warnings,
        )),
        _ => Err(LabError::Findings(reader.findings)),
    }
}

struct Reader<'a> {
    folder: &'a Path,
    findings: Vec<Finding>,
    warnings: Vec<Warning>,
}

impl Reader<'_> {
    fn file<T: DeserializeOwned>(&mut self, name: &str, warn: bool) -> Option<T> {
        let mut warnings = Warnings::new(name);
        match self.text(name).and_then(|text| {
            json::parse(&text, None, &mut warnings).map_err(|fault| Finding {
                file: name.to_owned(),
                fault,
            })
        }) {
            Ok(value) => {
                self.warnings
                    .extend(warnings.into_list().into_iter().filter(|_| warn));
                Some(value)
            }
            Err(finding) => {
                self.findings.push(finding);
                None
            }
        }
    }

    fn text(&self, name: &str) -> Result<String, Finding> {
        let bytes = std::fs::read(self.folder.join(name))
            .map_err(|error| Finding::new(name, "", format!("could not be read: {error}")))?;
        let text = lines::opening(name, &bytes)
            .map_err(|error| Finding::new(name, "", error.to_string()))?;
        Ok(text.to_owned())
    }

    fn folder<T: DeserializeOwned>(
        &mut self,
        folder: &str,
        id: impl Fn(&T) -> &str,
    ) -> Result<Vec<T>, LabError> {
        let mut list = Vec::new();
        for name in names(&self.folder.join(folder), ".json")? {
            let file = format!("{folder}/{name}.json");
            let Some(value) = self.file::<T>(&file, true) else {
                continue;
            };
            if id(&value) != name {
                self.findings.push(Finding::new(
                    &file,
                    "id",
                    format!("is \"{}\", but the file is called {name}.json", id(&value)),
                ));
            }
            list.push(value);
        }
        Ok(list)
    }

    fn casual(&mut self) -> Result<Vec<Exchange>, LabError> {
        let mut list = Vec::new();
        for name in names(&self.folder.join("casual"), ".jsonl")? {
            let file = format!("casual/{name}.jsonl");
            match self.text(&file) {
                Ok(text) => self.exchanges(&file, &text, &mut list),
                Err(finding) => self.findings.push(finding),
            }
        }
        Ok(list)
    }

    fn exchanges(&mut self, file: &str, text: &str, list: &mut Vec<Exchange>) {
        let mut warnings = Warnings::new(file);
        let mut each = |line: u32, text: &str| match json::parse(text, Some(line), &mut warnings) {
            Ok(exchange) => list.push(exchange),
            Err(fault) => self.findings.push(Finding {
                file: file.to_owned(),
                fault,
            }),
        };
        let mut cutter = Lines::new(file);
        let read = cutter
            .push(text.as_bytes(), &mut each)
            .and_then(|()| cutter.finish(&mut each));
        if let Err(error) = read {
            self.findings
                .push(Finding::new(file, "", error.to_string()));
        }
        self.warnings.extend(warnings.into_list());
    }
}

/// Names of the files of a folder that end so, without the ending, sorted.
fn names(folder: &Path, ending: &str) -> Result<Vec<String>, LabError> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(LabError::io("list", folder))? {
        let entry = entry.map_err(LabError::io("list", folder))?;
        if let Some(name) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.strip_suffix(ending))
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}
