//! One switch that stops a piece of work: requests through their signal, everything else by asking.

use futures::channel::oneshot;
use std::cell::RefCell;
use std::rc::Rc;
use web_sys::{AbortController, AbortSignal};

/// Shared by everybody who works on one thing; clones are the same switch.
#[derive(Clone, Debug)]
pub struct Abort(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    controller: AbortController,
    waiting: RefCell<Vec<oneshot::Sender<()>>>,
}

impl Inner {
    /// Adds somebody who waits, and forgets those who gave up.
    fn enlist(&self, sender: oneshot::Sender<()>) {
        let mut waiting = self.waiting.borrow_mut();
        waiting.retain(|old| !old.is_canceled());
        waiting.push(sender);
    }
}

impl Default for Abort {
    fn default() -> Self {
        Self::new()
    }
}

impl Abort {
    /// A switch that is not pulled yet.
    pub fn new() -> Self {
        let controller =
            AbortController::new().expect("AbortController exists wherever wasm SIMD does");
        Self(Rc::new(Inner {
            controller,
            waiting: RefCell::default(),
        }))
    }

    /// Stops the work. Pulling it twice does nothing.
    pub fn abort(&self) {
        self.0.controller.abort();
        for waiting in self.0.waiting.take() {
            let _ = waiting.send(()); // its owner may have finished already
        }
    }

    pub fn is_aborted(&self) -> bool {
        self.0.controller.signal().aborted()
    }

    /// For `fetch`.
    pub fn signal(&self) -> AbortSignal {
        self.0.controller.signal()
    }

    /// Resolves when the switch is pulled, for `select`.
    pub async fn aborted(&self) {
        if self.is_aborted() {
            return;
        }
        let (sender, receiver) = oneshot::channel();
        self.0.enlist(sender);
        let _ = receiver.await; // an error means the switch itself is gone, so nobody can pull it
    }
}
