//! Prompt texts, to be read and changed for the runs to come.

use super::page::Page;
use crate::agent::trace_view::count;
use crate::prompts::{Edits, PromptInfo, all, editable_ids};
use crate::ui::parts::Dialog;
use leptos::prelude::*;
use std::collections::BTreeMap;

/// Texts that were changed and not kept yet, by the id of their prompt. They outlive the dialog.
type Drafts = RwSignal<BTreeMap<&'static str, String>>;

/// Opens the dialog; says how many prompts are not as shipped.
#[component]
pub(super) fn PromptsButton(page: Page) -> impl IntoView {
    let edits = page.given.with_value(|given| given.edits);
    let open = RwSignal::new(false);
    let drafts: Drafts = RwSignal::new(BTreeMap::new());
    let asking = RwSignal::new(false);
    let may_close = Callback::new(move |()| {
        let unsaved = drafts.with_untracked(|drafts| !drafts.is_empty());
        asking.set(unsaved);
        !unsaved
    });
    let changed = move || edits.with(|edits| edits.ids().count());
    let label = move || match changed() {
        0 => "Prompts".to_owned(),
        n => format!("Prompts: {n} edited"),
    };
    view! {
        <button
            type="button"
            class="button"
            class:warn=move || { changed() > 0 }
            on:click=move |_| open.set(true)
        >
            {label}
        </button>
        <Dialog title="Prompts of the runs to come" open may_close>
            <Editor page open drafts asking />
        </Dialog>
    }
}

fn editable() -> Vec<PromptInfo> {
    let ids = editable_ids();
    let mut prompts = all();
    prompts.retain(|prompt| ids.contains(&prompt.id));
    prompts
}

#[component]
fn Editor(
    page: Page,
    open: RwSignal<bool>,
    drafts: Drafts,
    /// The visitor wanted to close the dialog with drafts in it.
    asking: RwSignal<bool>,
) -> impl IntoView {
    let edits = page.given.with_value(|given| given.edits);
    let prompts = StoredValue::new(editable());
    let chosen = RwSignal::new(prompts.with_value(|all| all.first().map_or("", |p| p.id)));
    let text_of = move |id: &str, edits: &Edits| {
        let shipped = prompts.with_value(|all| {
            let found = all.iter().find(|prompt| prompt.id == id);
            found.map_or("", |prompt| prompt.text)
        });
        edits.get(id).unwrap_or(shipped).to_owned()
    };
    let draft = move || {
        let id = chosen.get();
        let kept = || edits.with(|edits| text_of(id, edits));
        drafts
            .with(|drafts| drafts.get(id).cloned())
            .unwrap_or_else(kept)
    };
    let typed = move |text: String| {
        let id = chosen.get_untracked();
        let kept = edits.with_untracked(|edits| text_of(id, edits));
        drafts.update(|drafts| {
            match text == kept {
                true => drafts.remove(id),
                false => drafts.insert(id, text),
            };
        });
    };
    let said = RwSignal::new(None::<(bool, String)>);
    let show = move |id: &'static str| {
        chosen.set(id);
        said.set(None);
    };
    let options = move || {
        let mark = |id: &str| edits.with(|edits| edits.get(id).is_some());
        let option = |prompt: &PromptInfo| {
            let (id, edited) = (prompt.id, mark(prompt.id));
            let unsaved = drafts.with(|drafts| drafts.contains_key(id));
            let mark = match (unsaved, edited) {
                (true, _) => " (not kept yet)",
                (false, true) => " (edited)",
                (false, false) => "",
            };
            let words = format!("{}{mark}", prompt.title);
            view! { <option value=id selected=move || chosen.get() == id>{words}</option> }
        };
        prompts.with_value(|all| all.iter().map(option).collect_view())
    };
    let choose = move |event| {
        let value = event_target_value(&event);
        let found = prompts.with_value(|all| all.iter().find(|p| p.id == value).map(|p| p.id));
        found.into_iter().for_each(show);
    };
    let keep = move |_| {
        let mut changed = edits.get_untracked();
        match changed.set(chosen.get_untracked(), &untrack(draft)) {
            Ok(()) => {
                page.on.set_edits.run(changed);
                drafts.update(|drafts| _ = drafts.remove(chosen.get_untracked()));
                let text = "Kept. Runs from now on send this text, and their results say so.";
                said.set(Some((false, text.to_owned())));
            }
            Err(why) => said.set(Some((true, why))),
        }
    };
    let reset = move |_| {
        let mut changed = edits.get_untracked();
        changed.reset(chosen.get_untracked());
        page.on.set_edits.run(changed);
        drafts.update(|drafts| _ = drafts.remove(chosen.get_untracked()));
        said.set(None);
    };
    let reset_all = move |_| {
        page.on.set_edits.run(Edits::new());
        drafts.update(BTreeMap::clear);
        said.set(None);
    };
    let drop_drafts = move |_| {
        drafts.update(BTreeMap::clear);
        open.set(false);
    };
    let unsaved = move || drafts.with(BTreeMap::len);
    let edited = move || edits.with(|edits| edits.get(chosen.get()).is_some());
    let any = move || edits.with(|edits| edits.ids().count());
    view! {
        <div class="prompt-editor">
            <p class="muted small">
                "Above the line --- stands the system message, below it the question. {{names}} are filled in at each call."
            </p>
            <label for="prompt-choice">"Prompt"</label>
            <select id="prompt-choice" on:change=choose>
                {options}
            </select>
            <label for="prompt-text">"Text"</label>
            <textarea
                id="prompt-text"
                rows="18"
                spellcheck="false"
                prop:value=draft
                on:input=move |event| typed(event_target_value(&event))
            ></textarea>
            {move || {
                said.get().map(|(bad, text)| {
                    view! { <p class="small" class:wrong=bad role="status">{text}</p> }
                })
            }}
            <Show when=move || asking.get() && { unsaved() > 0 }>
                <p class="inst-row" role="alert">
                    <span>
                        {move || format!("{} not kept yet.", count(unsaved(), "change is", "changes are"))}
                    </span>
                    <button type="button" class="button small" on:click=move |_| asking.set(false)>
                        "Go on editing"
                    </button>
                    <button type="button" class="button small" on:click=drop_drafts>
                        "Drop and close"
                    </button>
                </p>
            </Show>
            <div class="inst-row">
                <button type="button" class="button primary" on:click=keep>
                    "Use for the next runs"
                </button>
                <button type="button" class="button" prop:disabled=move || !edited() on:click=reset>
                    "Back to the shipped text"
                </button>
                <Show when=move || { any() > 1 }>
                    <button type="button" class="button" on:click=reset_all>
                        {move || format!("Reset all {}", count(any(), "prompt", "prompts"))}
                    </button>
                </Show>
            </div>
        </div>
    }
}
