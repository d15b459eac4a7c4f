//! Model calls of a stage: the prompt as sent, the answer as received.

use crate::agent::trace::CallRecord;
use crate::agent::trace_view::{count, duration};
use crate::llm::{Message, ToolCall};
use crate::ui::parts::copy::CopyButton;
use leptos::prelude::*;

/// The calls behind a toggle; nothing where no model was asked.
#[component]
pub(super) fn Calls(calls: Vec<CallRecord>) -> impl IntoView {
    if calls.is_empty() {
        return ().into_any();
    }
    let label = count(calls.len(), "model call", "model calls");
    let calls = StoredValue::new(calls);
    let open = RwSignal::new(false);
    view! {
        <button
            type="button"
            class="link"
            aria-expanded=move || open.get().to_string()
            on:click=move |_| open.update(|open| *open = !*open)
        >
            {move || if open.get() { "Hide " } else { "Show " }}
            {label}
        </button>
        <Show when=move || open.get()>
            {move || calls.get_value().into_iter().map(|call| view! { <Call call /> }).collect_view()}
        </Show>
    }
    .into_any()
}

/// One call. The record holds no key, so it can be copied as it is.
#[component]
fn Call(call: CallRecord) -> impl IntoView {
    let messages = call.request.messages.iter().map(message).collect_view();
    let reasoning = call.reply.reasoning.clone();
    let warnings = call.reply.warnings.join(" ");
    let facts = facts(&call);
    let answer = answer(&call);
    let call = StoredValue::new(call);
    let json = Callback::new(move |()| {
        call.with_value(|call| serde_json::to_string_pretty(call).unwrap_or_default())
    });
    view! {
        <div class="call">
            <p class="muted">{facts}</p>
            {messages}
            {reasoning.map(|text| view! { <Told who="reasoning" text /> })}
            <Told who="reply" text=answer />
            {(!warnings.is_empty()).then(|| view! { <p class="call-warning">{warnings}</p> })}
            <CopyButton text=json label="Copy call as JSON" />
        </div>
    }
}

#[component]
fn Told(who: &'static str, text: String) -> impl IntoView {
    view! {
        <p class="call-role">{who}</p>
        <pre tabindex="0">{text}</pre>
    }
}

fn message(message: &Message) -> AnyView {
    let (who, text) = match message {
        Message::System { text } => ("system", text.clone()),
        Message::User { text } => ("user", text.clone()),
        Message::Assistant {
            text, tool_calls, ..
        } => ("assistant", with_calls(text, tool_calls)),
        Message::Tool { text, is_error, .. } if *is_error => ("tool, refused", text.clone()),
        Message::Tool { text, .. } => ("tool", text.clone()),
    };
    view! { <Told who text /> }.into_any()
}

/// The text, and the tool calls beside it.
fn answer(call: &CallRecord) -> String {
    with_calls(&call.reply.text, &call.reply.tool_calls)
}

fn with_calls(text: &str, calls: &[ToolCall]) -> String {
    let text = Some(text.to_owned()).filter(|text| !text.trim().is_empty());
    let calls = calls
        .iter()
        .map(|call| format!("→ {} {}", call.name, call.arguments));
    text.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
}

fn facts(call: &CallRecord) -> String {
    let model = call.reply.model.as_ref().unwrap_or(&call.request.model);
    let role = match call.role.as_str() {
        "grader" => "judge",
        role => role,
    };
    let mut facts = vec![role.to_owned(), model.clone(), call.base_url.clone()];
    facts.push(duration(call.duration_ms));
    if call.retries > 0 {
        facts.push(count(call.retries as usize, "retry", "retries"));
    }
    if call.from_journal {
        facts.push("from the journal, not paid again".to_owned());
    }
    let hash = call.prompt.sha256.get(..8).unwrap_or_default();
    facts.push(format!("prompt {} {hash}", call.prompt.id));
    facts.retain(|fact| !fact.is_empty());
    facts.join(" · ")
}
