// Fetches a page.
