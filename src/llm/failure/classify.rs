//! The class of an error, by status, code and text together: no provider keeps to one of them.

use super::details::Details;
use crate::llm::{LlmError, Said};

pub fn said(status: Option<u16>, details: &Details) -> Said {
    let message = match (details.message.is_empty(), status) {
        (false, _) => details.message.clone(),
        (true, Some(status)) => format!("{} and no further word", phrase(status)),
        (true, None) => "no further word".to_owned(),
    };
    Said::new(status, details.code.clone(), &message)
}

fn phrase(status: u16) -> &'static str {
    match status {
        400 => "bad request",
        401 => "unauthorised",
        402 => "payment required",
        403 => "forbidden",
        404 => "not found",
        413 => "payload too large",
        429 => "too many requests",
        500..=599 => "server error",
        _ => "an unusual status",
    }
}

pub fn classify(status: Option<u16>, details: Details, body: &str, wait: Option<f64>) -> LlmError {
    let code = details.code.as_deref().unwrap_or_default();
    let text = format!("{} {code} {} {body}", details.kind, details.message).to_lowercase();
    let said = said(status, &details);
    let failed = status.is_some_and(|status| status >= 500);
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if is_origin_refused(status, &text) {
        return LlmError::OriginRefused(said);
    }
    if is_no_credit(status, code, &text, wait) {
        return LlmError::NoCredit(said);
    }
    if is_overflow(status, code, &text) {
        return LlmError::ContextOverflow(said);
    }
    if status == Some(429) || (!failed && says(RATE_WORDS)) {
        let wait_seconds = wait;
        return LlmError::RateLimited { said, wait_seconds };
    }
    if failed {
        let wait_seconds = wait;
        return LlmError::Server { said, wait_seconds };
    }
    if says(PATH_WORDS) {
        return LlmError::WrongAddress(said);
    }
    if is_model_missing(status, code, &text) {
        return LlmError::ModelNotFound(said);
    }
    if says(FILTER_WORDS) || code == "1301" {
        return LlmError::ContentFilter(said);
    }
    if says(KEY_WORDS) && !matches!(status, Some(404 | 422)) {
        return LlmError::Auth(said);
    }
    if text.contains("tool_use_failed") {
        return LlmError::BrokenToolCall {
            tool: "a tool".to_owned(),
            why: said.message,
        };
    }
    if matches!(status, None | Some(400 | 422))
        && let Some(name) = refused_parameter(&details)
    {
        return LlmError::RefusedParameter { name, said };
    }
    by_status(status, said, wait)
}

fn by_status(status: Option<u16>, said: Said, wait_seconds: Option<f64>) -> LlmError {
    match status {
        Some(401) => LlmError::Auth(said),
        Some(403 | 451) => LlmError::Forbidden(said),
        Some(404 | 405 | 501) => LlmError::WrongAddress(said),
        Some(413) => LlmError::TooLarge(said),
        Some(408 | 409 | 425) => LlmError::Server { said, wait_seconds },
        Some(400..=499) => LlmError::BadRequest(said),
        _ => LlmError::Server { said, wait_seconds },
    }
}

/// The page's address is what is refused, not the key.
fn is_origin_refused(status: Option<u16>, text: &str) -> bool {
    const WORDS: &[&str] = &[
        "cors",
        "origin not allowed",
        "origin is not allowed",
        "origin forbidden",
        "forbidden origin",
        "invalid origin",
        "origin denied",
        "direct-browser-access",
    ];
    matches!(status, Some(401 | 403)) && WORDS.iter().any(|word| text.contains(word))
}

/// Said by servers that know no such path, whatever their status.
const PATH_WORDS: &[&str] = &[
    "unexpected endpoint or method",
    "invalid url (",
    "unknown request url",
];

const RATE_WORDS: &[&str] = &[
    "rate_limit",
    "rate limit",
    "ratelimit",
    "too many requests",
    "resource_exhausted",
    "too_many_requests",
    "throttl",
];

const FILTER_WORDS: &[&str] = &[
    "content_filter",
    "content filter",
    "content_policy",
    "content policy",
    "content management",
    "data_inspection_failed",
    "datainspectionfailed",
    "content exists risk",
    "敏感",
    "违规",
    "considered high risk",
    "flagged by moderation",
    "requires moderation",
    "safety_violation",
];

