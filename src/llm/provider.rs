//! The providers a visitor may have, and what is known about each. Facts about reachability change
//! without notice, so notes carry the month they were read.

use super::address::Address;
use super::http::{HttpRequest, HttpResponse};
use super::quirks::{JsonSupport, OutputLimitField, Quirks, ReasoningReplay, ToolChoiceSupport};
use super::{ApiKey, Chat, Delta, LlmError, Reply, anthropic, gemini, openai};

/// How a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    OpenAi,
    Anthropic,
    Gemini,
}

/// A server that runs on the visitor's own machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalServer {
    Ollama,
    LmStudio,
    LlamaCpp,
    Vllm,
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// Stable, for settings and `lab decode --provider`.
    pub id: &'static str,
    pub name: &'static str,
    /// Empty for the generic row.
    pub base_url: &'static str,
    /// Other hosts of the same provider.
    pub also_at: &'static [&'static str],
    pub dialect: Dialect,
    pub local: Option<LocalServer>,
    /// Where keys are made, or what to know about them.
    pub key_hint: &'static str,
    pub needs_key: bool,
    /// What is known about calls from a browser.
    pub cors_note: &'static str,
    /// Headers it takes besides authorisation and content type, in lower case.
    pub headers: &'static [&'static str],
    /// Function calling is offered.
    pub tools: bool,
    pub json: JsonSupport,
}

/// The row most others differ from in a few fields.
const COMMON: Provider = Provider {
    id: "openai-compatible",
    name: "Other OpenAI-compatible server",
    base_url: "",
    also_at: &[],
    dialect: Dialect::OpenAi,
    local: None,
    key_hint: "",
    needs_key: true,
    cors_note: "",
    headers: &[],
    tools: true,
    json: JsonSupport::Schema,
};

const LOCAL: Provider = Provider {
    needs_key: false,
    key_hint: "no key needed",
    ..COMMON
};

