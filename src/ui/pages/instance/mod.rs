//! The instance view: the user's history, the stages of a run and the verdicts, joined.

mod props;

pub use props::{Actions, ExportFormat, InstanceProps, Neighbours, Progress, RunView};

use leptos::prelude::*;

/// The whole view of one instance. Mount it anew for another instance.
#[component]
pub fn InstancePage(props: InstanceProps) -> impl IntoView {
    view! { <h1>{props.instance.scenario_name.clone()}</h1> }.into_any()
}
