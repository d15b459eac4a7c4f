//! How a model is to be read, from the files that lie beside it.

use super::known::Known;
use crate::embed::spec::{ModelSpec, Pooling};
use serde_json::Value;

/// Names of the files that say something, as they lie in a folder of a sentence encoder.
pub const SAYING: [&str; 7] = [
    "config.json",
    "tokenizer_config.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
    "model.json",
];

/// Where nothing names a limit.
const USUAL_LIMIT: u32 = 512;
/// A larger "model_max_length" stands for none.
const NO_LIMIT: f64 = 1e6;
/// Architectures that write text; they give no vector of a text.
const DECODERS: [&str; 5] = [
    "CausalLM",
    "Seq2Seq",
    "ConditionalGeneration",
    "LMHeadModel",
    "Vision",
];

/// What a folder says of its model, with what was assumed.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// Short name.
    pub name: String,
    pub spec: ModelSpec,
    /// Tokens the vocabulary has, where it is said.
    pub vocabulary: Option<u64>,
    /// Components of a token's vector, where it is said.
    pub hidden: Option<u64>,
    /// Sentences about what nobody says and was assumed.
    pub assumed: Vec<String>,
    /// Why this is no embedding model, if its files say so.
    pub unfit: Option<String>,
}

impl Card {
    /// Reads what there is. `place` is the address or the name of the folder; `files` are those of
    /// [`SAYING`] that it has, by name; `chosen` is the model that the visitor says it is, for a
    /// folder that does not say so itself. A file that is no JSON counts as missing.
    pub fn read(place: &str, files: &[(String, Vec<u8>)], chosen: Option<&'static Known>) -> Self {
        let files = Files(
            files
                .iter()
                .filter_map(|(name, bytes)| {
                    Some((name.as_str(), serde_json::from_slice(bytes).ok()?))
                })
                .collect(),
        );
        let named = files
            .text("config.json", "_name_or_path")
            .unwrap_or_default();
        let told = Known::spoken_of(place).or_else(|| Known::spoken_of(named));
        let hidden = files.number("config.json", "hidden_size");
        let (known, doubts) = match (told, chosen) {
            (Some(told), Some(chosen)) if told != chosen => (
                Some(told),
                Some(format!(
                    "Its folder speaks of {} and not of {}, which was chosen; it is read as the first.",
                    told.title, chosen.title
                )),
            ),
            (None, Some(chosen)) if hidden.is_some_and(|own| own != u64::from(chosen.dim)) => (
                None,
                Some(format!(
                    "Its config.json says {} numbers a vector, and {} has {}: it is another model, and nothing of that one is assumed.",
                    hidden.unwrap_or_default(),
                    chosen.title,
                    chosen.dim
                )),
            ),
            (told, chosen) => (told.or(chosen), None),
        };
        let mut card = Self {
            name: known.map_or_else(|| short_name(place), |known| known.name.to_owned()),
            spec: known.map_or_else(|| ModelSpec::plain(USUAL_LIMIT), Known::spec),
            vocabulary: files.number("config.json", "vocab_size"),
            hidden,
            assumed: doubts.into_iter().collect(),
            unfit: None,
        };
        card.take_limit(&files, known);
        card.take_pooling(&files, known);
        card.take_prefixes(&files, known, place);
        card.spec.normalise = files.normalises();
        card.unfit = files.unfit();
        card
    }

    fn take_limit(&mut self, files: &Files, known: Option<&Known>) {
        let positions = files
            .number("config.json", "max_position_embeddings")
            .map(|all| {
                // Their first token is not at position 0.
                all.saturating_sub(if files.is_roberta() { 2 } else { 0 })
            });
        let said = files
            .number("model.json", "max_tokens")
            .or_else(|| files.number("sentence_bert_config.json", "max_seq_length"))
            .or_else(|| known.map(|known| u64::from(known.max_tokens)))
            .or_else(|| files.number("tokenizer_config.json", "model_max_length"));
        let limit = match (said, positions) {
            (Some(said), Some(most)) => said.min(most),
            (Some(limit), None) | (None, Some(limit)) => limit,
            (None, None) => {
                self.assumed.push(format!(
                    "Nothing in the folder says how long an input may be; {USUAL_LIMIT} tokens are assumed."
                ));
                u64::from(USUAL_LIMIT)
            }
        };
        self.spec.max_tokens = u32::try_from(limit.max(8)).unwrap_or(USUAL_LIMIT);
    }

