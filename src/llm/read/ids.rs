//! Ids as models repeat them.

/// The expected ids, and how an answer's ids find them.
pub struct Ids<'a> {
    ids: &'a [String],
    /// All of one form such as `p1`, `p2`: then a bare number is enough.
    numbers: Option<Vec<u64>>,
    /// The answer counts 0 to n-1 where 1 to n was asked for.
    from_zero: bool,
}

impl<'a> Ids<'a> {
    /// `given` are the ids of the answer.
    pub fn new(ids: &'a [String], given: &[String]) -> Self {
        let numbers = numbers(ids);
        let from_zero = numbers
            .as_ref()
            .is_some_and(|numbers| counts_from_zero(numbers, given));
        Self {
            ids,
            numbers,
            from_zero,
        }
    }

    /// The place of an answer's id among the expected ones.
    pub fn place(&self, given: &str) -> Option<usize> {
        if let Some(exact) = self.ids.iter().position(|id| id == given) {
            return if self.from_zero {
                self.by_number(given)
            } else {
                Some(exact)
            };
        }
        let tidy = tidy(given);
        let mut same = (0..self.ids.len()).filter(|at| self::tidy(&self.ids[*at]) == tidy);
        match (same.next(), same.next()) {
            (Some(at), None) if !self.from_zero => Some(at),
            _ => self.by_number(given),
        }
    }

    fn by_number(&self, given: &str) -> Option<usize> {
        let number = trailing_number(&tidy(given))? + u64::from(self.from_zero);
        self.numbers.as_ref()?.iter().position(|own| *own == number)
    }
}

/// Zero among the numbers means another count; it is followed only when it is complete, so that
/// nothing can shift.
fn counts_from_zero(numbers: &[u64], given: &[String]) -> bool {
    let from_one = numbers.iter().copied().eq(1..=numbers.len() as u64);
    let mut given: Vec<u64> = given
        .iter()
        .filter_map(|id| trailing_number(&tidy(id)))
        .collect();
    given.sort_unstable();
    from_one && given.into_iter().eq(0..numbers.len() as u64)
}

/// The numbers of ids that share one prefix and differ in number.
fn numbers(ids: &[String]) -> Option<Vec<u64>> {
    let prefix = |id: &str| id.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let first = prefix(ids.first()?);
    if !ids.iter().all(|id| prefix(id) == first) {
        return None;
    }
    let numbers: Option<Vec<u64>> = ids.iter().map(|id| trailing_number(id)).collect();
    let mut sorted = numbers.clone()?;
    sorted.sort_unstable();
    sorted.dedup();
    (sorted.len() == ids.len()).then_some(numbers).flatten()
}

/// The number of `7`, `p7`, `passage 7`; ids with digits elsewhere have none.
fn trailing_number(id: &str) -> Option<u64> {
    let digits_at = id.find(|c: char| c.is_ascii_digit())?;
    let (prefix, digits) = id.split_at(digits_at);
    let plain = prefix
        .chars()
        .all(|c| c.is_alphabetic() || " _-#".contains(c));
    plain.then(|| digits.parse().ok()).flatten()
}

/// Without brackets, marks and words around it, in lower case.
fn tidy(id: &str) -> String {
    let around = |c: char| c.is_whitespace() || "[]()<>{}#\"'`*:.".contains(c);
    let id = id.trim_matches(around).to_lowercase();
    let words = [
        "passage",
        "requirement",
        "item",
        "memory",
        "chunk",
        "session",
        "id",
    ];
    let bare = words.iter().find_map(|word| {
        let rest = id.strip_prefix(word)?;
        rest.starts_with([' ', '_', '-', '#', ':'])
            .then(|| rest.trim_matches(around))
    });
    bare.unwrap_or(&id)
        .trim_start_matches(['_', '-'])
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn ids_are_found_in_the_forms_models_write() {
        let ids = own(&["p1", "p2", "p12"]);
        let cases = [
            ("p1", Some(0)),
            (" P2 ", Some(1)),
            ("[p12]", Some(2)),
            ("2", Some(1)),
            ("passage 12", Some(2)),
            ("#1", Some(0)),
            ("p3", None),
            ("q", None),
            ("", None),
        ];
        for (given, expected) in cases {
            let found = Ids::new(&ids, &own(&[given])).place(given);
            assert_eq!(found, expected, "{given}");
        }
    }

    #[test]
    fn a_count_from_zero_is_followed_only_when_complete() {
        let ids = own(&["1", "2", "3"]);
        let complete = own(&["0", "1", "2"]);
        let places = Ids::new(&ids, &complete);
        assert_eq!(places.place("0"), Some(0));
        assert_eq!(places.place("2"), Some(2));
        let partial = own(&["0", "2"]);
        assert_eq!(Ids::new(&ids, &partial).place("0"), None);
    }

    #[test]
    fn other_ids_need_the_whole_of_it() {
        let ids = own(&["s03-a#1", "s04-b#1"]);
        let given = own(&["1"]);
        assert_eq!(Ids::new(&ids, &given).place("1"), None);
        assert_eq!(Ids::new(&ids, &given).place("S03-a#1"), Some(0));
    }
}
