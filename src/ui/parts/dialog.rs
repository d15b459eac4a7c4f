//! A modal dialog: the browser's own, so Esc, focus and the inert page behind it are its work.

use super::{Icon, Shape};
use leptos::{html, prelude::*};

/// Shows its children while `open` is set.
#[component]
pub fn Dialog(
    #[prop(into)] title: String,
    /// Set by the owner to open it; unset here when the visitor closes it.
    open: RwSignal<bool>,
    /// Asked before the visitor closes it: whether it may. A second Esc closes it in any case.
    #[prop(optional, into)]
    may_close: Option<Callback<(), bool>>,
    children: ChildrenFn,
) -> impl IntoView {
    let node = NodeRef::<html::Dialog>::new();
    Effect::new(move |_| {
        let (Some(dialog), open) = (node.get(), open.get()) else {
            return;
        };
        if open && !dialog.open() {
            // It only fails for a dialog that is not in the document, and then there is nothing to show.
            let _ = dialog.show_modal();
        } else if !open && dialog.open() {
            dialog.close();
        }
    });
    let may = move || may_close.is_none_or(|may_close| may_close.run(()));
    let name = title.clone();
    view! {
        <dialog node_ref=node class="dialog" aria-label=name
            on:cancel=move |ev: web_sys::Event| if !may() { ev.prevent_default() }
            on:close=move |_| open.set(false)
        >
            <header class="dialog-head">
                <h2>{title}</h2>
                <button type="button" class="button quiet square" title="Close (Esc)" aria-label="Close" on:click=move |_| open.set(!may())>
                    <Icon shape=Shape::Close />
                </button>
            </header>
            <div class="dialog-body">{move || open.get().then(|| children())}</div>
        </dialog>
    }
}
