//! A model as it is kept in this browser.

use super::fetching::Version;
use crate::embed::spec::{Arithmetic, ModelSpec};
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
    /// Sizes of the pieces in which it is kept.
    #[serde(default)]
    pub pieces: Vec<u64>,
    /// What was seen of the file when it was first asked for.
    #[serde(default)]
    pub version: Version,
    /// Of the whole file; none while it is not whole.
    #[serde(default)]
    pub sha256: Option<String>,
}

impl KeptFile {
    /// A file of which nothing is kept yet.
    pub fn wanted(role: Role, name: &str, url: &str, bytes: Option<u64>) -> Self {
        Self {
            role,
            name: name.to_owned(),
            url: url.to_owned(),
            bytes,
            pieces: Vec::new(),
            version: Version::default(),
            sha256: None,
        }
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
        });
        assert!(model.is_ready());
        let again: KeptModel =
            serde_json::from_str(&serde_json::to_string(&model).unwrap()).unwrap();
        assert_eq!(again, model);
    }
}
