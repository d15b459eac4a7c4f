//! What of a folder is needed: the graph, its weights if they lie apart, the tokenizer.

use super::card::SAYING;

/// Where graphs lie, the most fitting first: int8 weights are a quarter of the size and are what
/// the encoder computes with.
pub const GRAPHS: [&str; 9] = [
    "model_int8.onnx",
    "onnx/model_int8.onnx",
    "onnx/model_quantized.onnx",
    "model_quantized.onnx",
    "onnx/model_uint8.onnx",
    "onnx/model_qint8_avx512_vnni.onnx",
    "onnx/model.onnx",
    "model.onnx",
    "sentence_embedding.onnx",
];

/// Where tokenizers lie.
pub const TOKENIZERS: [&str; 2] = ["tokenizer.json", "onnx/tokenizer.json"];

/// An address of a folder as the visitor gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Folders to look in, the likeliest first; each ends in `/`.
    pub bases: Vec<String>,
    /// The graph, where the address names it; relative to a base.
    pub graph: Option<String>,
}

impl Folder {
    /// Reads an address: of a folder, of its ONNX file, or of a page that shows either on a host of
    /// repositories. `None` when it is no web address.
    pub fn parse(address: &str) -> Option<Self> {
        let address = address.trim();
        let address = address.split(['?', '#']).next().unwrap_or_default();
        let (scheme, rest) = address.split_once("://")?;
        let host_only = rest.trim_end_matches('/');
        if !matches!(scheme, "http" | "https") || host_only.is_empty() || rest.contains(' ') {
            return None;
        }
        let raw = address
            .replacen("/tree/", "/resolve/", 1)
            .replacen("/blob/", "/resolve/", 1);
        let (folder, graph) = match raw.rsplit_once('/') {
            Some((folder, file)) if file.ends_with(".onnx") => (folder.to_owned(), Some(file)),
            _ => (raw.trim_end_matches('/').to_owned(), None),
        };
        let (folder, graph) = match (folder.strip_suffix("/onnx"), graph) {
            (Some(above), Some(file)) => (above.to_owned(), Some(format!("onnx/{file}"))),
            (Some(above), None) => (above.to_owned(), None),
            (None, graph) => (folder, graph.map(str::to_owned)),
        };
        let mut bases = vec![format!("{folder}/")];
        if !folder.contains("/resolve/") {
            bases.push(format!("{folder}/resolve/main/"));
        }
        Some(Self { bases, graph })
    }

    /// Names of graphs to look for.
    pub fn graphs(&self) -> Vec<String> {
        match &self.graph {
            Some(graph) => vec![graph.clone()],
            None => GRAPHS.iter().map(|name| (*name).to_owned()).collect(),
        }
    }
}

/// Names under which the weights of a graph may lie beside it, when they do.
pub fn data_of(graph: &str) -> [String; 2] {
    [format!("{graph}_data"), format!("{graph}.data")]
}

/// The address of a data file that a graph at `graph` names; none when the name leads out of the
/// graph's folder.
pub fn beside(graph: &str, name: &str) -> Option<String> {
    let (folder, _) = graph.rsplit_once('/')?;
    let parts = name.split('/').filter(|part| !matches!(*part, "" | "."));
    let parts: Vec<&str> = parts.collect();
    let leads_out = name.starts_with('/') || name.contains('\\') || parts.contains(&"..");
    (!parts.is_empty() && !leads_out).then(|| {
        let mut address = folder.to_owned();
        for part in parts {
            address.push('/');
            for byte in part.bytes() {
                match byte {
                    b'-' | b'.' | b'_' | b'~' => address.push(char::from(byte)),
                    _ if byte.is_ascii_alphanumeric() => address.push(char::from(byte)),
                    _ => address.push_str(&format!("%{byte:02X}")),
                }
            }
        }
        address
    })
}

