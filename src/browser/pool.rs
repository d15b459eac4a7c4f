//! Every core embeds: the engine's worker and its helpers take passages from one list until none is
//! left. No memory is shared, so no special headers are needed. Helpers that have nothing to do for a
//! while are let go, and their memory with them.

use super::abort::Abort;
use super::cache::FileCache;
use super::clock::sleep;
use super::engine::EngineError;
use super::model::{self, EngineProgress, ModelInfo, OnEngineProgress};
use super::models::device_memory;
use super::page;
use super::worker_client::{WorkerClient, WorkerError};
use crate::embed::spec::{Arithmetic, ModelSpec};
use crate::worker::protocol::{Answer, Request};
use futures::future::join_all;
use js_sys::{ArrayBuffer, Uint8Array};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen_futures::spawn_local;

/// More would take more memory than small devices have.
const MOST_WORKERS: usize = 8;
/// Bytes of text that a worker takes at once: what it embeds together anyway, some tenth of a second
/// of work, so that all end together.
const GROUP_BYTES: usize = 1200;
/// Less text than this is embedded before a helper would be ready.
const HELPERS_FROM_BYTES: usize = 40_000;
/// How long helpers wait for the next history.
const IDLE_MS: u32 = 15_000;

/// Workers that only embed.
#[derive(Default)]
pub(super) struct Pool {
    helpers: Rc<RefCell<Vec<Helper>>>,
    /// Counts the beginnings of jobs.
    jobs: Rc<Cell<u32>>,
}

/// A worker with the model, and what it computes with.
#[derive(Clone)]
struct Helper {
    arithmetic: Arithmetic,
    worker: Rc<WorkerClient>,
}

/// A job under way; at its end, however it comes, the helpers begin to wait.
struct Job<'a>(&'a Pool);

impl<'a> Job<'a> {
    fn begin(pool: &'a Pool) -> Self {
        pool.jobs.set(pool.jobs.get().wrapping_add(1));
        Self(pool)
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        let (helpers, jobs) = (Rc::clone(&self.0.helpers), Rc::clone(&self.0.jobs));
        let ended = jobs.get();
        spawn_local(async move {
            sleep(IDLE_MS).await;
            if jobs.get() == ended {
                helpers.borrow_mut().clear();
            }
        });
    }
}

/// What helpers need to start.
#[derive(Clone, Copy)]
pub(super) struct Setup<'a> {
    pub cache: &'a FileCache,
    pub info: &'a ModelInfo,
    pub spec: &'a ModelSpec,
    pub arithmetic: Arithmetic,
}

/// Passages on their way.
struct Work<'a> {
    texts: &'a [String],
    /// Groups of indices still to do; the last is next.
    groups: RefCell<Vec<Vec<usize>>>,
    keep: &'a dyn Fn(usize, &[f32]),
    done: Cell<usize>,
    failed: RefCell<Option<EngineError>>,
    progress: &'a OnEngineProgress,
    abort: &'a Abort,
}

impl Pool {
    /// Forgets all helpers; another model comes.
    pub fn clear(&self) {
        self.helpers.borrow_mut().clear();
    }

    /// Embeds all texts and gives each vector to `keep` with the place of its text, as it comes: when
    /// the work is cancelled or fails, what is done is not lost. `front` has the model already.
    pub async fn embed(
        &self,
        front: &Rc<WorkerClient>,
        setup: Setup<'_>,
        (texts, keep): (&[String], &dyn Fn(usize, &[f32])),
        progress: &OnEngineProgress,
        abort: &Abort,
    ) -> Result<(), EngineError> {
        let _job = Job::begin(self);
        let work = Work {
            texts,
            groups: RefCell::new(groups(texts)),
            keep,
            done: Cell::new(0),
            failed: RefCell::default(),
            progress,
            abort,
        };
        let bytes: usize = texts.iter().map(String::len).sum();
        let helpers = match bytes {
            HELPERS_FROM_BYTES.. => {
                let cores = page::cores().min(MOST_WORKERS);
                let needs = setup.info.needs();
                needs.workers(cores, device_memory(), setup.arithmetic) - 1
            }
            _ => 0,
        };
        let first = work.empty(front);
        let others = join_all((0..helpers).map(|n| self.help(n, setup, &work)));
        futures::join!(first, others);
        if abort.is_aborted() {
            return Err(EngineError::Cancelled);
        }
        work.failed.take().map_or(Ok(()), Err)
    }

