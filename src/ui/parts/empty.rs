//! What stands where there is nothing to show: why, and what to do about it.

use super::{Icon, Problem, Shape};
use leptos::prelude::*;

/// An empty place. Its children are the next steps.
#[component]
pub fn Empty(
    #[prop(into)] title: String,
    #[prop(into)] text: String,
    #[prop(optional)] children: Option<Children>,
) -> impl IntoView {
    view! {
        <div class="empty">
            <h2>{title}</h2>
            <p class="muted">{text}</p>
            {children.map(|children| view! { <div class="actions">{children()}</div> })}
        </div>
    }
}

/// A failure in a sentence, with its next step.
#[component]
pub fn ProblemBox(problem: Problem, #[prop(optional)] children: Option<Children>) -> impl IntoView {
    view! {
        <div class="problem" role="alert">
            <Icon shape=Shape::Warning />
            <div>
                <p>{problem.text}</p>
                {problem.hint.map(|hint| view! { <p class="muted">{hint}</p> })}
                {children.map(|children| view! { <div class="actions">{children()}</div> })}
            </div>
        </div>
    }
}
