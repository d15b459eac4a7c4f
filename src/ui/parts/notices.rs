//! Short messages about what just happened, in a corner; failures and what was odd stay until they
//! are closed.

use super::{Icon, Problem, Shape};
use leptos::prelude::*;
use std::time::Duration;

/// How long good news stays.
const STAY: Duration = Duration::from_secs(6);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Info,
    Good,
    Bad,
}

#[derive(Clone, Debug, PartialEq)]
struct Notice {
    id: u32,
    tone: Tone,
    problem: Problem,
}

/// The messages on show. Handle.
#[derive(Clone, Copy)]
pub struct Notices {
    list: RwSignal<Vec<Notice>>,
    next: StoredValue<u32>,
}

impl Default for Notices {
    fn default() -> Self {
        Self::new()
    }
}

impl Notices {
    pub fn new() -> Self {
        Self {
            list: RwSignal::new(Vec::new()),
            next: StoredValue::new(0),
        }
    }

    /// Something worth knowing; goes by itself.
    pub fn info(&self, text: impl ToString) {
        self.passing(Tone::Info, text);
    }

    /// Something that worked; goes by itself.
    pub fn good(&self, text: impl ToString) {
        self.passing(Tone::Good, text);
    }

    /// A failure; stays until closed. The same one is not shown twice.
    pub fn bad(&self, problem: Problem) {
        self.staying(Tone::Bad, problem);
    }

    /// Something odd that kept nothing from working; stays until closed.
    pub fn odd(&self, problem: Problem) {
        self.staying(Tone::Info, problem);
    }

    fn staying(&self, tone: Tone, problem: Problem) {
        let shown = self
            .list
            .with_untracked(|list| list.iter().any(|notice| notice.problem == problem));
        if !shown {
            self.push(tone, problem);
        }
    }

    fn passing(&self, tone: Tone, text: impl ToString) {
        let (notices, id) = (*self, self.push(tone, Problem::new(text, None::<&str>)));
        set_timeout(move || notices.close(id), STAY);
    }

    fn push(&self, tone: Tone, problem: Problem) -> u32 {
        let id = self.next.get_value();
        self.next.set_value(id.wrapping_add(1));
        self.list
            .update(|list| list.push(Notice { id, tone, problem }));
        id
    }

    fn close(&self, id: u32) {
        self.list
            .update(|list| list.retain(|notice| notice.id != id));
    }
}

/// The corner where notices appear.
#[component]
pub fn Toasts(notices: Notices) -> impl IntoView {
    let toast = move |notice: Notice| {
        let (shape, class) = match notice.tone {
            Tone::Info => (Shape::Info, "toast"),
            Tone::Good => (Shape::Check, "toast good"),
            Tone::Bad => (Shape::Warning, "toast bad"),
        };
        let role = if notice.tone == Tone::Bad {
            "alert"
        } else {
            "status"
        };
        view! {
            <div class=class role=role>
                <Icon shape=shape />
                <div>
                    <p>{notice.problem.text}</p>
                    {notice.problem.hint.map(|hint| view! { <p class="muted">{hint}</p> })}
                </div>
                <button type="button" class="button quiet square" aria-label="Close this message" on:click=move |_| notices.close(notice.id)>
                    <Icon shape=Shape::Close />
                </button>
            </div>
        }
    };
    view! {
        <div class="toasts" aria-live="polite">
            <For each=move || notices.list.get() key=|notice| notice.id children=toast />
        </div>
    }
}
