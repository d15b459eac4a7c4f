//! A hard cap on what a visitor spends. Before a call its worst case is reserved, so that calls in
//! flight together cannot pass the cap either; afterwards the true cost takes its place.

use super::LlmError;
use std::collections::BTreeMap;

/// What is spent and what may still be. Amounts in US dollars.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budget {
    /// Absent: no limit.
    cap: Option<f64>,
    spent: f64,
    in_flight: BTreeMap<u64, f64>,
    next: u64,
}

/// Names a reservation until it is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a reservation stays until it is settled or given back"]
pub struct Ticket(u64);

impl Budget {
    /// `spent` so far, for example in earlier visits.
    pub fn new(cap: Option<f64>, spent: f64) -> Self {
        Self {
            cap,
            spent,
            ..Self::default()
        }
    }

    pub fn set_cap(&mut self, cap: Option<f64>) {
        self.cap = cap;
    }

    /// Takes a sum counted elsewhere, for example by another tab.
    pub fn set_spent(&mut self, spent: f64) {
        self.spent = spent;
    }

    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// Held back for calls in flight.
    pub fn reserved(&self) -> f64 {
        self.in_flight.values().sum()
    }

    /// Starts counting from nothing; what is in flight stays reserved.
    pub fn reset(&mut self) {
        self.spent = 0.0;
    }

    /// Sets aside the most a call can cost. With a cap, a call of unknown price is refused: its cost
    /// could not be held below anything.
    pub fn reserve(&mut self, most: Option<f64>, model: &str) -> Result<Ticket, LlmError> {
        let asked = match (most, self.cap) {
            (Some(most), Some(cap)) if self.spent + self.reserved() + most > cap => {
                return Err(LlmError::OverBudget {
                    why: self.sentence(most, cap),
                });
            }
            (None, Some(_)) => {
                return Err(LlmError::OverBudget {
                    why: format!(
                        "the price of {model:?} is not known, so a spending cap cannot be kept"
                    ),
                });
            }
            (most, _) => most.unwrap_or(0.0),
        };
        self.next += 1;
        self.in_flight.insert(self.next, asked);
        Ok(Ticket(self.next))
    }

    /// The call was answered. Where the true cost is unknown, all that was reserved counts.
    pub fn settle(&mut self, ticket: Ticket, cost: Option<f64>) {
        let reserved = self.in_flight.remove(&ticket.0).unwrap_or(0.0);
        self.spent += cost.unwrap_or(reserved);
    }

    /// The call was never made, or refused without being charged.
    pub fn give_back(&mut self, ticket: Ticket) {
        self.in_flight.remove(&ticket.0);
    }

    fn sentence(&self, most: f64, cap: f64) -> String {
        let reserved = self.reserved();
        let waiting = match reserved > 0.0 {
            true => format!(" and {} reserved for calls under way", dollars(reserved)),
            false => String::new(),
        };
        format!(
            "the next call may cost up to {}, with {} spent{waiting} of the cap of {}",
            dollars(most),
            dollars(self.spent),
            dollars(cap)
        )
    }
}

/// `$0.0123`: four digits behind the point below a dollar, two above.
pub fn dollars(amount: f64) -> String {
    match amount {
        0.0 => "$0".to_owned(),
        amount if amount < 0.0001 => "less than $0.0001".to_owned(),
        amount if amount < 1.0 => format!("${amount:.4}"),
        amount => format!("${amount:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_flight_together_cannot_pass_the_cap() {
        let mut budget = Budget::new(Some(1.0), 0.25);
        let first = budget.reserve(Some(0.5), "m").expect("fits");
        let error = budget
            .reserve(Some(0.5), "m")
            .expect_err("0.25 + 0.5 + 0.5 > 1");
        assert_eq!(error.kind(), "over_budget");
        assert!(error.to_string().contains("$0.5000 reserved"), "{error}");
        assert!(error.stops_the_run() && !error.is_retryable());
        budget.settle(first, Some(0.1));
        let second = budget.reserve(Some(0.5), "m").expect("0.35 + 0.5 fits now");
        budget.settle(second, None);
        assert!(
            (budget.spent() - 0.85).abs() < 1e-12,
            "unknown cost counts in full"
        );
        assert_eq!(budget.reserved(), 0.0);
    }

    #[test]
    fn what_was_not_charged_is_given_back() {
        let mut budget = Budget::new(Some(1.0), 0.0);
        let ticket = budget.reserve(Some(0.9), "m").expect("fits");
        budget.give_back(ticket);
        assert_eq!((budget.spent(), budget.reserved()), (0.0, 0.0));
        budget.give_back(ticket);
        budget.settle(ticket, None);
        assert_eq!(budget.spent(), 0.0, "a ticket counts once");
    }

    #[test]
    fn an_unknown_price_is_refused_under_a_cap_only() {
        let mut capped = Budget::new(Some(1.0), 0.0);
        let error = capped.reserve(None, "mystery").expect_err("no price");
        assert!(error.to_string().contains("mystery"));
        let mut free = Budget::new(None, 0.0);
        let ticket = free.reserve(None, "mystery").expect("no cap");
        free.settle(ticket, None);
        assert_eq!(free.spent(), 0.0);
    }

    #[test]
    fn amounts_are_written_for_people() {
        let table = [
            (0.0, "$0"),
            (0.00001, "less than $0.0001"),
            (0.0123, "$0.0123"),
            (12.345, "$12.35"),
        ];
        for (amount, text) in table {
            assert_eq!(dollars(amount), text);
        }
    }
}
