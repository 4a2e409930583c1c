//! What `oxc-browserslist` takes from the crate `js-sys` when it is built for WebAssembly: the date, to
//! know which browsers are old. Nobody asks it that here, and the real crate would make the guest
//! import functions that only a browser has.

/// A moment: always the same.
#[derive(Debug)]
pub struct Date;

impl Date {
    pub fn now() -> f64 {
        0.0
    }

    pub fn new_0() -> Self {
        Self
    }

    pub fn set_time(&self, _: f64) -> f64 {
        0.0
    }

    pub fn get_full_year(&self) -> u32 {
        1970
    }

    pub fn get_month(&self) -> u32 {
        0
    }

    pub fn set_full_year_with_month(&self, _: u32, _: i32) -> f64 {
        0.0
    }
}
