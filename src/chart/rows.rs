//! Which rows of a long list are in sight.

/// Rows kept above and below the window, so that quick scrolling shows no gap.
const MARGIN: usize = 8;

/// First row and the row after the last that have to be in the document.
pub fn visible(list_top: f64, window_height: f64, row_height: f64, rows: usize) -> (usize, usize) {
    let above = (-list_top / row_height).floor().max(0.0) as usize;
    let fit = (window_height / row_height).ceil().max(1.0) as usize + 1;
    let first = above.saturating_sub(MARGIN).min(rows);
    (first, (above + fit + MARGIN).min(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_near_the_window_are_drawn() {
        // (top of the list, height of the window, height of a row, rows) to (first, end), by hand:
        // rows in sight, one more for a part of a row, and eight on either side.
        let table = [
            ((0.0, 800.0, 100.0, 6962), (0, 17)),
            ((-5000.0, 800.0, 100.0, 6962), (42, 67)),
            ((-696_000.0, 800.0, 100.0, 6962), (6952, 6962)),
            ((300.0, 800.0, 100.0, 3), (0, 3)),
            ((0.0, 800.0, 100.0, 0), (0, 0)),
            ((-9000.0, 800.0, 100.0, 5), (5, 5)),
        ];
        for ((top, window, row, rows), wanted) in table {
            assert_eq!(
                visible(top, window, row, rows),
                wanted,
                "top {top}, {rows} rows"
            );
        }
    }
}
