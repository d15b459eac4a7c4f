//! The command line: arguments in, sentences out.

use super::dataset::open::Dataset;
use super::dataset::{build, describe, embed, graph, source, synth, validate};
use super::error::{Finding, LabError};
use super::native_env::Cache;
use super::{decode, eval, read, record, retrieval};
use crate::agent::trace::System;
use crate::bench::error::Warning;
use crate::embed::ChunkUnit;
use crate::run::record::Params;
use crate::search::HnswParams;
use clap::{Parser, Subcommand, ValueEnum};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Seed of the datasets that are shipped.
pub const SEED: u64 = 2025;

#[derive(Parser)]
#[command(
    name = "lab",
    version,
    about = "Makes and checks IBA Lab's datasets; reads replies of models as the site does"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Datasets: sources to what the site loads
    #[command(subcommand)]
    Dataset(DatasetCommand),
    /// Run the embedded baseline on every instance of a dataset and print its scores
    Eval {
        folder: PathBuf,
        /// Folder with an ONNX file and tokenizer.json; its other files say how it is read
        #[arg(long)]
        model: PathBuf,
        /// Name as in addresses and result files, for example standard_rag
        #[arg(long, default_value = "iba_agent")]
        system: System,
        /// What a passage is
        #[arg(long, value_enum, default_value_t = Chunks::Tokens)]
        chunks: Chunks,
        /// Print every run as one line of JSON instead
        #[arg(long)]
        json: bool,
    },
    /// Record the runs that ship with the site: the embedded baseline, IBA-Agent, its ablations and
    /// standard RAG on some instances of every domain
    Record {
        folder: PathBuf,
        /// Folder with an ONNX file and tokenizer.json; its other files say how it is read
        #[arg(long)]
        model: PathBuf,
        #[arg(long, default_value = "public/examples")]
        out: PathBuf,
        /// Instances of each domain
        #[arg(long, default_value_t = 3)]
        per_domain: usize,
    },
    /// How much of a dataset's evidence vectors, words and both find
    Retrieval {
        folder: PathBuf,
        /// Folder with an ONNX file and tokenizer.json; its other files say how it is read
        #[arg(long)]
        model: PathBuf,
        /// What a passage is
        #[arg(long, value_enum, default_value_t = Chunks::Tokens)]
        chunks: Chunks,
        /// The model's longest input, special tokens included; else as its folder says
        #[arg(long)]
        max_tokens: Option<u32>,
    },
    /// Vectors of texts on standard input, a JSON string a line, as one JSON array a line; without what
    /// the model wants before queries or passages
    Embed {
        /// Folder with an ONNX file and tokenizer.json; its other files say how it is read
        #[arg(long)]
        model: PathBuf,
        /// The model's longest input, special tokens included; else as its folder says
        #[arg(long)]
        max_tokens: Option<u32>,
    },
    /// A provider's response on standard input to the neutral reply or the typed error, as JSON
    Decode(decode::DecodeArgs),
    /// A model's text on standard input to typed values, as JSON
    Read(read::ReadArgs),
}

#[derive(Subcommand)]
enum DatasetCommand {
    /// Compile a source folder to a dataset folder
    Build {
        source: PathBuf,
        #[arg(long)]
        out: PathBuf,
        /// The same source and seed give the same bytes
        #[arg(long, default_value_t = SEED)]
        seed: u64,
    },
    /// Report every fault of a source or dataset folder
    Validate { folder: PathBuf },
    /// Add vectors of every passage to a dataset folder
    Embed {
        folder: PathBuf,
        /// Folder with an ONNX file and tokenizer.json, named as the model is to be called; its other
        /// files say how it is read: pooling, prefixes, limit
        #[arg(long)]
        model: PathBuf,
        /// The model's longest input, special tokens included; else as its folder says
        #[arg(long)]
        max_tokens: Option<u32>,
    },
    /// Add an HNSW graph over the vectors of all passages to a dataset folder
    Index {
        folder: PathBuf,
        /// Only over the vectors of this model
        #[arg(long)]
        model: Option<String>,
        /// Candidates held while a passage is linked: more takes longer and finds more
        #[arg(long, default_value_t = HnswParams::default().ef_construction, value_parser = at_least_one)]
        ef_construction: usize,
        /// Of the layers' random choice
        #[arg(long, default_value_t = HnswParams::default().seed)]
        seed: u64,
    },
    /// Count what is in a dataset folder
    Describe { folder: PathBuf },
    /// Make a dataset of the paper's full size for load tests; its links mean nothing
    Synth {
        /// Source whose texts are recombined
        #[arg(long, default_value = "public/sources/iba-mini")]
        from: PathBuf,
        #[arg(long)]
        out: PathBuf,
        #[arg(long, default_value_t = 400)]
        personas: usize,
        #[arg(long, default_value_t = SEED)]
        seed: u64,
    },
}

/// [`ChunkUnit`] on the command line.
#[derive(Clone, Copy, ValueEnum)]
enum Chunks {
    /// 256 tokens, 50 shared
    Tokens,
    Sentences,
}

