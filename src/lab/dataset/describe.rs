//! What is in a dataset, in numbers.

use super::open::Dataset;
use crate::bench::manifest::IndexEntry;
use crate::bench::taxonomy::Scenario;
use crate::lab::error::LabError;
use std::fmt::Write;

/// A table of domains and scenarios, then sizes.
pub fn describe(dataset: &Dataset) -> Result<String, LabError> {
    let (index, _) = dataset.index()?;
    let manifest = &dataset.manifest;
    let mut out = format!(
        "{} ({}), {}\n\n",
        manifest.title, manifest.name, manifest.licence
    );
    line(
        &mut out,
        "domain / scenario",
        ["instances", "evidence", "requirements", "dynamic"].map(str::to_owned),
    );
    for domain in &manifest.domains {
        let scenarios: Vec<&Scenario> = manifest
            .scenarios
            .iter()
            .filter(|scenario| scenario.domain == domain.id)
            .collect();
        let of_domain = |entry: &&IndexEntry| {
            scenarios
                .iter()
                .any(|scenario| scenario.id == entry.scenario)
        };
        line(
            &mut out,
            &domain.name,
            numbers(index.iter().filter(of_domain)),
        );
        for scenario in &scenarios {
            line(
                &mut out,
                &format!("  {}", scenario.name),
                numbers(index.iter().filter(|entry| entry.scenario == scenario.id)),
            );
        }
    }
    line(&mut out, "all", numbers(index.iter()));
    sizes(&mut out, dataset);
    Ok(out)
}

fn numbers<'a>(entries: impl Iterator<Item = &'a IndexEntry>) -> [String; 4] {
    let mut sums = [0_u32; 4];
    for entry in entries {
        sums[0] += 1;
        sums[1] += entry.evidence;
        sums[2] += entry.constraints;
        sums[3] += u32::from(entry.dynamic);
    }
    sums.map(|sum| sum.to_string())
}

fn line(out: &mut String, name: &str, cells: [String; 4]) {
    let [a, b, c, d] = cells;
    let _ = writeln!(out, "{name:<44} {a:>9} {b:>9} {c:>12} {d:>8}"); // writing to a String cannot fail
}

fn sizes(out: &mut String, dataset: &Dataset) {
    let manifest = &dataset.manifest;
    let sum = |number: fn(&crate::bench::manifest::ShardRef) -> u64| {
        manifest.shards.iter().map(number).sum::<u64>()
    };
    let (sessions, turns) = (
        sum(|shard| shard.sessions.into()),
        sum(|shard| shard.turns.into()),
    );
    let vectors: u64 = manifest
        .embeddings
        .iter()
        .flat_map(|set| set.files.values())
        .map(|file| file.bytes)
        .sum();
    let rows = [
        ("shards", manifest.shards.len() as u64),
        ("sessions", sessions),
        ("turns", turns),
        ("bytes of the index", manifest.index.bytes),
        ("bytes of all shards", sum(|shard| shard.file.bytes)),
        (
            "bytes of the largest shard",
            manifest
                .shards
                .iter()
                .map(|shard| shard.file.bytes)
                .max()
                .unwrap_or(0),
        ),
        ("bytes of all vectors", vectors),
    ];
    out.push('\n');
    for (name, value) in rows {
        let _ = writeln!(out, "{name:<44} {value:>9}"); // writing to a String cannot fail
    }
}