/// The last part of a path: files of a model lie in one folder, and are told apart by it.
pub fn last(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// What of some dropped files is needed, as places in their list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Graphs, the most fitting first.
    pub graphs: Vec<usize>,
    pub tokenizer: Option<usize>,
    /// Files that may hold weights.
    pub data: Vec<usize>,
    /// Those of [`SAYING`], by their names there.
    pub saying: Vec<(usize, &'static str)>,
}

/// Looks through the paths of dropped files.
pub fn choose(paths: &[&str]) -> Chosen {
    let mut chosen = Chosen::default();
    for (at, path) in paths.iter().enumerate() {
        let name = path.rsplit('/').next().unwrap_or(path);
        if name.ends_with(".onnx") {
            chosen.graphs.push(at);
        } else if name == "tokenizer.json" {
            // The shallowest; folders of other formats may have one of their own.
            let depth = |at: usize| paths[at].matches('/').count();
            if chosen
                .tokenizer
                .is_none_or(|other| depth(at) < depth(other))
            {
                chosen.tokenizer = Some(at);
            }
        } else if let Some(saying) = said_in(path) {
            chosen.saying.push((at, saying));
        } else if [".onnx_data", ".data", ".bin", ".weights"]
            .iter()
            .any(|end| name.contains(end))
        {
            chosen.data.push(at);
        }
    }
    let rank = |at: &usize| {
        let known = GRAPHS.iter().position(|graph| ends_in(paths[*at], graph));
        known.unwrap_or(GRAPHS.len())
    };
    chosen.graphs.sort_by_key(rank);
    chosen
}

/// Files that only models have.
const TELLING: [&str; 7] = [
    "tokenizer.json",
    "model.safetensors",
    "pytorch_model.bin",
    "sentencepiece.bpe.model",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
];

/// Whether dropped files are meant as a model, even one that lacks something.
pub fn is_model(paths: &[&str]) -> bool {
    let name = |path: &&str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let mut names = paths.iter().map(name);
    names.any(|name| name.ends_with(".onnx") || TELLING.contains(&name.as_str()))
}

fn said_in(path: &str) -> Option<&'static str> {
    // The longest that fits: `1_Pooling/config.json` also ends in `config.json`.
    let fits = SAYING.into_iter().filter(|name| ends_in(path, name));
    let name = fits.max_by_key(|name| name.len())?;
    // A config.json in any other folder below the model's is another module's.
    let other =
        path.contains("_Pooling/") || path.contains("_Dense/") || path.contains("_Normalize/");
    (name.contains('/') || !other).then_some(name)
}

fn ends_in(path: &str, name: &str) -> bool {
    path == name || path.ends_with(&format!("/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_folders_files_and_pages() {
        let both = |base: &str| vec![format!("{base}/"), format!("{base}/resolve/main/")];
        for (address, bases, graph) in [
            ("https://host/m", both("https://host/m"), None),
            (" https://host/m/ ", both("https://host/m"), None),
            (
                "https://host/a/b/tree/main",
                vec!["https://host/a/b/resolve/main/".to_owned()],
                None,
            ),
            (
                "https://host/a/b/blob/main/onnx/model_quantized.onnx?download=true",
                vec!["https://host/a/b/resolve/main/".to_owned()],
                Some("onnx/model_quantized.onnx"),
            ),
            (
                "http://localhost:9/m/onnx/",
                both("http://localhost:9/m"),
                None,
            ),
            (
                "http://localhost:9/m/x.onnx",
                both("http://localhost:9/m"),
                Some("x.onnx"),
            ),
        ] {
            let folder = Folder::parse(address).unwrap();
            assert_eq!(
                (folder.bases, folder.graph.as_deref()),
                (bases, graph),
                "{address}"
            );
        }
        for bad in [
            "",
            "Xenova/bge-m3",
            "ftp://host/m",
            "https://",
            "https://a b/",
        ] {
            assert_eq!(Folder::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn data_files_lie_beside_their_graph() {
        for (name, address) in [
            (
                "model.onnx_data",
                Some("https://host/m/onnx/model.onnx_data"),
            ),
            (
                "./weights/a b#1",
                Some("https://host/m/onnx/weights/a%20b%231"),
            ),
            ("../secret", None),
            ("/etc/passwd", None),
            ("a\\..\\b", None),
            ("", None),
        ] {
            let found = beside("https://host/m/onnx/model.onnx", name);
            assert_eq!(found.as_deref(), address, "{name}");
        }
    }

    #[test]
    fn a_model_is_known_even_if_it_lacks_its_graph() {
        for (paths, expected) in [
            (&["m/onnx/model.onnx"][..], true),
            (&["m/README.md", "m/tokenizer.json"], true),
            (&["model.safetensors", "config.json"], true),
            (&["runs/one.json", "runs/config.json", "notes.md"], false),
            (&[], false),
        ] {
            assert_eq!(is_model(paths), expected, "{paths:?}");
        }
    }

    #[test]
    fn dropped_files_are_sorted() {
        let paths = [
            "m/onnx/model.onnx",
            "m/onnx/model.onnx_data",
            "m/onnx/model_quantized.onnx",
            "m/config.json",
            "m/1_Pooling/config.json",
            "m/2_Dense/config.json",
            "m/onnx/tokenizer.json",
            "m/tokenizer.json",
            "m/README.md",
        ];
        let chosen = choose(&paths);
        assert_eq!(chosen.graphs, [2, 0]);
        assert_eq!(chosen.tokenizer, Some(7));
        assert_eq!(chosen.data, [1]);
        assert_eq!(
            chosen.saying,
            [(3, "config.json"), (4, "1_Pooling/config.json")]
        );
        assert_eq!(choose(&["notes.txt"]), Chosen::default());
    }
}
