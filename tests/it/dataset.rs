//! The shipped dataset is what its source gives; the rules of a source; the synthetic dataset.

use iba_lab::bench::filter::{Filter, Query};
use iba_lab::bench::hidden::{Check, PreferenceKind};
use iba_lab::bench::manifest::{IndexEntry, Manifest};
use iba_lab::bench::taxonomy::Action;
use iba_lab::bench::visible::Role;
use iba_lab::lab::cli::SEED;
use iba_lab::lab::dataset::open::Dataset;
use iba_lab::lab::dataset::source::{self, Source};
use iba_lab::lab::dataset::{build, synth, validate};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn path(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn source() -> Source {
    source::load(&path("public/sources/iba-mini"))
        .expect("the source can be read")
        .0
}

fn shipped() -> Dataset {
    Dataset::open(&path("public/datasets/iba-mini")).expect("the dataset can be read")
}

#[test]
fn the_source_is_sound() {
    let (source, warnings) = source::load(&path("public/sources/iba-mini")).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let findings = validate::check(&source);
    assert!(findings.is_empty(), "{findings:#?}");
    // The counts its SPEC.md states.
    let evidence: usize = source
        .instances
        .iter()
        .map(|instance| instance.evidence.len())
        .sum();
    let requirements: usize = source
        .instances
        .iter()
        .map(|instance| instance.requirements.len())
        .sum();
    let turns: usize = source
        .casual
        .iter()
        .map(|exchange| exchange.turns.len())
        .sum();
    assert_eq!(
        (source.instances.len(), evidence, requirements),
        (110, 256, 380)
    );
    assert_eq!((source.scenarios.len(), source.personas.len()), (66, 24));
    assert_eq!((source.casual.len(), turns), (829, 4158));
}

#[test]
fn the_shipped_dataset_is_what_the_source_gives() {
    let shipped = shipped();
    let (built, mut files) = build::build_in_memory(&source(), SEED).unwrap();
    assert_eq!(
        Manifest {
            embeddings: Vec::new(),
            ..shipped.manifest.clone()
        },
        built
    );
    files.remove(build::MANIFEST);
    for (name, bytes) in &files {
        let stored = std::fs::read(shipped.folder.join(name)).unwrap();
        assert!(stored == *bytes, "{name} differs; build it again");
    }
    let (findings, warnings) = shipped.validate();
    assert!(
        findings.is_empty() && warnings.is_empty(),
        "{findings:?} {warnings:?}"
    );
}

#[test]
fn another_seed_gives_another_history() {
    let source = source();
    let (_, one) = build::build_in_memory(&source, SEED).unwrap();
    let (_, other) = build::build_in_memory(&source, SEED + 1).unwrap();
    assert_ne!(one["shards/a1p1.jsonl.gz"], other["shards/a1p1.jsonl.gz"]);
    assert_eq!(one["index.jsonl.gz"], other["index.jsonl.gz"]);
}

#[test]
fn histories_are_plausible_and_do_not_tell_evidence_from_noise() {
    let dataset = shipped();
    for shard in &dataset.manifest.shards {
        let (read, _) = dataset.shard(shard).unwrap();
        let evidence: BTreeSet<_> = read
            .instances
            .iter()
            .flat_map(|(_, hidden)| &hidden.evidence)
            .map(|item| &item.session)
            .collect();
        let per_evidence = f64::from(shard.turns) / evidence.len() as f64;
        assert!(
            (90.0..=110.0).contains(&per_evidence),
            "{}: {per_evidence} turns an evidence session",
            shard.id
        );
        let mut dates = BTreeSet::new();
        for (number, session) in read.history.sessions.iter().enumerate() {
            assert_eq!(session.id.as_str(), format!("s{:04}", number + 1));
            assert!(
                dates.insert(&session.date),
                "{}: {} twice",
                shard.id,
                session.date
            );
            if !evidence.contains(&session.id) {
                let (day, time) = session.date.split_once('T').unwrap();
                assert!(
                    day.starts_with("2025-") && ("07:00:00"..="23:30:00").contains(&time),
                    "{}",
                    session.date
                );
            }
            for turn in &session.turns {
                let slots = [
                    "{city}",
                    "{friend}",
                    "{pet}",
                    "{hobby}",
                    "{food}",
                    "{show}",
                    "{workplace}",
                    "{relative}",
                ];
                assert!(
                    !slots.iter().any(|slot| turn.text.contains(slot)),
                    "{}: {}",
                    shard.id,
                    turn.text
                );
            }
        }
        let texts: BTreeSet<String> = read
            .history
            .sessions
            .iter()
            .map(|session| session.render())
            .collect();
        assert_eq!(
            texts.len(),
            read.history.sessions.len(),
            "{}: a session twice",
            shard.id
        );
    }
}

#[test]
fn the_dead_friend_does_not_ring() {
    // Anselme, the friend of a5p2, dies in September.
    let dataset = shipped();
    let shard = dataset.manifest.shard("a5p2").unwrap();
    let (read, _) = dataset.shard(shard).unwrap();
    let evidence: BTreeSet<_> = read
        .instances
        .iter()
        .flat_map(|(_, hidden)| &hidden.evidence)
        .map(|item| item.session.clone())
        .collect();
    let casual = read
        .history
        .sessions
        .iter()
        .filter(|session| !evidence.contains(&session.id));
    for session in casual.filter(|session| session.date.as_str() >= "2025-09-01") {
        assert!(
            !session.render().contains("Anselme"),
            "{}: {}",
            session.date,
            session.render()
        );
    }
}

#[test]
fn validation_reports_every_fault_at_once() {
    let mut source = source();
    let at = source
        .instances
        .iter()
        .position(|instance| {
            instance
                .requirements
                .iter()
                .any(|r| matches!(r.check, Some(Check::WordCount { .. })))
        })
        .unwrap();
    let instance = &mut source.instances[at];
    let leak = instance.requirements[0].text.clone();
    instance.task.content = format!("Please note: {leak}");
    instance.persona = "nobody".into();
    instance.evidence[0].date = "2025-02-30T10:00:00".to_owned();
    instance.evidence[0].turns[0].role = Role::Assistant;
    instance.preferences[0].value = "no_such_value".to_owned();
    for label in instance.sample.as_mut().unwrap().labels.values_mut() {
        *label = 1 - *label;
    }
    let first = instance.preferences[0].id.clone();
    for item in &mut instance.evidence {
        item.reveals.retain(|id| *id != first);
    }
    let findings: Vec<String> = validate::check(&source)
        .iter()
        .map(ToString::to_string)
        .collect();
    let text = findings.join("\n");
    for wanted in [
        "names the unknown persona \"nobody\"",
        "is given away by the task",
        "is no date like",
        "turns do not alternate",
        "is no value of",
        "has no evidence",
        "but its check disagrees",
        "no item reveals the preference",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(
        findings
            .iter()
            .all(|finding| finding.starts_with("instances/")),
        "{text}"
    );
}

#[test]
fn validation_looks_at_scenarios_personas_casual_and_clashes() {
    let mut source = source();
    source.scenarios[0].dynamic = !source.scenarios[0].dynamic;
    source.scenarios[1].dimensions[0].values.truncate(1);
    source.personas[0].chat_slots.remove("city");
    source.casual[0].turns[0].text = "In {town}".to_owned();
    source.casual[1].id = source.casual[2].id.clone();
    source.clashes.clashes[0].casual.push("c9999".to_owned());
    let text = validate::check(&source)
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n");
    for wanted in [
        "as in the taxonomy",
        "fewer than two values",
        "\"city\" is missing",
        "{town} is unknown",
        "the id stands there twice",
        "names the unknown exchange \"c9999\"",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}

#[test]
fn the_index_filters_by_facets_and_words() {
    let dataset = shipped();
    let (entries, _) = dataset.index().unwrap();
    let filter = Filter::new(&dataset.manifest, &entries);
    let all = filter.apply(&Query::default());
    assert_eq!(all.rows.len(), 110);
    assert_eq!(all.counts.actions.values().sum::<usize>(), 110);
    assert_eq!(all.counts.domains.len(), 9);
    // SPEC.md: 45 instances with a changing preference.
    assert_eq!(all.counts.dynamic[&true], 45);

    let query = Query {
        actions: [Action::CallApi].into(),
        dynamic: [true].into(),
        ..Query::default()
    };
    let found = filter.apply(&query);
    let by_hand = |wanted: fn(&Manifest, &IndexEntry) -> bool| {
        entries
            .iter()
            .filter(|entry| wanted(&dataset.manifest, entry))
            .count()
    };
    let is_call = |manifest: &Manifest, entry: &IndexEntry| {
        manifest.scenario(&entry.scenario).unwrap().action == Action::CallApi
    };
    assert_eq!(
        found.rows.len(),
        by_hand(
            |manifest, entry| manifest.scenario(&entry.scenario).unwrap().action == Action::CallApi
                && entry.dynamic
        )
    );
    assert!(
        found
            .rows
            .iter()
            .all(|row| is_call(&dataset.manifest, &entries[*row]) && entries[*row].dynamic)
    );
    // The other value of a chosen facet counts what choosing it instead would show.
    assert_eq!(
        found.counts.dynamic[&false],
        by_hand(
            |manifest, entry| manifest.scenario(&entry.scenario).unwrap().action == Action::CallApi
                && !entry.dynamic
        )
    );
    assert_eq!(
        found.counts.actions[&Action::GenerateText],
        by_hand(
            |manifest, entry| manifest.scenario(&entry.scenario).unwrap().action
                == Action::GenerateText
                && entry.dynamic
        )
    );

    let words = filter.apply(&Query {
        text: "  DINNER order ".to_owned(),
        ..Query::default()
    });
    assert!(
        words
            .rows
            .iter()
            .any(|row| entries[*row].id.as_str() == "food_ordering-a")
    );
    assert!(words.rows.len() < 5, "{}", words.rows.len());
    assert!(
        filter
            .apply(&Query {
                text: "zzzz".to_owned(),
                ..Query::default()
            })
            .rows
            .is_empty()
    );
}

#[test]
fn the_synthetic_dataset_has_the_papers_size() {
    let synthetic = synth::synthesise(&source(), 400, SEED).unwrap();
    assert_eq!(
        (synthetic.personas.len(), synthetic.instances.len()),
        (400, 6962)
    );
    let used: BTreeSet<_> = synthetic
        .instances
        .iter()
        .map(|instance| &instance.persona)
        .collect();
    assert_eq!(used.len(), 400);
    // Paper, table 2, overall row; the last number is "5+".
    let spread = |count: fn(&source::SourceInstance) -> usize| {
        let mut found = BTreeMap::new();
        for instance in &synthetic.instances {
            *found.entry(count(instance)).or_insert(0) += 1;
        }
        found
    };
    assert_eq!(
        spread(|instance| instance.evidence.len()),
        BTreeMap::from([(1, 3041), (2, 2064), (3, 1149), (4, 336), (5, 372)])
    );
    assert_eq!(
        spread(|instance| instance.requirements.len()),
        BTreeMap::from([(1, 268), (2, 1092), (3, 2416), (4, 2051), (5, 1135)])
    );
    // Paper, table 13: instances of the API scenarios.
    let calls: BTreeSet<_> = synthetic
        .scenarios
        .iter()
        .filter(|scenario| scenario.action == Action::CallApi)
        .map(|scenario| &scenario.id)
        .collect();
    assert_eq!(
        synthetic
            .instances
            .iter()
            .filter(|instance| calls.contains(&instance.scenario))
            .count(),
        2280
    );
    assert!(synthetic.instances.iter().any(|instance| {
        instance
            .preferences
            .iter()
            .any(|preference| preference.kind == PreferenceKind::Dynamic)
    }));
}

/// How long one keystroke takes over the paper's 6,962 instances; printed, not asserted.
#[test]
fn a_keystroke_over_the_papers_size() {
    let synthetic = synth::synthesise(&source(), 400, SEED).unwrap();
    let entry = |instance: &source::SourceInstance| IndexEntry {
        id: instance.id.clone(),
        persona: instance.persona.clone(),
        shard: instance.persona.0.clone(),
        scenario: instance.scenario.clone(),
        instruction: instance.task.instruction.clone(),
        evidence: instance.evidence.len() as u32,
        constraints: instance.requirements.len() as u32,
        dynamic: false,
    };
    let entries: Vec<IndexEntry> = synthetic.instances.iter().map(entry).collect();
    let filter = Filter::new(&shipped().manifest, &entries);
    let start = std::time::Instant::now();
    let found = filter.apply(&Query {
        text: "dinner".to_owned(),
        ..Query::default()
    });
    println!("one keystroke over 6,962 instances: {:?}", start.elapsed());
    let by_hand = |entry: &&IndexEntry| {
        let text = format!("{} {}", entry.id, entry.instruction).to_lowercase();
        text.contains("dinner")
    };
    assert_eq!(found.rows.len(), entries.iter().filter(by_hand).count());
    assert_eq!(filter.apply(&Query::default()).rows.len(), 6962);
}

/// Vectors: as many spans as the manifest's chunking gives, made by the model that the site ships.
#[test]
fn shipped_vectors_belong_to_their_shards() {
    let dataset = shipped();
    for set in &dataset.manifest.embeddings {
        let shards: BTreeSet<_> = dataset
            .manifest
            .shards
            .iter()
            .map(|shard| &shard.id)
            .collect();
        assert_eq!(set.files.keys().collect::<BTreeSet<_>>(), shards);
        for (id, file) in &set.files {
            let bytes = std::fs::read(dataset.folder.join(&file.path)).unwrap();
            let vectors = iba_lab::embed::vectors::VectorFile::decode(&bytes).unwrap();
            let (shard, _) = dataset.shard(dataset.manifest.shard(id).unwrap()).unwrap();
            assert_eq!(vectors.dim, set.dim);
            let covered: BTreeSet<u32> = vectors.spans.iter().map(|span| span.session).collect();
            assert_eq!(
                covered.len(),
                shard.history.sessions.len(),
                "{id}: a session without a vector"
            );
            for span in &vectors.spans {
                let text = shard.history.sessions[span.session as usize].render();
                assert!(
                    text.get(span.start as usize..span.end as usize)
                        .is_some_and(|chunk| !chunk.is_empty()),
                    "{id}: {span:?}"
                );
            }
        }
        let model = std::fs::read(path(&format!(
            "public/models/{}/model_int8.onnx",
            set.model
        )))
        .unwrap();
        assert_eq!(set.model_sha256, iba_lab::bench::hash::sha256_hex(&model));
    }
}
