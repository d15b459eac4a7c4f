//! What a folder has: its graphs with their sizes, its tokenizer, and what it says of itself.

use super::{LONGEST, ModelError};
use crate::browser::abort::Abort;
use crate::browser::fetch::{self, FetchError, Freshness, Get, silent};
use crate::browser::files::{self, PickedFile};
use crate::embed::registry::card::{Card, SAYING};
use crate::embed::registry::folder::{self, Folder, TOKENIZERS, data_of, last};
use crate::embed::registry::room::Needs;
use crate::embed::registry::{KeptFile, KeptModel, Known, Role};
use crate::embed::spec::ModelSpec;
use futures::future::join_all;
use sha2::{Digest, Sha256};

/// Largest file that says something about a model.
const SAYING_LIMIT: u64 = 1 << 20;

/// Where a file lies.
#[derive(Clone, Debug)]
pub enum Place {
    /// At an address, with its size where the host says so.
    Web {
        url: String,
        bytes: Option<u64>,
    },
    Disk(PickedFile),
}

impl Place {
    fn bytes(&self) -> Option<u64> {
        match self {
            Self::Web { bytes, .. } => *bytes,
            Self::Disk(file) => Some(file.size()),
        }
    }

    fn url(&self) -> &str {
        match self {
            Self::Web { url, .. } => url,
            Self::Disk(_) => "",
        }
    }
}

/// A graph that can be chosen.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Relative to the folder.
    pub name: String,
    pub place: Place,
    /// Files that may hold its weights, by the names it may know them by.
    pub data: Vec<(String, Place)>,
}

impl Graph {
    /// Bytes of graph and weights, where they are known.
    pub fn bytes(&self) -> Option<u64> {
        let data = self.data.iter().map(|(_, place)| place.bytes());
        std::iter::once(self.place.bytes()).chain(data).sum()
    }
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Address or name of the folder.
    pub from: String,
    pub card: Option<Card>,
    /// The files that the card was read from.
    said: Vec<(String, Vec<u8>)>,
    /// Everything that was dropped or picked: graphs name files by any name.
    dropped: Vec<PickedFile>,
    /// The most fitting first.
    pub graphs: Vec<Graph>,
    pub tokenizer: Option<Place>,
}

impl Found {
    /// Reads the folder's files again for another model that the visitor says it is.
    pub fn read_as(&mut self, chosen: Option<&'static Known>) {
        self.card = Some(Card::read(&self.from, &self.said, chosen));
    }

    /// What one of its graphs takes of the machine, where the host says how large it is. A tokenizer of
    /// which it does not say so counts for nothing.
    pub fn needs(&self, graph: usize) -> Option<Needs> {
        Some(Needs {
            weights: self.graphs.get(graph)?.bytes()?,
            tokenizer: self.tokenizer_bytes().unwrap_or(0),
            hidden: self
                .card
                .as_ref()
                .and_then(|card| card.hidden)
                .unwrap_or(1024),
            tokens: LONGEST,
        })
    }

    /// Bytes of the tokenizer, where they are known.
    pub fn tokenizer_bytes(&self) -> Option<u64> {
        self.tokenizer.as_ref().and_then(Place::bytes)
    }

    /// The model that comes of it, with nothing kept yet.
    pub fn model(
        &self,
        graph: usize,
        spec: ModelSpec,
        now_ms: u64,
    ) -> Result<KeptModel, ModelError> {
        let graph = self.graphs.get(graph).ok_or(ModelError::Gone)?;
        let card = self.card.as_ref().ok_or(ModelError::Gone)?;
        let tokenizer = self.tokenizer.as_ref().ok_or(ModelError::Gone)?;
        let file = |role, name: &str, place: &Place| {
            KeptFile::wanted(role, last(name), place.url(), place.bytes())
        };
        let data = graph
            .data
            .iter()
            .map(|(name, place)| file(Role::Data, name, place));
        let files = std::iter::once(file(Role::Graph, &graph.name, &graph.place))
            .chain(data)
            .chain([file(Role::Tokenizer, "tokenizer.json", tokenizer)])
            .collect();
        let own = match graph.place {
            Place::Web { ref url, .. } => url.clone(),
            Place::Disk(_) => format!("{} {} {now_ms}", self.from, graph.name),
        };
        Ok(KeptModel {
            id: id(&own),
            name: card.name.clone(),
            from: self.from.clone(),
            added_ms: now_ms,
            spec,
            files,
            hidden: card.hidden,
            tried: None,
            fault: None,
        })
    }