static PROVIDERS: [Provider; 18] = [
    Provider {
        id: "openai",
        name: "OpenAI",
        base_url: "https://api.openai.com/v1",
        key_hint: "https://platform.openai.com/api-keys",
        cors_note: "calls from web pages worked in August 2026.",
        ..COMMON
    },
    Provider {
        id: "anthropic",
        name: "Anthropic",
        base_url: "https://api.anthropic.com/v1",
        dialect: Dialect::Anthropic,
        key_hint: "https://console.anthropic.com/settings/keys",
        cors_note: "calls from web pages worked in July 2026; an organisation can switch them off.",
        headers: &[
            "x-api-key",
            "anthropic-version",
            "anthropic-dangerous-direct-browser-access",
        ],
        ..COMMON
    },
    Provider {
        id: "gemini",
        name: "Google Gemini",
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        dialect: Dialect::Gemini,
        key_hint: "https://aistudio.google.com/apikey",
        cors_note: "calls from web pages worked in July 2026.",
        headers: &["x-goog-api-key"],
        ..COMMON
    },
    Provider {
        id: "gemini-openai",
        name: "Google Gemini (OpenAI-compatible)",
        base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
        key_hint: "https://aistudio.google.com/apikey",
        ..COMMON
    },
    Provider {
        id: "deepseek",
        name: "DeepSeek",
        base_url: "https://api.deepseek.com",
        key_hint: "https://platform.deepseek.com/api_keys",
        cors_note: "calls from web pages worked in July 2026.",
        json: JsonSupport::Object,
        ..COMMON
    },
    Provider {
        id: "siliconflow",
        name: "SiliconFlow",
        base_url: "https://api.siliconflow.cn/v1",
        also_at: &["api.siliconflow.com"],
        key_hint: "https://cloud.siliconflow.cn/account/ak; keys of .cn and .com differ",
        json: JsonSupport::Object,
        ..COMMON
    },
    Provider {
        id: "openrouter",
        name: "OpenRouter",
        base_url: "https://openrouter.ai/api/v1",
        key_hint: "https://openrouter.ai/keys",
        cors_note: "calls from web pages worked in July 2026.",
        headers: &["http-referer", "x-title"],
        ..COMMON
    },
    Provider {
        id: "groq",
        name: "Groq",
        base_url: "https://api.groq.com/openai/v1",
        key_hint: "https://console.groq.com/keys",
        cors_note: "calls from web pages worked in July 2026.",
        ..COMMON
    },
    Provider {
        id: "mistral",
        name: "Mistral",
        base_url: "https://api.mistral.ai/v1",
        key_hint: "https://console.mistral.ai/api-keys",
        cors_note: "calls from web pages probably work; headers it does not know fail.",
        ..COMMON
    },
    Provider {
        id: "together",
        name: "Together",
        base_url: "https://api.together.xyz/v1",
        key_hint: "https://api.together.ai/settings/api-keys",
        ..COMMON
    },
    Provider {
        id: "dashscope",
        name: "DashScope (Qwen)",
        base_url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        also_at: &["dashscope.aliyuncs.com"],
        key_hint: "https://modelstudio.console.alibabacloud.com; keys of the regions differ",
        cors_note: "the international host worked from web pages in February 2026; others unknown.",
        json: JsonSupport::Object,
        ..COMMON
    },
    Provider {
        id: "zhipu",
        name: "Zhipu GLM",
        base_url: "https://open.bigmodel.cn/api/paas/v4",
        also_at: &["api.z.ai"],
        key_hint: "https://open.bigmodel.cn/usercenter/apikeys",
        cors_note: "open.bigmodel.cn worked from web pages in February 2026.",
        json: JsonSupport::Object,
        ..COMMON
    },
    Provider {
        id: "moonshot",
        name: "Moonshot Kimi",
        base_url: "https://api.moonshot.ai/v1",
        also_at: &["api.moonshot.cn"],
        key_hint: "https://platform.moonshot.ai/console/api-keys; keys of .ai and .cn differ",
        cors_note: "whether calls from web pages work is not known.",
        json: JsonSupport::Object,
        ..COMMON
    },
    Provider {
        id: "ollama",
        name: "Ollama",
        base_url: "http://localhost:11434/v1",
        local: Some(LocalServer::Ollama),
        headers: &["accept", "x-requested-with", "openai-beta"],
        ..LOCAL
    },
    Provider {
        id: "lmstudio",
        name: "LM Studio",
        base_url: "http://localhost:1234/v1",
        local: Some(LocalServer::LmStudio),
        ..LOCAL
    },
    Provider {
        id: "llamacpp",
        name: "llama.cpp server",
        base_url: "http://127.0.0.1:8080/v1",
        local: Some(LocalServer::LlamaCpp),
        key_hint: "only if started with --api-key",
        ..LOCAL
    },
    Provider {
        id: "vllm",
        name: "vLLM",
        base_url: "http://localhost:8000/v1",
        local: Some(LocalServer::Vllm),
        key_hint: "only if started with --api-key",
        ..LOCAL
    },
    COMMON,
];

/// Other names, in lower case without marks, and the ids they mean.
const ALIASES: [(&str, &str); 37] = [
    ("claude", "anthropic"),
    ("google", "gemini"),
    ("gemininative", "gemini"),
    ("googlegemini", "gemini"),
    ("geminiopenaicompatible", "gemini-openai"),
    ("geminicompatible", "gemini-openai"),
    ("siliconcloud", "siliconflow"),
    ("mistralai", "mistral"),
    ("togetherai", "together"),
    ("qwen", "dashscope"),
    ("dashscopeqwen", "dashscope"),
    ("alibaba", "dashscope"),
    ("aliyun", "dashscope"),
    ("bailian", "dashscope"),
    ("modelstudio", "dashscope"),
    ("glm", "zhipu"),
    ("zai", "zhipu"),
    ("bigmodel", "zhipu"),
    ("zhipuglm", "zhipu"),
    ("zhipuai", "zhipu"),
    ("kimi", "moonshot"),
    ("moonshotai", "moonshot"),
    ("moonshotkimi", "moonshot"),
    ("lms", "lmstudio"),
    ("llama", "llamacpp"),
    ("llamaserver", "llamacpp"),
    ("llamacppserver", "llamacpp"),
    ("llamacpppython", "llamacpp"),
    ("generic", "openai-compatible"),
    ("compatible", "openai-compatible"),
    ("openaicompatible", "openai-compatible"),
    ("openailike", "openai-compatible"),
    ("openaicompat", "openai-compatible"),
    ("other", "openai-compatible"),
    ("custom", "openai-compatible"),
    ("any", "openai-compatible"),
    ("local", "openai-compatible"),
];

