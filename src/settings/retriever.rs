//! How passages of a history are found.

use super::Endpoint;
use crate::embed::registry::{KNOWN, KeptModel};
use crate::embed::spec::Arithmetic;
use crate::run::many::Finder;
use crate::worker::protocol::SearchMethod;
use serde::{Deserialize, Serialize};

/// The visitor's retriever; the published one unless changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Retriever {
    pub method: SearchMethod,
    pub arithmetic: Arithmetic,
    /// Who makes the vectors.
    pub model: ModelChoice,
    /// Where they come from when [`ModelChoice::Endpoint`] is chosen.
    pub endpoint: EmbeddingEndpoint,
}

/// Which embedding model is used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ModelChoice {
    /// The one that ships with the site.
    #[default]
    Shipped,
    /// One that is kept in this browser, by its id there.
    Kept { id: String },
    /// One behind an address.
    Endpoint,
}

impl ModelChoice {
    /// For the value of an option, and back by [`ModelChoice::from_word`].
    pub fn word(&self) -> String {
        match self {
            Self::Shipped => "shipped".to_owned(),
            Self::Kept { id } => format!("kept:{id}"),
            Self::Endpoint => "endpoint".to_owned(),
        }
    }

    /// What [`ModelChoice::word`] made; anything else is the shipped model.
    pub fn from_word(word: &str) -> Self {
        match (word, word.strip_prefix("kept:")) {
            ("endpoint", _) => Self::Endpoint,
            (_, Some(id)) => Self::Kept { id: id.to_owned() },
            _ => Self::Shipped,
        }
    }
}

/// An OpenAI-compatible address that makes vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EmbeddingEndpoint {
    pub endpoint: Endpoint,
    /// Components to ask for, where the model lets one choose; none leaves it to the model.
    pub dimensions: Option<u32>,
    /// Put before a query.
    pub query_prefix: String,
    /// Put before a passage.
    pub passage_prefix: String,
}

/// A choice as the settings view shows it.
pub struct MethodInfo {
    pub method: SearchMethod,
    pub title: &'static str,
    pub about: &'static str,
}

/// The methods that can be chosen, the published one first.
pub const METHODS: &[MethodInfo] = &[
    MethodInfo {
        method: SearchMethod::Exact,
        title: "By meaning",
        about: "Nearest vectors of the embedding model, every passage compared. As published.",
    },
    MethodInfo {
        method: SearchMethod::Lexical,
        title: "By words",
        about: "BM25: passages that share the query's rare words.",
    },
    MethodInfo {
        method: SearchMethod::Fused,
        title: "Both",
        about: "The two rankings fused by reciprocal ranks. On IBA-Mini it finds more of the evidence than either.",
    },
];

impl Retriever {
    /// What runs will say of their retriever, among these models of the visitor's.
    pub fn finder(&self, kept: &[KeptModel]) -> Finder {
        let method = self.name();
        let shipped = || Finder {
            method: method.clone(),
            model: KNOWN[0].name.to_owned(),
            ..Finder::default()
        };
        match &self.model {
            // Words are found without the chosen model.
            _ if self.method == SearchMethod::Lexical => shipped(),
            ModelChoice::Shipped => shipped(),
            ModelChoice::Kept { id } => match kept.iter().find(|model| model.id == *id) {
                None => shipped(),
                Some(model) => Finder {
                    model: model.name.clone(),
                    model_sha256: Some(model.sha256()),
                    ..shipped()
                },
            },
            ModelChoice::Endpoint => Finder {
                model: self.endpoint.endpoint.model.trim().to_owned(),
                base_url: Some(self.endpoint.endpoint.plain_url()),
                ..shipped()
            },
        }
    }

    /// What is missing before a history can be searched, in a sentence.
    pub fn missing(&self) -> Option<String> {
        let asked = self.model == ModelChoice::Endpoint && self.method != SearchMethod::Lexical;
        let missing = asked.then(|| self.endpoint.endpoint.missing()).flatten()?;
        Some(format!("The embedding endpoint: {missing}"))
    }

    /// As results name it, where the model was computed with this: a graph that the fast encoder does
    /// not know runs in float32, whatever was chosen.
    pub fn name_by(&self, computed: Arithmetic) -> String {
        let arithmetic = match computed {
            Arithmetic::Float32 => computed,
            Arithmetic::Int8 => self.arithmetic,
        };
        Self {
            arithmetic,
            ..self.clone()
        }
        .name()
    }

    /// As results name it.
    pub fn name(&self) -> String {
        let method = match self.method {
            SearchMethod::Exact => "exact",
            SearchMethod::Hnsw => "hnsw",
            SearchMethod::Lexical => "bm25",
            SearchMethod::Fused => "exact+bm25",
        };
        match self.arithmetic {
            Arithmetic::Float32 if self.model != ModelChoice::Endpoint => {
                format!("{method}, float32")
            }
            _ => method.to_owned(),
        }
    }
}