    /// Helper `n` takes part. If it cannot start, the others do its share.
    async fn help(&self, n: usize, setup: Setup<'_>, work: &Work<'_>) {
        let known = self.helpers.borrow().get(n).cloned();
        let fits =
            |helper: &Helper| helper.arithmetic == setup.arithmetic && helper.worker.is_alive();
        let helper = match known.filter(fits) {
            Some(helper) => helper,
            None => {
                let Ok(worker) = start(setup, work.abort).await else {
                    return;
                };
                let helper = Helper {
                    arithmetic: setup.arithmetic,
                    worker,
                };
                let mut helpers = self.helpers.borrow_mut();
                match helpers.get_mut(n) {
                    Some(place) => *place = helper.clone(),
                    None => helpers.push(helper.clone()),
                }
                helper
            }
        };
        work.empty(&helper.worker).await;
    }
}

/// A worker with the model.
async fn start(setup: Setup<'_>, abort: &Abort) -> Result<Rc<WorkerClient>, EngineError> {
    let quiet: OnEngineProgress = Rc::new(|_| {});
    let helper = WorkerClient::start(setup.arithmetic).await?;
    let Setup {
        cache, info, spec, ..
    } = setup;
    match model::load(&helper, Some(cache), info, spec, &quiet, abort).await? {
        Answer::ModelLoaded { .. } => Ok(Rc::new(helper)),
        _ => Err(WorkerError::Confused.into()),
    }
}

impl Work<'_> {
    /// Has `worker` embed groups until none is left or something fails. Two are on their way at a
    /// time, so that it never waits for this page.
    async fn empty(&self, worker: &WorkerClient) {
        futures::join!(self.one_by_one(worker), self.one_by_one(worker));
    }

    async fn one_by_one(&self, worker: &WorkerClient) {
        while self.failed.borrow().is_none() {
            let group = self.groups.borrow_mut().pop();
            let Some(group) = group else {
                return;
            };
            if let Err(error) = self.group(worker, &group).await {
                self.failed.borrow_mut().get_or_insert(error);
            }
        }
    }

    async fn group(&self, worker: &WorkerClient, group: &[usize]) -> Result<(), EngineError> {
        let texts = group.iter().map(|at| self.texts[*at].clone()).collect();
        let request = Request::EmbedPassages { texts };
        let asked = worker.ask(request, &[], None, self.abort).await;
        let (answer, buffers) = asked.map_err(|error| match error {
            WorkerError::Failed(why) => EngineError::Embedding(why),
            error => error.into(),
        })?;
        let Answer::PassageVectors { dim, .. } = answer else {
            return Err(WorkerError::Confused.into());
        };
        let floats = floats(buffers.first());
        if floats.len() != group.len() * dim as usize {
            return Err(WorkerError::Confused.into());
        }
        let rows = floats.chunks_exact(dim.max(1) as usize);
        for (at, row) in group.iter().zip(rows) {
            (self.keep)(*at, row);
        }
        self.done.set(self.done.get() + group.len());
        (self.progress)(EngineProgress {
            what: "passages embedded".to_owned(),
            done: self.done.get() as u64,
            total: Some(self.texts.len() as u64),
        });
        Ok(())
    }
}

fn floats(buffer: Option<&ArrayBuffer>) -> Vec<f32> {
    let bytes = buffer.map(|buffer| Uint8Array::new(buffer).to_vec());
    let bytes = bytes.unwrap_or_default();
    let floats = bytes.as_chunks().0.iter();
    floats.map(|b| f32::from_le_bytes(*b)).collect()
}

/// Indices of texts, the longest first once the list is taken from its end: short ones fill the
/// gaps in the end.
fn groups(texts: &[String]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|at| texts[*at].len());
    let (mut groups, mut group, mut bytes) = (Vec::new(), Vec::new(), 0);
    for at in order {
        if !group.is_empty() && bytes + texts[at].len() > GROUP_BYTES {
            groups.push(std::mem::take(&mut group));
            bytes = 0;
        }
        bytes += texts[at].len();
        group.push(at);
    }
    groups.extend((!group.is_empty()).then_some(group));
    groups
}
