//! Embeds whole histories natively, on all cores; the browser goes passage by passage instead.

use super::model::Embedder;
use super::vectors::VectorFile;
use super::{Chunking, EmbedError, Passage, chunk_sessions, passages};
use crate::bench::visible::Session;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Chunks and embeds all sessions. `progress(done, total)` is called after every chunk, from any
/// thread. The result does not depend on the number of threads.
pub fn embed_sessions(
    embedder: &Embedder,
    sessions: &[Session],
    chunking: Chunking,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<VectorFile, EmbedError> {
    let spans = chunk_sessions(embedder.tokenizer(), sessions, chunking)?;
    let vectors = embed_all(embedder, &passages(sessions, &spans)?, progress)?;
    let mut file = VectorFile::new(embedder.dim());
    for (span, vector) in spans.into_iter().zip(vectors) {
        file.push(span, &vector);
    }
    Ok(file)
}

/// Threads take the next passage until none is left; the vectors come back in order.
fn embed_all(
    embedder: &Embedder,
    passages: &[Passage],
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Vec<f32>>, EmbedError> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let out = Mutex::new(vec![None; passages.len()]);
    let work = || -> Result<(), EmbedError> {
        while let Some((at, passage)) = take(passages, &next) {
            let vector = embedder.embed_passage(&passage.text)?.vector;
            out.lock()
                .expect("no thread panics while it holds the lock")[at] = Some(vector);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, passages.len());
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("embedding does not panic"))
    })?;
    let vectors = out.into_inner().expect("all threads have ended");
    Ok(vectors
        .into_iter()
        .map(|vector| vector.expect("every passage was taken"))
        .collect())
}

fn take<'a>(passages: &'a [Passage], next: &AtomicUsize) -> Option<(usize, &'a Passage)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    passages.get(at).map(|passage| (at, passage))
}
