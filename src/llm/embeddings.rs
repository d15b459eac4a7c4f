//! Vectors of texts from an OpenAI-compatible `/embeddings` address: what may be asked at once, the
//! request, and the answer.

use super::http::{HttpRequest, HttpResponse};
use super::provider::{Dialect, Provider};
use super::{ApiKey, LlmError, Usage, address, openai};
use serde_json::{Map, Value, json};

/// Texts to be embedded by one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    pub model: String,
    pub input: Vec<String>,
    /// Components to ask for; none leaves it to the model.
    pub dimensions: Option<u32>,
}

/// What came back, in the order of the texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vectors {
    /// As the provider gave them, all of one length.
    pub rows: Vec<Vec<f32>>,
    /// Input only; nothing is written.
    pub usage: Option<Usage>,
    /// The model as the provider names it.
    pub model: Option<String>,
}

/// What a provider takes in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    pub texts: usize,
    /// Characters of all texts together; a token has some four of them, or one in Chinese.
    pub chars: usize,
    /// Tokens of one text, where that is known.
    pub tokens_each: Option<u32>,
}

/// For addresses nothing is known about.
const CAREFUL: Batch = Batch {
    texts: 32,
    chars: 60_000,
    tokens_each: None,
};

/// Limits by the id of the provider, as their documents and users say.
const LIMITS: [(&str, Batch); 10] = [
    ("openai", of(256, 200_000, Some(8191))),
    ("gemini", of(100, 60_000, Some(2048))),
    ("gemini-openai", of(100, 60_000, Some(2048))),
    // More than 64 texts are answered with 413.
    ("siliconflow", of(64, 120_000, Some(8192))),
    ("dashscope", of(10, 60_000, Some(8192))),
    ("zhipu", of(64, 60_000, Some(3072))),
    ("mistral", of(64, 40_000, Some(8192))),
    // Without a word it cuts at this, whatever window the model and its settings have.
    ("ollama", of(16, 60_000, Some(2048))),
    ("lmstudio", of(16, 60_000, None)),
    // Its physical batch bounds what it computes at once.
    ("llamacpp", of(8, 30_000, None)),
];

const fn of(texts: usize, chars: usize, tokens_each: Option<u32>) -> Batch {
    Batch {
        texts,
        chars,
        tokens_each,
    }
}

/// What the provider behind an address takes in one call.
pub fn batch(base_url: &str) -> Batch {
    let id = Provider::from_url(base_url).id;
    let found = LIMITS.iter().find(|(name, _)| *name == id);
    found.map_or(CAREFUL, |(_, batch)| *batch)
}

/// Tokens of one text that models read, by a part of their names. Servers that run such a model
/// without saying its limit may cut what is longer, and not tell.
const READS: [(&str, u32); 13] = [
    ("all-minilm", 256),
    ("all-mpnet-base", 384),
    ("paraphrase-multilingual", 128),
    ("mxbai-embed-large", 512),
    ("multilingual-e5", 512),
    ("bge-small", 512),
    ("bge-base", 512),
    ("bge-large", 512),
    ("embeddinggemma", 2048),
    ("nomic-embed-text", 2048),
    ("text-embedding-3", 8191),
    ("jina-embeddings", 8192),
    ("bge-m3", 8192),
];

/// Most tokens of one text that are in its vector, where that is known: the provider's limit or the
/// model's, whichever is less.
pub fn limit(base_url: &str, model: &str) -> Option<u32> {
    let model = model.to_lowercase();
    let reads = READS.iter().find(|(name, _)| model.contains(name));
    let reads = reads.map(|(_, tokens)| *tokens);
    reads.into_iter().chain(batch(base_url).tokens_each).min()
}

/// Whether a text is longer than that many tokens, by an estimate: the tokenizer is the provider's.
pub fn is_longer(text: &str, tokens: u32) -> bool {
    let (mut quarters, limit) = (0, u64::from(tokens) * 4);
    for c in text.chars() {
        // A character of Chinese, Japanese or Korean is a token about; of other scripts, four are.
        quarters += if c >= '\u{2e80}' { 4 } else { 1 };
    }
    quarters > limit
}

/// How many of the first of `sizes`, in characters, go into one call; at least one.
pub fn fitting(sizes: &[usize], batch: Batch) -> usize {
    let mut chars = 0;
    let fits = sizes.iter().take(batch.texts).take_while(|size| {
        chars += **size;
        chars <= batch.chars
    });
    fits.count().max(1).min(sizes.len())
}

