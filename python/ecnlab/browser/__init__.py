"""The laboratory in the browser: the page of the package, a server on this machine for it, and the page as a single file."""
