//! The HNSW graph of a dataset's vectors, so that nobody who searches all of them has to build it.

use super::build::{MANIFEST, write_file};
use super::embed::file_ref;
use super::open::Dataset;
use super::pack;
use crate::lab::error::LabError;
use crate::search::{Hnsw, HnswParams};
use std::fmt::Write as _;
use std::sync::Arc;

/// Links the vectors of every embedding set, or of the one of that model, writes the graphs and
/// enters them in the manifest. Says what was written, a line a set.
pub fn index(
    mut dataset: Dataset,
    model: Option<&str>,
    params: HnswParams,
) -> Result<String, LabError> {
    let wanted = |name: &str| model.is_none_or(|model| model == name);
    let mut sets = std::mem::take(&mut dataset.manifest.embeddings);
    let mut told = String::new();
    for set in sets.iter_mut().filter(|set| wanted(&set.model)) {
        let rows = Arc::new(dataset.rows(set)?);
        let name = set.model.clone();
        let step = move |done, total| eprintln!("{name}: {done} of {total} passages linked");
        let hnsw = Hnsw::build(rows, params, step);
        let bytes = hnsw.graph().encode(&set.vectors_sha256());
        let path = format!("vectors/{}/graph.bin", set.model);
        write_file(&dataset.folder, &path, &bytes)?;
        let links = hnsw.graph().len();
        let _ = writeln!(told, "{path}: {links} passages, {} bytes", bytes.len());
        set.graph = Some(file_ref(path, &bytes));
    }
    if told.is_empty() {
        return Err(LabError::Refused(match model {
            Some(model) => format!(
                "{} has no vectors of {model}: make them with `lab dataset embed`",
                dataset.folder.display()
            ),
            None => format!(
                "{} has no vectors to link: make them with `lab dataset embed`",
                dataset.folder.display()
            ),
        }));
    }
    dataset.manifest.embeddings = sets;
    write_file(&dataset.folder, MANIFEST, &pack::pretty(&dataset.manifest))?;
    Ok(told.trim_end().to_owned())
}