/// The request; `base_url` as the visitor gave it.
pub fn encode(
    texts: &Texts,
    key: Option<&ApiKey>,
    base_url: &str,
) -> Result<HttpRequest, LlmError> {
    let provider = Provider::from_url(base_url);
    let refused = |why: &str| LlmError::BadAddress {
        given: base_url.to_owned(),
        why: why.to_owned(),
    };
    let base = match provider.dialect {
        Dialect::OpenAi => address::tidy(base_url, Dialect::OpenAi)?,
        Dialect::Gemini => {
            let base = address::tidy(base_url, Dialect::Gemini)?;
            format!("{}/openai", base.trim_end_matches('/'))
        }
        Dialect::Anthropic => return Err(refused("this provider makes no embeddings")),
    };
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(texts.model));
    body.insert("input".to_owned(), json!(texts.input));
    if let Some(dimensions) = texts.dimensions {
        body.insert("dimensions".to_owned(), json!(dimensions));
    }
    Ok(HttpRequest {
        method: "POST",
        headers: openai::plain_headers(key, &base),
        url: format!("{base}/embeddings"),
        body: Value::Object(body).to_string(),
    })
}

/// Reads the answer to a call with `count` texts. Vectors are put in the order of their `index`;
/// anything but one sound vector a text is an error.
pub fn decode(response: &HttpResponse, count: usize) -> Result<Vectors, LlmError> {
    let value = openai::embeddings_body(response)?;
    let items = value.get("data").and_then(Value::as_array);
    let items =
        items.ok_or_else(|| unreadable("it has no list of vectors (\"data\")".to_owned()))?;
    if items.len() != count {
        return Err(unreadable(format!(
            "{} vectors came for {count} texts",
            items.len()
        )));
    }
    let mut rows: Vec<Option<Vec<f32>>> = vec![None; count];
    for (at, item) in items.iter().enumerate() {
        let index = item.get("index").and_then(Value::as_u64);
        let place = index.map_or(at, |index| index as usize);
        let vector = numbers(item.get("embedding"))
            .map_err(|why| unreadable(format!("the vector of text {} {why}", place + 1)))?;
        match rows.get_mut(place) {
            Some(row @ None) => *row = Some(vector),
            Some(Some(_)) => {
                return Err(unreadable(format!(
                    "two vectors came for text {}",
                    place + 1
                )));
            }
            None => {
                return Err(unreadable(format!(
                    "a vector came for text {}, and there were {count}",
                    place + 1
                )));
            }
        }
    }
    let rows: Vec<Vec<f32>> = rows.into_iter().flatten().collect();
    let dim = rows.first().map_or(0, Vec::len);
    if let Some(other) = rows.iter().position(|row| row.len() != dim) {
        return Err(unreadable(format!(
            "the vector of text {} has {} numbers and the first has {dim}",
            other + 1,
            rows[other].len()
        )));
    }
    Ok(Vectors {
        rows,
        usage: usage(&value),
        model: value
            .get("model")
            .and_then(Value::as_str)
            .map(str::to_owned),
    })
}

/// A list of numbers, or the same in base64 as little-endian floats.
fn numbers(embedding: Option<&Value>) -> Result<Vec<f32>, String> {
    let vector: Vec<f32> = match embedding {
        Some(Value::Array(list)) => {
            let number = |(at, value): (usize, &Value)| {
                let number = value.as_f64().map(|number| number as f32);
                number
                    .ok_or_else(|| format!("holds {value} at place {}, which is no number", at + 1))
            };
            list.iter()
                .enumerate()
                .map(number)
                .collect::<Result<_, _>>()?
        }
        Some(Value::String(text)) => {
            let bytes = base64(text).filter(|bytes| bytes.len() % 4 == 0);
            let bytes = bytes.ok_or("is text that is no base64 of floats")?;
            let floats = bytes.as_chunks().0.iter();
            floats.map(|b| f32::from_le_bytes(*b)).collect()
        }
        _ => return Err("is missing".to_owned()),
    };
    if vector.is_empty() {
        return Err("is empty".to_owned());
    }
    match vector.iter().position(|x| !x.is_finite()) {
        Some(at) => Err(format!("holds {} at place {}", vector[at], at + 1)),
        None => Ok(vector),
    }
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let (mut out, mut bits, mut held) = (Vec::with_capacity(text.len() / 4 * 3), 0u32, 0);
    for byte in text.trim().trim_end_matches('=').bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    Some(out)
}

fn usage(value: &Value) -> Option<Usage> {
    let counts = value.get("usage")?;
    let count = |name: &str| counts.get(name).and_then(Value::as_u64);
    // Servers that do not count send zeros.
    let input = count("prompt_tokens").or(count("total_tokens"))?;
    (input > 0).then_some(Usage {
        input: Some(input),
        output: Some(0),
        ..Usage::default()
    })
}

