//! A verdict: sign, word and colour, so that it reads the same with colours off.

use super::{Icon, Shape};
use crate::judge::VerdictState;
use leptos::prelude::*;

/// One requirement's state.
#[component]
pub fn VerdictChip(state: VerdictState) -> impl IntoView {
    let (shape, class, word) = match state {
        VerdictState::Met => (Shape::Check, "chip ok", "met"),
        VerdictState::NotMet => (Shape::Cross, "chip bad", "not met"),
        VerdictState::Unscored => (Shape::Dash, "chip warn", "unscored"),
    };
    view! { <span class=class><Icon shape=shape />{word}</span> }
}