/// What the scores of a method's hits are, for people.
pub fn score_name(method: SearchMethod) -> &'static str {
    match method {
        SearchMethod::Exact | SearchMethod::Hnsw => "Cosine of query and passage",
        SearchMethod::Lexical => "BM25 score of the words, without an upper limit",
        SearchMethod::Fused => "Sum of 1 / (60 + rank) over both rankings, 0.033 at most",
    }
}

/// Whether scores lie between 0 and 1 and use that range, so that a bar can show them.
pub fn scores_are_cosines(method: SearchMethod) -> bool {
    matches!(method, SearchMethod::Exact | SearchMethod::Hnsw)
}

/// The method of a name that [`Retriever::name`] or a run by words gave.
pub fn method_named(name: &str) -> SearchMethod {
    // "exact+bm25, float32", "bm25 over windows of words".
    let word = name.split([',', ' ']).next().unwrap_or_default();
    match word {
        "hnsw" => SearchMethod::Hnsw,
        "bm25" => SearchMethod::Lexical,
        "exact+bm25" => SearchMethod::Fused,
        _ => SearchMethod::Exact,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_retriever_is_the_default_and_has_a_plain_name() {
        assert_eq!(Retriever::default().name(), "exact");
        let by = |computed| Retriever::default().name_by(computed);
        assert_eq!(by(Arithmetic::Int8), "exact");
        assert_eq!(by(Arithmetic::Float32), "exact, float32");
        assert_eq!(METHODS[0].method, Retriever::default().method);
        let other = Retriever {
            method: SearchMethod::Fused,
            arithmetic: Arithmetic::Float32,
            ..Retriever::default()
        };
        assert_eq!(other.name(), "exact+bm25, float32");
        let kept = serde_json::to_string(&other).unwrap();
        assert_eq!(serde_json::from_str::<Retriever>(&kept).unwrap(), other);
        assert_eq!(
            serde_json::from_str::<Retriever>("{}").unwrap(),
            Retriever::default()
        );
    }

    #[test]
    fn words_are_found_by_no_model_of_the_visitors() {
        for model in [ModelChoice::Endpoint, ModelChoice::Kept { id: "ab".into() }] {
            let chosen = Retriever {
                method: SearchMethod::Lexical,
                model,
                ..Retriever::default()
            };
            let kept = KeptModel {
                id: "ab".to_owned(),
                name: "mine".to_owned(),
                from: String::new(),
                added_ms: 0,
                spec: crate::embed::ModelSpec::plain(128),
                files: Vec::new(),
                hidden: None,
                tried: None,
                fault: None,
            };
            let finder = chosen.finder(&[kept]);
            assert_eq!(finder.model, "all-minilm-l6-v2");
            assert_eq!(finder.model_sha256, None);
            assert_eq!(finder.base_url, None);
        }
    }

    #[test]
    fn names_tell_what_scores_are() {
        for method in [
            SearchMethod::Exact,
            SearchMethod::Hnsw,
            SearchMethod::Lexical,
            SearchMethod::Fused,
        ] {
            for arithmetic in [Arithmetic::Int8, Arithmetic::Float32] {
                let retriever = Retriever {
                    method,
                    arithmetic,
                    ..Retriever::default()
                };
                assert_eq!(method_named(&retriever.name()), method);
            }
        }
        let windows = method_named("bm25 over windows of words");
        assert_eq!(windows, SearchMethod::Lexical);
        assert!(
            !scores_are_cosines(windows),
            "a bar of 0 to 1 would be full"
        );
        // Cormack, Clarke and Büttcher 2009: a passage that leads both rankings has 2 / 61.
        assert_eq!(format!("{:.3}", 2.0 / 61.0), "0.033");
        assert!(score_name(SearchMethod::Fused).contains("0.033 at most"));
        assert!(!scores_are_cosines(SearchMethod::Fused));
    }

    #[test]
    fn choices_come_back_and_an_endpoint_wants_an_address() {
        for choice in [
            ModelChoice::Shipped,
            ModelChoice::Endpoint,
            ModelChoice::Kept { id: "ab".into() },
        ] {
            assert_eq!(ModelChoice::from_word(&choice.word()), choice);
        }
        assert_eq!(ModelChoice::from_word("gone"), ModelChoice::Shipped);
        let mut chosen = Retriever {
            model: ModelChoice::Endpoint,
            ..Retriever::default()
        };
        assert!(
            chosen
                .missing()
                .is_some_and(|text| text.contains("no address"))
        );
        chosen.method = SearchMethod::Lexical;
        assert_eq!(chosen.missing(), None, "words need no model");
    }
}
