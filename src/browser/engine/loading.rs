//! The model on its way into the worker: one load for all who want it, which no single one of them
//! ends by giving up. The next query often comes while the first one still waits.

use super::{Engine, EngineError, ModelInfo, OnEngineProgress, model};
use crate::browser::abort::Abort;
use crate::browser::clock::sleep;
use crate::browser::model::EngineProgress;
use crate::browser::worker_client::WorkerError;
use crate::embed::spec::Arithmetic;
use crate::worker::protocol::Answer;
use futures::FutureExt;
use futures::future::{Either, LocalBoxFuture, Shared, select};
use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use wasm_bindgen_futures::spawn_local;

/// How long a load goes on that nobody waits for any more.
const LINGER_MS: u32 = 5000;

/// A load under way.
pub(super) struct Load {
    arithmetic: Arithmetic,
    result: Shared<LocalBoxFuture<'static, Result<ModelInfo, EngineError>>>,
    abort: Abort,
    ears: Rc<Ears>,
}

/// Who wants to hear of it.
#[derive(Default)]
struct Ears {
    next: Cell<u32>,
    all: RefCell<Vec<(u32, OnEngineProgress)>>,
}

impl Ears {
    fn tell(&self, progress: &EngineProgress) {
        // Whoever hears it may come or go because of it.
        let all = self.all.borrow().clone();
        for (_, ear) in all {
            ear(progress.clone());
        }
    }

    fn add(&self, ear: &OnEngineProgress) -> u32 {
        let id = self.next.get();
        self.next.set(id.wrapping_add(1));
        self.all.borrow_mut().push((id, Rc::clone(ear)));
        id
    }

    fn remove(&self, id: u32) {
        self.all.borrow_mut().retain(|(other, _)| *other != id);
    }

    fn is_empty(&self) -> bool {
        self.all.borrow().is_empty()
    }
}

impl Engine {
    /// Joins the load under way, or starts one.
    pub(super) async fn load(
        &self,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<ModelInfo, EngineError> {
        if abort.is_aborted() {
            return Err(EngineError::Cancelled);
        }
        let load = self.under_way();
        let _waiting = Waiting {
            engine: self,
            id: load.ears.add(progress),
            load: Rc::clone(&load),
        };
        match select(load.result.clone(), pin!(abort.aborted())).await {
            Either::Left((result, _)) => result,
            Either::Right(_) => Err(EngineError::Cancelled),
        }
    }

    fn under_way(&self) -> Rc<Load> {
        let arithmetic = self.0.wanted.get();
        let known = self.0.loading.borrow().clone();
        if let Some(load) = known.filter(|load| load.arithmetic == arithmetic) {
            return load;
        }
        let (abort, ears) = (Abort::new(), Rc::new(Ears::default()));
        let work = {
            let (engine, abort, ears) = (self.clone(), abort.clone(), Rc::clone(&ears));
            async move {
                let told: OnEngineProgress = Rc::new(move |progress| ears.tell(&progress));
                engine.load_now(&told, &abort).await
            }
        };
        let load = Rc::new(Load {
            arithmetic,
            result: work.boxed_local().shared(),
            abort,
            ears,
        });
        self.0.loading.replace(Some(Rc::clone(&load)));
        let (engine, mine) = (self.clone(), Rc::clone(&load));
        spawn_local(async move {
            // Whoever waits takes the result.
            let _ = mine.result.clone().await;
            engine.forget(&mine);
        });
        load
    }

    /// The next who wants the model starts another load.
    fn forget(&self, load: &Rc<Load>) {
        self.0
            .loading
            .borrow_mut()
            .take_if(|now| Rc::ptr_eq(now, load));
    }

    async fn load_now(
        &self,
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<ModelInfo, EngineError> {
        let _turn = self.turn(abort).await?;
        let mut worker = self.worker().await?;
        let info = self.info(abort).await?;
        if self.0.loaded.borrow().model.is_some() {
            return Ok(info);
        }
        let spec = info.spec.clone().with(self.0.wanted.get());
        loop {
            let cache = Some(&self.0.cache);
            let answer = model::load(&worker, cache, &info, &spec, progress, abort).await;
            match answer.map_err(of_model)? {
                Answer::ModelLoaded { sha256, .. } if sha256 == info.sha256 => break,
                Answer::ModelLoaded { .. } => {
                    return Err(EngineError::Model(
                        "the engine read another file than was sent: the browser's storage may be damaged".to_owned(),
                    ));
                }
                Answer::NeedsGeneral { .. } if self.arithmetic() == Arithmetic::Int8 => {
                    worker = self.replace_worker(Arithmetic::Float32).await?;
                }
                _ => return Err(WorkerError::Confused.into()),
            }
        }
        self.0.loaded.borrow_mut().model = Some(info.clone());
        Ok(info)
    }
}

/// What the worker says of a model that it was given is the model's fault.
fn of_model(error: EngineError) -> EngineError {
    match error {
        EngineError::Worker(WorkerError::Failed(why)) => EngineError::Model(why),
        error => error,
    }
}

/// Somebody who waits for a load. When the last one gives up, the load is ended after a while.
struct Waiting<'a> {
    engine: &'a Engine,
    load: Rc<Load>,
    id: u32,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.load.ears.remove(self.id);
        if !self.load.ears.is_empty() || self.load.result.peek().is_some() {
            return;
        }
        let (engine, load) = (self.engine.clone(), Rc::clone(&self.load));
        spawn_local(async move {
            sleep(LINGER_MS).await;
            if load.ears.is_empty() {
                engine.forget(&load);
                load.abort.abort();
            }
        });
    }
}
