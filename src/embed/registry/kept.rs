//! A model as it is kept in this browser.

use super::fetching::Version;
use super::folder::last;
use crate::bench::manifest::{EmbeddingSet, PassageReading};
use crate::embed::spec::{Arithmetic, ModelSpec, Pooling};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What a file of a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The ONNX file.
    Graph,
    /// Weights that lie apart from it.
    Data,
    Tokenizer,
}

/// One file, whole or as far as it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFile {
    pub role: Role,
    /// As the graph calls it: `model.onnx_data`.
    pub name: String,
    /// Where it comes from; empty for a file of the visitor's disk.
    pub url: String,
    /// Of the whole file, where that is known.
    pub bytes: Option<u64>,
    /// What the host said before anything came; of packed bytes where it packs them on the way.
    #[serde(default)]
    pub told: Option<u64>,
    /// Sizes of the pieces in which it is kept.
    #[serde(default)]
    pub pieces: Vec<u64>,
    /// What was seen of the file when it was first asked for.
    #[serde(default)]
    pub version: Version,
    /// Of the whole file; none while it is not whole.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Of a graph that is whole: the files that its weights lie in, as it names them.
    #[serde(default)]
    pub apart: Option<Vec<String>>,
}

impl KeptFile {
    /// A file of which nothing is kept yet.
    pub fn wanted(role: Role, name: &str, url: &str, bytes: Option<u64>) -> Self {
        Self {
            role,
            name: name.to_owned(),
            url: url.to_owned(),
            bytes,
            told: bytes,
            pieces: Vec::new(),
            version: Version::default(),
            sha256: None,
            apart: None,
        }
    }

    /// Whether it is the same file of the same place, as far as can be said before it comes.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_known = other.told.is_some() && self.told == other.told;
        self.role == other.role
            && self.name == other.name
            && self.url == other.url
            && (self.bytes == other.bytes || is_known)
    }

    /// Forgets what has come.
    pub fn forget(&mut self) {
        self.pieces.clear();
        self.version = Version::default();
        self.sha256 = None;
        self.apart = None;
    }

    /// Bytes kept.
    pub fn kept(&self) -> u64 {
        self.pieces.iter().sum()
    }

    pub fn is_whole(&self) -> bool {
        self.sha256.is_some()
    }
}

/// What loading it showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Components of a vector.
    pub dim: u32,
    /// What it computes with when int8 is wanted.
    pub arithmetic: Arithmetic,
    /// Why that is not int8.
    #[serde(default)]
    pub fallback: Option<String>,
    /// How it is really read, where the graph decides some of it.
    #[serde(default)]
    pub read: Option<ModelSpec>,
}

/// A model with everything that is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptModel {
    /// Names its files on the shelf.
    pub id: String,
    /// Short name, for people and for results.
    pub name: String,
    /// Address or folder it came from.
    pub from: String,
    /// Milliseconds since the Unix epoch.
    pub added_ms: u64,
    pub spec: ModelSpec,
    /// Graph first, then its data, then the tokenizer.
    pub files: Vec<KeptFile>,
    /// Components of a token's vector, where the folder says so.
    #[serde(default)]
    pub hidden: Option<u64>,
    /// None while it has not been loaded once.
    #[serde(default)]
    pub tried: Option<Tried>,
    /// Why the last attempt to load it failed.
    #[serde(default)]
    pub fault: Option<String>,
}

impl KeptModel {
    /// Whether it can be chosen.
    pub fn is_ready(&self) -> bool {
        self.tried.is_some() && self.fault.is_none() && self.is_whole()
    }

    /// Whether all its files are there.
    pub fn is_whole(&self) -> bool {
        self.files.iter().all(KeptFile::is_whole)
    }

    /// Bytes kept.
    pub fn kept(&self) -> u64 {
        self.files.iter().map(KeptFile::kept).sum()
    }