impl Provider {
    /// All rows; the generic one comes last.
    pub fn all() -> &'static [Provider] {
        &PROVIDERS
    }

    /// By id or one of the names people use, for example `qwen`, `LM Studio` or `llama.cpp server`.
    pub fn by_id(id: &str) -> Option<&'static Provider> {
        let plain = |name: &str| -> String {
            let kept = name.chars().filter(|c| c.is_alphanumeric());
            kept.collect::<String>().to_lowercase()
        };
        let wanted = plain(id);
        let alias = ALIASES.iter().find(|(alias, _)| *alias == wanted);
        let wanted = alias.map_or(wanted, |(_, id)| plain(id));
        let named = |row: &&Provider| plain(row.id) == wanted || plain(row.name) == wanted;
        PROVIDERS.iter().find(named)
    }

    /// The row for an address; the generic one when the host is not known.
    pub fn from_url(base_url: &str) -> &'static Provider {
        let generic = &PROVIDERS[PROVIDERS.len() - 1];
        let Ok(address) = Address::parse(base_url) else {
            return generic;
        };
        let mut rows = PROVIDERS
            .iter()
            .filter(|row| row.is_at(&address.host, address.port));
        // Gemini's host speaks two dialects; the path tells.
        let first = rows.next();
        let second = rows.find(|_| address.path.contains("/openai"));
        second.or(first).unwrap_or(generic)
    }

    fn is_at(&self, host: &str, port: Option<u16>) -> bool {
        let Ok(own) = Address::parse(self.base_url) else {
            return false;
        };
        match self.local {
            // The same programs listen at the same ports on other machines.
            Some(_) => port == own.port && Address::parse(host).is_ok_and(|at| !at.secure),
            None => own.host == host || self.also_at.contains(&host),
        }
    }

    /// The path of the base address of a known host.
    pub(in crate::llm) fn known_path(host: &str, port: Option<u16>) -> Option<String> {
        let row = PROVIDERS.iter().find(|row| row.is_at(host, port))?;
        Address::parse(row.base_url)
            .ok()
            .map(|address| address.path)
    }

    /// Whether a header may go there besides authorisation and content type.
    pub fn takes_header(&self, name: &str) -> bool {
        self.headers
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
    }

    /// What is known beforehand; the rest is learned from refusals.
    pub fn quirks(&self) -> Quirks {
        let mut quirks = Quirks {
            json: self.json,
            ..Quirks::default()
        };
        match self.id {
            "openai" => quirks.output_limit = OutputLimitField::MaxCompletionTokens,
            "mistral" => {
                quirks.nine_char_ids = true;
                // Named random_seed there; an unknown field is refused.
                quirks.omit.insert("seed".to_owned());
                quirks.omit.insert("stream_options".to_owned());
            }
            "deepseek" => quirks.reasoning = ReasoningReplay::ToolLoop,
            "siliconflow" | "zhipu" => quirks.tool_choice = ToolChoiceSupport::AutoOnly,
            "ollama" => quirks.tool_choice = ToolChoiceSupport::Omit,
            _ => {}
        }
        quirks
    }

    /// `base_url` as the visitor gave it.
    pub fn encode(
        &self,
        chat: &Chat,
        key: Option<&ApiKey>,
        base_url: &str,
        quirks: &Quirks,
        stream: bool,
    ) -> Result<HttpRequest, LlmError> {
        match self.dialect {
            Dialect::OpenAi => openai::encode(chat, key, base_url, quirks, stream),
            Dialect::Anthropic => anthropic::encode(chat, key, base_url, quirks, stream),
            Dialect::Gemini => gemini::encode(chat, key, base_url, quirks, stream),
        }
    }

    /// A complete response, success or failure.
    pub fn decode(&self, response: &HttpResponse) -> Result<Reply, LlmError> {
        let decoded = match self.dialect {
            Dialect::OpenAi => openai::decode(response),
            Dialect::Anthropic => anthropic::decode(response),
            Dialect::Gemini => gemini::decode(response),
        };
        decoded.map_err(|error| self.seen_locally(error, response))
    }

    /// A local server that says no without a word means the page's origin.
    fn seen_locally(&self, error: LlmError, response: &HttpResponse) -> LlmError {
        match error {
            LlmError::Forbidden(said) if self.local.is_some() && response.body.is_empty() => {
                LlmError::OriginRefused(said)
            }
            other => other,
        }
    }

    pub fn stream_decoder(&self) -> StreamDecoder {
        match self.dialect {
            Dialect::OpenAi => StreamDecoder::OpenAi(openai::StreamDecoder::new()),
            Dialect::Anthropic => StreamDecoder::Anthropic(anthropic::StreamDecoder::new()),
            Dialect::Gemini => StreamDecoder::Gemini(gemini::StreamDecoder::new()),
        }
    }

    pub fn models_request(
        &self,
        key: Option<&ApiKey>,
        base_url: &str,
    ) -> Result<HttpRequest, LlmError> {
        match self.dialect {
            Dialect::OpenAi => openai::models_request(key, base_url),
            Dialect::Anthropic => anthropic::models_request(key, base_url),
            Dialect::Gemini => gemini::models_request(key, base_url),
        }
    }

    pub fn decode_models(&self, response: &HttpResponse) -> Result<Vec<String>, LlmError> {
        match self.dialect {
            Dialect::OpenAi | Dialect::Anthropic => openai::decode_models(response),
            Dialect::Gemini => gemini::decode_models(response),
        }
    }
}

