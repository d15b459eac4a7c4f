//! A person's verdict in place of the judges': who, why, and a way back.

use super::page::Page;
use super::props::Change;
use super::verdict::State;
use crate::judge::edit::Edit;
use crate::judge::opinion::Standing;
use crate::judge::{VerdictSource, VerdictState};
use crate::run::outcome::Row;
use leptos::prelude::*;

const CHOICES: [(VerdictState, &str); 3] = [
    (VerdictState::Met, "met"),
    (VerdictState::NotMet, "not met"),
    (VerdictState::Unscored, "cannot be decided"),
];

/// Changes the verdict of a judged requirement, takes the change back, and lists all changes.
#[component]
pub(super) fn Overrule(page: Page, row: Row) -> impl IntoView {
    let open = RwSignal::new(false);
    let judged = row.standing.is_some();
    let id = row.id.clone();
    let undo = row.overruled.clone().map(|edit| {
        let id = id.clone();
        view! {
            <button type="button" class="link" on:click=move |_| page.on.undo_overrule.run(id.clone())>
                {format!("Take {}’s verdict back", edit.author)}
            </button>
        }
    });
    let now = row.standing;
    let field = format!("overrule-{id}");
    let toggle = move |_| open.update(|open| *open = !*open);
    let edits = row.edits.clone();
    judged.then(|| view! {
        <div class="overrule">
            <p class="inst-row small">
                <button type="button" class="link" aria-expanded=move || open.get().to_string() on:click=toggle>
                    "Change the verdict"
                </button>
                {undo}
            </p>
            <Show when=move || open.get()>
                <Form page id=id.clone() now=now name=field.clone() open />
            </Show>
            {history(edits)}
        </div>
    })
}

#[component]
fn Form(
    page: Page,
    id: crate::bench::ids::RequirementId,
    now: Option<Standing>,
    /// Makes the ids of its fields unique.
    name: String,
    open: RwSignal<bool>,
) -> impl IntoView {
    let author = RwSignal::new(page.on.author.run(()));
    let reason = RwSignal::new(String::new());
    let other = CHOICES
        .iter()
        .map(|(state, _)| *state)
        .find(|state| Some(Standing::from(*state)) != now);
    let chosen = RwSignal::new(other.unwrap_or(VerdictState::Met));
    let problem = RwSignal::new(None::<String>);
    let options = CHOICES.into_iter().map(|(state, word)| {
        let group = format!("{name}-state");
        view! {
            <label class="inst-choice">
                <input type="radio" name=group prop:checked=move || chosen.get() == state on:change=move |_| chosen.set(state) />
                <span>{word}</span>
            </label>
        }
    });
    let save = move |ev: leptos::ev::SubmitEvent| {
        ev.prevent_default();
        let change = Change {
            requirement: id.clone(),
            state: chosen.get_untracked(),
            author: author.get_untracked(),
            reason: reason.get_untracked(),
        };
        match page.on.overrule.run(change) {
            None => open.set(false),
            Some(missing) => problem.set(Some(missing)),
        }
    };
    let (author_id, reason_id) = (format!("{name}-author"), format!("{name}-reason"));
    view! {
        <form class="card form overrule-form" on:submit=save>
            <fieldset class="inst-systems">
                <legend class="small muted">"Your verdict, in place of every judge’s"</legend>
                {options.collect_view()}
            </fieldset>
            <div class="field">
                <label for=author_id.clone()>"Your name"</label>
                <input id=author_id type="text" autocomplete="name" prop:value=author on:input=move |ev| author.set(event_target_value(&ev)) />
            </div>
            <div class="field">
                <label for=reason_id.clone()>"Why"</label>
                <textarea id=reason_id rows="2" prop:value=reason on:input=move |ev| reason.set(event_target_value(&ev))></textarea>
            </div>
            <p class="small bad" role="alert">{move || problem.get()}</p>
            <p class="inst-row">
                <button type="submit" class="button primary small">"Save the verdict"</button>
                <button type="button" class="button small" on:click=move |_| open.set(false)>"Cancel"</button>
            </p>
        </form>
    }
}

/// All changes with author, time and reason, oldest first.
fn history(edits: Vec<Edit>) -> Option<impl IntoView> {
    (!edits.is_empty()).then(|| {
        let lines = edits.into_iter().map(|edit| {
            let what = match (edit.withdraws, edit.after.source) {
                (true, _) => " took it back: ",
                (false, VerdictSource::Human) => " decided: ",
                (false, _) => " changed it: ",
            };
            let when = String::from(js_sys::Date::new(&edit.at_ms.into()).to_iso_string());
            let shown = format!("{} {} UTC", &when[..10], &when[11..16]);
            view! {
                <li>
                    <State state=edit.before.state />
                    " → "
                    <State state=edit.after.state />
                    " "
                    <strong>{edit.author}</strong>
                    {what}
                    {edit.reason}
                    " "
                    <time class="muted" datetime=when>{shown}</time>
                </li>
            }
        });
        view! {
            <details class="opinions" open>
                <summary>"Changes"</summary>
                <ol class="opinion-list">{lines.collect_view()}</ol>
            </details>
        }
    })
}
