//! What the results view shows, to and from its address.

use super::Query;
use crate::run::lost::funnel::By;

/// The parts of the results view; one at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Part {
    /// Domain table and radar.
    #[default]
    Scores,
    /// The funnel of lost requirements.
    Lost,
    /// Agreement, flips and calibration.
    Judges,
    /// The layouts of the paper's tables and curves.
    Tables,
    /// Every run and sample.
    Runs,
}

impl Part {
    pub const ALL: [Part; 5] = [
        Part::Scores,
        Part::Lost,
        Part::Judges,
        Part::Tables,
        Part::Runs,
    ];

    /// Name in addresses.
    pub fn id(self) -> &'static str {
        match self {
            Part::Scores => "scores",
            Part::Lost => "lost",
            Part::Judges => "judges",
            Part::Tables => "tables",
            Part::Runs => "runs",
        }
    }

    /// Name on the page.
    pub fn title(self) -> &'static str {
        match self {
            Part::Scores => "Scores",
            Part::Lost => "Where lost",
            Part::Judges => "Judges",
            Part::Tables => "Paper’s tables",
            Part::Runs => "Runs",
        }
    }
}

/// The choices of the view besides the paper's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultsView {
    pub part: Part,
    pub by: By,
    /// Only the runs of this set-up, by [`crate::run::setup::key`]. All where it is `None`.
    pub of: Option<String>,
    /// The cell of the funnel that is opened: how its requirements ended, and in which group; the
    /// empty group is all.
    pub cell: Option<(String, String)>,
}

const PART: &str = "part";
const BY: &str = "by";
const OF: &str = "of";
const END: &str = "end";
const GROUP: &str = "group";

/// The part an address asks for, where there is none of that name.
pub fn unknown_part(query: &Query) -> Option<&str> {
    let asked = query.get(PART)?;
    Part::ALL
        .iter()
        .all(|part| part.id() != asked)
        .then_some(asked)
}

impl ResultsView {
    /// Reads an address; unknown words are passed over.
    pub fn read(query: &Query) -> Self {
        let part = query
            .get(PART)
            .and_then(|id| Part::ALL.into_iter().find(|part| part.id() == id));
        let end = query.get(END).map(str::to_owned);
        let group = query.get(GROUP).unwrap_or_default().to_owned();
        Self {
            part: part.unwrap_or_default(),
            by: query.get(BY).and_then(By::from_id).unwrap_or_default(),
            of: query.get(OF).map(str::to_owned),
            cell: end.map(|end| (end, group)),
        }
    }

    /// The address with these choices; what else is in it stays.
    pub fn write(&self, query: &Query) -> Query {
        let own = [PART, BY, OF, END, GROUP];
        let mut pairs = Vec::new();
        let mut say = |name: &str, value: &str| pairs.push((name.to_owned(), value.to_owned()));
        if self.part != Part::default() {
            say(PART, self.part.id());
        }
        if self.by != By::default() {
            say(BY, self.by.id());
        }
        if let Some(of) = &self.of {
            say(OF, of);
        }
        if let Some((end, group)) = &self.cell {
            say(END, end);
            if !group.is_empty() {
                say(GROUP, group);
            }
        }
        let others = query.pairs().filter(|(name, _)| !own.contains(name));
        let others = others.map(|(name, value)| (name.to_owned(), value.to_owned()));
        pairs.into_iter().chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::Route;

    #[test]
    fn choices_come_back_from_the_address_and_leave_the_rest_of_it_alone() {
        let view = ResultsView {
            part: Part::Lost,
            by: By::Signal,
            of: Some("IBA-Agent · deepseek-chat".to_owned()),
            cell: Some(("ranked_in".to_owned(), "complaint".to_owned())),
        };
        let rows: Query = [("row", "table4/x"), ("by", "moon")].into_iter().collect();
        let query = view.write(&rows);
        assert_eq!(query.get("row"), Some("table4/x"));
        assert_eq!(ResultsView::read(&query), view);
        let address = Route::Results { query }.address();
        let Some(Route::Results { query }) = Route::parse(&address) else {
            panic!("{address}")
        };
        assert_eq!(ResultsView::read(&query), view);
        assert_eq!(ResultsView::read(&rows), ResultsView::default());
        assert_eq!(ResultsView::default().write(&rows).0.len(), 1);
        assert_eq!(unknown_part(&view.write(&rows)), None);
        let moon: Query = [("part", "moon")].into_iter().collect();
        assert_eq!(unknown_part(&moon), Some("moon"));
    }
}
