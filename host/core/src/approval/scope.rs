//! Whose approvals and questions a call is about.

/// Whose approvals, sessions and questions a call sees and changes. Those of other tenants do not exist for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Those of every tenant: for the operator.
    All,
    /// Those of one tenant.
    Tenant(&'a str),
}

impl<'a> Scope<'a> {
    /// Whether something of this tenant is in it.
    pub fn includes(self, tenant: &str) -> bool {
        match self {
            Self::All => true,
            Self::Tenant(name) => name == tenant,
        }
    }

    /// The tenant; `None` for all of them.
    pub fn tenant(self) -> Option<&'a str> {
        match self {
            Self::All => None,
            Self::Tenant(name) => Some(name),
        }
    }
}
