//! Shared parts of the benchmarks: an environment, samples taken in turn, and a plain table.
//!
//! A shared machine is never quiet, so a time alone says little. The sides of a comparison are measured in
//! turn within one run, so that a slow moment affects all of them, and printed as a ratio, with the times
//! beside it for orientation. Nothing here fails because something was slow.

#![expect(dead_code, reason = "each benchmark uses its part of this")]

pub(crate) mod cost;
pub(crate) mod env;
pub(crate) mod eryx;
pub(crate) mod peer;
pub(crate) mod runs;

/// The result of a benchmark, with any error.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Prints what is measured. Returns false in a test run, which measures nothing.
pub(crate) fn begin(name: &str, what: &str) -> bool {
    let asked = std::env::args().any(|arg| arg == "--bench");
    if asked {
        println!("\n## {name}: {what}");
    }
    asked
}

/// How often something is measured: as often as given, or a tenth of that with `--quick`, to see that a benchmark works.
pub(crate) fn rounds(all: usize) -> usize {
    match is_quick() {
        true => all.div_ceil(10),
        false => all,
    }
}

pub(crate) fn is_quick() -> bool {
    std::env::args().any(|arg| arg == "--quick")
}

/// Measured values, sorted.
#[derive(Debug, Clone)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    pub(crate) fn p50(&self) -> f64 {
        self.part(0.50)
    }

    pub(crate) fn p95(&self) -> f64 {
        self.part(0.95)
    }

    pub(crate) fn p99(&self) -> f64 {
        self.part(0.99)
    }

    pub(crate) fn min(&self) -> f64 {
        self.part(0.0)
    }

    pub(crate) fn max(&self) -> f64 {
        self.part(1.0)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The nearest measured value, not one between two.
    fn part(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let at = (share * last as f64).round() as usize;
        self.0.get(at).copied().unwrap_or(f64::NAN)
    }
}

/// Runs each of `sides` once per round, after one warm-up round. Each round begins with
/// another side, so that no side always follows the same one.
pub(crate) fn in_turn<T>(
    sides: usize,
    rounds: usize,
    mut run: impl FnMut(usize) -> Result<T>,
) -> Result<Vec<Vec<T>>> {
    let mut all: Vec<Vec<T>> = (0..sides).map(|_| Vec::with_capacity(rounds)).collect();
    for side in 0..sides {
        run(side)?;
    }
    for round in 0..rounds {
        for step in 0..sides {
            let side = (round + step) % sides;
            all[side].push(run(side)?);
        }
    }
    Ok(all)
}

/// The geometric mean, which suits ratios.
pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    mean(&logs).exp()
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A table of text: the first column is left-aligned, the others are numbers.
pub(crate) struct Table(Vec<Vec<String>>);

impl Table {
    pub(crate) fn new<const N: usize>(head: [&str; N]) -> Self {
        Self(vec![head.map(str::to_owned).to_vec()])
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.0.push(cells.to_vec());
    }

    pub(crate) fn print(&self) {
        let columns = self.0.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.0.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        for (index, row) in self.0.iter().enumerate() {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                line += &if column == 0 {
                    format!("{cell:<width$}")
                } else {
                    format!("  {cell:>width$}")
                };
            }
            println!("{}", line.trim_end());
            if index == 0 {
                println!("{}", "-".repeat(line.chars().count()));
            }
        }
    }
}

/// Milliseconds.
pub(crate) fn ms(value: f64) -> String {
    if value.abs() < 10.0 {
        format!("{value:.2} ms")
    } else {
        format!("{value:.1} ms")
    }
}

/// A ratio.
pub(crate) fn times(value: f64) -> String {
    match value.abs() {
        ..0.1 => format!("{value:.3}×"),
        _ => format!("{value:.2}×"),
    }
}