const KEY_WORDS: &[&str] = &[
    "api key not valid",
    "api_key_invalid",
    "invalid api key",
    "invalid_api_key",
    "incorrect api key",
    "invalid api-key",
    "invalidapikey",
    "invalid token",
    "authentication_error",
    "authentication fails",
    "unauthorized",
    "invalid x-api-key",
    "invalid_authentication",
    "invalid authentication",
    "token expired",
    "token is expired",
    "token has expired",
    "key expired",
    "key has expired",
    "login fail",
    "could not validate credentials",
    "api密钥",
    "api key is invalid",
    "no auth credentials",
    "missing api key",
    "身份验证",
    "令牌",
];

fn is_no_credit(status: Option<u16>, code: &str, text: &str, wait: Option<f64>) -> bool {
    const WORDS: &[&str] = &[
        "insufficient_quota",
        "insufficient quota",
        "insufficient balance",
        "insufficient_balance",
        "insufficient credit",
        "insufficient_credit",
        "insufficient funds",
        "insufficient account balance",
        "enough balance",
        "balance is insufficient",
        "balance insufficient",
        "balance is negative",
        "negative balance",
        "balance exhausted",
        "balance is too low",
        "overdue",
        "in arrears",
        "no remaining credit",
        "no credit",
        "credits remaining: 0",
        "out of credits",
        "credits are depleted",
        "credits depleted",
        "credit has been exhausted",
        "quota is exhausted",
        "quota exhausted",
        "quota has been exhausted",
        "free tier of the model has been exhausted",
        "freetieronly",
        "key limit exceeded",
        "monthly usage limit",
        "usage limit reached",
        "billing hard limit",
        "余额",
        "欠费",
        "充值",
        "arrearage",
        "credit balance is too low",
        "out of credit",
        "not enough credit",
        "requires more credits",
        "billing_not_active",
        "billing_hard_limit",
        "payment required",
        "exceeded_current_quota",
        "balance is not enough",
        "balance not enough",
        "account is not in good standing",
        "account is in good standing",
        "credits exhausted",
        "exhausted your credit",
        "overdue-payment",
        "monthly spend",
        "spending limit",
        "额度已用",
    ];
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    // A reply about too many requests may offer to sell more.
    let offers = [
        " top up",
        "top-up",
        "recharge",
        "purchase credits",
        "add credits",
    ];
    let offer = says(&offers) && !says(RATE_WORDS);
    let said = says(WORDS) || offer || matches!(code, "1113" | "30001");
    if status.is_some_and(|status| status >= 500) {
        // A gateway may pass on an empty account as its own failure; it quotes the code then.
        return says(&["insufficient_quota", "insufficient balance", "余额不足"]);
    }
    // Gemini words its limit for each minute like an empty account, but says when to come back.
    let quota = text.contains("exceeded your current quota")
        && !text.contains("resource_exhausted")
        && wait.is_none();
    status == Some(402) || said || quota
}

fn is_overflow(status: Option<u16>, code: &str, text: &str) -> bool {
    const WORDS: &[&str] = &[
        "context_length_exceeded",
        "maximum context",
        "too many tokens",
        "context length",
        "context window",
        "context size",
        "context limit",
        "exceed_context_size",
        "prompt is too long",
        "prompt too long",
        "prompt exceeds",
        "prompt length",
        "input is too long",
        "input too long",
        "input length",
        "inputs tokens",
        "input token count",
        "input tokens exceed",
        "too many input tokens",
        "reduce the length of",
        "exceeds the maximum number of tokens",
        "maximum prompt length",
        "maximum input length",
        "string_above_max_length",
        "tokens exceeds",
        "request too large for",
        "request_too_large",
        "exceeds max length",
        "上下文长度",
        "输入过长",
        "超出最大长度",
        "超过最大长度",
        "长度超过",
        "超长",
        "longest allowed",
        "token limit",
        "maximum tokens exceeded",
        "exceed max message tokens",
        "`inputs` tokens + ",
        "messages too long",
        "message is too long",
        "max input characters",
        "max input tokens",
        "larger than the max context",
        "exceeds max context",
        "exceeds the context",
        "tokens in the prompt",
    ];
    // A limit for each minute speaks of tokens too; only a request that can never pass counts here.
    let words = match status {
        None | Some(400 | 413 | 422) => WORDS,
        Some(429) => &[
            "request too large for",
            "request_too_large",
            "reduce the length of",
        ],
        Some(500..) => &[
            "context length",
            "context size",
            "context window",
            "context_length",
        ],
        Some(_) => return false,
    };
    let limit_of_output = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    let about_output = limit_of_output.iter().any(|name| {
        [
            format!("'{name}' or "),
            format!("{name} is too large"),
            format!("{name}: "),
        ]
        .iter()
        .any(|start| text.contains(start.as_str()))
    });
    let said = code == "1261" || words.iter().any(|word| text.contains(word));
    said && (!about_output || text.contains("context_length_exceeded"))
}