fn unreadable(why: String) -> LlmError {
    LlmError::Unreadable { why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &str) -> HttpResponse {
        HttpResponse {
            status: 200,
            body: body.as_bytes().to_vec(),
            ..HttpResponse::default()
        }
    }

    #[test]
    fn limits_are_those_of_the_provider() {
        for (url, texts) in [
            ("https://api.siliconflow.cn/v1", 64),
            ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", 10),
            ("https://open.bigmodel.cn/api/paas/v4", 64),
            ("https://relay.example/v1", 32),
        ] {
            assert_eq!(batch(url).texts, texts, "{url}");
        }
        let batch = of(3, 100, None);
        for (sizes, count) in [
            (&[10, 10, 10, 10][..], 3),
            (&[60, 60], 1),
            (&[500, 1], 1),
            (&[], 0),
        ] {
            assert_eq!(fitting(sizes, batch), count, "{sizes:?}");
        }
    }

    #[test]
    fn a_text_s_limit_is_the_lesser_of_provider_and_model() {
        let gemini = "https://generativelanguage.googleapis.com/v1beta/openai";
        for (url, model, tokens) in [
            ("http://localhost:11434", "all-minilm:latest", Some(256)),
            ("http://localhost:11434/v1", "bge-m3", Some(2048)),
            ("https://api.siliconflow.cn/v1", "BAAI/bge-m3", Some(8192)),
            (gemini, "gemini-embedding-001", Some(2048)),
            (
                "https://relay.example/v1",
                "BAAI/bge-large-zh-v1.5",
                Some(512),
            ),
            ("https://relay.example/v1", "new", None),
        ] {
            assert_eq!(limit(url, model), tokens, "{url} {model}");
        }
        assert!(!is_longer(&"word ".repeat(8), 10));
        assert!(is_longer(&"word ".repeat(9), 10));
        assert!(!is_longer(&"字".repeat(10), 10));
        assert!(is_longer(&"字".repeat(11), 10));
    }

    #[test]
    fn requests_go_to_the_right_place_with_nothing_unasked() {
        let texts = Texts {
            model: "bge-m3".to_owned(),
            input: vec!["a".to_owned(), "b".to_owned()],
            dimensions: None,
        };
        let asked = encode(&texts, None, "http://localhost:11434").unwrap();
        assert_eq!(asked.url, "http://localhost:11434/v1/embeddings");
        assert_eq!(asked.body, r#"{"model":"bge-m3","input":["a","b"]}"#);
        let gemini = "https://generativelanguage.googleapis.com/v1beta";
        let asked = encode(&texts, ApiKey::new("k-123456789").as_ref(), gemini).unwrap();
        assert_eq!(asked.url, format!("{gemini}/openai/embeddings"));
        assert!(
            asked
                .headers
                .iter()
                .any(|(name, _)| name == "authorization")
        );
        assert!(encode(&texts, None, "https://api.anthropic.com/v1").is_err());
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        // python: base64.b64encode(struct.pack('<2f', 0.5, -2.0))
        let body = r#"{"object":"list","model":"m-1","data":[
            {"index":1,"embedding":"AAAAPwAAAMA="},
            {"index":0,"embedding":[1, 2.5]}],
            "usage":{"prompt_tokens":7,"total_tokens":7}}"#;
        let read = decode(&answer(body), 2).unwrap();
        assert_eq!(read.rows, [vec![1.0, 2.5], vec![0.5, -2.0]]);
        assert_eq!(read.usage.unwrap().input, Some(7));
        assert_eq!(read.model.as_deref(), Some("m-1"));
        // Without indices the order is that of the answer.
        let plain = r#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#;
        assert_eq!(
            decode(&answer(plain), 2).unwrap().rows,
            [vec![1.0], vec![2.0]]
        );
    }

    #[test]
    fn unsound_answers_are_told_by_what_is_wrong() {
        for (body, said) in [
            (
                r#"{"data":[{"embedding":[1]}]}"#,
                "1 vectors came for 2 texts",
            ),
            (
                r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
                "two vectors came for text 1",
            ),
            (
                r#"{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}"#,
                "for text 8",
            ),
            (
                r#"{"data":[{"embedding":[1,2]},{"embedding":[1]}]}"#,
                "has 1 numbers and the first has 2",
            ),
            (
                r#"{"data":[{"embedding":[1]},{"embedding":[null]}]}"#,
                "text 2 holds null at place 1",
            ),
            (
                r#"{"data":[{"embedding":[1]},{"embedding":null}]}"#,
                "text 2 is missing",
            ),
            (
                r#"{"data":[{"embedding":[1]},{"embedding":[]}]}"#,
                "text 2 is empty",
            ),
            (
                r#"{"data":[{"embedding":[1]},{"embedding":"AADAfw=="}]}"#,
                "text 2 holds NaN",
            ),
            (
                r#"{"data":[{"embedding":[1]},{"embedding":"?"}]}"#,
                "no base64",
            ),
            (
                r#"{"data":[{"embedding":[1]},{"embedding":[1e99]}]}"#,
                "text 2 holds inf",
            ),
            (r#"{"vectors":[]}"#, "no list of vectors"),
        ] {
            let error = decode(&answer(body), 2).unwrap_err().to_string();
            assert!(error.contains(said), "{body}: {error}");
        }
    }

    #[test]
    fn errors_of_the_provider_are_its_own() {
        let refused = HttpResponse {
            status: 401,
            body: br#"{"error":{"message":"Incorrect API key provided"}}"#.to_vec(),
            ..HttpResponse::default()
        };
        assert!(matches!(decode(&refused, 1), Err(LlmError::Auth(_))));
        let within = answer(r#"{"error":{"message":"model not found","code":404}}"#);
        assert!(decode(&within, 1).is_err());
    }
}
