//! Answers by hand: prompts wait here until the visitor brings back what a model said.

use crate::browser::env::{Ask, OnAsk};
use crate::llm::Message;
use crate::run::CallRole;
use crate::ui::parts::Dialog;
use crate::ui::parts::copy::CopyButton;
use crate::ui::state::lab;
use leptos::html;
use leptos::prelude::*;
use std::rc::Rc;

/// The prompts that wait, oldest first. Handle.
#[derive(Clone, Copy)]
pub struct Desk {
    waiting: StoredValue<Vec<(String, Ask)>, LocalStorage>,
    /// Changes whenever the list does.
    changed: RwSignal<u32>,
    /// The visitor closed the dialog; prompts wait on.
    folded: RwSignal<bool>,
}

impl Default for Desk {
    fn default() -> Self {
        Self::new()
    }
}

/// A waiting prompt as the dialog shows it.
#[derive(Clone, PartialEq)]
struct Shown {
    /// Tells one prompt from the next, even when they read the same.
    nth: u32,
    about: String,
    text: String,
}

impl Desk {
    pub fn new() -> Self {
        Self {
            waiting: StoredValue::new_local(Vec::new()),
            changed: RwSignal::new(0),
            folded: RwSignal::new(false),
        }
    }

    /// Takes the prompts of a run.
    pub fn on_ask(self, run: &str) -> OnAsk {
        let run = run.to_owned();
        Rc::new(move |ask| {
            self.waiting
                .update_value(|all| all.push((run.clone(), ask)));
            self.folded.set(false);
            self.tell();
        })
    }

    /// Drops the prompts of a run that has ended.
    pub fn forget(self, run: &str) {
        self.waiting
            .update_value(|all| all.retain(|(owner, _)| owner != run));
        self.tell();
    }

    fn answer(self, text: String) {
        if let Some((_, ask)) = self.take_first() {
            // The run may have been stopped meanwhile.
            let _ = ask.answer.send(text);
        }
    }

    /// Dropping the question cancels its run.
    fn stop(self) {
        drop(self.take_first());
    }

    fn take_first(self) -> Option<(String, Ask)> {
        let first = self
            .waiting
            .try_update_value(|all| (!all.is_empty()).then(|| all.remove(0)))
            .flatten();
        self.tell();
        first
    }

    fn tell(self) {
        self.changed.update(|count| *count = count.wrapping_add(1));
    }

    /// How many prompts wait.
    pub fn count(self) -> usize {
        self.changed.track();
        self.waiting.with_value(Vec::len)
    }

    fn first(self) -> Option<Shown> {
        let nth = self.changed.get();
        self.waiting.with_value(|all| {
            let (_, ask) = all.first()?;
            let role = match ask.role {
                CallRole::Agent => "agent",
                CallRole::Grader(_) => "judge",
            };
            Some(Shown {
                nth,
                about: format!("{}, for the {role}", ask.prompt.id.replace('_', " ")),
                text: plain(&ask.chat.messages),
            })
        })
    }
}

/// The whole prompt as one text for a chat window.
fn plain(messages: &[Message]) -> String {
    let texts = messages.iter().map(|message| match message {
        Message::System { text } | Message::User { text } => text.clone(),
        Message::Assistant { text, .. } => format!("[You answered:]\n{text}"),
        Message::Tool { name, text, .. } => format!("[{name} returned:]\n{text}"),
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Shows the oldest prompt that waits; folds to a button.
#[component]
pub fn DeskDialog() -> impl IntoView {
    let desk = lab().desk;
    let open = RwSignal::new(false);
    Effect::new(move |_| open.set(desk.count() > 0 && !desk.folded.get()));
    // Closed by the visitor, not because nothing waits.
    Effect::new(move |was: Option<bool>| {
        let is = open.get();
        if was == Some(true) && !is && desk.waiting.with_value(|all| !all.is_empty()) {
            desk.folded.set(true);
        }
        is
    });
    let folded = move || desk.count() > 0 && desk.folded.get();
    let words = move || match desk.count() {
        1 => "One prompt waits for your answer".to_owned(),
        many => format!("{many} prompts wait for your answers"),
    };
    view! {
        <Show when=folded>
            <button type="button" class="button primary desk-button" on:click=move |_| desk.folded.set(false)>
                {words}
            </button>
        </Show>
        <Dialog title="Answer by hand" open=open>
            {move || desk.first().map(|shown| view! { <Prompt desk=desk shown=shown /> })}
        </Dialog>
    }
}

#[component]
fn Prompt(desk: Desk, shown: Shown) -> impl IntoView {
    let pasted = NodeRef::<html::Textarea>::new();
    let empty = RwSignal::new(true);
    let text = shown.text.clone();
    let copy = Callback::new(move |()| text.clone());
    let typed = move || {
        let area = pasted.get_untracked();
        area.map(|area| area.value()).unwrap_or_default()
    };
    let give = move |_| {
        let text = typed();
        if !text.trim().is_empty() {
            desk.answer(text);
        }
    };
    view! {
        <div class="desk">
            <p>
                "Copy this prompt into any chat window, then paste the whole answer below: "
                <strong>{shown.about}</strong> "."
            </p>
            <div class="row">
                <CopyButton text=copy label="Copy prompt" />
            </div>
            <pre tabindex="0" class="desk-prompt">{shown.text}</pre>
            <label for="desk-answer">"Its answer"</label>
            <textarea
                id="desk-answer"
                rows="8"
                spellcheck="false"
                node_ref=pasted
                on:input=move |_| empty.set(typed().trim().is_empty())
            ></textarea>
            <div class="actions">
                <button type="button" class="button primary" disabled=empty on:click=give>"Use this answer"</button>
                <button type="button" class="button" on:click=move |_| desk.stop()>"Stop this run"</button>
            </div>
        </div>
    }
}
