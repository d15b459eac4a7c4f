//! Keeps the budget: what was spent is remembered in this browser and shared by all its tabs.

use super::page;
use crate::llm::budget::{Budget, Ticket};
use crate::llm::price::PriceTable;
use crate::llm::{Chat, LlmError, Usage};
use std::cell::RefCell;
use std::rc::Rc;

/// Where the sum is kept; plain text, US dollars.
const PLACE: &str = "iba-lab.spent";

/// Longest answer of a call that names no limit, in tokens.
const UNNAMED_LIMIT: u32 = 32_768;

/// Handle; clones share one budget.
#[derive(Clone, Default)]
pub struct Meter(Rc<Inner>);

#[derive(Default)]
struct Inner {
    budget: RefCell<Budget>,
    prices: RefCell<PriceTable>,
}

/// Money set aside for one call; given back when it is dropped unsettled.
pub(super) struct Reserved {
    meter: Meter,
    ticket: Option<Ticket>,
}

impl Meter {
    /// Takes the visitor's cap, in US dollars, and prices.
    pub fn configure(&self, cap: Option<f64>, prices: PriceTable) {
        self.0.budget.borrow_mut().set_cap(cap);
        *self.0.prices.borrow_mut() = prices;
    }

    /// US dollars spent since the count was last set to nothing, as far as prices are known.
    pub fn spent(&self) -> f64 {
        kept().unwrap_or_else(|| self.0.budget.borrow().spent())
    }

    /// Starts to count from nothing.
    pub fn reset(&self) {
        self.0.budget.borrow_mut().reset();
        keep(0.0);
    }

    /// Sets aside the most a call can cost, or says why it may not be made.
    pub(super) fn reserve(
        &self,
        base_url: &str,
        chat: &Chat,
        body_bytes: usize,
    ) -> Result<Reserved, LlmError> {
        let limit = chat.max_tokens.unwrap_or(UNNAMED_LIMIT);
        let prices = self.0.prices.borrow();
        let most = prices.most(base_url, &chat.model, body_bytes, limit);
        let mut budget = self.0.budget.borrow_mut();
        if let Some(spent) = kept() {
            budget.set_spent(spent);
        }
        let ticket = budget.reserve(most, &chat.model)?;
        Ok(Reserved {
            meter: self.clone(),
            ticket: Some(ticket),
        })
    }

    fn settle(&self, ticket: Ticket, cost: Option<f64>) {
        let mut budget = self.0.budget.borrow_mut();
        if let Some(spent) = kept() {
            budget.set_spent(spent);
        }
        budget.settle(ticket, cost);
        keep(budget.spent());
    }
}

impl Reserved {
    /// The call was answered with this usage, or may have been charged without an answer.
    pub fn settle(mut self, base_url: &str, model: &str, usage: Option<&Usage>) {
        let prices = self.meter.0.prices.borrow();
        let price = prices.price(base_url, model);
        let free = price.as_ref().is_some_and(|price| price.is_free());
        let cost = match usage {
            _ if free => Some(0.0),
            usage => price.and_then(|price| price.cost(usage?)),
        };
        drop(prices);
        if let Some(ticket) = self.ticket.take() {
            self.meter.settle(ticket, cost);
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.meter.0.budget.borrow_mut().give_back(ticket);
        }
    }
}

/// What all tabs have spent; `None` where the browser keeps nothing.
fn kept() -> Option<f64> {
    let storage = page::window().local_storage().ok().flatten()?;
    let text = storage.get_item(PLACE).ok().flatten()?;
    text.parse().ok().filter(|spent: &f64| spent.is_finite())
}

fn keep(spent: f64) {
    if let Ok(Some(storage)) = page::window().local_storage() {
        // A full storage: this tab counts on by itself.
        let _ = storage.set_item(PLACE, &spent.to_string());
    }
}