    fn take_pooling(&mut self, files: &Files, known: Option<&Known>) {
        let said = files.pooling();
        match (said, known) {
            (Said::Pooling(pooling), _) => self.spec.pooling = Some(pooling),
            (Said::Other(name), _) => self.assumed.push(format!(
                "Its pooling, {name}, is not known here unless the graph does it itself; say another one only if you know it fits."
            )),
            (Said::Nothing, Some(known)) => self.spec.pooling = Some(known.pooling),
            (Said::Nothing, None) => {
                self.spec.pooling = Some(Pooling::Mean);
                self.assumed.push(
                    "Nothing in the folder says how the vectors of tokens become one; their mean is assumed."
                        .to_owned(),
                );
            }
        }
    }

    fn take_prefixes(&mut self, files: &Files, known: Option<&Known>, place: &str) {
        const PROMPTS: &str = "config_sentence_transformers.json";
        let prompt = |names: &[&str]| {
            let prompts = files.get(PROMPTS)?.get("prompts")?;
            let mut said = names.iter().filter_map(|name| prompts.get(*name)?.as_str());
            // Libraries write empty ones for every model, also for those that want some.
            said.find(|prompt| !prompt.is_empty())
        };
        let own = |name| files.text("model.json", name);
        if let Some(prefix) = own("query_prefix").or_else(|| prompt(&["query", "s2p_query"])) {
            self.spec.query_prefix = prefix.to_owned();
        }
        let passage = own("passage_prefix").or_else(|| prompt(&["passage", "document", "corpus"]));
        if let Some(prefix) = passage {
            self.spec.passage_prefix = prefix.to_owned();
        }
        let words = place.to_lowercase();
        let untold = known.is_none()
            && self.spec.query_prefix.is_empty()
            && self.spec.passage_prefix.is_empty();
        if untold && words.split(['/', '-', '_']).any(|word| word == "e5") {
            self.spec.query_prefix = "query: ".to_owned();
            self.spec.passage_prefix = "passage: ".to_owned();
            self.assumed.push(
                "Models of the E5 family want “query: ” and “passage: ” before their texts; that is assumed by the folder's name."
                    .to_owned(),
            );
        }
    }
}

/// What is said about pooling.
enum Said<'a> {
    Pooling(Pooling),
    Other(&'a str),
    Nothing,
}

/// The folder's files, read.
struct Files<'a>(Vec<(&'a str, Value)>);

impl Files<'_> {
    fn get(&self, file: &str) -> Option<&Value> {
        let found = self.0.iter().find(|(name, _)| *name == file);
        found.map(|(_, value)| value)
    }

    fn text(&self, file: &str, field: &str) -> Option<&str> {
        self.get(file)?.get(field)?.as_str()
    }

    /// A whole number; libraries write "no limit" as a very large one.
    fn number(&self, file: &str, field: &str) -> Option<u64> {
        let number = self.get(file)?.get(field)?.as_f64()?;
        (1.0..NO_LIMIT).contains(&number).then_some(number as u64)
    }

    fn is_roberta(&self) -> bool {
        self.text("config.json", "model_type")
            .is_some_and(|kind| kind.contains("roberta") || matches!(kind, "mpnet" | "camembert"))
    }

    fn pooling(&self) -> Said<'_> {
        match self.text("model.json", "pool") {
            Some("mean") => return Said::Pooling(Pooling::Mean),
            Some("cls") => return Said::Pooling(Pooling::Cls),
            _ => {}
        }
        let Some(Value::Object(fields)) = self.get("1_Pooling/config.json") else {
            return Said::Nothing;
        };
        // The newer form names the mode, the older has a switch for each.
        let mode = fields.get("pooling_mode").and_then(Value::as_str);
        let switched = fields
            .iter()
            .find(|(name, on)| name.starts_with("pooling_mode_") && **on == Value::Bool(true));
        let named = mode.or(switched.map(|(name, _)| name.as_str()));
        match named.map(|name| (name, name.trim_start_matches("pooling_mode_"))) {
            Some((_, "mean" | "mean_tokens")) => Said::Pooling(Pooling::Mean),
            Some((_, "cls" | "cls_token")) => Said::Pooling(Pooling::Cls),
            Some((name, _)) => Said::Other(name),
            None => Said::Nothing,
        }
    }

    /// Vectors are compared by their cosine unless the folder asks for plain products.
    fn normalises(&self) -> bool {
        let module = |module: &Value| {
            let kind = module.get("type").and_then(Value::as_str);
            kind.is_some_and(|kind| kind.ends_with("Normalize"))
        };
        let modules = self.get("modules.json").and_then(Value::as_array);
        let in_modules = modules.is_some_and(|list| list.iter().any(module));
        let compared = self.text("config_sentence_transformers.json", "similarity_fn_name");
        in_modules || compared != Some("dot")
    }

    fn unfit(&self) -> Option<String> {
        let architectures = self.get("config.json")?.get("architectures")?.as_array()?;
        let names = architectures.iter().filter_map(Value::as_str);
        let decoder = |name: &&str| DECODERS.iter().any(|word| name.contains(word));
        let name = names.into_iter().find(decoder)?;
        Some(format!(
            "its config.json says {name}, a model that writes text or sees pictures and gives no vector of a text"
        ))
    }
}

