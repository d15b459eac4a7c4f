//! What servers say, by the class it has to lead to. The sentences are those of real servers.

use super::from_response;
use crate::llm::http::HttpResponse;

/// Status, body, kind of the error.
type Case = (u16, &'static str, &'static str);

fn check(cases: &[Case]) {
    for (status, body, kind) in cases {
        let error = from_response(&HttpResponse {
            status: *status,
            body: body.as_bytes().to_vec(),
            ..HttpResponse::default()
        });
        assert_eq!(error.kind(), *kind, "{status} {body}: {error}");
        let said = error.said().map(|said| said.message.trim().to_owned());
        assert!(said.is_none_or(|said| !said.is_empty()), "{body}");
    }
}

#[test]
fn an_empty_account_is_no_limit_for_each_minute() {
    check(&[
        (
            402,
            r#"{"error":{"message":"Not enough balance"}}"#,
            "no_credit",
        ),
        (
            403,
            r#"{"code":"AllocationQuota.FreeTierOnly","message":"The free tier of the model has been exhausted."}"#,
            "no_credit",
        ),
        (
            403,
            r#"{"error":{"message":"Key limit exceeded (total limit).","code":403}}"#,
            "no_credit",
        ),
        (
            429,
            r#"{"error":{"message":"You have no remaining credits"}}"#,
            "no_credit",
        ),
        (
            429,
            r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Your prepayment credits are depleted."}}"#,
            "no_credit",
        ),
        (
            500,
            r#"{"error":{"message":"insufficient_quota"}}"#,
            "no_credit",
        ),
        (
            400,
            r#"{"error":{"message":"quota exhausted, please recharge"}}"#,
            "no_credit",
        ),
        (
            429,
            r#"{"error":{"message":"Rejected due to rate limiting. If you want more, contact us to top up"}}"#,
            "rate_limited",
        ),
        (
            429,
            r#"{"error":{"code":"1302","message":"您当前使用该API的并发数过高，请降低并发"}}"#,
            "rate_limited",
        ),
        (
            429,
            r#"{"error":{"message":"Too many requests. Your token balance for this minute is used up","type":"rate_limit"}}"#,
            "rate_limited",
        ),
    ]);
}

#[test]
fn a_prompt_that_is_too_long_is_told_from_a_limit_that_is_too_high() {
    check(&[
        (
            400,
            r#"{"error":{"message":"输入长度超过模型最大长度"}}"#,
            "context_overflow",
        ),
        (
            400,
            r#"{"error":{"message":"messages too long"}}"#,
            "context_overflow",
        ),
        (
            400,
            r#"{"error":{"message":"`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000 `inputs` tokens and 512 `max_new_tokens`"}}"#,
            "context_overflow",
        ),
        (
            400,
            r#"{"error_code":336003,"error_msg":"max input characters is 20000"}"#,
            "context_overflow",
        ),
        (
            422,
            r#"{"error":{"message":"max_new_tokens must be <= 4096"}}"#,
            "refused_parameter",
        ),
        (
            400,
            r#"{"error":{"message":"Expected a value <= 16384 for 'max_tokens', but got 100000 instead, which is invalid."}}"#,
            "refused_parameter",
        ),
        (413, "Payload Too Large", "too_large"),
    ]);
}

#[test]
fn what_is_wrong_shows_whatever_the_frame() {
    check(&[
        (403, r#"{"detail":"Forbidden origin"}"#, "origin_refused"),
        (
            404,
            r#"{"error":"Unexpected endpoint or method. (POST /chat/completions)"}"#,
            "wrong_address",
        ),
        (400, r#"{"success":false,"msg":"token expired"}"#, "auth"),
        (
            500,
            r#"{"fault":{"faultstring":"Execution of X failed"}}"#,
            "server",
        ),
        (500, "null", "server"),
        (400, "{}", "bad_request"),
        (
            403,
            r#"<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"#,
            "forbidden",
        ),
        (
            400,
            r#"{"error":{"message":"Failed to call a function.","code":"tool_use_failed","failed_generation":"<function=f>"}}"#,
            "broken_tool_call",
        ),
        (
            400,
            r#"{"error":{"message":"Failed to generate JSON.","code":"json_validate_failed","failed_generation":"{"}}"#,
            "refused_parameter",
        ),
        (
            400,
            r#"{"error":{"message":"'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."}}"#,
            "refused_parameter",
        ),
    ]);
}