impl Chunks {
    /// The published parameters with these passages.
    fn params(self) -> Params {
        let chunk_unit = match self {
            Chunks::Tokens => ChunkUnit::Tokens,
            Chunks::Sentences => ChunkUnit::Sentences,
        };
        Params {
            chunk_unit,
            ..Params::default()
        }
    }
}

/// Runs the program with its arguments.
pub fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Dataset(command) => run(command),
        Command::Eval {
            folder,
            model,
            system,
            chunks,
            json,
        } => run_eval(&folder, &model, (system, chunks), json),
        Command::Retrieval {
            folder,
            model,
            chunks,
            max_tokens,
        } => Dataset::open(&folder).and_then(|dataset| {
            let chunking = chunks.params().chunking();
            retrieval::evidence_recall(&dataset, &model, max_tokens, chunking)
        }),
        Command::Embed { model, max_tokens } => standard_input().and_then(|bytes| {
            let text = String::from_utf8_lossy(&bytes);
            retrieval::embed_lines(&text, &model, max_tokens)
        }),
        Command::Record {
            folder,
            model,
            out,
            per_domain,
        } => Dataset::open(&folder)
            .and_then(|dataset| record::record(&dataset, &model, &out, per_domain)),
        Command::Decode(args) => standard_input().and_then(|bytes| decode::run(&args, bytes)),
        Command::Read(args) => standard_input().and_then(|bytes| read::run(&args, &bytes)),
    };
    match done {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "it takes a whole number from 1".to_owned())
}

fn standard_input() -> Result<Vec<u8>, LabError> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(LabError::io("read", Path::new("standard input")))?;
    Ok(bytes)
}

fn run(command: DatasetCommand) -> Result<String, LabError> {
    match command {
        DatasetCommand::Build { source, out, seed } => {
            let source = load_valid(&source)?;
            let manifest = build::build_to(&source, seed, &out)?;
            Ok(format!(
                "{}: {} shards, {} instances",
                out.display(),
                manifest.shards.len(),
                source.instances.len()
            ))
        }
        DatasetCommand::Validate { folder } => validate_folder(&folder),
        DatasetCommand::Embed {
            folder,
            model,
            max_tokens,
        } => {
            let set = embed::embed(Dataset::open(&folder)?, &model, max_tokens)?;
            let shards = set.files.len();
            Ok(format!(
                "{}: vectors of {} for {shards} shards",
                folder.display(),
                set.model
            ))
        }
        DatasetCommand::Index {
            folder,
            model,
            ef_construction,
            seed,
        } => {
            let params = HnswParams {
                ef_construction,
                seed,
                ..HnswParams::default()
            };
            graph::index(Dataset::open(&folder)?, model.as_deref(), params)
        }
        DatasetCommand::Describe { folder } => describe::describe(&Dataset::open(&folder)?),
        DatasetCommand::Synth {
            from,
            out,
            personas,
            seed,
        } => {
            let source = synth::synthesise(&load_valid(&from)?, personas, seed)?;
            let manifest = build::build_to(&source, seed, &out)?;
            Ok(format!(
                "{}: {} shards, {} instances",
                out.display(),
                manifest.shards.len(),
                source.instances.len()
            ))
        }
    }
}

fn run_eval(
    folder: &Path,
    model: &Path,
    (system, chunks): (System, Chunks),
    json: bool,
) -> Result<String, LabError> {
    let evaluation = eval::evaluate(
        &Dataset::open(folder)?,
        model,
        system,
        &chunks.params(),
        &|_| true,
        &Cache::default(),
    )?;
    if !json {
        return Ok(evaluation.report());
    }
    let lines = evaluation.records.iter().map(serde_json::to_string);
    let lines: Result<Vec<String>, _> = lines.collect();
    lines
        .map(|lines| lines.join("\n"))
        .map_err(|error| LabError::Refused(error.to_string()))
}

fn load_valid(folder: &Path) -> Result<source::Source, LabError> {
    let (source, warnings) = source::load(folder)?;
    warn(&warnings);
    nothing_found(validate::check(&source))?;
    Ok(source)
}

fn validate_folder(folder: &Path) -> Result<String, LabError> {
    if !folder.join(build::MANIFEST).exists() {
        let source = load_valid(folder)?;
        return Ok(format!(
            "{}: a sound source of {} instances",
            folder.display(),
            source.instances.len()
        ));
    }
    let dataset = Dataset::open(folder)?;
    let (findings, warnings) = dataset.validate();
    warn(&warnings);
    nothing_found(findings)?;
    Ok(format!(
        "{}: a sound dataset of {} shards",
        folder.display(),
        dataset.manifest.shards.len()
    ))
}

fn warn(warnings: &[Warning]) {
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
}

fn nothing_found(findings: Vec<Finding>) -> Result<(), LabError> {
    if findings.is_empty() {
        Ok(())
    } else {
        Err(LabError::Findings(findings))
    }
}