/// The last telling part of an address or path.
fn short_name(place: &str) -> String {
    let plain = ["onnx", "resolve", "main", "master", "raw", "blob", "tree"];
    let place = place.split(['?', '#']).next().unwrap_or_default();
    let parts = place.split('/').filter(|part| !part.is_empty());
    let telling = parts
        .rev()
        .map(|part| part.trim_end_matches(".onnx"))
        .find(|part| !plain.contains(part) && !part.starts_with("model"));
    let name = telling.unwrap_or("own model").to_lowercase();
    name.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(place: &str, files: &[(&str, &str)]) -> Card {
        let files: Vec<_> = files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
            .collect();
        Card::read(place, &files, None)
    }

    #[test]
    fn a_sentence_encoder_s_folder_says_everything() {
        let read = card(
            "https://host/some/encoder/",
            &[
                (
                    "config.json",
                    r#"{"model_type":"xlm-roberta","max_position_embeddings":514,"vocab_size":250002,"hidden_size":384}"#,
                ),
                ("sentence_bert_config.json", r#"{"max_seq_length":512}"#),
                (
                    "1_Pooling/config.json",
                    r#"{"word_embedding_dimension":384,"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false}"#,
                ),
                (
                    "modules.json",
                    r#"[{"type":"sentence_transformers.models.Normalize"}]"#,
                ),
                (
                    "config_sentence_transformers.json",
                    r#"{"prompts":{"query":"q: ","document":"d: "},"similarity_fn_name":"dot"}"#,
                ),
            ],
        );
        assert_eq!(read.name, "encoder");
        assert_eq!(read.assumed, Vec::<String>::new());
        assert_eq!(read.vocabulary, Some(250_002));
        assert_eq!(
            read.spec,
            ModelSpec {
                max_tokens: 512,
                pooling: Some(Pooling::Cls),
                normalise: true,
                query_prefix: "q: ".to_owned(),
                passage_prefix: "d: ".to_owned(),
                arithmetic: Default::default(),
            }
        );
    }

    #[test]
    fn what_nobody_says_is_assumed_and_told() {
        let read = card("dropped", &[("config.json", "<html>")]);
        assert_eq!(read.spec.max_tokens, 512);
        assert_eq!(read.spec.pooling, Some(Pooling::Mean));
        assert_eq!(read.assumed.len(), 2);
        let e5 = card("https://host/e5-large/", &[]);
        assert_eq!(e5.spec.query_prefix, "query: ");
        assert_eq!(e5.assumed.len(), 3);
    }

    #[test]
    fn limits_never_pass_the_positions_and_huge_ones_count_for_none() {
        let none = r#"{"model_max_length":1000000000000000019884624838656}"#;
        for (config, tokenizer, limit) in [
            (
                r#"{"model_type":"bert","max_position_embeddings":512}"#,
                none,
                512,
            ),
            (
                r#"{"model_type":"xlm-roberta","max_position_embeddings":514}"#,
                none,
                512,
            ),
            (
                r#"{"model_type":"bert","max_position_embeddings":512}"#,
                r#"{"model_max_length":128}"#,
                128,
            ),
            (
                r#"{"model_type":"bert","max_position_embeddings":256}"#,
                r#"{"model_max_length":8192}"#,
                256,
            ),
        ] {
            let files = [
                ("config.json", config),
                ("tokenizer_config.json", tokenizer),
            ];
            assert_eq!(
                card("x", &files).spec.max_tokens,
                limit,
                "{config} {tokenizer}"
            );
        }
    }

    #[test]
    fn known_models_are_known_by_their_folder() {
        let read = card(
            "https://host/Xenova/multilingual-e5-small/resolve/main/",
            &[("tokenizer_config.json", r#"{"model_max_length":512}"#)],
        );
        assert_eq!(
            (read.name.as_str(), read.spec.passage_prefix.as_str()),
            ("multilingual-e5-small", "passage: ")
        );
        assert_eq!(read.assumed, Vec::<String>::new());
    }

    /// As sentence-transformers writes the file for a model without prompts of its own.
    const NO_PROMPTS: &str = r#"{"prompts":{"query":"","document":""},"default_prompt_name":null}"#;

    #[test]
    fn empty_prompts_say_nothing() {
        const PROMPTS: &str = "config_sentence_transformers.json";
        for (place, query, passage) in [
            (
                "https://host/multilingual-e5-small/",
                "query: ",
                "passage: ",
            ),
            (
                "https://host/bge-small-en-v1.5/",
                "Represent this sentence for searching relevant passages: ",
                "",
            ),
            ("https://host/e5-large/", "query: ", "passage: "),
            ("https://host/some-encoder/", "", ""),
        ] {
            let spec = card(place, &[(PROMPTS, NO_PROMPTS)]).spec;
            let found = (spec.query_prefix.as_str(), spec.passage_prefix.as_str());
            assert_eq!(found, (query, passage), "{place}");
        }
        // An empty one does not hide a full one behind it.
        let both = r#"{"prompts":{"query":"","s2p_query":"q: "}}"#;
        let read = card("https://host/some-encoder/", &[(PROMPTS, both)]);
        assert_eq!(read.spec.query_prefix, "q: ");
    }

    #[test]
    fn a_choice_names_a_folder_that_does_not_say_what_it_holds() {
        let chosen = Known::named("bge-m3");
        let read = |place: &str, config: &str| {
            let files = [("config.json".to_owned(), config.as_bytes().to_vec())];
            Card::read(place, &files, chosen)
        };
        // From the model's card: CLS, no prefixes, 8192 tokens.
        let m3 = read(
            "https://host/m/",
            r#"{"model_type":"xlm-roberta","max_position_embeddings":8194,"hidden_size":1024}"#,
        );
        assert_eq!(m3.name, "bge-m3");
        assert_eq!(
            (m3.spec.pooling, m3.spec.max_tokens, m3.assumed.len()),
            (Some(Pooling::Cls), 8192, 0)
        );
        let other = read("https://host/m/", r#"{"hidden_size":384}"#);
        assert_eq!(other.spec.pooling, Some(Pooling::Mean));
        assert!(
            other.assumed[0].contains("384") && other.assumed[0].contains("BGE-M3 has 1024"),
            "{:?}",
            other.assumed
        );
        let named = read("https://host/multilingual-e5-small/", "{}");
        assert_eq!(named.spec.passage_prefix, "passage: ");
        assert!(
            named.assumed[0].contains("not of BGE-M3"),
            "{:?}",
            named.assumed
        );
    }

    #[test]
    fn writers_of_text_are_turned_away() {
        let read = card(
            "x",
            &[("config.json", r#"{"architectures":["LlamaForCausalLM"]}"#)],
        );
        assert!(read.unfit.unwrap().contains("LlamaForCausalLM"));
        let fine = card(
            "x",
            &[("config.json", r#"{"architectures":["BertForMaskedLM"]}"#)],
        );
        assert_eq!(fine.unfit, None);
    }

    #[test]
    fn names_come_from_the_telling_part() {
        for (place, name) in [
            ("https://host/a/Some-Model/resolve/main/onnx/", "some-model"),
            ("https://host/models/x/model_int8.onnx?download=1", "x"),
            ("", "own model"),
        ] {
            assert_eq!(short_name(place), name);
        }
    }
}
