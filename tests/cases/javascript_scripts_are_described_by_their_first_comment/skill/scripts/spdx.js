// SPDX-License-Identifier: MIT

// What it does.