/// A stream decoder of any dialect.
#[derive(Debug)]
pub enum StreamDecoder {
    OpenAi(openai::StreamDecoder),
    Anthropic(anthropic::StreamDecoder),
    Gemini(gemini::StreamDecoder),
}

impl StreamDecoder {
    /// Pieces to show. Every call, also one that gives none, is a sign of life.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Delta> {
        match self {
            StreamDecoder::OpenAi(decoder) => decoder.push(bytes),
            StreamDecoder::Anthropic(decoder) => decoder.push(bytes),
            StreamDecoder::Gemini(decoder) => decoder.push(bytes),
        }
    }

    /// Whether the answer is complete, so that the connection may be closed.
    pub fn is_done(&self) -> bool {
        match self {
            StreamDecoder::OpenAi(decoder) => decoder.is_done(),
            StreamDecoder::Anthropic(decoder) => decoder.is_done(),
            StreamDecoder::Gemini(decoder) => decoder.is_done(),
        }
    }

    /// The reply once the connection has closed; a cut stream is an error.
    pub fn finish(self) -> Result<Reply, LlmError> {
        match self {
            StreamDecoder::OpenAi(decoder) => decoder.finish(),
            StreamDecoder::Anthropic(decoder) => decoder.finish(),
            StreamDecoder::Gemini(decoder) => decoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_find_their_rows() {
        let cases = [
            ("https://api.openai.com/v1", "openai"),
            ("https://api.deepseek.com/v1/", "deepseek"),
            ("https://api.siliconflow.com/v1", "siliconflow"),
            ("https://generativelanguage.googleapis.com/v1beta", "gemini"),
            (
                "https://generativelanguage.googleapis.com/v1beta/openai/",
                "gemini-openai",
            ),
            (
                "https://dashscope.aliyuncs.com/compatible-mode/v1",
                "dashscope",
            ),
            ("http://localhost:11434", "ollama"),
            ("http://192.168.1.5:11434/v1", "ollama"),
            ("http://127.0.0.1:1234/v1", "lmstudio"),
            ("http://localhost:9999/v1", "openai-compatible"),
            ("https://llm.example.org:8000/v1", "openai-compatible"),
            (
                "https://api.openai.com.evil.example/v1",
                "openai-compatible",
            ),
            ("nonsense://", "openai-compatible"),
        ];
        for (url, id) in cases {
            assert_eq!(Provider::from_url(url).id, id, "{url}");
        }
    }

    #[test]
    fn rows_have_distinct_ids() {
        let ids: std::collections::BTreeSet<&str> =
            Provider::all().iter().map(|provider| provider.id).collect();
        assert_eq!(ids.len(), Provider::all().len());
        assert!(
            Provider::all()
                .iter()
                .all(|p| Provider::by_id(p.id) == Some(p))
        );
    }
}
