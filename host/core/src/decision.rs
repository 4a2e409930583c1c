//! The decision about a request, and the right to run.

use crate::approval::Question;
use crate::plan::Plan;
use crate::refusal::Refusal;

/// The decision about a request.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "created once per run and moved once, straight into it"
)]
pub enum Decision {
    /// It may run.
    Permitted(Permit),
    /// It may run if a person approves it: see [`crate::Host::answer`].
    Pending(Box<Question>),
    /// It may not run, and nothing ran.
    Refused(Refusal),
}

/// The right to one run. It exists only once nobody has to be asked: a person typed the request or approved it, or the
/// policy demands no approval. Only a [`Host`](crate::Host) creates one, from a checked [`Plan`].
///
/// ```compile_fail
/// let permit = skillrun::Permit(todo!());
/// ```
#[derive(Debug)]
pub struct Permit(Plan);

impl Permit {
    /// The caller has made sure that nobody has to be asked.
    pub(crate) fn new(plan: Plan) -> Self {
        Self(plan)
    }

    /// What will run.
    pub fn plan(&self) -> &Plan {
        &self.0
    }
}
