"""Where agents reach memory: an HTTP service and an MCP server over one set of rights. Needs the extra `serve`, but for `access`."""
