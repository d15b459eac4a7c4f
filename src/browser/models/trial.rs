//! Loads a model once, in a worker of its own, before anybody relies on it: a model that cannot be
//! read, does not fit, or is not what it seems harms no run.

use super::{ModelError, device_memory, needs};
use crate::browser::abort::Abort;
use crate::browser::engine::{EngineError, OnEngineProgress};
use crate::browser::model::{Files, ModelInfo, load};
use crate::browser::worker_client::{WorkerClient, WorkerError};
use crate::embed::registry::KeptModel;
use crate::embed::registry::kept::Tried;
use crate::embed::spec::Arithmetic;
use crate::worker::protocol::{Answer, Request};
use std::rc::Rc;

/// Embedded as a trial; several scripts, so that any tokenizer has something to do.
const TEXT: &str = "A short text: dinner at seven, 晚饭七点, ужин в семь.";

/// What loading shows.
pub async fn run(
    model: &KeptModel,
    progress: &OnEngineProgress,
    abort: &Abort,
) -> Result<Tried, ModelError> {
    let info = ModelInfo::kept(Rc::new(model.clone()));
    let Files::Kept(_) = &info.files else {
        return Err(ModelError::Gone);
    };
    let mut arithmetic = Arithmetic::Int8;
    let mut fallback = None;
    loop {
        if arithmetic == Arithmetic::Float32
            && let (need, Some(have)) = (needs(model).general(), device_memory())
            && need > have
        {
            return Err(ModelError::Refused(format!(
                "the fast encoder does not know this graph ({}), and the general engine would need {} of memory, more than this device has",
                fallback.unwrap_or_default(),
                crate::words::size(need)
            )));
        }
        let worker = WorkerClient::start(arithmetic)
            .await
            .map_err(EngineError::from)?;
        let spec = model.spec.clone().with(Arithmetic::Int8);
        let answer = load(&worker, None, &info, &spec, progress, abort).await?;
        match answer {
            Answer::ModelLoaded {
                dim,
                sha256,
                arithmetic,
                fallback: why,
                read,
                ..
            } => {
                if sha256 != model.sha256() {
                    return Err(ModelError::damaged("its weights"));
                }
                embeds(&worker, dim, abort).await?;
                return Ok(Tried {
                    dim,
                    arithmetic,
                    fallback: why.or(fallback),
                    read,
                });
            }
            Answer::NeedsGeneral { why } if arithmetic == Arithmetic::Int8 => {
                fallback = Some(why);
                arithmetic = Arithmetic::Float32;
            }
            _ => return Err(EngineError::from(WorkerError::Confused).into()),
        }
    }
}

/// One text has to come out as a vector of numbers.
async fn embeds(worker: &WorkerClient, dim: u32, abort: &Abort) -> Result<(), ModelError> {
    let request = Request::Embed {
        texts: vec![TEXT.to_owned()],
    };
    let asked = worker.ask(request, &[], None, abort).await;
    let (answer, _) = asked.map_err(EngineError::from)?;
    let Answer::Vectors { vectors, .. } = answer else {
        return Err(EngineError::from(WorkerError::Confused).into());
    };
    let sound = vectors.first().is_some_and(|vector| {
        vector.len() == dim as usize
            && vector.iter().all(|x| x.is_finite())
            && vector.iter().any(|x| *x != 0.0)
    });
    match sound {
        true => Ok(()),
        false => Err(ModelError::Refused(
            "it gives no numbers for a text: its weights are damaged, or it is read in a wrong way (pooling)".to_owned(),
        )),
    }
}
