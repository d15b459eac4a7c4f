//! Two who ask for the same thing at the same time share one piece of work.

use futures::FutureExt;
use futures::future::{LocalBoxFuture, Shared};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Work under way, by name.
pub(super) struct Flights<T: Clone>(
    Rc<RefCell<HashMap<String, Shared<LocalBoxFuture<'static, T>>>>>,
);

impl<T: Clone> Clone for Flights<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T: Clone> Default for Flights<T> {
    fn default() -> Self {
        Self(Rc::default())
    }
}

impl<T: Clone + 'static> Flights<T> {
    /// Joins the work called `name`, or starts it. `true` for who started it.
    pub async fn join(
        &self,
        name: &str,
        start: impl FnOnce() -> LocalBoxFuture<'static, T>,
    ) -> (T, bool) {
        let running = self.0.borrow().get(name).cloned();
        if let Some(running) = running {
            return (running.await, false);
        }
        let work = start().shared();
        self.0.borrow_mut().insert(name.to_owned(), work.clone());
        let landing = Landing {
            flights: self,
            name,
        };
        let result = work.await;
        drop(landing);
        (result, true)
    }
}

/// Takes the work off the list, also when who started it is dropped half-way: those who joined
/// hold their own share and finish it.
struct Landing<'a, T: Clone> {
    flights: &'a Flights<T>,
    name: &'a str,
}

impl<T: Clone> Drop for Landing<'_, T> {
    fn drop(&mut self) {
        self.flights.0.borrow_mut().remove(self.name);
    }
}
