//! The chosen model has no vectors of this dataset yet: make them, or search in another way.

use crate::bench::manifest::Manifest;
use crate::ui::data::Open;
use crate::ui::histories::{Histories, Offer};
use crate::words::grouped;
use leptos::prelude::*;

#[component]
pub(super) fn OfferBox(
    open: StoredValue<Open, LocalStorage>,
    histories: Histories,
    /// Makes the vectors, then searches once more.
    make: Callback<()>,
    /// Searches by the shipped model.
    other: Callback<()>,
) -> impl IntoView {
    let shown = move |offer: Offer| {
        let what = open.with_value(|open| said(&offer, &open.dataset.manifest));
        let name = offer.model.clone();
        view! {
            <section class="block all-offer" aria-label="Vectors of the chosen model">
                <p>{what}</p>
                <p class="muted">
                    {if offer.paid {
                        "Every passage is sent to the endpoint once, which may cost money. What came is kept, so that it can be stopped and gone on with."
                    } else {
                        "Embedding takes minutes on a small device. What is done is kept, so that it can be stopped and gone on with; runs use it, too."
                    }}
                </p>
                <p class="actions">
                    <button type="button" class="button primary" on:click=move |_| make.run(())>
                        {format!("Embed all passages with {name}")}
                    </button>
                    {offer.other.then(|| view! {
                        <button type="button" class="button" on:click=move |_| other.run(())>
                            "Search by the shipped model"
                        </button>
                    })}
                </p>
            </section>
        }
    };
    move || histories.offer.get().map(shown)
}

fn said(offer: &Offer, manifest: &Manifest) -> String {
    let ships = match offer.ships.as_slice() {
        [] => "This dataset ships no vectors".to_owned(),
        names => format!("This dataset ships vectors of {}", names.join(", ")),
    };
    let sessions: u64 = manifest.shards.iter().map(|s| u64::from(s.sessions)).sum();
    let model = &offer.model;
    format!(
        "{ships}, and the embedding model chosen in Settings is {model}: to search by meaning, the passages of {} sessions have to be embedded with it first.",
        grouped(sessions)
    )
}