    /// The file of the visitor's disk behind a kept one.
    pub(super) fn source(&self, file: &KeptFile) -> Option<PickedFile> {
        let tokenizer = self.tokenizer.iter().map(|place| ("tokenizer.json", place));
        let graphs = self.graphs.iter().flat_map(|graph| {
            let data = graph
                .data
                .iter()
                .map(|(name, place)| (name.as_str(), place));
            std::iter::once((graph.name.as_str(), &graph.place)).chain(data)
        });
        let mut all = tokenizer.chain(graphs);
        let is_it = |name: &str, picked: &PickedFile| {
            last(name) == file.name && Some(picked.size()) == file.bytes
        };
        let chosen = all.find_map(|(name, place)| match place {
            Place::Disk(picked) if is_it(name, picked) => Some(picked.clone()),
            _ => None,
        });
        let mut others = self.dropped.iter().filter(|_| file.url.is_empty());
        chosen.or_else(|| others.find(|picked| is_it(&picked.path, picked)).cloned())
    }
}

/// The files that a graph names and that nobody thought of, where they lie.
pub(super) async fn data(
    model: &KeptModel,
    names: &[String],
    found: Option<&Found>,
    abort: &Abort,
) -> Result<Vec<KeptFile>, ModelError> {
    let graph = &model.files[0].url;
    let missing = |name: &str, place: &str| {
        ModelError::Refused(format!(
            "its weights are in the file {name}, which is missing{place}: it has to lie beside the ONNX file"
        ))
    };
    let mut files = Vec::new();
    if graph.is_empty() {
        let dropped = found.map_or(&[][..], |found| &found.dropped);
        for name in names {
            let mut there = dropped.iter();
            let file = there.find(|picked| last(&picked.path) == last(name));
            let file = file.ok_or_else(|| missing(name, " among what was dropped"))?;
            let bytes = Some(file.size());
            files.push(KeptFile::wanted(Role::Data, last(name), "", bytes));
        }
        return Ok(files);
    }
    for name in names {
        let url = folder::beside(graph, name).ok_or_else(|| {
            ModelError::Refused(format!(
                "its weights are said to lie in “{name}”, which is outside of its folder: nothing is fetched from there; use an export that keeps its files together"
            ))
        })?;
        let bytes = fetch::size_of(&url, abort).await;
        let bytes = bytes.map_err(|error| match error {
            FetchError::NotFound { .. } => missing(name, &format!(" at {url}")),
            other => other.into(),
        })?;
        files.push(KeptFile::wanted(Role::Data, last(name), &url, bytes));
    }
    Ok(files)
}

