//! `lab record`: the recorded run that ships with the site. The embedded baseline, IBA-Agent beside
//! its ablations and standard RAG, on the same instances of every domain.

use super::dataset::build::write_file;
use super::dataset::open::Dataset;
use super::error::LabError;
use super::eval::{domain_of, evaluate};
use super::native_env::Cache;
use crate::agent::trace::System;
use crate::bench::ids::{DomainId, InstanceId};
use crate::results::inspect::{FileMeta, write_small};
use crate::run::record::{Params, RunRecord};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What is recorded, in the order in which the page opens it.
pub const SYSTEMS: [System; 5] = [
    System::IbaAgent,
    System::WoDeepRetrieval,
    System::WoBtDa,
    System::WoSynthesis,
    System::StandardRag,
];

/// Writes one result file for each system to `out`, named after it. `per_domain` instances of each
/// domain, as many of them with changing preferences as there are.
pub fn record(
    dataset: &Dataset,
    model: &Path,
    out: &Path,
    per_domain: usize,
) -> Result<String, LabError> {
    let chosen = choose(dataset, per_domain)?;
    let (mut lines, cache) = (Vec::new(), Cache::default());
    for system in SYSTEMS {
        let wanted = |id: &InstanceId| chosen.contains(id);
        let params = Params::default();
        let found = evaluate(dataset, model, system, &params, &wanted, &cache)?;
        eprintln!("{}: {} runs", system.name(), found.records.len());
        let records: Vec<RunRecord> = found.records;
        let meta = FileMeta {
            id: format!("recorded.{}", system.word()),
            created_ms: records
                .iter()
                .filter_map(|r| r.ended_ms)
                .fold(0.0, f64::max),
        };
        let log =
            write_small(&records, &meta).map_err(|error| LabError::Refused(error.to_string()))?;
        let (name, bytes) = (file_name(system), log.json_gz());
        write_file(out, &name, &bytes)?;
        lines.push(format!(
            "{name}: {} runs, {} bytes",
            records.len(),
            bytes.len()
        ));
    }
    Ok(lines.join("\n"))
}

/// `recorded-iba_agent.json.gz`.
fn file_name(system: System) -> String {
    format!("recorded-{}.json.gz", system.word())
}

/// Instances by domain, those with changing preferences first, then by id.
fn choose(dataset: &Dataset, per_domain: usize) -> Result<BTreeSet<InstanceId>, LabError> {
    let mut domains: BTreeMap<DomainId, Vec<(bool, InstanceId)>> = BTreeMap::new();
    for shard in &dataset.manifest.shards {
        let (loaded, _) = dataset.shard(shard)?;
        for (instance, hidden) in &loaded.instances {
            let changing = hidden.preferences.iter().any(|p| p.previous.is_some());
            let of_domain = domains.entry(domain_of(dataset, instance)).or_default();
            of_domain.push((!changing, instance.id.clone()));
        }
    }
    let chosen = domains.into_values().flat_map(|mut all| {
        all.sort();
        // Every second one of those that change, so that others are there as well.
        let (changing, same): (Vec<_>, Vec<_>) = all.into_iter().partition(|(same, _)| !same);
        let half = per_domain.div_ceil(2).min(changing.len());
        let (first, rest) = changing.split_at(half);
        let order: Vec<_> = first.iter().chain(&same).chain(rest).cloned().collect();
        order.into_iter().take(per_domain).map(|(_, id)| id)
    });
    Ok(chosen.collect())
}
