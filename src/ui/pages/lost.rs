//! What an address that no view has leads to.

use crate::route::Route;
use crate::ui::parts::Empty;
use crate::ui::state::lab;
use leptos::prelude::*;

#[component]
pub fn LostPage() -> impl IntoView {
    let lab = lab();
    let text = move || {
        format!(
            "“{}” is not the address of a view. It may come from another version of this site.",
            lab.lost.get().unwrap_or_default()
        )
    };
    view! {
        <div class="page narrow">
            <h1 class="sr-only">"No such view"</h1>
            {move || view! {
                <Empty title="Nothing is here" text=text()>
                    <a class="button primary" href=Route::Start.address()>"Go to the start"</a>
                </Empty>
            }}
        </div>
    }
}
