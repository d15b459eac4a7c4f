//! The tools in their fixed order, over any [`Mind`].

use super::mind::Mind;
use super::trace::{Output, StageRecord, System};
use crate::bench::visible::Instance;
use crate::run::record::Params;
use crate::run::{Env, StepError};

/// What a system did: its stages, and the final action or why there is none. Stages before an
/// error are kept, the failed one last.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    pub stages: Vec<StageRecord>,
    pub output: Result<Output, StepError>,
}

/// Runs a system on one instance whose history is open in `env`.
pub async fn run(
    system: System,
    env: &impl Env,
    mind: &impl Mind,
    instance: &Instance,
    params: &Params,
) -> Trajectory {
    let _ = (system, env, mind, instance, params);
    todo!()
}