/// Looks at an address; fetches nothing but the few small files that say how a model is read.
pub async fn look(
    address: &str,
    chosen: Option<&'static Known>,
    abort: &Abort,
) -> Result<Found, ModelError> {
    let bad = || ModelError::Address(address.trim().to_owned());
    let folder = Folder::parse(address).ok_or_else(bad)?;
    let mut first = None;
    for base in &folder.bases {
        match in_folder(base, &folder, chosen, abort).await {
            Ok(found) => return Ok(found),
            Err(ModelError::Cancelled) => return Err(ModelError::Cancelled),
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
    Err(first.unwrap_or_else(bad))
}

async fn in_folder(
    base: &str,
    folder: &Folder,
    chosen: Option<&'static Known>,
    abort: &Abort,
) -> Result<Found, ModelError> {
    let names = folder.graphs();
    let seen = join_all(names.iter().map(|name| head(base, name, abort))).await;
    if abort.is_aborted() {
        return Err(ModelError::Cancelled);
    }
    let mut graphs = Vec::new();
    let mut fault = None;
    for (name, seen) in names.iter().zip(seen) {
        match seen {
            Ok(place) => graphs.push(Graph {
                name: name.clone(),
                place,
                data: Vec::new(),
            }),
            Err(error) => drop(fault.get_or_insert(error)),
        }
    }
    if graphs.is_empty() {
        return Err(match fault {
            Some(FetchError::NotFound { .. }) | None => ModelError::Refused(format!(
                "{base} has no ONNX file where one was looked for ({}): give the address of the ONNX file itself, or check the address",
                names[..names.len().min(4)].join(", ")
            )),
            Some(other) => other.into(),
        });
    }
    for graph in &mut graphs {
        let names = data_of(&graph.name);
        for name in names {
            if let Ok(place) = head(base, &name, abort).await {
                graph.data.push((name, place));
                break;
            }
        }
    }
    let mut tokenizer = Err(ModelError::Gone);
    for name in TOKENIZERS {
        tokenizer = head(base, name, abort).await.map_err(ModelError::from);
        if tokenizer.is_ok() {
            break;
        }
    }
    let tokenizer = tokenizer.map_err(|error| match error {
        ModelError::Fetch(FetchError::NotFound { .. }) => no_tokenizer(base),
        other => other,
    })?;
    let files = join_all(SAYING.map(|name| saying(base, name, abort))).await;
    let files: Vec<_> = files.into_iter().flatten().collect();
    let from = base.trim_end_matches('/').to_owned();
    finish(
        Found {
            from,
            said: files,
            graphs,
            tokenizer: Some(tokenizer),
            ..Found::default()
        },
        chosen,
    )
}

/// Looks through dropped or picked files.
pub async fn look_in(
    picked: Vec<PickedFile>,
    chosen: Option<&'static Known>,
    abort: &Abort,
) -> Result<Found, ModelError> {
    let paths: Vec<&str> = picked.iter().map(|file| file.path.as_str()).collect();
    let parts = folder::choose(&paths);
    let from = paths.iter().find_map(|path| Some(path.split_once('/')?.0));
    let from = from.unwrap_or("files of this device").to_owned();
    if parts.graphs.is_empty() {
        return Err(ModelError::Refused(format!(
            "{from}: there is no ONNX file among them; choose the folder that holds one and its tokenizer.json"
        )));
    }
    let Some(tokenizer) = parts.tokenizer else {
        return Err(no_tokenizer(&from));
    };
    let mut files = Vec::new();
    for (at, name) in &parts.saying {
        let bytes = files::read(&picked[*at], SAYING_LIMIT, &silent(), abort).await?;
        files.push(((*name).to_owned(), bytes.to_vec()));
    }
    let disk = |at: &usize| Place::Disk(picked[*at].clone());
    let only = parts.graphs.len() == 1;
    let graphs = parts.graphs.iter().map(|at| {
        let name = paths[*at];
        // With one graph any data file is its own; else the name has to say so.
        let own = |data: &&usize| only || paths[**data].starts_with(name);
        let data = parts.data.iter().filter(own);
        Graph {
            name: name.to_owned(),
            place: disk(at),
            data: data.map(|at| (paths[*at].to_owned(), disk(at))).collect(),
        }
    });
    let (graphs, tokenizer) = (graphs.collect(), Some(disk(&tokenizer)));
    finish(
        Found {
            from,
            said: files,
            graphs,
            tokenizer,
            dropped: picked,
            card: None,
        },
        chosen,
    )
}

fn finish(mut found: Found, chosen: Option<&'static Known>) -> Result<Found, ModelError> {
    found.read_as(chosen);
    if let Some(why) = found.card.as_ref().and_then(|card| card.unfit.as_ref()) {
        return Err(ModelError::Refused(format!("{}: {why}", found.from)));
    }
    Ok(found)
}

fn no_tokenizer(place: &str) -> ModelError {
    ModelError::Refused(format!(
        "{place}: there is no tokenizer.json beside the model, and without it no text can be cut into the model's tokens: take the one from the model's repository"
    ))
}

async fn head(base: &str, name: &str, abort: &Abort) -> Result<Place, FetchError> {
    let url = format!("{base}{name}");
    let bytes = fetch::size_of(&url, abort).await?;
    Ok(Place::Web { url, bytes })
}

async fn saying(base: &str, name: &str, abort: &Abort) -> Option<(String, Vec<u8>)> {
    let url = format!("{base}{name}");
    let get = Get {
        url: &url,
        limit: SAYING_LIMIT,
        expect: None,
        freshness: Freshness::Revalidate,
        progress: &silent(),
        abort,
    };
    let fetched = fetch::get(get).await.ok()?;
    Some((name.to_owned(), fetched.bytes.to_vec()))
}

/// Names the files on the shelf.
fn id(own: &str) -> String {
    let hash = Sha256::digest(own);
    crate::browser::hash::hex(&hash[..8])
}