fn is_model_missing(status: Option<u16>, code: &str, text: &str) -> bool {
    const WORDS: &[&str] = &[
        "model_not_found",
        "model_not_exist",
        "model not found",
        "model does not exist",
        "model not exist",
        "no such model",
        "unknown model",
        "not a valid model",
        "invalid model",
        "模型不存在",
        "is not found for api version",
        "no endpoints found",
        "unknown_model",
        "invalid_model",
        "模型代码",
        "model is not available",
    ];
    let named = text.contains("model")
        && ["not found", "does not exist", "not_found", "not exist"]
            .iter()
            .any(|word| text.contains(word));
    matches!(code, "20012" | "1211")
        || WORDS.iter().any(|word| text.contains(word))
        || (named && matches!(status, None | Some(400 | 404)))
}

/// Parameters we send and can do without, by wire name, and other words that mean them.
const PARAMETERS: [(&str, &[&str]); 12] = [
    ("max_completion_tokens", &["max_completion_tokens"]),
    (
        "max_tokens",
        &[
            "max_tokens",
            "max_output_tokens",
            "maxoutputtokens",
            "max_new_tokens",
        ],
    ),
    ("temperature", &["temperature"]),
    ("stream_options", &["stream_options", "include_usage"]),
    (
        "response_format",
        &[
            "response_format",
            "json_schema",
            "json_object",
            "responseschema",
            "output_format",
        ],
    ),
    ("tool_choice", &["tool_choice", "toolchoice", "tool choice"]),
    ("reasoning_content", &["reasoning_content"]),
    ("parallel_tool_calls", &["parallel_tool_calls"]),
    ("seed", &["seed"]),
    ("top_p", &["top_p"]),
    ("tools", &["tools", "tool use", "function calling"]),
    ("stream", &["stream", "streaming"]),
];

/// The parameter a refusal names: by field, else the first one the message speaks of.
fn refused_parameter(details: &Details) -> Option<String> {
    if let Some(param) = &details.param {
        let root = param
            .split(['.', '['])
            .next()
            .unwrap_or(param)
            .to_lowercase();
        if let Some(name) = known_parameter(&root) {
            return Some(name.to_owned());
        }
    }
    if details.code.as_deref() == Some("json_validate_failed") {
        return Some("response_format".to_owned());
    }
    let text = details.message.to_lowercase();
    // A server that was not started for tools: nothing to leave out.
    if text.contains("--enable-auto-tool-choice") || !refuses(&text) {
        return None;
    }
    let words = PARAMETERS
        .iter()
        .flat_map(|(name, words)| words.iter().map(move |w| (*name, *w)));
    let places = words.filter_map(|(name, word)| Some((word_at(&text, word)?, name)));
    places.min().map(|(_, name)| name.to_owned())
}

fn known_parameter(word: &str) -> Option<&'static str> {
    let of = |(_, words): &&(&str, &[&str])| words.contains(&word);
    PARAMETERS.iter().find(of).map(|(name, _)| *name)
}

fn refuses(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "unsupported",
        "not support",
        "n't support",
        "invalid",
        "unknown",
        "unrecognized",
        "unrecognised",
        "unexpected",
        "not allowed",
        "not permitted",
        "must be",
        "must contain",
        "must not",
        "may only be",
        "failed to generate json",
        "should be",
        "extra inputs",
        "extra fields",
        "extra_forbidden",
        "deprecated",
        "only ",
        "cannot",
        "can't",
        "reject",
        "not available",
        "too large",
        "too high",
        "is not",
        "exceed",
        "range",
        "maximum",
        "at most",
        "less than",
        "greater than",
        "no longer",
        "missing",
        "required",
        "incompatible",
        "不支持",
        "不合法",
        "非法",
        "无效",
        "参数",
        "passed back",
        "not implemented",
    ];
    WORDS.iter().any(|word| text.contains(word))
}

/// Where a word stands on its own.
fn word_at(text: &str, word: &str) -> Option<usize> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).map(|(at, _)| at).find(|at| {
        let before = text[..*at].chars().next_back().is_some_and(part);
        let after = text[at + word.len()..].chars().next().is_some_and(part);
        !before && !after
    })
}