    /// Bytes of all files, where that is known.
    pub fn bytes(&self) -> Option<u64> {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Bytes of graph and weights.
    pub fn weights(&self) -> u64 {
        let weights = self
            .files
            .iter()
            .filter(|file| file.role != Role::Tokenizer);
        weights.map(KeptFile::kept).sum()
    }

    /// Graph and data files, in order.
    pub fn weight_files(&self) -> impl Iterator<Item = &KeptFile> {
        self.files
            .iter()
            .filter(|file| file.role != Role::Tokenizer)
    }

    pub fn tokenizer(&self) -> Option<&KeptFile> {
        self.files.iter().find(|file| file.role == Role::Tokenizer)
    }

    /// How it is read: as trying it showed, else as its folder says.
    pub fn reading(&self) -> &ModelSpec {
        let tried = self.tried.as_ref().and_then(|tried| tried.read.as_ref());
        tried.unwrap_or(&self.spec)
    }

    /// Names of data files that its graph asks for and that are not among its files; none while the
    /// graph is not whole.
    pub fn lacks(&self) -> Vec<String> {
        let named = self.files.first().and_then(|graph| graph.apart.clone());
        let has = |name: &String| {
            let mut data = self.files.iter().filter(|file| file.role == Role::Data);
            data.any(|file| last(&file.name) == last(name))
        };
        let named = named.unwrap_or_default();
        named.into_iter().filter(|name| !has(name)).collect()
    }

    /// Leaves the data files that its graph names, in that order, with `found` for those that were
    /// not thought of before. Gives the pieces that belong to nothing any more: number of the file
    /// and how many they are. Files that are not named by their number any more start anew.
    pub fn take_data(&mut self, found: Vec<KeptFile>) -> Vec<(usize, usize)> {
        let Some(names) = self.files.first().and_then(|graph| graph.apart.clone()) else {
            return Vec::new();
        };
        let old = std::mem::take(&mut self.files);
        let of = |role| old.iter().filter(move |file| file.role == role);
        let mut files: Vec<KeptFile> = of(Role::Graph).cloned().collect();
        for name in &names {
            let mut known = of(Role::Data).chain(&found);
            let file = known.find(|file| last(&file.name) == last(name)).cloned();
            let is_new = |file: &KeptFile| files.iter().all(|other| other.name != file.name);
            files.extend(file.filter(is_new));
        }
        files.extend(of(Role::Tokenizer).cloned());
        let mut stray = Vec::new();
        for at in 0..old.len().max(files.len()) {
            let stays = matches!((old.get(at), files.get(at)), (Some(a), Some(b)) if a == b);
            if stays {
                continue;
            }
            stray.extend(old.get(at).map(|old| (at, old.pieces.len())));
            if let Some(file) = files.get_mut(at) {
                file.forget();
            }
        }
        stray.retain(|(_, pieces)| *pieces > 0);
        self.files = files;
        stray
    }

    /// The hash that names its weights: see [`identity`].
    pub fn sha256(&self) -> String {
        let hashes = self.weight_files().filter_map(|file| file.sha256.clone());
        identity(&hashes.collect::<Vec<_>>())
    }
}

/// What names a model's weights: the SHA-256 of its ONNX file; where weights lie apart, that of all
/// its files' hashes in lower-case hex, the graph's first, one a line.
pub fn identity(hashes: &[String]) -> String {
    match hashes {
        [one] => one.clone(),
        many => hex(&Sha256::digest(
            many.iter()
                .map(|hash| format!("{hash}\n"))
                .collect::<String>(),
        )),
    }
}

/// What vectors of passages depend on: weights, tokenizer, and how both are read. Two models with
/// the same one give a text the same vector.
pub fn passages_key(weights: &str, tokenizer: &str, spec: &ModelSpec) -> String {
    let ModelSpec {
        max_tokens,
        pooling,
        normalise,
        query_prefix: _,
        passage_prefix,
        arithmetic: _,
    } = spec;
    let read = serde_json::json!([
        weights,
        tokenizer,
        max_tokens,
        pooling,
        normalise,
        passage_prefix
    ]);
    hex(&Sha256::digest(read.to_string()))
}

/// How passages were read, for a dataset's set of vectors; nothing where that is plain: whole, pooled
/// by the graph, as unit vectors.
pub fn passages_reading(tokenizer: &str, read: &ModelSpec) -> Option<PassageReading> {
    let is_plain = read.pooling.is_none() && read.normalise && read.passage_prefix.is_empty();
    (!is_plain).then(|| PassageReading {
        tokenizer_sha256: tokenizer.to_owned(),
        max_tokens: read.max_tokens,
        pooling: read.pooling.map(|pooling| pooling.word().to_owned()),
        normalised: read.normalise,
        passage_prefix: read.passage_prefix.clone(),
    })
}

/// Whether the vectors of a dataset's set are those that this model gives: the same weights, read in
/// the same way.
pub fn gives(set: &EmbeddingSet, weights: &str, tokenizer: &str, read: &ModelSpec) -> bool {
    let read_so = match &set.reading {
        // Nothing else could be made when sets did not say it.
        None => read.passage_prefix.is_empty() && read.normalise,
        Some(reading) => match key_of(weights, reading) {
            Some(key) => key == passages_key(weights, tokenizer, read),
            None => false,
        },
    };
    set.model_sha256 == weights && read_so
}

/// [`passages_key`] of a set; none where it pools in a way that is not known here.
fn key_of(weights: &str, reading: &PassageReading) -> Option<String> {
    let pooling = match reading.pooling.as_deref() {
        None => None,
        Some(word) => Some(Pooling::of(word)?),
    };
    let spec = ModelSpec {
        pooling,
        normalise: reading.normalised,
        passage_prefix: reading.passage_prefix.clone(),
        ..ModelSpec::plain(reading.max_tokens)
    };
    Some(passages_key(weights, &reading.tokenizer_sha256, &spec))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_names_itself_and_several_name_each_other() {
        let [a, b] = ["aa", "bb"].map(str::to_owned);
        assert_eq!(identity(std::slice::from_ref(&a)), "aa");
        // printf 'aa\nbb\n' | sha256sum
        assert_eq!(
            identity(&[a.clone(), b.clone()]),
            "329d670e59ead1543a2d36865895972560bc434204c5f4a0c8219005dd312719"
        );
        assert_ne!(identity(&[a.clone(), b.clone()]), identity(&[b, a]));
    }

    #[test]
    fn whatever_changes_a_passage_s_vector_changes_the_key() {
        let spec = ModelSpec::plain(256);
        let key = |spec: &ModelSpec| passages_key("w", "t", spec);
        let plain = key(&spec);
        assert_eq!(
            plain,
            key(&ModelSpec {
                query_prefix: "q".into(),
                ..spec.clone()
            })
        );
        for other in [
            ModelSpec {
                passage_prefix: "p".into(),
                ..spec.clone()
            },
            ModelSpec {
                max_tokens: 128,
                ..spec.clone()
            },
            ModelSpec {
                normalise: false,
                ..spec.clone()
            },
            ModelSpec {
                pooling: Some(crate::embed::Pooling::Cls),
                ..spec.clone()
            },
        ] {
            assert_ne!(plain, key(&other), "{other:?}");
        }
        assert_ne!(plain, passages_key("w", "u", &spec));
    }

    #[test]
    fn a_model_is_ready_once_it_is_whole_and_was_loaded() {
        let mut graph = KeptFile::wanted(
            Role::Graph,
            "model.onnx",
            "https://host/m/model.onnx",
            Some(10),
        );
        graph.pieces = vec![4, 6];
        let mut model = KeptModel {
            id: "a".into(),
            name: "m".into(),
            from: "https://host/m/".into(),
            added_ms: 0,
            spec: ModelSpec::plain(256),
            files: vec![graph],
            hidden: None,
            tried: None,
            fault: None,
        };
        assert_eq!(
            (model.kept(), model.bytes(), model.is_whole()),
            (10, Some(10), false)
        );
        model.files[0].sha256 = Some("aa".into());
        model.tried = Some(Tried {
            dim: 8,
            arithmetic: Arithmetic::Int8,
            fallback: None,
            read: None,
        });
        assert!(model.is_ready());
        let again: KeptModel =
            serde_json::from_str(&serde_json::to_string(&model).unwrap()).unwrap();
        assert_eq!(again, model);
    }

    fn set(reading: Option<PassageReading>) -> EmbeddingSet {
        EmbeddingSet {
            model: "m".into(),
            model_sha256: "w".into(),
            dim: 8,
            chunk_tokens: 256,
            chunk_overlap: 50,
            reading,
            files: Default::default(),
            graph: None,
        }
    }

    #[test]
    fn a_set_fits_the_model_that_reads_passages_as_it_was_made() {
        let cls = ModelSpec {
            pooling: Some(Pooling::Cls),
            passage_prefix: "p: ".into(),
            query_prefix: "q: ".into(),
            ..ModelSpec::plain(256)
        };
        let made = set(passages_reading("t", &cls));
        assert!(gives(&made, "w", "t", &cls));
        let any_query = ModelSpec {
            query_prefix: String::new(),
            ..cls.clone()
        };
        assert!(
            gives(&made, "w", "t", &any_query),
            "queries are another matter"
        );
        assert!(!gives(&made, "v", "t", &cls), "other weights");
        assert!(!gives(&made, "w", "u", &cls), "another tokenizer");
        for other in [
            ModelSpec::plain(256),
            ModelSpec {
                pooling: Some(Pooling::Mean),
                ..cls.clone()
            },
            ModelSpec {
                passage_prefix: String::new(),
                ..cls.clone()
            },
            ModelSpec {
                max_tokens: 128,
                ..cls.clone()
            },
            ModelSpec {
                normalise: false,
                ..cls.clone()
            },
        ] {
            assert!(!gives(&made, "w", "t", &other), "{other:?}");
        }
        let mut strange = made;
        strange.reading.as_mut().unwrap().pooling = Some("lasttoken".into());
        assert!(!gives(&strange, "w", "t", &cls));
    }

    #[test]
    fn a_set_that_says_nothing_is_of_plain_passages() {
        let plain = ModelSpec::plain(256);
        assert_eq!(passages_reading("t", &plain), None);
        let old = set(None);
        assert!(gives(&old, "w", "any", &plain));
        let prefixed = ModelSpec {
            passage_prefix: "p: ".into(),
            ..plain
        };
        assert!(!gives(&old, "w", "any", &prefixed));
    }

    fn kept(files: Vec<KeptFile>) -> KeptModel {
        KeptModel {
            id: "a".into(),
            name: "m".into(),
            from: "https://host/m/".into(),
            added_ms: 0,
            spec: ModelSpec::plain(256),
            files,
            hidden: None,
            tried: None,
            fault: None,
        }
    }

    fn file(role: Role, name: &str, pieces: &[u64]) -> KeptFile {
        KeptFile {
            pieces: pieces.to_vec(),
            ..KeptFile::wanted(role, name, &format!("https://host/m/{name}"), Some(9))
        }
    }

    #[test]
    fn the_graph_says_which_data_files_there_are() {
        let mut graph = file(Role::Graph, "m.onnx", &[5]);
        graph.apart = Some(vec!["./a.bin".into(), "b.bin".into()]);
        let guessed = file(Role::Data, "m.onnx_data", &[3, 3]);
        let tokenizer = file(Role::Tokenizer, "tokenizer.json", &[2]);
        let mut model = kept(vec![graph.clone(), guessed, tokenizer]);
        assert_eq!(model.lacks(), ["./a.bin", "b.bin"]);
        let found = ["a.bin", "b.bin"].map(|name| file(Role::Data, name, &[]));
        assert_eq!(model.take_data(found.to_vec()), [(1, 2), (2, 1)]);
        let names: Vec<_> = model.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["m.onnx", "a.bin", "b.bin", "tokenizer.json"]);
        assert_eq!(model.files[0].pieces, [5], "the graph stays");
        assert_eq!(model.files[3].pieces, [0; 0], "its pieces had another name");
        assert!(model.lacks().is_empty());
        // Once it is so, nothing changes any more.
        let before = model.clone();
        assert_eq!(model.take_data(Vec::new()), []);
        assert_eq!(model, before);
    }

    #[test]
    fn a_host_that_packs_on_the_way_has_the_same_file_as_before() {
        let told = file(Role::Tokenizer, "tokenizer.json", &[]);
        let mut kept = told.clone();
        kept.bytes = Some(40);
        assert!(told.is_same(&kept));
        let other = KeptFile::wanted(Role::Tokenizer, &told.name, &told.url, Some(10));
        assert!(!other.is_same(&kept));
    }
}
